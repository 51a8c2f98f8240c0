// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Whether the phone lets its notifications be read (Settings › Bluetooth › Share System Notifications).
public enum Authorization: String, CaseIterable, Hashable, Sendable {
  /// It has not said yet. A subscription that it accepts says nothing about it, and neither does silence.
  case pending
  /// It has answered on the Data Source, or refused a command for what the command asks.
  case granted
  /// It refuses commands with Write Not Permitted (0x03).
  case refused
}

/// Decides when to check a session that may be dead, and what to do: all its deadlines in one place.
///
/// - A call that still rings after two minutes must have lost its removal.
/// - A phone that has not allowed access yet is asked again.
/// - Every fifteen minutes the phone is probed: it may have dropped the session silently.
/// - After six hours of silence the subscriptions are written again: a phone may answer commands after
///   its notifications have ceased.
struct SessionWatch: Sendable {
  /// What is due.
  enum Task: Hashable, Sendable {
    /// End this call, which has rung too long.
    case endCall(NotificationUID)
    /// Ask the phone something that it has to answer.
    case probe
    /// Write the subscriptions again.
    case subscribeAgain
  }

  /// What the answer to a command shows of the session.
  enum Verdict: Hashable, Sendable {
    case granted
    /// Refused for lack of permission.
    case refused
    /// The Control Point is not there, or not valid any more.
    case gone
    /// Nothing: it is not an answer to the command, or did not come in time.
    case unclear
  }

  /// What follows from an answer.
  enum News: Hashable, Sendable {
    case authorization(Authorization)
    case dead
  }

  private enum Access: Sendable {
    /// `isTold`: the owner knows that the phone was asked and gave no answer.
    case pending(isTold: Bool)
    case granted
    case refused(lastTry: Instant)
  }

  /// How many probes in a row may stay without an answer.
  private static let patience = 2

  private let timing: ConsumerSettings.Timing
  private var access = Access.pending(isTold: false)
  private var probeDue: Instant?
  /// How long after a probe the next one follows while access is not granted.
  private var pause: Duration
  /// The probes in a row without an answer.
  private var unanswered = 0
  private var silenceDue: Instant?
  private var calls: [NotificationUID: Instant] = [:] { didSet { callDue = calls.values.min() } }
  /// When the first of the calls is to end.
  private var callDue: Instant?
  /// Calls that were ended here, whose removals may still arrive.
  private var ended = FIFO<NotificationUID>(limit: callCapacity)
  /// The most calls that are watched.
  private static let callCapacity = 64

  init(_ timing: ConsumerSettings.Timing) {
    self.timing = timing
    pause = timing.retry
  }

  /// Whether the phone is known to allow access.
  var isGranted: Bool { if case .granted = access { true } else { false } }

  /// The next deadline.
  var nextDeadline: Instant? {
    var next = silenceDue
    if let probeDue, next.map({ probeDue < $0 }) ?? true { next = probeDue }
    if let callDue, next.map({ callDue < $0 }) ?? true { next = callDue }
    return next
  }

  /// What is due at `now`. It counts as done.
  mutating func due(at now: Instant) -> [Task] {
    var tasks: [Task] = []
    for (uid, deadline) in calls.sorted(by: { $0.value < $1.value }) where deadline <= now {
      calls[uid] = nil
      ended.append(uid)
      tasks.append(.endCall(uid))
    }
    if let due = probeDue, due <= now {
      tasks.append(.probe)
      if isGranted {
        probeDue = now + timing.probe
      } else {
        probeDue = now + pause
        pause = min(pause + pause, timing.longestRetry)
      }
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
    if case .refused(let lastTry) = access, let due = probeDue {
      probeDue = min(due, max(now, lastTry + timing.retry))
    }
    let wasEndedHere = ended.contains(event.uid)
    if wasEndedHere { ended.removeAll { $0 == event.uid } }
    let isCall = event.category == .incomingCall && event.change != .removed
    if isCall, calls[event.uid] != nil || calls.count < Self.callCapacity {
      calls[event.uid] = now + timing.call
    } else if !calls.isEmpty {
      calls[event.uid] = nil
    }
    return event.change != .removed || !wasEndedHere
  }

  /// The phone has answered a command, or has not. After a command without an answer it is probed at once;
  /// after a probe without one it is probed once more, and then the session counts as dead.
  mutating func judge(_ verdict: Verdict, ofProbe isProbe: Bool, at now: Instant) -> News? {
    switch verdict {
    case .granted:
      unanswered = 0
      guard !isGranted else { return nil }
      (access, pause) = (.granted, timing.retry)
      probeDue = now + timing.probe
      return .authorization(.granted)
    case .refused:
      unanswered = 0
      defer { access = .refused(lastTry: now) }
      if case .refused = access { return nil }
      (probeDue, pause) = (now + timing.retry, timing.retry + timing.retry)
      return .authorization(.refused)
    case .gone: return .dead
    case .unclear where !isProbe:
      probeDue = now
      return nil
    case .unclear:
      unanswered += 1
      if unanswered >= Self.patience { return .dead }
      probeDue = now + timing.retry
      guard case .pending(isTold: false) = access else { return nil }
      access = .pending(isTold: true)
      return .authorization(.pending)
    }
  }
}
