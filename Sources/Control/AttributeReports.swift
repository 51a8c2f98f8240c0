// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
public import GATT
public import JSON
public import Wire

/// What the daemon knows of the attributes at both ends of a link: an element of `gatt.known`. It
/// needs no request to the phone. A trace that begins later gets its names from here.
public struct KnownLink: JSONObjectCodable, Hashable, Sendable {
  /// Nil for a link without a radio.
  public var adapter: String?
  /// The identity address, or the one that the phone uses on the air.
  public var phone: Address?
  /// The phone's services that were located.
  public var services: [LocatedService] = []
  /// The board's own services.
  public var board: [LocatedService] = []

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("adapter", &adapter)
    try json.optional("phone", &phone)
    try json.list("services", &services)
    try json.list("board", &board)
  }
}

/// A service with the handles of its attributes, as it is stored and reported.
extension LocatedService: JSONObjectCodable {
  public init() {
    self.init(service: Service(uuid: 0, range: HandleRange(1, 1)), characteristics: [])
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("uuid", &service.uuid)
    try json.required("start", &service.range.start)
    try json.required("end", &service.range.end)
    try json.list("characteristics", &characteristics)
  }
}

extension Characteristic: JSONObjectCodable {
  public init() { self.init(declaration: 0, properties: [], value: 0, uuid: 0, end: 0) }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("uuid", &uuid)
    var bits = properties.rawValue
    try json.required("properties", &bits)
    properties = Properties(rawValue: bits)
    try json.required("declaration", &declaration)
    try json.required("value", &value)
    try json.required("end", &end)
    try json.optional("cccd", &cccd)
  }
}

extension LocatedService {
  /// The service in a form for people: an element of `gatt.discover`.
  public var described: JSONValue {
    let described = characteristics.map { one in
      JSONValue.object([
        "uuid": .string("\(one.uuid)"), "handle": .number(one.value),
        "properties": .strings(one.properties.names), "cccd": one.cccd.map { .number($0) },
      ])
    }
    return [
      "uuid": .string("\(service.uuid)"), "start": .number(service.range.start),
      "end": .number(service.range.end), "characteristics": .array(described),
    ]
  }
}

/// Bytes as hexadecimal digits: at most 512 bytes, the longest attribute value.
public struct HexBytes: JSONCodable, Hashable, Sendable {
  public static let jsonKind = "hexadecimal digits, at most 512 bytes"
  public var bytes: [UInt8]

  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  public func write(to json: inout JSONWriter) { json.string(bytes.hex) }
  public init?(json: JSONValue) {
    guard let bytes = json.string.flatMap({ [UInt8](hex: $0) }), bytes.count <= 512 else {
      return nil
    }
    self.bytes = bytes
  }
}
