// SPDX-License-Identifier: GPL-3.0-or-later

/// What can be asked about a notification (NotificationAttributeID).
public struct NotificationAttributeID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let appIdentifier = NotificationAttributeID(rawValue: 0)
  public static let title = NotificationAttributeID(rawValue: 1)
  public static let subtitle = NotificationAttributeID(rawValue: 2)
  public static let message = NotificationAttributeID(rawValue: 3)
  public static let messageSize = NotificationAttributeID(rawValue: 4)
  public static let date = NotificationAttributeID(rawValue: 5)
  public static let positiveActionLabel = NotificationAttributeID(rawValue: 6)
  public static let negativeActionLabel = NotificationAttributeID(rawValue: 7)

  /// All eight, in the order of their numbers.
  public static let all = (UInt8(0)..<8).map(NotificationAttributeID.init(rawValue:))

  private static let names = [
    "app", "title", "subtitle", "message", "size", "date", "positive", "negative",
  ]

  private static let specificationNames = [
    "AppIdentifier", "Title", "Subtitle", "Message", "MessageSize", "Date",
    "PositiveActionLabel", "NegativeActionLabel",
  ]

  /// Whether a maximum length, two bytes, follows it in a command. With the others it would be read as
  /// the ids of more attributes.
  public var takesMaximumLength: Bool { self == .title || self == .subtitle || self == .message }

  /// The short name that people type: `app`, `title`, `subtitle`, `message`, `size`, `date`,
  /// `positive`, `negative`.
  public var name: String? {
    rawValue < Self.names.count ? Self.names[Int(rawValue)] : nil
  }

  /// The attribute of that short name.
  public init?(name: String) {
    guard let index = Self.names.firstIndex(of: name) else { return nil }
    self.init(rawValue: UInt8(index))
  }
}

extension NotificationAttributeID: CustomStringConvertible {
  /// The specification's name, or `reserved(9)`.
  public var description: String {
    rawValue < Self.specificationNames.count
      ? Self.specificationNames[Int(rawValue)] : "reserved(\(rawValue))"
  }
}

/// What can be asked about an app (AppAttributeID).
public struct AppAttributeID: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The app's name as the phone's user sees it.
  public static let displayName = AppAttributeID(rawValue: 0)
}

extension AppAttributeID: CustomStringConvertible {
  /// The specification's name, or `reserved(9)`.
  public var description: String {
    self == .displayName ? "DisplayName" : "reserved(\(rawValue))"
  }
}

/// What can be done about a notification (ActionID).
public struct Action: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let positive = Action(rawValue: 0)
  public static let negative = Action(rawValue: 1)
}

extension Action: LosslessStringConvertible {
  /// Reads `positive` or `negative`.
  public init?(_ description: String) {
    switch description {
    case "positive": self = .positive
    case "negative": self = .negative
    default: return nil
    }
  }

  /// `positive`, `negative`, or the number of one that is reserved.
  public var description: String {
    switch self {
    case .positive: "positive"
    case .negative: "negative"
    default: String(rawValue)
    }
  }
}
