// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// One structure of advertising data: a kind and its value (Core Specification Vol 3 Part C, 11;
/// the kinds in Assigned Numbers, 2.3).
public struct AdvertisingStructure: Hashable, Sendable {
  public let kind: Kind
  /// Everything behind the kind; at most 254 bytes fit the length.
  public let value: [UInt8]

  /// What the value is. Open: every number is kept.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let flags = Kind(rawValue: 0x01)
    public static let completeShortUUIDs = Kind(rawValue: 0x03)
    public static let shortenedName = Kind(rawValue: 0x08)
    public static let completeName = Kind(rawValue: 0x09)
    /// Services that the advertiser wishes the other side to have, by 128-bit UUID.
    public static let solicitedLongUUIDs = Kind(rawValue: 0x15)
    public static let appearance = Kind(rawValue: 0x19)
  }

  public init(_ kind: Kind, _ value: [UInt8]) {
    self.kind = kind
    self.value = Array(value.prefix(254))
  }

  /// Length, kind and value.
  public var encoded: [UInt8] { [UInt8(value.count + 1), kind.rawValue] + value }

  /// A name in at most `room` bytes with its length and kind: complete where it fits, else cut
  /// between two characters and called shortened; nil where not one character fits.
  static func name(_ name: String, room: Int) -> AdvertisingStructure? {
    let fitting = name.utf8(atMost: max(0, room - 2))
    guard !fitting.isEmpty else { return nil }
    let isWhole = fitting.count == name.utf8.count
    return AdvertisingStructure(isWhole ? .completeName : .shortenedName, fitting)
  }
}

/// Advertising data, as structures.
public struct AdvertisingData: Hashable, Sendable {
  public let structures: [AdvertisingStructure]

  public init(_ structures: [AdvertisingStructure]) { self.structures = structures }

  /// Reads what a device advertised; a structure that is cut, and what follows it, is left out, as
  /// is the padding that a length of 0 begins.
  public init(decoding bytes: [UInt8]) {
    var structures: [AdvertisingStructure] = []
    var rest = bytes[...]
    while let length = rest.popFirst(), length > 0, rest.count >= Int(length) {
      let body = rest.prefix(Int(length))
      rest = rest.dropFirst(Int(length))
      if let kind = body.first {
        structures.append(
          AdvertisingStructure(.init(rawValue: kind), Array(body.dropFirst())))
      }
    }
    self.structures = structures
  }

  /// The structures one behind the other.
  public var encoded: [UInt8] { structures.flatMap(\.encoded) }

  /// The name that it advertises, the complete one if both are there.
  public var localName: String? {
    let names = [AdvertisingStructure.Kind.completeName, .shortenedName].lazy.compactMap { kind in
      structures.first { $0.kind == kind }
    }
    return names.first.map { String(decoding: $0.value, as: UTF8.self) }
  }
}
