// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A service on a server: its type and the handles that belong to it (Vol 3 Part G, 3.1).
public struct Service: Hashable, Sendable {
  public var uuid: UUID
  public var range: HandleRange

  public init(uuid: UUID, range: HandleRange) {
    self.uuid = uuid
    self.range = range
  }
}

/// A service that another one refers to (Vol 3 Part G, 3.2).
public struct Include: Hashable, Sendable {
  /// The handle of the include declaration.
  public var handle: Handle
  public var service: Service

  public init(handle: Handle, service: Service) {
    self.handle = handle
    self.service = service
  }
}

/// A characteristic: a value with a type and what may be done with it (Vol 3 Part G, 3.3).
public struct Characteristic: Hashable, Sendable {
  /// The handle of its declaration.
  public var declaration: Handle
  public var properties: Properties
  /// The handle of its value.
  public var value: Handle
  public var uuid: UUID
  /// The last handle that belongs to it.
  public var end: Handle
  /// The handle of its Client Characteristic Configuration, once that is known.
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

  /// Where its descriptors are; nil where there is no room for any.
  public var descriptors: HandleRange? {
    value < end ? HandleRange(value + 1, end) : nil
  }

  /// What may be done with a characteristic (Vol 3 Part G, 3.3.1.1).
  public struct Properties: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let broadcast = Properties(rawValue: 0x01)
    public static let read = Properties(rawValue: 0x02)
    public static let writeWithoutResponse = Properties(rawValue: 0x04)
    public static let write = Properties(rawValue: 0x08)
    public static let notify = Properties(rawValue: 0x10)
    public static let indicate = Properties(rawValue: 0x20)
    public static let signedWrite = Properties(rawValue: 0x40)
    public static let extended = Properties(rawValue: 0x80)

    /// Their names in the order of the bits, as BlueZ's tools write them.
    public var names: [String] {
      let all = [
        "broadcast", "read", "write-without-response", "write", "notify", "indicate",
        "authenticated-signed-writes", "extended-properties",
      ]
      return all.indices.filter { rawValue >> $0 & 1 == 1 }.map { all[$0] }
    }
  }
}

/// What a client asks for in a Client Characteristic Configuration (Vol 3 Part G, 3.3.3.3).
public enum Subscription: UInt16, Hashable, Sendable {
  case none = 0x0000
  case notifications = 0x0001
  case indications = 0x0002

  /// The value as it is written, little endian.
  public var bytes: [UInt8] { [UInt8(truncatingIfNeeded: rawValue), 0] }
}

/// A service with those of its characteristics that somebody needs: what is worth remembering of a
/// server from one connection to the next.
public struct LocatedService: Hashable, Sendable {
  public var service: Service
  public var characteristics: [Characteristic]

  public init(service: Service, characteristics: [Characteristic]) {
    self.service = service
    self.characteristics = characteristics
  }

  /// The first characteristic of this type.
  public subscript(uuid: UUID) -> Characteristic? {
    characteristics.first { $0.uuid == uuid }
  }
}
