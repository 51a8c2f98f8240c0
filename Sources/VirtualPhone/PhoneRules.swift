// SPDX-License-Identifier: GPL-3.0-or-later

/// What real phones count, leave out and forget, as people have reported it. Each rule has a switch; by default none is
/// kept.
public struct PhoneRules: Hashable, Sendable {
  /// After how many links in a row without a subscription it stays away until its user taps the accessory; nil: never.
  /// (stackoverflow.com 29132352, winchesterinnovation.co.uk “ios-ancs-bug-report”: three; five is said too)
  public var strikes: Int?
  /// The longest text in bytes, whatever the maximum in the request; nil: no limit. (Unconfirmed: 512.)
  public var textLimit: Int?
  /// Whether a notification that is older than half a minute when it is delivered is marked as pre-existing. (PebbleOS,
  /// ancs.c: phones mark late deliveries; the half minute is unconfirmed.)
  public var marksLate = false
  /// Whether Modified is announced once, and again only after the notification was fetched. (Unconfirmed.)
  public var modifiesOnce = false
  /// Whether the UIDs begin at 1 again after the last unsubscription. (ANCS specification; a capture of iOS 26.5.1 kept
  /// them.)
  public var restartsUIDs = false
  /// Whether the Control Point responds although sharing is off. (Unconfirmed, iOS up to 18.)
  public var respondsUnshared = false
  /// Whether Entity Update tells of an attribute only when it has changed, not upon a registration. (Unconfirmed.)
  public var updatesChangesOnly = false
  /// The app with “Show Previews: Never”, whose notifications are not announced. (Unconfirmed.)
  public var hiddenApp: String?

  public init() {}

  /// The rules with a number, and those that are on or off.
  private static let counts: [(name: String, any WritableKeyPath<Self, Int?> & Sendable)] = [
    ("strikes", \.strikes), ("text-limit", \.textLimit),
  ]
  private static let flags: [(name: String, any WritableKeyPath<Self, Bool> & Sendable)] = [
    ("late", \.marksLate), ("modified-once", \.modifiesOnce), ("fresh-uids", \.restartsUIDs),
    ("unshared", \.respondsUnshared), ("media-changes", \.updatesChangesOnly),
  ]

  /// The names of all rules.
  public static var names: [String] { counts.map(\.name) + flags.map(\.name) + ["previews"] }

  /// Applies `NAME=VALUE`; false if the name is unknown or the value is not valid.
  public mutating func set(_ text: String) -> Bool {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return false }
    let (name, value) = (parts[0], String(parts[1]))
    if let (_, rule) = Self.counts.first(where: { $0.name == name }) {
      guard value == "off" || Int(value).map({ $0 > 0 }) == true else { return false }
      self[keyPath: rule] = Int(value)
    } else if let (_, rule) = Self.flags.first(where: { $0.name == name }) {
      guard value == "on" || value == "off" else { return false }
      self[keyPath: rule] = value == "on"
    } else if name == "previews", !value.isEmpty {
      hiddenApp = value
    } else {
      return false
    }
    return true
  }
}
