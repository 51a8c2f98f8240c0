// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// The link to the broker: when it is tried, what ends it, and when it is tried again.
///
///     waiting ──due──▶ connecting ──CONNACK──▶ connected ──▶ leaving ──▶ (gone)
///        ▲                  │                      │
///        ├──── failed ──────┴────── lost ──────────┤
///     refused ◀── refused: nothing but its user helps, so it is tried seldom
///
/// Inputs are what the socket tells, and time; the edge performs what `Action` says.
public struct BrokerMachine: Sendable {
  public enum State: Hashable, Sendable {
    /// It is tried again at `until`. `failures`: how many attempts have failed in a row.
    case waiting(until: Instant, failures: Int, why: String?)
    /// The name is looked up, the connection opened, and CONNECT sent.
    case connecting(deadline: Instant, failures: Int, why: String?)
    /// `acknowledgement`: by when the broker has to acknowledge something; nil if it owes nothing.
    case connected(BrokerLimits, since: Instant, acknowledgement: Instant?)
    /// DISCONNECT was sent.
    case leaving(deadline: Instant)
    /// The broker has said no.
    case refused(why: String, until: Instant)
    case gone
  }

  public enum Action: Hashable, Sendable {
    case connect
    /// Ends the connection without a word, so that the broker tells the will.
    case drop
    /// Says DISCONNECT.
    case disconnect
    /// Is to be said, and to be seen in `status`.
    case say(String)
    case finish
  }

  public private(set) var state: State
  /// How often in a row another client has taken the session over, or seems to have.
  private var takeovers = 0
  private let clientID: String
  /// Spreads attempts, so that the boards of a house do not come all at once: 0 to 1.
  private let jitter: @Sendable () -> Double

  /// How long the broker has for CONNACK.
  static let connectTime = Duration.seconds(20)
  /// How long it has for an acknowledgement.
  static let acknowledgementTime = Duration.seconds(30)
  /// How long DISCONNECT has to get out.
  static let leavingTime = Duration.seconds(2)
  /// The longest pause between attempts.
  static let longestPause = Duration.seconds(60)
  /// The pause where the broker has said no.
  public static let refusalPause = Duration.seconds(300)
  /// After so many take-overs in a row this side gives way.
  static let mostTakeovers = 3
  /// A connection that the broker closes so soon without a word may have been taken over.
  static let suspiciousTime = Duration.seconds(15)
  /// How long this side gives way where that is all that is known.
  static let suspicionPause = Duration.seconds(60)
  /// A link that has lasted so long was a good one.
  static let goodTime = Duration.seconds(60)

  public init(now: Instant, clientID: String, jitter: @escaping @Sendable () -> Double) {
    self.clientID = clientID
    state = .waiting(until: now, failures: 0, why: nil)
    self.jitter = jitter
  }

  /// When `timeUp` is to be called; nil: not at all.
  public var deadline: Instant? {
    switch state {
    case .waiting(let until, _, _), .refused(_, let until): until
    case .connecting(let deadline, _, _), .leaving(let deadline): deadline
    case .connected(_, _, let acknowledgement): acknowledgement
    case .gone: nil
    }
  }

  /// The limits of the connection; nil if there is none.
  public var limits: BrokerLimits? {
    if case .connected(let limits, _, _) = state { limits } else { nil }
  }

  /// Why there is no connection, in words; nil if there is one, or was no attempt yet.
  public var trouble: String? {
    switch state {
    case .waiting(_, _, let why), .connecting(_, _, let why): why
    case .refused(let why, _): why
    case .connected, .leaving, .gone: nil
    }
  }

  // MARK: Inputs

  /// The deadline has passed.
  public mutating func timeUp(now: Instant) -> [Action] {
    guard let deadline, deadline <= now else { return [] }
    switch state {
    case .waiting(_, let failures, let why):
      state = .connecting(deadline: now + Self.connectTime, failures: failures, why: why)
      return [.connect]
    case .refused(let why, _):
      state = .connecting(deadline: now + Self.connectTime, failures: 0, why: why)
      return [.connect]
    case .connecting:
      return [.drop] + lost("it did not respond within 20 s", now: now)
    case .connected:
      return [.drop]
        + lost("it has acknowledged no message for 30 s", now: now)
    case .leaving:
      state = .gone
      return [.drop, .finish]
    case .gone: return []
    }
  }

