// SPDX-License-Identifier: GPL-3.0-or-later

/// What real phones count, leave out and forget, as people have reported it. Each rule has its source and a switch; by
/// default none is kept.
public struct PhoneRules: Hashable, Sendable {
  /// After how many links in a row without a subscription it stays away until its user taps the accessory; nil: never.
  public var strikes: Int?
  /// The longest text in bytes, whatever the maximum in the request; nil: no limit.
  public var textLimit: Int?
  /// Whether a notification that is older than half a minute when it is delivered is marked as pre-existing.
  public var marksLate = false
  /// Whether Modified is announced once, and again only after the notification was fetched.
  public var modifiesOnce = false
  /// Whether the UIDs begin at 1 again after the last unsubscription.
  public var restartsUIDs = false
  /// Whether the Control Point responds although sharing is off.
  public var respondsUnshared = false
  /// Whether Entity Update tells of an attribute only when it has changed, not upon a registration.
  public var updatesChangesOnly = false
  /// The app with “Show Previews: Never”, whose notifications are not announced.
  public var hiddenApp: String?

  public init() {}

  /// A rule that can be switched.
  public struct Entry: Sendable {
    public let name: String
    /// What the phone does.
    public let summary: String
    /// Who says so.
    public let source: String
    let set: @Sendable (inout PhoneRules, String) -> Bool
  }

  /// All rules.
  public static let entries: [Entry] = [
    Entry(
      name: "strikes", summary: "links in a row without a subscription until the phone stays away",
      source: "stackoverflow.com 29132352; winchesterinnovation.co.uk, ios-ancs-bug-report",
      set: { $0.setCount(\.strikes, $1) }),
    Entry(
      name: "text-limit", summary: "the longest text in bytes, whatever was asked for",
      source: "unconfirmed reports: 512", set: { $0.setCount(\.textLimit, $1) }),
    Entry(
      name: "late", summary: "what is older than 30 s when it is delivered is pre-existing",
      source: "PebbleOS, ancs.c: phones set the flag on late deliveries; the 30 s are unconfirmed",
      set: { $0.setFlag(\.marksLate, $1) }),
    Entry(
      name: "modified-once", summary: "Modified is announced once until it was fetched again",
      source: "unconfirmed reports", set: { $0.setFlag(\.modifiesOnce, $1) }),
    Entry(
      name: "fresh-uids", summary: "UIDs begin at 1 after the last unsubscription",
      source: "ANCS specification: UIDs are valid for a session; a capture of iOS 26.5.1 kept them",
      set: { $0.setFlag(\.restartsUIDs, $1) }),
    Entry(
      name: "unshared", summary: "the Control Point responds although sharing is off",
      source: "unconfirmed reports about iOS up to 18", set: { $0.setFlag(\.respondsUnshared, $1) }),
    Entry(
      name: "media-changes", summary: "Entity Update tells only what changed",
      source: "unconfirmed reports", set: { $0.setFlag(\.updatesChangesOnly, $1) }),
    Entry(
      name: "previews",
      summary: "the app with “Show Previews: Never”, of which nothing is announced",
      source: "unconfirmed reports",
      set: {
        guard !$1.isEmpty else { return false }
        $0.hiddenApp = $1
        return true
      }),
  ]

  /// Applies `NAME=VALUE`; false if the name is unknown or the value is not valid.
  public mutating func set(_ text: String) -> Bool {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let entry = Self.entries.first(where: { $0.name == parts[0] }) else {
      return false
    }
    return entry.set(&self, String(parts[1]))
  }

  private mutating func setCount(_ rule: WritableKeyPath<Self, Int?>, _ text: String) -> Bool {
    guard text != "off" else {
      self[keyPath: rule] = nil
      return true
    }
    guard let count = Int(text), count > 0 else { return false }
    self[keyPath: rule] = count
    return true
  }

  private mutating func setFlag(_ rule: WritableKeyPath<Self, Bool>, _ text: String) -> Bool {
    guard text == "on" || text == "off" else { return false }
    self[keyPath: rule] = text == "on"
    return true
  }
}
