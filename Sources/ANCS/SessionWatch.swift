// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Whether the phone allows access to its notifications (Settings › Bluetooth › Share System Notifications).
public enum Authorization: Hashable, Sendable {
  /// Unknown yet. An accepted subscription proves nothing, and neither does silence.
  case unknown(until: Proof)
  /// It has announced a notification and responded about it; or it responds, and has refused before.
  case granted
  /// It refuses commands with Write Not Permitted (0x03).
  case refused

  /// What it waits for while it is unknown.
  public enum Proof: String, CaseIterable, Hashable, Sendable {
    /// The phone has to respond to a command.
    case response
    /// The phone responds, but older ones do so without permission too: a notification proves it.
    case notification
  }
}

/// Decides when to check a session that may be dead, and what to do: all its deadlines in one place.
///
/// - If a call still rings after two minutes, its removal must have been lost.
/// - A phone that has not allowed access yet is probed again.
/// - Every fifteen minutes the phone is probed: it may have dropped the session silently.
/// - What is announced as pre-existing is news, unless a subscription has just begun: phones mark what they deliver late.
/// - After six hours of silence the subscriptions are written again: a phone may still respond to commands after its
///   notifications have stopped. If it had lost them, it announces what it has.
struct SessionWatch: Sendable {
  /// A due task.
  enum Task: Hashable, Sendable {
    /// End this call, which has rung too long.
    case endCall(NotificationUID)
    /// Send the phone a request that it must respond to.
    case probe
    /// Write the subscriptions again.
    case subscribeAgain
  }

  /// What a command is for.
  enum Command: Hashable, Sendable {
    /// For a notification that the phone has announced.
    case fetch
    case probe
    /// For a user.
    case request
  }

  /// What the response to a command shows about the session.
  enum Evidence: Hashable, Sendable {
    case responded
    /// Refused for lack of permission.
    case refused
    /// The Control Point does not exist, or is no longer valid.
    case gone
    /// Nothing: it is not a response to the command, or did not arrive in time.
    case unclear
  }

  /// The consequence of a response.
  enum News: Hashable, Sendable {
    case authorization(Authorization)
    case dead
  }

  private enum Access: Sendable {
    /// `isTold`: the owner knows that the phone was probed and did not respond.
    case pending(isTold: Bool)
    /// It responds, which does not prove that it allows access.
    case responding
    case granted
    case refused(lastTry: Instant)
  }

  /// How many probes in a row may go unanswered.
  private static let patience = 2

  private let timing: ConsumerTiming
  private var access = Access.pending(isTold: false)
  private var probeDue: Instant?
  /// How long after a probe the next one follows while access is not granted.
  private var pause: Duration
  /// The number of unanswered probes in a row.
  private var unanswered = 0
  private var silenceDue: Instant?
  /// From when on nothing counts as pre-existing; nil while a subscription is being written.
  private var newsFrom: Instant?
  /// Whether the subscriptions were written again after silence, and nothing has shown since that the phone had lost them.
  private var isRenewed = false
  private var calls: [NotificationUID: Instant] = [:] { didSet { callDue = calls.values.min() } }
  /// When the first of the calls should end.
  private var callDue: Instant?
  /// Calls that were ended here, whose removals may still arrive.
  private var ended = FIFO<NotificationUID>(limit: callCapacity)
  /// The maximum number of watched calls.
  private static let callCapacity = 64

  init(_ timing: ConsumerTiming) {
    self.timing = timing
    pause = timing.retry
  }

  /// Whether the phone allows access, as far as is known.
  var authorization: Authorization {
    switch access {
    case .pending: .unknown(until: .response)
    case .responding: .unknown(until: .notification)
    case .granted: .granted
    case .refused: .refused
    }
  }

  /// Whether the phone is known to respond to commands.
  var isResponding: Bool {
    switch access {
    case .responding, .granted: true
    case .pending, .refused: false
    }
  }

  /// The next deadline.
  var nextDeadline: Instant? {
    var next = silenceDue
    if let probeDue, next.map({ probeDue < $0 }) ?? true { next = probeDue }
    if let callDue, next.map({ callDue < $0 }) ?? true { next = callDue }
    return next
  }

