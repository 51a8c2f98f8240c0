// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

/// The kinds of events.
public enum EventName: String, CaseIterable, JSONNamed, Sendable {
  case ready, advertising, connected, pairing, paired
  case pairingFailed = "pairing-failed"
  case subscribed, authorization, incoming, notification, media, battery, time, stale
  case servicesChanged = "services-changed"
  case disconnected, error, lost, why

  public static let jsonKind = "the name of an event"

  /// Whether a client has to subscribe to it by name.
  public var isQuiet: Bool { self == .incoming || self == .why }

  /// Where the daemon keeps the latest events, on separate shelves, so that frequent ones never push out rare ones.
  public enum Shelf: Int, CaseIterable, Sendable {
    /// What a late client may have missed.
    case news
    /// Frequent states: the next one makes it obsolete.
    case states
    /// Events of unbonded devices: anybody can connect and disconnect.
    case strangers
  }

  /// The shelf for an event of this kind; nil if it is never kept.
  public func shelf(ofStranger isOfStranger: Bool = false) -> Shelf? {
    switch self {
    case .incoming, .lost, .why: nil
    case _ where isOfStranger: .strangers
    case .media, .battery, .time, .advertising: .states
    default: .news
    }
  }

  /// What a client has to ask for again after an event of this kind.
  public enum Outdated: Sendable {
    case nothing, status
    /// The status and the active notifications: what the daemon had for a phone may be gone.
    case everything
  }

  public var outdates: Outdated {
    switch self {
    case .incoming, .notification, .media, .time: .nothing
    case .disconnected: .everything
    default: .status
    }
  }

  /// Those that a client reads to follow all states: each `incoming` is followed by its notification.
  public static let followed = Set(allCases).subtracting([.incoming])
}
