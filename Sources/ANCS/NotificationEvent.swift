// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What the phone says on the Notification Source: something about one of its notifications has
/// happened (ANCS specification, Notification Source).
///
/// The value is always these eight bytes, UID little endian; other lengths are not a value of this
/// characteristic.
///
///     ┌─────────┬────────────┬────────────┬───────────────┬──────────────────┐
///     │ EventID │ EventFlags │ CategoryID │ CategoryCount │ NotificationUID  │
///     └─────────┴────────────┴────────────┴───────────────┴──────────────────┘
///       0         1            2            3               4 … 7
public struct NotificationEvent: Hashable, Sendable {
  /// What has happened.
  public var change: Change
  /// What is special about the notification.
  public var flags: EventFlags
  /// What kind of notification it is.
  public var category: Category
  /// How many notifications of this category are active now, this one included.
  public var categoryCount: UInt8
  /// Which notification it is.
  public var uid: NotificationUID

  public init(
    _ change: Change, _ uid: NotificationUID, category: Category = .other,
    categoryCount: UInt8 = 1, flags: EventFlags = []
  ) {
    self.change = change
    self.flags = flags
    self.category = category
    self.categoryCount = categoryCount
    self.uid = uid
  }

  /// Reads a value of the Notification Source: exactly eight bytes.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    change = Change(rawValue: try reader.u8())
    flags = EventFlags(rawValue: try reader.u8())
    category = Category(rawValue: try reader.u8())
    categoryCount = try reader.u8()
    uid = NotificationUID(rawValue: try reader.u32())
    try reader.end()
  }

  /// The eight bytes for the air.
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

/// The phone's number for a notification, good for one session only (ANCS specification, Sessions).
public struct NotificationUID: RawRepresentable, Hashable, Comparable, Sendable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// The highest number there is. No phone was seen to use it, so asking for it should be refused with
  /// Invalid Parameter: a question that tells whether the session is alive.
  public static let probe = NotificationUID(rawValue: .max)

  public static func < (one: NotificationUID, other: NotificationUID) -> Bool {
    one.rawValue < other.rawValue
  }
}

extension NotificationUID: CustomStringConvertible, ExpressibleByIntegerLiteral {
  public init(integerLiteral value: UInt32) { self.init(rawValue: value) }
  public var description: String { String(rawValue) }
}

/// What has happened to a notification (EventID); numbers that the specification reserves are kept.
public struct Change: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let added = Change(rawValue: 0)
  public static let modified = Change(rawValue: 1)
  public static let removed = Change(rawValue: 2)
}

extension Change: CustomStringConvertible {
  /// `added`, `modified`, `removed`, or the number of one that is reserved.
  public var description: String {
    switch self {
    case .added: "added"
    case .modified: "modified"
    case .removed: "removed"
    default: String(rawValue)
    }
  }
}
