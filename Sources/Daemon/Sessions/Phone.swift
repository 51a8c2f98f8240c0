// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Board
import Control
import EventLoop
import Mgmt
import Wire

/// What the daemon remembers about a phone across its sessions. Everything else ends with the session, as Apple's ANCS
/// specification requires.
@LoopActor final class Phone {
  /// The number of its first link: phones are listed in this order.
  let number: Int
  /// The identity address; nil for a phone without a radio.
  var identity: DeviceAddress?
  /// What is stored of it; its notifications are in `notifications`.
  var cache = PhoneCache()
  /// The adapter that it is bonded to or connected to.
  let adapter: String?
  /// Whether it has refused commands for lack of permission, so that a response proves permission.
  var hasRefused = false
  /// When a link may next be ended to make the phone reconnect.
  var reconnection = Reconnection()
  /// Its notifications, across all its sessions.
  let notifications: PhoneNotifications
  /// The session on the secured link that is up now.
  weak var session: Session?

  /// The phone on a link, of which nothing else is known.
  init(_ number: Int, on link: any Link, _ notifications: PhoneNotifications) {
    (self.number, self.notifications) = (number, notifications)
    (identity, adapter) = (link.phone, link.adapter)
  }

  /// Its address, if known.
  var address: Address? { identity?.address }

  /// What to store of it, as of this time.
  func cache(at time: WallTime) -> PhoneCache {
    var cache = cache
    cache.lastSeen = time.seconds
    cache.seen = notifications.ledger.seen
    return cache
  }

  /// An event about this phone; a notification's date is in UTC, too.
  func event(_ content: Event.Content) -> Event {
    var content = content
    if cache.zone != nil, case .notification(let report) = content {
      content = .notification(dated(report))
    }
    return Event(content, adapter: adapter, phone: address)
  }

  /// A notification with its date in UTC, if the phone's time zone is known.
  func dated(_ report: NotificationReport) -> NotificationReport {
    var report = report
    report.sent = cache.zone.flatMap { zone in
      report.attributes.date.map { WallTime(seconds: $0.secondsSince1970 - Int64(zone)) }
    }
    return report
  }
}

/// Limits how often a link is ended in the hope that the phone reconnects with a working ANCS: the pauses grow up to a
/// day.
struct Reconnection {
  private var next: Instant?
  private var pause: Duration = .seconds(10 * 60)

  /// Whether a link may be ended now. If so, it counts as ended.
  mutating func take(at now: Instant) -> Bool {
    if let next, now < next { return false }
    next = now + pause
    pause = min(pause + pause, .seconds(24 * 3600))
    return true
  }
}

/// Limits the rate of something that the phone can request endlessly: a burst, and then once per interval.
struct RateLimit {
  /// The size of the burst.
  let burst: Int
  let interval: Duration
  /// When the next one would be due at one per interval.
  private var due: Instant?

  init(burst: Int, interval: Duration) {
    self.burst = burst
    self.interval = interval
  }

  /// Counts a request, and returns how long it has to wait.
  mutating func pause(at now: Instant) -> Duration {
    let due = max(due ?? now, now)
    self.due = due + interval
    return max(.zero, due - now - interval * (burst - 1))
  }
}
