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

  /// Whether it is news that a late client may have missed: not a state that the next event makes obsolete, and not an
  /// event that is never kept.
  public var isNews: Bool {
    switch self {
    case .incoming, .lost, .why, .media, .battery, .time, .advertising: false
    default: true
    }
  }

  /// What a client has to ask for again after an event of this kind.
  public struct Outdated: OptionSet, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    public static let status = Outdated(rawValue: 1)
    /// The active notifications: what the daemon had for a phone may be gone.
    public static let notifications = Outdated(rawValue: 2)
  }

  public var outdates: Outdated {
    switch self {
    case .incoming, .notification, .media, .time: []
    case .disconnected: [.status, .notifications]
    default: .status
    }
  }

  /// Those that a client reads to follow all states: each `incoming` is followed by its notification.
  public static let followed = Set(allCases).subtracting([.incoming])
}