  /// The broker has accepted the connection.
  public mutating func accepted(_ limits: BrokerLimits, now: Instant) -> [Action] {
    guard case .connecting = state else { return [] }
    state = .connected(limits, since: now, acknowledgement: nil)
    return []
  }

  /// The broker has refused the connection, or ended it for a reason that lasts.
  public mutating func refused(
    _ why: String, for pause: Duration = BrokerMachine.refusalPause, now: Instant
  ) -> [Action] {
    var isNews = true
    switch state {
    case .connecting(_, _, let known): isNews = known != why
    case .connected: break
    case .waiting, .leaving, .refused, .gone: return []
    }
    state = .refused(why: why, until: now + pause)
    return isNews ? [.drop, .say(why)] : [.drop]
  }

  /// Another client with the same id has taken the session over (MQTT 5, 3.14.2.1, 0x8E).
  public mutating func takenOver(now: Instant) -> [Action] {
    let why =
      "another client has connected as “\(clientID)”: two boards have the same name (board = in [mqtt])"
    takeovers += 1
    guard takeovers >= Self.mostTakeovers else { return [.drop] + lost(why, now: now) }
    takeovers = 0
    return refused("\(why); this one backs off for 5 minutes", now: now)
  }

  /// The broker has closed the connection without a word. Mosquitto 2.0.11 does so when a session is taken over.
  public mutating func closed(now: Instant) -> [Action] {
    let why = "the broker closed the connection"
    guard case .connected(_, let since, _) = state, now - since < Self.suspiciousTime else {
      return lost(why, now: now)
    }
    takeovers += 1
    guard takeovers >= Self.mostTakeovers else { return lost(why, now: now) }
    takeovers = 0
    let guess =
      "\(why) \(Self.mostTakeovers) times soon after connecting: perhaps another board has the same name, and "
      + "connects as “\(clientID)” too (board = in [mqtt]); this one backs off for a minute"
    return refused(guess, for: Self.suspicionPause, now: now)
  }

  /// The connection could not be made, or has ended.
  public mutating func lost(_ why: String, now: Instant) -> [Action] {
    let failures: Int
    // What lasts is logged once.
    var isNews = true
    switch state {
    case .connecting(_, let before, let known):
      failures = before + 1
      isNews = known != why
    case .connected(_, let since, _):
      let wasGood = now - since >= Self.goodTime
      if wasGood { takeovers = 0 }
      failures = wasGood ? 1 : 2
    case .leaving:
      state = .gone
      return [.finish]
    case .waiting, .refused, .gone: return []
    }
    state = .waiting(until: now + pause(after: failures), failures: failures, why: why)
    return isNews ? [.say(why)] : []
  }

  /// The broker owes acknowledgements, or none any more.
  ///
  /// - Parameter hasMoved: whether it has just acknowledged something.
  public mutating func awaits(_ isAwaiting: Bool, hasMoved: Bool = false, now: Instant) {
    guard case .connected(let limits, let since, let deadline) = state else { return }
    let next: Instant? =
      !isAwaiting
      ? nil
      : hasMoved
        ? now + Self.acknowledgementTime
        : deadline ?? now + Self.acknowledgementTime
    state = .connected(limits, since: since, acknowledgement: next)
  }

  /// The program is to end.
  public mutating func leave(now: Instant) -> [Action] {
    switch state {
    case .connected:
      state = .leaving(deadline: now + Self.leavingTime)
      return [.disconnect]
    case .connecting:
      state = .gone
      return [.drop, .finish]
    case .waiting, .refused:
      state = .gone
      return [.finish]
    case .leaving, .gone: return []
    }
  }

  /// 1, 2, 4 … 60 s, each with up to half of it more or less.
  private func pause(after failures: Int) -> Duration {
    let seconds = min(1 << min(max(failures - 1, 0), 6), 60)
    let spread = 0.5 + jitter()
    return min(.milliseconds(Int64(Double(seconds) * spread * 1_000)), Self.longestPause)
  }
}

/// What the broker allows, as CONNACK says (MQTT 5, 3.2.2.3).
public struct BrokerLimits: Hashable, Sendable {
  public var receiveMaximum = 65_535
  /// The longest packet, in bytes; nil: no limit.
  public var packetSize: Int?
  /// 0: nothing is acknowledged.
  public var quality = 1
  public var retains = true
  /// In seconds, as the broker has it.
  public var keepAlive = 0
  /// The id that the broker has given; nil: ours.
  public var clientID: String?

  public init() {}
}
