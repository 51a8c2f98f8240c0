// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GATT
import JSON
import VirtualPhone
import Wire

extension PhoneEvent {
  /// The object that is printed on a line. Its first member is the event's name.
  var json: JSONObject {
    switch self {
    case .connected: ["event": "connected"]
    case .disconnected(let reason): ["event": "disconnected", "reason": .string(reason)]
    case .mtu(let mtu): ["event": "mtu", "mtu": .number(mtu)]
    case .subscribed(let characteristic, let wanted):
      ["event": "subscribed", "characteristic": .string(characteristic.rawValue), "subscription": .string(wanted.name)]
    case .controlPoint(let command, let value, let refused):
      ["event": "control-point"] + (command?.members ?? [:]) + ["value": .string(value.hex)]
        + (refused.map { ErrorCode($0).members } ?? [:])
    case .action(let uid, let action):
      ["event": "action", "uid": .number(uid.rawValue), "action": .string(action.description)]
    case .registered(let registration):
      [
        "event": "registered", "entity": .string(registration.entity.description),
        "attributes": .array(registration.attributes.map { .number($0) }),
      ]
    case .remoteCommand(let command):
      ["event": "remote-command", "name": .string(command.name ?? command.description)]
    case .violation(let what): ["event": "violation", "what": .string(what)]
    case .refused(let request, let handle, let code):
      ["event": "refused", "request": .string("\(request)"), "handle": .number(handle)]
        + code.members
    case .dropped(let bytes, let why):
      ["event": "dropped", "bytes": .string(bytes.hex), "why": .string(why)]
    case .confirmed(let characteristic):
      ["event": "confirmed", "characteristic": .string(characteristic.rawValue)]
    case .read(let uuid, let handle, let value):
      [
        "event": "read", "uuid": .string(uuid.description), "handle": .number(handle),
        "value": .string(value.hex),
      ]
    case .discovered(let services):
      ["event": "discovered", "services": .array(services.map(\.json))]
    case .failed(let request, let failure):
      ["event": "failed", "question": .string(request), "error": .string("\(failure)")]
    case .gaveUp(let links): ["event": "gave-up", "links": .number(links)]
    case .dayEnded: ["event": "day-ended"]
    }
  }
}

extension JSONObject {
  /// The members of both, those of `more` last.
  static func + (object: JSONObject, more: JSONObject) -> JSONObject {
    var sum = object
    for (name, value) in more.members { sum.add(name, value) }
    return sum
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
  fileprivate var members: JSONObject {
    [
      "code": .number(rawValue),
      "error": .string(nameInANCS ?? description),
    ]
  }
}

extension ControlPointCommand {
  fileprivate var members: JSONObject {
    switch self {
    case .getNotificationAttributes(let uid, let requests):
      [
        "command": "get-notification-attributes", "uid": .number(uid.rawValue),
        "attributes": .strings(requests.map { $0.id.name ?? String($0.id.rawValue) }),
      ]
    case .getAppAttributes(let app, let ids):
      ["command": "get-app-attributes", "app_id": .string(app), "attributes": .array(ids.map { .number($0.rawValue) })]
    case .performNotificationAction(let uid, let action):
      ["command": "perform-notification-action", "uid": .number(uid.rawValue), "action": .string(action.description)]
    }
  }
}

extension Service {
  fileprivate var json: JSONValue {
    ["uuid": .string(uuid.description), "start": .number(range.start), "end": .number(range.end)]
  }
}
