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
  var address: Address? { session?.address ?? identity?.address }

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

/// Every phone that has connected since the start: who it is when it connects again, and who hears of its notifications
/// while it is here and while it is away.
@LoopActor final class PhoneBook {
  private(set) var phones: [Phone] = []
  /// How long the notifications of a phone are kept when its link is lost.
  var grace: Duration {
    didSet { for phone in phones { phone.notifications.period = grace } }
  }
  private let feed: EventFeed
  private let rules: RuleBook
  private let scheduler: any Scheduler

  init(_ feed: EventFeed, _ rules: RuleBook, _ scheduler: any Scheduler, grace: Duration) {
    self.feed = feed
    self.rules = rules
    self.scheduler = scheduler
    self.grace = grace
  }

  /// The phone on a link that begins, if it was here before.
  func known(on link: any Link) -> Phone? {
    phones.first { $0.identity == link.phone && $0.adapter == link.adapter && $0.session == nil }
  }

  /// Adds the phone on a link.
  ///
  /// - Parameters:
  ///   - number: the link's.
  ///   - keys: the bonds of its adapter; nil for a phone without a radio.
  func add(on link: any Link, _ number: Int, _ keys: KeyKeeper?) -> Phone {
    var cache = link.phone.flatMap { keys?.cache(of: $0) } ?? PhoneCache()
    let phone = Phone(
      number, on: link, PhoneNotifications(keeping: grace, scheduler, seen: cache.seen))
    cache.name = link.phone.flatMap { keys?.ring[$0]?.name }
    cache.seen = SeenContents()
    phone.cache = cache
    follow(phone)
    phones.append(phone)
    return phone
  }

  /// Publishes what clients are to be told of a phone's notifications, and does what the rules say.
  private func follow(_ phone: Phone) {
    let notifications = phone.notifications
    judge(phone)
    notifications.onPublish = { [feed, weak phone] in
      if let phone { feed.publish(phone.event(.notification($0))) }
    }
    notifications.onAct = { [rules, weak phone] in
      let service = phone?.session?.services.active(NotificationService.self)
      service?.perform(rules.rules[$0], on: $1)
    }
    notifications.onForgotten = { [feed, weak phone] in
      guard let phone else { return }
      feed.publish(
        phone.event(
          .error(
            what: "keeping the phone's notifications", code: nil,
            message: "there are too many of them: the oldest are no longer listed")))
    }
  }

  /// Judges a phone's notifications by the rules, again if they were judged before.
  private func judge(_ phone: Phone) {
    phone.notifications.rulesChanged(rules.judge(for: phone))
  }

  /// The rules on notifications, or what is fetched without one, have changed.
  func rulesChanged() { for phone in phones { judge(phone) } }

  /// The daemon exits, which ends for its clients what they were told: nothing more is published of notifications.
  func close() { for phone in phones { phone.notifications.onPublish = { _ in } } }

  /// A phone's name or identity has become known, which rules may be about. Judging again without need would fetch again
  /// what is being fetched.
  func named(_ phone: Phone) {
    if rules.rules.selectPhones { judge(phone) }
  }

  /// A phone with a private address turned out to be one that was here before: what was kept of that one goes.
  func identified(_ phone: Phone) {
    named(phone)
    let key = (phone.adapter, phone.identity)
    for former in phones
    where former !== phone && former.session == nil && (former.adapter, former.identity) == key {
      forget(former)
    }
  }

  /// Drops everything known of a phone. Clients are told that its notifications are gone.
  func forget(_ phone: Phone) {
    phone.notifications.clear()
    phones.removeAll { $0 === phone }
  }

  /// The same for a phone whose bond was removed.
  func forget(_ identity: DeviceAddress) {
    for phone in phones where phone.identity == identity { forget(phone) }
  }
}
