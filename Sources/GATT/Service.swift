// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

// A server's contents as a client finds them: services, their characteristics, and the values of
// the declarations and descriptors that describe them (Vol 3 Part G, 3).

/// A service on a server: its type and its handles (Vol 3 Part G, 3.1).
public struct Service: Hashable, Sendable {
  public var uuid: UUID
  public var range: HandleRange

  public init(uuid: UUID, range: HandleRange) {
    self.uuid = uuid
    self.range = range
  }
}

/// A service that another one includes (Vol 3 Part G, 3.2).
public struct Include: Hashable, Sendable {
  /// The handle of the include declaration.
  public var handle: Handle
  public var service: Service
}

/// A characteristic: a typed value and its properties (Vol 3 Part G, 3.3).
public struct Characteristic: Hashable, Sendable {
  /// The handle of its declaration.
  public var declaration: Handle
  public var properties: Properties
  /// The handle of its value.
  public var value: Handle
  public var uuid: UUID
  /// The last handle that belongs to it.
  public var end: Handle
  /// The handle of its Client Characteristic Configuration descriptor, once it is known.
  public var cccd: Handle?

  public init(
    declaration: Handle, properties: Properties, value: Handle, uuid: UUID, end: Handle,
    cccd: Handle? = nil
  ) {
    self.declaration = declaration
    self.properties = properties
    self.value = value
    self.uuid = uuid
    self.end = end
    self.cccd = cccd
  }

  /// The characteristic that is declared at `handle`.
  public init(_ declared: CharacteristicDeclaration, at handle: Handle, end: Handle) {
    self.init(
      declaration: handle, properties: declared.properties, value: declared.value, uuid: declared.uuid, end: end)
  }

  /// The handles of its descriptors; nil if there is no room for any.
  public var descriptors: HandleRange? { value < end ? HandleRange(value + 1, end) : nil }

  /// Whether it has values to subscribe to.
  var isSubscribable: Bool { properties.isSubscribable }

  /// The properties of a characteristic (Vol 3 Part G, 3.3.1.1).
  public struct Properties: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Whether there are values to subscribe to.
    public var isSubscribable: Bool { !isDisjoint(with: [.notify, .indicate]) }

    public static let broadcast = Properties(rawValue: 0x01)
    public static let read = Properties(rawValue: 0x02)
    public static let writeWithoutResponse = Properties(rawValue: 0x04)
    public static let write = Properties(rawValue: 0x08)
    public static let notify = Properties(rawValue: 0x10)
    public static let indicate = Properties(rawValue: 0x20)
    public static let signedWrite = Properties(rawValue: 0x40)
    public static let extended = Properties(rawValue: 0x80)

    /// The names of the bits that are set, in BlueZ's spelling, lowest bit first.
    public var names: [String] {
      let all = [
        "broadcast", "read", "write-without-response", "write", "notify", "indicate",
        "authenticated-signed-writes", "extended-properties",
      ]
      return all.indices.filter { rawValue >> $0 & 1 == 1 }.map { all[$0] }
    }
  }
}

/// A service with the characteristics in use: what is worth remembering about a server across
/// connections.
public struct LocatedService: Hashable, Sendable {
  public var service: Service
  public var characteristics: [Characteristic]

  public init(service: Service, characteristics: [Characteristic]) {
    self.service = service
    self.characteristics = characteristics
  }

  /// The first characteristic of this type.
  public subscript(uuid: UUID) -> Characteristic? { characteristics.first { $0.uuid == uuid } }
}

// MARK: - Values of declarations and descriptors

/// The value of a characteristic declaration: properties, the value's handle and type (Vol 3 Part G,
/// 3.3.1). Five octets, or nineteen with a 128-bit type; little endian.
public struct CharacteristicDeclaration: Hashable, Sendable {
  public var properties: Characteristic.Properties
  /// The handle of the characteristic's value.
  public var value: Handle
  public var uuid: UUID

  public init(properties: Characteristic.Properties, value: Handle, uuid: UUID) {
    self.properties = properties
    self.value = value
    self.uuid = uuid
  }

  /// Decodes the declaration's value.
  public init(decoding bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    properties = Characteristic.Properties(rawValue: try reader.u8())
    value = try reader.u16()
    uuid = try reader.uuid(width: reader.remaining)
  }

  /// The declaration's value.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.u8(properties.rawValue)
    writer.u16(value)
    writer.uuid(uuid)
    return writer.bytes
  }
}

/// The value of an include declaration: the included service's handles, and its type if that has 16
/// bits (Vol 3 Part G, 3.2). Four or six octets, little endian.
public struct IncludeDeclaration: Hashable, Sendable {
  public var range: HandleRange
  /// Nil if the type has 128 bits, which have to be read from the included service itself.
  public var uuid: UUID?

  /// The declaration that includes `service`.
  public init(_ service: Service) {
    range = service.range
    uuid = service.uuid.short == nil ? nil : service.uuid
  }

  /// Decodes the declaration's value.
  public init(decoding bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    range = try reader.handleRange()
    uuid = reader.isAtEnd ? nil : try reader.uuid(width: reader.remaining)
  }

  /// The declaration's value.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.handleRange(range)
    if let uuid { writer.uuid(uuid) }
    return writer.bytes
  }
}

/// The value of a Client Characteristic Configuration descriptor: the client's subscription; `[]`
/// is none (Vol 3 Part G, 3.3.3.3). Two octets, little endian.
public struct ClientConfiguration: OptionSet, Hashable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let notifications = ClientConfiguration(rawValue: 1)
  public static let indications = ClientConfiguration(rawValue: 2)

  /// Decodes the descriptor's value; the reserved bits are kept.
  public init(decoding bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    rawValue = try reader.u16()
    try reader.end()
  }

  /// The descriptor's value.
  public var encoded: [UInt8] {
    [UInt8(truncatingIfNeeded: rawValue), UInt8(truncatingIfNeeded: rawValue >> 8)]
  }

  /// The names of the known bits that are set.
  public var names: [String] {
    (contains(.notifications) ? ["notifications"] : [])
      + (contains(.indications) ? ["indications"] : [])
  }
}

/// The value of the Service Changed characteristic: the handles that may have changed (Vol 3 Part G,
/// 7.1). Four octets, little endian.
public struct ServiceChanged: Hashable, Sendable {
  public var range: HandleRange

  public init(range: HandleRange) { self.range = range }

  /// Decodes an indicated value.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    range = try reader.handleRange()
    try reader.end()
    guard range.isValid else {
      throw DecodeError(offset: 0, .invalid("the invalid handle range \(range)"))
    }
  }

  /// The value to indicate.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.handleRange(range)
    return writer.bytes
  }
}
