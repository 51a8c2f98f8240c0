// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A 16-byte key. Its bytes never show in a description, a dump or a failed test.
public struct SecretKey: Hashable, Sendable {
  /// The key, in the order of the kernel's structures.
  public let bytes: [UInt8]

  /// Nil unless there are exactly sixteen bytes.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  /// A key from two random numbers.
  public init(_ one: UInt64, _ other: UInt64) {
    bytes = [one, other].flatMap { number in
      (0..<8).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }
  }
}

extension SecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "(secret)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A Long Term Key (`struct mgmt_ltk_info`): 36 bytes, the same in New Long Term Key and in an entry of
/// Load Long Term Keys (docs/kernel.md, “Reconnecting with stored keys”).
public struct LongTermKey: Hashable, Sendable {
  /// The other side; its identity address once an Identity Resolving Key has arrived.
  public internal(set) var peer: DeviceAddress
  /// How the key was made.
  public let kind: Kind
  /// Whether the key is for links on which this side is the central. Legacy pairing makes a key for
  /// each role, Secure Connections one for both.
  public let isCentral: Bool
  /// The key's strength in bytes, 7 to 16.
  public let size: UInt8
  /// Encrypted Diversifier: identifies a key from legacy pairing, otherwise 0.
  public let diversifier: UInt16
  /// Random Number: identifies a key from legacy pairing, otherwise 0.
  public let random: UInt64
  public let value: SecretKey

  /// How a key was made (`MGMT_LTK_*`). Unknown numbers are kept.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Legacy pairing, Just Works.
    public static let legacy = Kind(rawValue: 0)
    /// Legacy pairing, Passkey Entry.
    public static let legacyAuthenticated = Kind(rawValue: 1)
    /// Secure Connections, Just Works.
    public static let secure = Kind(rawValue: 2)
    /// Secure Connections, Numeric Comparison or Passkey Entry.
    public static let secureAuthenticated = Kind(rawValue: 3)
    /// Secure Connections with the specification's published debug key, which protects nothing.
    public static let debug = Kind(rawValue: 4)

    /// Whether the key was made by LE Secure Connections.
    public var isSecureConnections: Bool {
      self == .secure || self == .secureAuthenticated || self == .debug
    }

    /// Whether a person took part, which protects against a man in the middle.
    public var isAuthenticated: Bool {
      self == .legacyAuthenticated || self == .secureAuthenticated
    }
  }
}

extension LongTermKey {
  /// Reads the 36 bytes of an entry.
  public init(entry: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(entry)
    try self.init(from: &reader)
    try reader.end()
  }

  init(from reader: inout ByteReader) throws(DecodeError) {
    peer = try reader.deviceAddress()
    kind = Kind(rawValue: try reader.u8())
    isCentral = try reader.flag("central")
    size = try reader.u8()
    diversifier = try reader.u16()
    random = try reader.u64()
    value = try reader.key()
  }

  /// The 36 bytes of an entry of Load Long Term Keys.
  public var entry: [UInt8] {
    var writer = ByteWriter(capacity: 36)
    writer.deviceAddress(peer)
    writer.u8(kind.rawValue)
    writer.flag(isCentral)
    writer.u8(size)
    writer.u16(diversifier)
    writer.u64(random)
    writer.bytes(value.bytes)
    return writer.bytes
  }
}

/// An Identity Resolving Key, which resolves the private addresses of `peer` (`struct mgmt_irk_info`): 23
/// bytes, the same in New Identity Resolving Key and in an entry of Load Identity Resolving Keys.
public struct IdentityResolvingKey: Hashable, Sendable {
  /// The identity address.
  public let peer: DeviceAddress
  public let value: SecretKey
}

extension IdentityResolvingKey {
  /// Reads the 23 bytes of an entry.
  public init(entry: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(entry)
    try self.init(from: &reader)
    try reader.end()
  }

  init(from reader: inout ByteReader) throws(DecodeError) {
    peer = try reader.deviceAddress()
    value = try reader.key()
  }

  /// The 23 bytes of an entry of Load Identity Resolving Keys.
  public var entry: [UInt8] {
    var writer = ByteWriter(capacity: 23)
    writer.deviceAddress(peer)
    writer.bytes(value.bytes)
    return writer.bytes
  }
}

extension ByteReader {
  mutating func key() throws(DecodeError) -> SecretKey {
    let start = offset
    guard let key = SecretKey(try bytes(16)) else {
      throw DecodeError(offset: start, .invalid("a key"))
    }
    return key
  }
}
