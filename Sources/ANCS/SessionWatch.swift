// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Knows what is to be done when about a session that may only look alive: all its deadlines in one
/// place.
///
/// - A call that still rings after two minutes has lost its removal.
/// - A phone that refuses to be read (Share System Notifications is off, or not answered yet) is asked
///   again quietly.
/// - Every fifteen minutes the phone is asked whether it still knows the session: it may have dropped it
///   without a word.
/// - After six hours without a word the subscription is written again: commands may still be answered
///   when notifications have ceased.
struct SessionWatch: Sendable {
  /// What is due.
  enum Task: Hashable, Sendable {
    /// This call has rung too long.
    case endCall(NotificationUID)
    /// Ask whether the phone lets us read now.
    case tryAuthorization
    /// Ask whether the phone still knows the session.
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
  /// Calls that were ended here, whose removal may still come.
  private var ended: [NotificationUID] = []
  /// The greatest number of calls that are watched.
  private static let callCapacity = 64

  init(_ timing: ConsumerSettings.Timing) { self.timing = timing }

  /// Whether the phone is known to let us read.
  var isGranted: Bool {
    if case .granted = authorization { true } else { false }
  }

  /// When something is due next.
  var nextDeadline: Instant? {
    var deadlines = [silenceDue].compactMap { $0 } + calls.values
    if case .refused(_, let next, _) = authorization {
      deadlines.append(next)
    } else if let probeDue {
      deadlines.append(probeDue)
    }
    return deadlines.min()
  }

  /// What is due at `now`, and is taken as begun.
  mutating func due(at now: Instant) -> [Task] {
    var tasks: [Task] = []
    for (uid, deadline) in calls.sorted(by: { $0.value < $1.value }) where deadline <= now {
      calls[uid] = nil
      ended.append(uid)
      if ended.count > Self.callCapacity { ended.removeFirst() }
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

  /// The session begins.
  mutating func sessionBegan(at now: Instant) {
    probeDue = now + (isGranted ? timing.probe : timing.firstProbe)
    silenceDue = now + timing.silence
  }

  /// Takes what the Notification Source says; false for the removal of a call that was ended here.
  mutating func received(_ event: NotificationEvent, at now: Instant) -> Bool {
    silenceDue = now + timing.silence
    // A phone that says something may have been told to let us read.
    if case .refused(let lastTry, let next, let pause) = authorization {
      let soon = max(now, lastTry + timing.retry)
      authorization = .refused(lastTry: lastTry, next: min(next, soon), pause: pause)
    }
    let endedHere = ended.firstIndex(of: event.uid)
    if let endedHere { ended.remove(at: endedHere) }
    let isCall = event.category == .incomingCall && event.change != .removed
    if isCall, calls[event.uid] != nil || calls.count < Self.callCapacity {
      calls[event.uid] = now + timing.call
    } else {
      calls[event.uid] = nil
    }
    return event.change != .removed || endedHere == nil
  }

  /// The phone refused to be read; whether that is news.
  mutating func refused(at now: Instant) -> Bool {
    if case .refused = authorization { return false }
    authorization = .refused(lastTry: now, next: now + timing.retry, pause: timing.retry)
    return true
  }

  /// The phone lets us read; whether that is news.
  mutating func granted(at now: Instant) -> Bool {
    if case .granted = authorization { return false }
    authorization = .granted
    probeDue = now + timing.probe
    return true
  }
}
