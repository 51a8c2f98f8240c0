// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Decides when to check a session that may be dead, and what to do: all its deadlines in one place.
///
/// - A call that still rings after two minutes must have lost its removal.
/// - A phone that refuses access (Share System Notifications is off, or not answered yet) is asked
///   again.
/// - Every fifteen minutes the phone is probed: it may have dropped the session silently.
/// - After six hours of silence the subscriptions are written again: a phone may answer commands after
///   its notifications have ceased.
struct SessionWatch: Sendable {
  /// What is due.
  enum Task: Hashable, Sendable {
    /// End this call, which has rung too long.
    case endCall(NotificationUID)
    /// Ask whether the phone now allows access.
    case tryAuthorization
    /// Probe whether the phone still knows the session.
    case probe
    /// Write the subscriptions again.
    case subscribeAgain
  }

  private enum Authorization: Sendable {
    case unknown
    case granted
    case refused(lastTry: Instant, next: Instant, pause: Duration)
  }

  private let timing: ConsumerSettings.Timing
  private var authorization = Authorization.unknown
  private var probeDue: Instant?
  private var silenceDue: Instant?
  private var calls: [NotificationUID: Instant] = [:]
  /// Calls that were ended here, whose removals may still arrive.
  private var ended = FIFO<NotificationUID>(limit: callCapacity)
  /// The most calls that are watched.
  private static let callCapacity = 64

  init(_ timing: ConsumerSettings.Timing) { self.timing = timing }

  /// Whether the phone is known to allow access.
  var isGranted: Bool { if case .granted = authorization { true } else { false } }

  /// The next deadline.
  var nextDeadline: Instant? {
    var deadlines = [silenceDue].compactMap { $0 } + calls.values
    if case .refused(_, let next, _) = authorization {
      deadlines.append(next)
    } else if let probeDue {
      deadlines.append(probeDue)
    }
    return deadlines.min()
  }

  /// What is due at `now`. It counts as done.
  mutating func due(at now: Instant) -> [Task] {
    var tasks: [Task] = []
    for (uid, deadline) in calls.sorted(by: { $0.value < $1.value }) where deadline <= now {
      calls[uid] = nil
      ended.append(uid)
      tasks.append(.endCall(uid))
    }
    if case .refused(_, let next, let pause) = authorization {
      if next <= now {
        let longer = min(pause + pause, timing.longestRetry)
        authorization = .refused(lastTry: now, next: now + longer, pause: longer)
        tasks.append(.tryAuthorization)
      }
    } else if let due = probeDue, due <= now {
      probeDue = now + timing.probe
      tasks.append(.probe)
    }
    if let due = silenceDue, due <= now {
      silenceDue = now + timing.silence
      tasks.append(.subscribeAgain)
    }
    return tasks
  }

  /// The session has begun.
  mutating func sessionBegan(at now: Instant) {
    probeDue = now + (isGranted ? timing.probe : timing.firstProbe)
    silenceDue = now + timing.silence
  }

  /// The Notification Source has sent an event. Returns false for the removal of a call that was ended
  /// here.
  mutating func received(_ event: NotificationEvent, at now: Instant) -> Bool {
    silenceDue = now + timing.silence
    // The user may just have allowed the phone to allow access.
    if case .refused(let lastTry, let next, let pause) = authorization {
      let soon = max(now, lastTry + timing.retry)
      authorization = .refused(lastTry: lastTry, next: min(next, soon), pause: pause)
    }
    let wasEndedHere = ended.contains(event.uid)
    if wasEndedHere { ended.removeAll { $0 == event.uid } }
    let isCall = event.category == .incomingCall && event.change != .removed
    if isCall, calls[event.uid] != nil || calls.count < Self.callCapacity {
      calls[event.uid] = now + timing.call
    } else {
      calls[event.uid] = nil
    }
    return event.change != .removed || !wasEndedHere
  }

  /// The phone refused access. Returns whether that is news.
  mutating func refused(at now: Instant) -> Bool {
    if case .refused = authorization { return false }
    authorization = .refused(lastTry: now, next: now + timing.retry, pause: timing.retry)
    return true
  }

  /// The phone allows access. Returns whether that is news.
  mutating func granted(at now: Instant) -> Bool {
    if case .granted = authorization { return false }
    authorization = .granted
    probeDue = now + timing.probe
    return true
  }
}
