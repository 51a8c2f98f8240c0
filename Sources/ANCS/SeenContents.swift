// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What a notification says, as a number: UIDs are good for one session only, so this is what tells that
/// a notification of an earlier session has come again.
public struct ContentSignature: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The signature of app, date, title and message (FNV-1a); nil without app or date.
  ///
  /// What has no date can't be told from a second one like it: the same person may call again. The date
  /// of the calendar's notifications is that of the appointment, which may remind more than once.
  public init?(_ attributes: NotificationAttributes) {
    guard let app = attributes.appIdentifier, app != "com.apple.mobilecal",
      let date = attributes.date
    else { return nil }
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for text in [app, date.description, attributes.title ?? "", attributes.message ?? ""] {
      // 0xFF is in no UTF-8 text, so it keeps the texts apart.
      for byte in Array(text.utf8) + [0xFF] {
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
      }
    }
    rawValue = hash
  }
}

/// The signatures of the last notifications of a phone; the owner keeps it from one session to the next.
public struct SeenContents: Hashable, Sendable {
  /// How many are remembered; beyond it the oldest is forgotten.
  public static let capacity = 1024

  /// The signatures, oldest first.
  public private(set) var order: [ContentSignature] = []
  private var set: Set<ContentSignature> = []

  public init() {}

  /// The signatures of an earlier run, oldest first.
  public init(_ signatures: some Sequence<ContentSignature>) {
    for signature in signatures { insert(signature) }
  }

  public func contains(_ signature: ContentSignature) -> Bool { set.contains(signature) }

  /// Remembers one.
  public mutating func insert(_ signature: ContentSignature) {
    guard set.insert(signature).inserted else { return }
    order.append(signature)
    if order.count > Self.capacity { set.remove(order.removeFirst()) }
  }

  /// Remembers all of `others`.
  public mutating func formUnion(_ others: SeenContents) {
    for signature in others.order { insert(signature) }
  }
}