  /// The tasks due at `now`, which then count as done.
  mutating func due(at now: Instant) -> [Task] {
    var tasks: [Task] = []
    for (uid, deadline) in calls.sorted(by: { $0.value < $1.value }) where deadline <= now {
      calls[uid] = nil
      ended.append(uid)
      tasks.append(.endCall(uid))
    }
    if let due = probeDue, due <= now {
      tasks.append(.probe)
      if isResponding {
        probeDue = now + timing.probe
      } else {
        probeDue = now + pause
        pause = min(pause + pause, timing.longestRetry)
      }
    }
    if let due = silenceDue, due <= now {
      silenceDue = now + timing.silence
      isRenewed = true
      tasks.append(.subscribeAgain)
    }
    return tasks
  }

  /// The session has begun.
  mutating func sessionBegan(at now: Instant) {
    subscribed(at: now)
    probeDue = now + (isResponding ? timing.probe : timing.firstProbe)
    silenceDue = now + timing.silence
  }

  /// The subscriptions are about to be written again.
  mutating func subscribing() { newsFrom = nil }

  /// The subscriptions were written: the phone announces what it has.
  mutating func subscribed(at now: Instant) { newsFrom = now + timing.preExisting }

  /// Corrects an event of the Notification Source: what is announced late is no longer pre-existing. A phone that
  /// refused access announces what it has when its user allows that.
  ///
  /// - Returns: whether the event shows that the phone had lost the subscriptions that were written again: it announces
  ///   what it has, so a new session has begun.
  mutating func correct(_ event: inout NotificationEvent, at now: Instant) -> Bool {
    guard event.flags.contains(.preExisting) else { return false }
    if authorization != .refused, let newsFrom, now >= newsFrom {
      event.flags.remove(.preExisting)
      return false
    }
    defer { isRenewed = false }
    return isRenewed
  }

  /// The Notification Source has sent an event. Returns false for the removal of a call that was ended
  /// here.
  mutating func received(_ event: NotificationEvent, at now: Instant) -> Bool {
    silenceDue = now + timing.silence
    // The user may just have allowed access.
    if case .refused(let lastTry) = access, let due = probeDue {
      probeDue = min(due, max(now, lastTry + timing.retry))
    }
    let wasEndedHere = !ended.isEmpty && ended.contains(event.uid)
    if wasEndedHere { ended.removeAll { $0 == event.uid } }
    let isCall = event.category == .incomingCall && event.change != .removed
    if isCall, calls[event.uid] != nil || calls.count < Self.callCapacity {
      calls[event.uid] = now + timing.call
    } else if !calls.isEmpty {
      calls[event.uid] = nil
    }
    return event.change != .removed || !wasEndedHere
  }

  /// The phone has responded to a command, or has not. After an unanswered command it is probed at once; after an
  /// unanswered probe it is probed once more, and then the session counts as dead.
  ///
  /// Older phones respond without permission, but announce nothing: so what is fetched of a notification proves
  /// permission, and a probe does only where the phone has refused before.
  mutating func note(_ evidence: Evidence, of command: Command, at now: Instant) -> News? {
    switch evidence {
    case .responded:
      unanswered = 0
      if case .granted = access { return nil }
      var isProof = command == .fetch || timing.responsesProve
      if case .refused = access {
        isProof = true
        subscribed(at: now)
      }
      if case .responding = access, !isProof { return nil }
      (access, pause) = (isProof ? .granted : .responding, timing.retry)
      probeDue = now + timing.probe
      return .authorization(isProof ? .granted : .unknown(until: .notification))
    case .refused:
      unanswered = 0
      defer { access = .refused(lastTry: now) }
      if case .refused = access { return nil }
      (probeDue, pause) = (now + timing.retry, timing.retry + timing.retry)
      return .authorization(.refused)
    case .gone: return .dead
    case .unclear where command != .probe:
      probeDue = now
      return nil
    case .unclear:
      unanswered += 1
      if unanswered >= Self.patience { return .dead }
      probeDue = now + timing.retry
      guard case .pending(isTold: false) = access else { return nil }
      access = .pending(isTold: true)
      return .authorization(.unknown(until: .response))
    }
  }
}
