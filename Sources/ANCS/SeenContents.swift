// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A hash of a notification's contents, which identifies it across sessions: a UID is valid only within one session.
public struct ContentSignature: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The signature of app, date, title and message; nil without app or date.
  ///
  /// Without a date, a notification cannot be distinguished from a second one like it: the same person may call again.
  /// The date of a calendar notification is that of the event, of which there may be several reminders.
  public init?(_ attributes: borrowing NotificationAttributes) {
    guard let app = attributes.utf8(.appIdentifier), attributes.date != nil,
      app != Self.calendar[...]
    else { return nil }
    var hash = StableHash()
    hash.combine(app)
    hash.combine(attributes.utf8(.date))
    hash.combine(attributes.utf8(.title))
    hash.combine(attributes.utf8(.message))
    rawValue = hash.value
  }

  /// The signature is already a hash, and there are so few that crafted collisions are harmless.
  public func _rawHashValue(seed: Int) -> Int { Int(truncatingIfNeeded: rawValue) }

  private static let calendar = Array("com.apple.mobilecal".utf8)
}

/// The signatures of a phone's last notifications, which the owner keeps across sessions.
public struct SeenContents: Sendable, Hashable {
  /// The maximum number of signatures; beyond it, the oldest is forgotten.
  public static let capacity = 1024

  private var signatures = FIFO<ContentSignature>(limit: capacity)
  private var set: Set<ContentSignature> = []

  /// The signatures, oldest first.
  public var order: [ContentSignature] { Array(signatures) }

  public init() {}

  /// The signatures of an earlier run, oldest first.
  public init(_ signatures: some Sequence<ContentSignature>) {
    for signature in signatures { insert(signature) }
  }

  public func contains(_ signature: ContentSignature) -> Bool { set.contains(signature) }

  /// Adds a signature.
  public mutating func insert(_ signature: ContentSignature) {
    guard set.insert(signature).inserted else { return }
    if let oldest = signatures.append(signature) { set.remove(oldest) }
  }

  public static func == (one: SeenContents, other: SeenContents) -> Bool {
    one.signatures.elementsEqual(other.signatures)
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(order) }
}
