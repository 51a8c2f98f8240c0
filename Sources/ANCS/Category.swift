// SPDX-License-Identifier: GPL-3.0-or-later

/// What kind of notification it is, to the phone's best knowledge (CategoryID). Phones newer than the
/// specification send more than these; they are kept by their number.
public struct Category: RawRepresentable, Hashable, Sendable {
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

  /// The category's name, where it has one.
  public var name: String? { rawValue < Self.names.count ? Self.names[Int(rawValue)] : nil }
}

extension Category: LosslessStringConvertible {
  /// Reads a category's name, or its number.
  public init?(_ description: String) {
    if let index = Self.names.firstIndex(of: description) {
      self.init(rawValue: UInt8(index))
    } else if let number = UInt8(description) {
      self.init(rawValue: number)
    } else {
      return nil
    }
  }

  /// The name, or the number of one that has none.
  public var description: String { name ?? String(rawValue) }
}
