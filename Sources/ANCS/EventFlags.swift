// SPDX-License-Identifier: GPL-3.0-or-later

/// What is special about a notification (EventFlags). Bits without a name are kept.
public struct EventFlags: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// To be shown without a sound: set for quiet notifications, and while the phone is muted.
  public static let silent = EventFlags(rawValue: 1 << 0)
  /// To be shown with more than usual emphasis.
  public static let important = EventFlags(rawValue: 1 << 1)
  /// It was there before the session.
  public static let preExisting = EventFlags(rawValue: 1 << 2)
  /// It can be acted on positively, such as answered.
  public static let positiveAction = EventFlags(rawValue: 1 << 3)
  /// It can be acted on negatively, such as cleared.
  public static let negativeAction = EventFlags(rawValue: 1 << 4)

  private static let named: [(EventFlags, String)] = [
    (.silent, "silent"), (.important, "important"), (.preExisting, "pre-existing"),
    (.positiveAction, "positive-action"), (.negativeAction, "negative-action"),
  ]

  /// The names of the bits that have one, lowest bit first.
  public var names: [String] { Self.named.filter { contains($0.0) }.map(\.1) }

  /// The bits that have no name.
  public var unnamed: EventFlags {
    subtracting(Self.named.reduce(into: []) { $0.formUnion($1.0) })
  }

  /// The flag of that name.
  public init?(name: String) {
    guard let flag = Self.named.first(where: { $0.1 == name }) else { return nil }
    self = flag.0
  }
}
