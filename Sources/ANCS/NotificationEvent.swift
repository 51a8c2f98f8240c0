// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// An event of the Notification Source: a notification was added, modified or removed (ANCS
/// specification, Notification Source).
///
/// The value is exactly these eight bytes, the UID little endian.
///
///     ┌─────────┬────────────┬────────────┬───────────────┬──────────────────┐
///     │ EventID │ EventFlags │ CategoryID │ CategoryCount │ NotificationUID  │
///     └─────────┴────────────┴────────────┴───────────────┴──────────────────┘
///       0         1            2            3               4 … 7
public struct NotificationEvent: Hashable, Sendable {
  /// The kind of change.
  public var change: NotificationChange
  /// Properties of the notification.
  public var flags: EventFlags
  /// The kind of notification.
  public var category: Category
  /// The number of active notifications of this category, including this one.
  public var categoryCount: UInt8
  /// The notification's number in this session.
  public var uid: NotificationUID

  public init(
    _ change: NotificationChange, _ uid: NotificationUID, category: Category = .other,
    categoryCount: UInt8 = 1, flags: EventFlags = []
  ) {
    self.change = change
    self.flags = flags
    self.category = category
    self.categoryCount = categoryCount
    self.uid = uid
  }

  /// Decodes a value of the Notification Source: exactly eight bytes.
  public init(decoding value: [UInt8]) throws(DecodeError) { try self.init(decoding: value[...]) }

  /// Decodes a value of the Notification Source: exactly eight bytes.
  public init(decoding value: ArraySlice<UInt8>) throws(DecodeError) {
    var reader = ByteReader(value)
    change = NotificationChange(rawValue: try reader.u8())
    flags = EventFlags(rawValue: try reader.u8())
    category = Category(rawValue: try reader.u8())
    categoryCount = try reader.u8()
    uid = NotificationUID(rawValue: try reader.u32())
    try reader.end()
  }

  /// The eight bytes of the value.
  public var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 8)
    writer.u8(change.rawValue)
    writer.u8(flags.rawValue)
    writer.u8(category.rawValue)
    writer.u8(categoryCount)
    writer.u32(uid.rawValue)
    return writer.bytes
  }
}

/// The phone's number for a notification, valid within one session (ANCS specification, Sessions).
public struct NotificationUID: RawRepresentable, Hashable, Comparable, Sendable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The highest number. No phone has been seen to use it, so a phone should refuse a command about
  /// it with Invalid Parameter, which shows that the session is alive.
  public static let probe = NotificationUID(rawValue: .max)

  public static func < (one: NotificationUID, other: NotificationUID) -> Bool {
    one.rawValue < other.rawValue
  }

  /// Hashes the number in one step, at a third of the cost that the library has for a struct. Every
  /// notification is looked up several times.
  public func _rawHashValue(seed: Int) -> Int { rawValue._rawHashValue(seed: seed) }
}

extension NotificationUID: CustomStringConvertible, ExpressibleByIntegerLiteral {
  public init(integerLiteral value: UInt32) { self.init(rawValue: value) }
  public var description: String { String(rawValue) }
}

/// The change of a notification (EventID). Reserved numbers are kept.
public struct NotificationChange: NamedNumber {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let added = NotificationChange(rawValue: 0)
  public static let modified = NotificationChange(rawValue: 1)
  public static let removed = NotificationChange(rawValue: 2)

  public static let names = ["added", "modified", "removed"]

  /// Whether it is not a reserved number.
  public var isKnown: Bool { rawValue <= Self.removed.rawValue }
}

/// Properties of a notification (EventFlags). Unknown bits are kept.
public struct EventFlags: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// To be shown without a sound; set for quiet notifications and while the phone is muted.
  public static let silent = EventFlags(rawValue: 1 << 0)
  /// To be shown with emphasis.
  public static let important = EventFlags(rawValue: 1 << 1)
  /// It existed before the session.
  public static let preExisting = EventFlags(rawValue: 1 << 2)
  /// It has a positive action, such as Answer.
  public static let positiveAction = EventFlags(rawValue: 1 << 3)
  /// It has a negative action, such as Clear.
  public static let negativeAction = EventFlags(rawValue: 1 << 4)

  /// The bits that have names, from the lowest on.
  private static let named: [(EventFlags, String)] = [
    (.silent, "silent"), (.important, "important"), (.preExisting, "pre-existing"),
    (.positiveAction, "positive-action"), (.negativeAction, "negative-action"),
  ]

  /// The names of the known bits that are set, lowest bit first.
  public var names: [String] { Self.named.filter { contains($0.0) }.map(\.1) }

  /// The unknown bits.
  public var unnamed: EventFlags { subtracting(Self.named.reduce(into: []) { $0.formUnion($1.0) }) }

  /// The names of the set bits, followed by those without a name, as in `0x20`.
  public var labels: [String] { (0..<8).filter { rawValue >> $0 & 1 != 0 }.map(Self.label(ofBit:)) }

  /// The name of a bit, 0 to 7, or its number as in `0x20`.
  public static func label(ofBit bit: Int) -> String {
    bit < named.count ? named[bit].1 : "0x\(String(1 << bit, radix: 16))"
  }

  /// The flag with that name, or the unnamed bit, as in `labels`.
  public init?(name: String) {
    if let flag = Self.named.first(where: { $0.1 == name }) {
      self = flag.0
    } else if name.hasPrefix("0x"), let bits = UInt8(digits: name.dropFirst(2), radix: 16) {
      self.init(rawValue: bits)
    } else {
      return nil
    }
  }
}

/// The kind of notification (CategoryID). Phones newer than the specification send more numbers than
/// these, which are kept.
public struct Category: NamedNumber {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let other = Category(rawValue: 0)
  public static let incomingCall = Category(rawValue: 1)
  public static let missedCall = Category(rawValue: 2)
  public static let voicemail = Category(rawValue: 3)
  public static let social = Category(rawValue: 4)
  public static let schedule = Category(rawValue: 5)
  public static let email = Category(rawValue: 6)
  public static let news = Category(rawValue: 7)
  public static let healthAndFitness = Category(rawValue: 8)
  public static let businessAndFinance = Category(rawValue: 9)
  public static let location = Category(rawValue: 10)
  public static let entertainment = Category(rawValue: 11)

  /// The names of the categories 0 to 11, in their order.
  public static let names = [
    "other", "incoming-call", "missed-call", "voicemail", "social", "schedule", "email", "news",
    "health-and-fitness", "business-and-finance", "location", "entertainment",
  ]
}

extension Category: LosslessStringConvertible {
  /// Reads a category's name or number.
  public init?(_ description: String) {
    guard let category = Self(name: description) ?? UInt8(digits: description).map(Self.init(rawValue:))
    else { return nil }
    self = category
  }
}
