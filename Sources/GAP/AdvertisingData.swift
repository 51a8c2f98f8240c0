// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// One structure of advertising data: a type and a value (Core Specification Vol 3 Part C, 11; types
/// in Assigned Numbers, 2.3; formats in the Supplement to the Core Specification, Part A).
public struct AdvertisingStructure: Hashable, Sendable {
  public let kind: Kind
  /// At most 254 bytes: the length of a structure is one byte and counts the type too.
  public let value: [UInt8]

  /// The AD type. Unknown numbers are kept.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let flags = Kind(rawValue: 0x01)
    public static let incompleteUUIDs16 = Kind(rawValue: 0x02)
    public static let completeUUIDs16 = Kind(rawValue: 0x03)
    public static let incompleteUUIDs32 = Kind(rawValue: 0x04)
    public static let completeUUIDs32 = Kind(rawValue: 0x05)
    public static let incompleteUUIDs128 = Kind(rawValue: 0x06)
    public static let completeUUIDs128 = Kind(rawValue: 0x07)
    public static let shortenedName = Kind(rawValue: 0x08)
    public static let completeName = Kind(rawValue: 0x09)
    public static let txPower = Kind(rawValue: 0x0A)
    /// Services that the advertiser is looking for.
    public static let solicitedUUIDs16 = Kind(rawValue: 0x14)
    /// Services that the advertiser is looking for.
    public static let solicitedUUIDs128 = Kind(rawValue: 0x15)
    public static let serviceData16 = Kind(rawValue: 0x16)
    public static let appearance = Kind(rawValue: 0x19)
    public static let manufacturerData = Kind(rawValue: 0xFF)
  }

  public init(_ kind: Kind, _ value: [UInt8]) {
    self.kind = kind
    self.value = Array(value.prefix(254))
  }

  /// A list of service UUIDs, 16-bit ones in two bytes, others in sixteen.
  public init(_ kind: Kind, uuids: [UUID]) { self.init(kind, uuids.flatMap(\.littleEndian)) }

  /// A local name of at most `length` bytes, length and type included: complete if it fits, otherwise
  /// shortened at a character boundary; nil if not even one character fits.
  public static func name(_ name: String, atMost length: Int) -> AdvertisingStructure? {
    let fitting = name.utf8(atMost: max(0, length - 2))
    guard !fitting.isEmpty else { return nil }
    let isWhole = fitting.count == name.utf8.count
    return AdvertisingStructure(isWhole ? .completeName : .shortenedName, fitting)
  }

  /// Length, type and value.
  public var encoded: [UInt8] { [UInt8(value.count + 1), kind.rawValue] + value }
}

/// The payload of an advertisement or scan response: a sequence of structures.
public struct AdvertisingData: Hashable, Sendable {
  public let structures: [AdvertisingStructure]
  /// The incomplete structure that ends the data, if there is one.
  public let cut: Cut?

  /// A structure that claims more bytes than are left.
  public struct Cut: Hashable, Sendable {
    /// The length that it claims.
    public let length: Int
    /// The number of bytes left.
    public let available: Int
  }

  public init(_ structures: [AdvertisingStructure]) {
    self.structures = structures
    cut = nil
  }

  /// Reads what a device advertised, up to the first incomplete structure or to the padding, which a
  /// length of 0 begins.
  public init(decoding bytes: some Sequence<UInt8>) {
    var structures: [AdvertisingStructure] = []
    var reader = ByteReader(Array(bytes))
    var cut: Cut?
    while let length = try? reader.u8(), length > 0 {
      let available = reader.remaining
      guard let kind = try? reader.u8(), let value = try? reader.bytes(Int(length) - 1) else {
        cut = Cut(length: Int(length), available: available)
        break
      }
      structures.append(AdvertisingStructure(.init(rawValue: kind), Array(value)))
    }
    self.structures = structures
    self.cut = cut
  }

  /// The concatenated structures.
  public var encoded: [UInt8] { structures.flatMap(\.encoded) }

  /// The local name; the complete one if there are both.
  public var localName: String? {
    let names = [AdvertisingStructure.Kind.completeName, .shortenedName].lazy.compactMap { kind in
      structures.first { $0.kind == kind }
    }
    return names.first.map { String(decoding: $0.value, as: UTF8.self) }
  }
}
