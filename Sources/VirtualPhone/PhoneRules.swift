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

  /// The names of all rules.
  public static var names: [String] { switches.map(\.name) }

  /// Each rule's name, and what sets it; that returns false for an invalid value.
  private static let switches: [(name: String, set: @Sendable (inout Self, String) -> Bool)] = [
    ("strikes", { $0.setCount(\.strikes, $1) }), ("text-limit", { $0.setCount(\.textLimit, $1) }),
    ("late", { $0.setFlag(\.marksLate, $1) }),
    ("modified-once", { $0.setFlag(\.modifiesOnce, $1) }),
    ("fresh-uids", { $0.setFlag(\.restartsUIDs, $1) }),
    ("unshared", { $0.setFlag(\.respondsUnshared, $1) }),
    ("media-changes", { $0.setFlag(\.updatesChangesOnly, $1) }),
    (
      "previews",
      {
        guard !$1.isEmpty else { return false }
        $0.hiddenApp = $1
        return true
      }
    ),
  ]

  /// Applies `NAME=VALUE`; false if the name is unknown or the value is not valid.
  public mutating func set(_ text: String) -> Bool {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let rule = Self.switches.first(where: { $0.name == parts[0] }) else {
      return false
    }
    return rule.set(&self, String(parts[1]))
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
