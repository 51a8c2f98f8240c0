// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GATT
import JSON
import Wire

/// What the disk remembers of a phone besides its keys. Nothing breaks where it is lost.
public struct PhoneMemory: Hashable, Sendable {
  /// Where its services are, as long as its Database Hash stays the same.
  public var handles: HandleCache?
  /// Which notifications it has brought.
  public var seen: SeenContents
  /// What it has configured on the board's own server.
  public var client: ClientState

  public init(
    handles: HandleCache? = nil, seen: SeenContents = SeenContents(),
    client: ClientState = ClientState()
  ) {
    self.handles = handles
    self.seen = seen
    self.client = client
  }
}

extension PhoneMemory {
  var json: JSONValue {
    var object = JSONObject()
    object.add("version", 1)
    if let handles {
      object.add("database_hash", .string(handles.databaseHash.hex))
      object.add("services", .array(handles.services.map(\.json)))
    }
    object.add("client", client.json)
    object.add("seen", .strings(seen.order.map { String($0.rawValue, radix: 16) }))
    return .object(object)
  }

  init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    guard try fields.number("version") == 1 else {
      throw ShapeError("version is of a later program")
    }
    if let hash = try fields.optionalString("database_hash") {
      guard let octets = [UInt8](hex: hash), octets.count == 16 else {
        throw ShapeError("database_hash is not sixteen octets")
      }
      handles = HandleCache(
        databaseHash: octets,
        services: try fields.list("services", "services") { try? LocatedService(json: $0) })
    }
    client =
      try fields.optional("client", "a client's state") { try? ClientState(json: $0) }
      ?? ClientState()
    seen = SeenContents(
      try fields.list("seen", "signatures") { value in
        value.string.flatMap { UInt64($0, radix: 16) }.map(ContentSignature.init(rawValue:))
      })
  }
}

extension ClientState {
  fileprivate var json: JSONValue {
    var object = JSONObject()
    object.add("features", .number(features.rawValue))
    object.add("database_hash", databaseHash.map { .string($0.hex) })
    object.add(
      "configurations",
      .array(
        configurations.sorted { $0.key < $1.key }.map { handle, configuration in
          ["handle": .number(handle), "value": .number(configuration.rawValue)]
        }))
    return .object(object)
  }

  fileprivate init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    self.init(
      features: ClientFeatures(rawValue: try fields.integer("features")),
      databaseHash: try fields.optional("database_hash", "octets") { value in
        value.string.flatMap { [UInt8](hex: $0) }
      })
    let entries = try fields.list("configurations", "objects") { try? Fields($0) }
    for entry in entries {
      configurations[try entry.integer("handle")] = ClientConfiguration(
        rawValue: try entry.integer("value"))
    }
  }
}

extension LocatedService {
  var json: JSONValue {
    var object = JSONObject()
    object.add("uuid", .string(service.uuid.description))
    object.add("start", .number(service.range.start))
    object.add("end", .number(service.range.end))
    object.add("characteristics", .array(characteristics.map(\.json)))
    return .object(object)
  }

  init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    let range = HandleRange(try fields.integer("start"), try fields.integer("end"))
    guard range.isValid else { throw ShapeError("start is behind end") }
    self.init(
      service: Service(uuid: try fields.uuid("uuid"), range: range),
      characteristics: try fields.list("characteristics", "characteristics") {
        try? Characteristic(json: $0)
      })
  }
}

extension Characteristic {
  fileprivate var json: JSONValue {
    var object = JSONObject()
    object.add("uuid", .string(uuid.description))
    object.add("properties", .number(properties.rawValue))
    object.add("declaration", .number(declaration))
    object.add("value", .number(value))
    object.add("end", .number(end))
    object.add("cccd", cccd.map { .number($0) })
    return .object(object)
  }

  fileprivate init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    self.init(
      declaration: try fields.integer("declaration"),
      properties: Properties(rawValue: try fields.integer("properties")),
      value: try fields.integer("value"), uuid: try fields.uuid("uuid"),
      end: try fields.integer("end"), cccd: try fields.optionalInteger("cccd"))
  }
}

extension Fields {
  fileprivate func uuid(_ name: String) throws(ShapeError) -> UUID {
    try required(name, "a UUID") { $0.string.flatMap(UUID.init) }
  }
}
