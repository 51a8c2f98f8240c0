// SPDX-License-Identifier: GPL-3.0-or-later
import System
import ANCS
public import JSON
import Mgmt
import Wire

extension NumberedEvent {
  /// The event as the object that is printed on a line; its keys in the documented order.
  public var json: JSONValue { event.json(seq: seq, time: time) }

  /// Reads what `json` writes. An event of a kind that is not known is an error, and so is one whose
  /// members are of another kind.
  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    seq = try fields.integer("seq")
    time = try fields.required("time", "a time") { $0.string.flatMap { WallTime(rfc3339: $0) } }
    event = try Event(fields)
  }
}

extension Event {
  /// The event as the object that is printed on a line; its keys in the documented order.
  public func json(seq: UInt64, time: WallTime) -> JSONValue {
    var object = JSONObject()
    object.add("event", name.rawValue)
    object.add("seq", seq)
    object.add("time", time.rfc3339)
    object.add("adapter", adapter)
    object.add("phone", phone?.description)
    content.add(to: &object)
    return .object(object)
  }

  /// Reads what `json` writes, but for number and time.
  init(_ fields: Fields) throws(ShapeError) {
    adapter = try fields.optionalString("adapter")
    phone = try fields.optionalText("phone", "an address")
    let name = try fields.required("event", "the name of an event") {
      $0.string.flatMap(EventName.init(rawValue:))
    }
    content = try Content(name, fields)
  }
}

extension Event.Content {
  fileprivate func add(to object: inout JSONObject) {
    switch self {
    case .ready(let address, let name, let version):
      object.add("address", address?.description)
      object.add("name", name)
      object.add("version", version)
    case .advertising(let pairable):
      object.add("pairable", pairable)
    case .connected(let encrypted, let bonded):
      object.add("encrypted", encrypted)
      object.add("bonded", bonded)
    case .pairing(let method, let passkey):
      object.add("method", method.rawValue)
      object.add("passkey", passkey?.description)
    case .paired:
      break
    case .pairingFailed(let reason), .disconnected(let reason):
      object.add("reason", reason)
    case .subscribed(let services, let mtu, let requests):
      object.add("services", .strings(services.map(\.rawValue)))
      object.add("mtu", mtu)
      object.add("requests", requests)
    case .authorization(let granted):
      object.add("granted", granted)
    case .incoming(let event):
      object.add("change", event.change.description)
      NotificationRecord.add(
        event.uid, event.category, event.categoryCount, event.flags, to: &object)
    case .notification(let change, let report):
      object.add("change", change.description)
      report.add(to: &object)
    case .media(let report, let changed):
      report.add(to: &object)
      object.add("changed", .strings(changed))
    case .battery(let level):
      object.add("level", level)
    case .time(let time, let offset):
      object.add("phone_time", time.description)
      object.add("offset", .nullable(offset, scale: 1_000))
    case .stale(let what, let remedy):
      object.add("what", what)
      object.add("remedy", remedy)
    case .servicesChanged(let services):
      object.add("services", .strings(services.map(\.rawValue)))
    case .why(let wait, let why):
      object.add("wait", wait)
      object.add("why", why)
    case .error(let what, let code, let message):
      object.add("what", what)
      object.add("code", code)
      object.add("message", message)
    }
  }

  fileprivate init(_ name: EventName, _ fields: Fields) throws(ShapeError) {
    switch name {
    case .ready:
      self = .ready(
        address: try fields.optionalText("address", "an address"),
        name: try fields.string("name"), version: try fields.string("version"))
    case .advertising:
      self = .advertising(pairable: try fields.bool("pairable"))
    case .connected:
      self = .connected(
        encrypted: try fields.bool("encrypted"), bonded: try fields.bool("bonded"))
    case .pairing:
      self = .pairing(
        try fields.required("method", "a method of pairing") {
          $0.string.flatMap(PairingMethod.init(rawValue:))
        },
        passkey: try fields.optional("passkey", "a passkey") { $0.string.flatMap { Passkey($0) } })
    case .paired:
      self = .paired
    case .pairingFailed:
      self = .pairingFailed(reason: try fields.string("reason"))
    case .subscribed:
      self = .subscribed(
        try fields.services(), mtu: try fields.integer("mtu"),
        requests: try fields.integer("requests"))
    case .authorization:
      self = .authorization(granted: try fields.bool("granted"))
    case .incoming:
      self = .incoming(try NotificationEvent(try fields.change(), fields))
    case .notification:
      self = .notification(try fields.change(), try NotificationRecord(fields))
    case .media:
      self = .media(try MediaReport(fields), changed: try fields.strings("changed"))
    case .battery:
      self = .battery(level: try fields.integer("level"))
    case .time:
      self = .time(
        try fields.required("phone_time", "a time") { $0.string.flatMap(CivilTime.init) },
        offset: try fields.number("offset"))
    case .stale:
      self = .stale(what: try fields.string("what"), remedy: try fields.string("remedy"))
    case .servicesChanged:
      self = .servicesChanged(try fields.services())
    case .disconnected:
      self = .disconnected(reason: try fields.string("reason"))
    case .why:
      self = .why(wait: try fields.string("wait"), why: try fields.string("why"))
    case .error:
      self = .error(
        what: try fields.string("what"), code: try fields.optionalInteger("code"),
        message: try fields.string("message"))
    }
  }
}

extension Fields {
  fileprivate func services() throws(ShapeError) -> [PhoneService] {
    try list("services", "services") { $0.string.flatMap(PhoneService.init(rawValue:)) }
  }

  fileprivate func change() throws(ShapeError) -> Change {
    try required("change", "a change") { value in
      [Change.added, .modified, .removed].first { $0.description == value.string }
    }
  }
}
