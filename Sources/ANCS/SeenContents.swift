// SPDX-License-Identifier: GPL-3.0-or-later

/// What a notification says, as a number: UIDs are good for one session only, so this is what tells that
/// a notification of an earlier session has come again.
public struct ContentSignature: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// The signature of app, date, title and message ; nil without app or date.
  ///
  /// What has no date can't be told from a second one like it: the same person may call again. The date
  /// of the calendar's notifications is that of the appointment, which may remind more than once.
  public init?(_ attributes: NotificationAttributes) {
    guard let app = attributes.appIdentifier, app != "com.apple.mobilecal",
      attributes.date != nil
    else { return nil }
    var hash = FNV()
    for text in [app, attributes[.date], attributes.title, attributes.message] {
      var text = text ?? ""
      text.makeContiguousUTF8()
      text.utf8.withContiguousStorageIfAvailable { hash.combine($0) }
      // 0xFF is in no UTF-8 text, so it keeps the texts apart.
      hash.combine(CollectionOfOne(0xFF))
    }
    rawValue = hash.value
  }

  /// FNV-1a with 64 bits: the same in every run and on every machine.
  private struct FNV {
    var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func combine(_ bytes: some Sequence<UInt8>) {
      for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
  }
}

/// The signatures of the last notifications of a phone; the owner keeps it from one session to the next.
public struct SeenContents: Sendable {
  /// How many are remembered; beyond it the oldest is forgotten.
  public static let capacity = 1024

  /// As they came; once there are as many as can be, the oldest is at `first`.
  private var ring: [ContentSignature] = []
  private var first = 0
  private var set: Set<ContentSignature> = []

  /// The signatures, oldest first.
  public var order: [ContentSignature] { Array(ring[first...] + ring[..<first]) }

  public init() {}

  /// The signatures of an earlier run, oldest first.
  public init(_ signatures: some Sequence<ContentSignature>) {
    for signature in signatures { insert(signature) }
  }

  public func contains(_ signature: ContentSignature) -> Bool { set.contains(signature) }

  /// Remembers one.
  public mutating func insert(_ signature: ContentSignature) {
    guard set.insert(signature).inserted else { return }
    if ring.count < Self.capacity {
      ring.append(signature)
    } else {
      set.remove(ring[first])
      ring[first] = signature
      first = (first + 1) % ring.count
    }
  }

  /// Remembers all of `others`.
  public mutating func formUnion(_ others: SeenContents) {
    for signature in others.order { insert(signature) }
  }
}

extension SeenContents: Hashable {
  public static func == (one: SeenContents, other: SeenContents) -> Bool {
    one.order == other.order
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(order) }
}
