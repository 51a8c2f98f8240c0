// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GATT
import JSON
import VirtualPhone
import Wire

extension PhoneEvent {
  /// What the event is called on standard output.
  var name: String {
    switch self {
    case .connected: "connected"
    case .disconnected: "disconnected"
    case .mtu: "mtu"
    case .subscribed: "subscribed"
    case .controlPoint: "control-point"
    case .action: "action"
    case .registered: "registered"
    case .remoteCommand: "remote-command"
    case .violation: "violation"
    case .refused: "refused"
    case .dropped: "dropped"
    case .confirmed: "confirmed"
    case .read: "read"
    case .discovered: "discovered"
    case .failed: "failed"
    case .dayEnded: "day-ended"
    }
  }

  /// The event as the object that is printed on a line.
  var json: JSONObject {
    var object: JSONObject = ["event": .string(name)]
    switch self {
    case .connected, .dayEnded: break
    case .disconnected(let reason): object.add("reason", .string(reason))
    case .mtu(let mtu): object.add("mtu", .number(mtu))
    case .subscribed(let characteristic, let wanted):
      object.add("characteristic", .string(characteristic.rawValue))
      object.add("subscription", .string(wanted.name))
    case .controlPoint(let command, let value, let refused):
      command?.add(to: &object)
      object.add("value", .string(value.hex))
      refused.map { ErrorCode($0).add(to: &object) }
    case .action(let uid, let action):
      object.add("uid", .number(uid.rawValue))
      object.add("action", .string(action.description))
    case .registered(let registration):
      object.add("entity", .string(registration.entity.description))
      object.add("attributes", .array(registration.attributes.map { .number($0) }))
    case .remoteCommand(let command):
      object.add("name", .string(command.name ?? command.description))
    case .violation(let what): object.add("what", .string(what))
    case .refused(let request, let handle, let code):
      object.add("request", .string("\(request)"))
      object.add("handle", .number(handle))
      code.add(to: &object)
    case .dropped(let bytes, let why):
      object.add("bytes", .string(bytes.hex))
      object.add("why", .string(why))
    case .confirmed(let characteristic):
      object.add("characteristic", .string(characteristic.rawValue))
    case .read(let uuid, let handle, let value):
      object.add("uuid", .string(uuid.description))
      object.add("handle", .number(handle))
      object.add("value", .string(value.hex))
    case .discovered(let services):
      object.add("services", .array(services.map(\.json)))
    case .failed(let question, let failure):
      object.add("question", .string(question))
      object.add("error", .string("\(failure)"))
    }
    return object
  }
}

extension ClientConfiguration {
  fileprivate var name: String {
    switch self {
    case []: "none"
    case .notifications: "notifications"
    case .indications: "indications"
    default: "both"
    }
  }
}

extension ErrorCode {
  /// The code and its name, which on the Control Point is ANCS's own.
  fileprivate func add(to object: inout JSONObject) {
    object.add("code", .number(rawValue))
    object.add("error", .string(ControlPointError(rawValue: rawValue).name ?? description))
  }
}

extension ControlPointCommand {
  fileprivate func add(to object: inout JSONObject) {
    switch self {
    case .getNotificationAttributes(let uid, let requests):
      object.add("command", "get-notification-attributes")
      object.add("uid", .number(uid.rawValue))
      object.add(
        "attributes", .strings(requests.map { $0.id.name ?? String($0.id.rawValue) }))
    case .getAppAttributes(let app, let ids):
      object.add("command", "get-app-attributes")
      object.add("app_id", .string(app))
      object.add("attributes", .array(ids.map { .number($0.rawValue) }))
    case .performNotificationAction(let uid, let action):
      object.add("command", "perform-notification-action")
      object.add("uid", .number(uid.rawValue))
      object.add("action", .string(action.description))
    }
  }
}

extension Service {
  fileprivate var json: JSONValue {
    ["uuid": .string(uuid.description), "start": .number(range.start), "end": .number(range.end)]
  }
}
