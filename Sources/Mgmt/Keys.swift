// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Sixteen secret bytes. They never show in a description, a dump or a test's failure.
public struct Key: Hashable, Sendable {
  /// The key, in the order of the kernel's structures.
  public let bytes: [UInt8]

  /// A key of exactly sixteen bytes; nil for another number of them.
  public init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }
}

extension Key: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "(secret)" }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A Long Term Key as the kernel tells and takes it: 36 bytes, the same in New Long Term Key behind
/// its store hint and in an entry of Load Long Term Keys (`struct mgmt_ltk_info`).
public struct LongTermKey: Hashable, Sendable {
  /// Whom it is shared with: the identity address, once an Identity Resolving Key told it.
  public let peer: DeviceAddress
  /// How it was made.
  public let kind: Kind
  /// Whether it is the one for links on which this side is the central (legacy pairing makes one
  /// for each direction; Secure Connections one for both).
  public let isCentral: Bool
  /// Its strength in bytes: 7 to 16.
  public let size: UInt8
  /// Encrypted Diversifier: names the key in legacy pairing, else 0.
  public let diversifier: UInt16
  /// Random Number: names the key in legacy pairing, else 0.
  public let random: UInt64
  /// The key itself.
  public let value: Key

  /// How a key was made (`MGMT_LTK_*`). Open: newer kinds are kept.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Legacy pairing, just works.
    public static let legacy = Kind(rawValue: 0)
    /// Legacy pairing with a passkey.
    public static let legacyAuthenticated = Kind(rawValue: 1)
    /// Secure Connections, just works.
    public static let secure = Kind(rawValue: 2)
    /// Secure Connections with a number compared or a passkey.
    public static let secureAuthenticated = Kind(rawValue: 3)
    /// Secure Connections with the specification's published debug key: no secret at all.
    public static let debug = Kind(rawValue: 4)

    /// Whether it came from LE Secure Connections.
    public var isSecureConnections: Bool {
      self == .secure || self == .secureAuthenticated || self == .debug
    }

    /// Whether a person took part, so that nobody stood in the middle.
    public var isAuthenticated: Bool {
      self == .legacyAuthenticated || self == .secureAuthenticated
    }
  }

  public init(
    peer: DeviceAddress, kind: Kind, isCentral: Bool, size: UInt8, diversifier: UInt16,
    random: UInt64, value: Key
  ) {
    self.peer = peer
    self.kind = kind
    self.isCentral = isCentral
    self.size = size
    self.diversifier = diversifier
    self.random = random
    self.value = value
  }

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

  /// The same key under another address of its owner.
  func of(_ peer: DeviceAddress) -> LongTermKey {
    LongTermKey(
      peer: peer, kind: kind, isCentral: isCentral, size: size, diversifier: diversifier,
      random: random, value: value)
  }
}

/// An Identity Resolving Key: what tells that a changing private address belongs to `peer`. 23
/// bytes, the same in New Identity Resolving Key and Load Identity Resolving Keys
/// (`struct mgmt_irk_info`).
public struct IdentityResolvingKey: Hashable, Sendable {
  /// The identity address.
  public let peer: DeviceAddress
  /// The key itself.
  public let value: Key

  public init(peer: DeviceAddress, value: Key) {
    self.peer = peer
    self.value = value
  }

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
  mutating func key() throws(DecodeError) -> Key {
    let start = offset
    guard let key = Key(try bytes(16)) else {
      throw DecodeError(offset: start, .invalid("a key"))
    }
    return key
  }
}
