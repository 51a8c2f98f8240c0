// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// How a link has ended.
public struct LinkEnd: Hashable, Sendable {
  /// The reason when the adapter was unplugged, blocked or switched off.
  public static let adapterGone = "the adapter went away"
  /// The reason of a session whose link is gone for no other.
  public static let linkLost = "the link was lost"
  public static let forgotten = "forgotten by the board"
  public static let daemonExits = "the daemon is exiting"
  /// The reason when phones are no longer accepted because of the kernel's bug.
  public static let closed = "the board no longer accepts phones"
  /// The reason on a link without a radio.
  public static let socketClosed = "the phone closed the socket"

  /// All of these.
  public static let reasons = [adapterGone, linkLost, forgotten, daemonExits, closed, socketClosed]

  /// Who ended it, as far as that reveals something about the bond.
  public enum Cause: Hashable, Sendable {
    /// The phone, or the link was lost.
    case phone
    /// The board, or the adapter was removed.
    case board
    /// The board, because the phone did not encrypt with the bond's key.
    case unencrypted
    /// The two sides' keys differ.
    case keysDiffer
  }

  /// In words, without a full stop.
  public let reason: String
  public let cause: Cause
  /// Whether it was encrypted with a stored key.
  public let wasSecured: Bool
  /// Why the pairing in progress failed; nil if there was none.
  public let failure: PairingFailure?
}

/// Why an ATT channel ended, by the error of its socket (docs/kernel.md, “Read errors”).
public enum ChannelEnd: Hashable, Sendable {
  /// An ordinary disconnect; the socket does not show by which side.
  case disconnected
  /// The link was lost (supervision time-out).
  case timedOut
  /// Authentication failed, or took too long.
  case authenticationFailed
  /// The two sides have different keys (a MIC failure).
  case keysDiffer
  /// The board's kernel has ended it: the adapter was unplugged or blocked, unless mgmt's event says otherwise.
  case aborted
  /// Another error, in words.
  case other(String)

  /// The reason to use instead of that in mgmt's event, as the HCI error if it is one; nil if the event tells more.
  public var reason: String? {
    switch self {
    case .disconnected, .aborted: nil
    case .authenticationFailed: "Authentication Failure"
    case .keysDiffer: "Connection Terminated due to MIC Failure"
    case .timedOut: "Connection Timeout"
    case .other(let error): error
    }
  }

  /// Who ended it.
  var cause: LinkEnd.Cause {
    switch self {
    case .keysDiffer: .keysDiffer
    case .aborted: .board
    case .disconnected, .timedOut, .authenticationFailed, .other: .phone
    }
  }

  /// The reason if mgmt's event does not arrive.
  var ownReason: String {
    reason ?? (self == .aborted ? LinkEnd.adapterGone : "\(DisconnectReason.remote)")
  }
}

// MARK: - The end in the machine

extension LinkMachine {
  /// Device Disconnected.
  mutating func disconnected(_ reason: DisconnectReason, at now: Instant) -> [Action] {
    switch state {
    case .announced: finish("\(reason)", .phone)
    case .ending(.channelClosed(let end), _, _): finish("\(reason)", end.cause)
    // Mgmt has sent the explanation before this event. It is passed in next, however late this turn comes.
    case .ending(.unexplained(let reason), _, _): awaitEnd(.unexplained(reason), at: now)
    case .ending, .over: []
    case .closedOut, .expected, .asked, .awaited, .pairing, .secured, .refused:
      awaitEnd(.announced(reason), at: now)
    }
  }

  /// One report of the end has arrived; the other is expected.
  private mutating func awaitEnd(_ ending: Ending, at now: Instant) -> [Action] {
    state = .ending(ending, from: lastState, until: now + Self.linger)
    return []
  }

  mutating func channelClosed(_ end: ChannelEnd, at now: Instant) -> [Action] {
    if let reason = end.reason {
      let isUnexplained = end == .authenticationFailed && pairing != nil
      if isUnexplained { return awaitEnd(.unexplained(reason), at: now) }
      return finish(reason, end.cause)
    }
    switch state {
    case .ending(.announced(let reason), _, _): return finish("\(reason)", end.cause)
    case .closedOut, .expected, .asked, .awaited, .pairing, .secured, .refused:
      return awaitEnd(.channelClosed(end), at: now)
    case .announced, .ending, .over: return []
    }
  }

  /// No further report of an end follows. mgmt has told of an end before it tells of the adapter.
  mutating func adapterLost() -> [Action] {
    switch state {
    case .ending(.announced(let reason), _, _): finish("\(reason)", .phone)
    case .announced, .ending: finish(LinkEnd.adapterGone, .board)
    case .closedOut, .expected, .asked, .awaited, .pairing, .secured, .refused, .over: []
    }
  }

  /// Ends the link from this side.
  mutating func end(_ reason: String, _ cause: LinkEnd.Cause) -> [Action] {
    [.send(.disconnect(peer))] + finish(reason, cause)
  }

  mutating func finish(_ reason: String?, _ cause: LinkEnd.Cause) -> [Action] {
    let end = LinkEnd(
      reason: reason ?? "", cause: cause, wasSecured: wasSecured, failure: pairing == nil ? nil : .linkLost)
    state = .over(end)
    return [.over(end)]
  }
}
