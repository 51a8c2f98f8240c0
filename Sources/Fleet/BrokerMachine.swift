// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// The connection to the broker: when to connect, what ends it, and when to retry.
///
///     waiting ──due──▶ connecting ──CONNACK──▶ connected ──▶ leaving ──▶ (gone)
///        ▲                  │                      │
///        ├──── failed ──────┴────── lost ──────────┤
///     refused ◀── refused: only the user can help, so it retries rarely
///
/// Inputs are the socket's events, and time; the owner performs the actions.
public struct BrokerMachine: Sendable {
  public enum State: Hashable, Sendable {
    /// It retries at `until`.
    case waiting(until: Instant)
    /// The name is looked up, the connection opened, and CONNECT sent.
    case connecting(deadline: Instant)
    /// `acknowledgement`: the deadline for the broker's next acknowledgement; nil if none is due.
    case connected(since: Instant, acknowledgement: Instant?)
    /// DISCONNECT was sent.
    case leaving(deadline: Instant)
    /// The broker has refused.
    case refused(until: Instant)
    case gone
  }

  public enum Action: Hashable, Sendable {
    case connect
    /// Drop the connection without DISCONNECT, so the broker publishes the will.
    case drop
    /// Send DISCONNECT.
    case disconnect
    /// Log this, and show it in `status`.
    case say(String)
    case finish
  }

  public private(set) var state: State
  /// The number of consecutive failed attempts. They count until a connection has lasted.
  public private(set) var failures = 0
  /// Why there is no connection, in words; nil if there is one, or there was no attempt yet.
  public private(set) var trouble: String?
  /// The number of consecutive takeovers by another client, real or suspected.
  private(set) var takeovers = 0
  private let clientID: String
  private let pauses: RetryPauses

  /// How long the broker has for CONNACK.
  static let connectTime = Duration.seconds(20)
  /// How long it has for an acknowledgement.
  static let acknowledgementTime = Duration.seconds(30)
  /// How long sending DISCONNECT may take.
  static let leavingTime = Duration.seconds(2)
  /// The pause after a refusal.
  static let refusalPause = Duration.seconds(300)
  /// The number of consecutive takeovers after which this side backs off.
  static let mostTakeovers = 3
  /// If the broker closes a connection without a reason within this time, it may have been taken
  /// over.
  static let suspiciousTime = Duration.seconds(15)
  /// How long this side backs off on mere suspicion.
  static let suspicionPause = Duration.seconds(60)
  /// A connection that has lasted this long was good.
  public static let goodTime = Duration.seconds(60)
  /// Between two attempts to connect.
  public static let longestPause = Duration.seconds(60)

  public init(now: Instant, clientID: String, jitter: @escaping @Sendable () -> Double) {
    self.clientID = clientID
    state = .waiting(until: now)
    pauses = RetryPauses(longest: Self.longestPause, jitter: jitter)
  }

  /// When to call `timeUp`; nil: not at all.
  public var deadline: Instant? {
    switch state {
    case .waiting(let due), .refused(let due), .connecting(let due), .leaving(let due): due
    case .connected(_, let acknowledgement): acknowledgement
    case .gone: nil
    }
  }

  /// Whether the broker has accepted the connection.
  public var isConnected: Bool { if case .connected = state { true } else { false } }

  // MARK: Inputs

  /// The deadline has passed.
  public mutating func timeUp(now: Instant) -> [Action] {
    guard let deadline, deadline <= now else { return [] }
    switch state {
    case .waiting, .refused:
      if case .refused = state { failures = 0 }
      state = .connecting(deadline: now + Self.connectTime)
      return [.connect]
    case .connecting: return lost("it did not respond within 20 s", now: now)
    case .connected: return lost("it has acknowledged no message for 30 s", now: now)
    case .leaving, .gone: return lost("", now: now)
    }
  }

  /// The broker has accepted the connection.
  public mutating func accepted(now: Instant) -> [Action] {
    guard case .connecting = state else { return [] }
    state = .connected(since: now, acknowledgement: nil)
    trouble = nil
    return []
  }

  /// The broker has refused the connection, or ended it for a persistent reason.
  public mutating func refused(_ why: String, now: Instant) -> [Action] {
    refused(why, for: Self.refusalPause, now: now)
  }

  private mutating func refused(_ why: String, for pause: Duration, now: Instant) -> [Action] {
    switch state {
    case .connecting, .connected: break
    case .leaving: return lost(why, now: now)
    case .waiting, .refused, .gone: return []
    }
    state = .refused(until: now + pause)
    return [.drop] + say(why)
  }

  /// A persistent reason is logged once.
  private mutating func say(_ why: String) -> [Action] {
    defer { trouble = why }
    return trouble == why ? [] : [.say(why)]
  }

  /// Another client with the same id has taken the session over (MQTT 5, 3.14.2.1, 0x8E).
  public mutating func takenOver(now: Instant) -> [Action] {
    let why = "another client has connected as “\(clientID)”: two boards have the same name (board = in [mqtt])"
    return takenOver(why, after: "\(why); this one backs off for 5 minutes", for: Self.refusalPause, now: now)
  }

  /// The broker has closed the connection without a reason. Mosquitto 2.0.11 does so when a session
  /// is taken over.
  public mutating func closed(now: Instant) -> [Action] {
    let why = "the broker closed the connection"
    guard case .connected(let since, _) = state, now - since < Self.suspiciousTime else {
      return lost(why, now: now)
    }
    let guess =
      "\(why) \(Self.mostTakeovers) times soon after connecting: perhaps another board has the same name, and "
      + "connects as “\(clientID)” too (board = in [mqtt]); this one backs off for a minute"
    return takenOver(why, after: guess, for: Self.suspicionPause, now: now)
  }

  /// - Parameters:
  ///   - persistent: what to say instead if it has happened too often.
  ///   - pause: how long this side then backs off.
  private mutating func takenOver(
    _ why: String, after persistent: String, for pause: Duration, now: Instant
  ) -> [Action] {
    takeovers += 1
    guard takeovers >= Self.mostTakeovers else { return lost(why, now: now) }
    takeovers = 0
    return refused(persistent, for: pause, now: now)
  }

  /// The connection could not be made, or has ended.
  public mutating func lost(_ why: String, now: Instant) -> [Action] {
    switch state {
    case .connecting: failures += 1
    case .connected(let since, _):
      let wasGood = now - since >= Self.goodTime
      if wasGood { takeovers = 0 }
      failures = wasGood ? 1 : failures + 1
    case .leaving:
      state = .gone
      return [.drop, .finish]
    case .waiting, .refused, .gone: return []
    }
    state = .waiting(until: now + pauses.pause(after: failures))
    return [.drop] + say(why)
  }

  /// The broker owes acknowledgements, or no longer does.
  ///
  /// - Parameter hasMoved: whether it has just acknowledged something.
  public mutating func awaits(_ isAwaiting: Bool, hasMoved: Bool = false, now: Instant) {
    guard case .connected(let since, let deadline) = state else { return }
    let known = hasMoved ? nil : deadline
    let next = isAwaiting ? known ?? now + Self.acknowledgementTime : nil
    state = .connected(since: since, acknowledgement: next)
  }

  /// The program is exiting.
  public mutating func leave(now: Instant) -> [Action] {
    trouble = nil
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
}
