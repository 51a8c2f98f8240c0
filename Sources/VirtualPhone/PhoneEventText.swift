// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import GATT
import Wire

/// As a sentence, for a log.
extension PhoneEvent: CustomStringConvertible {
  public var description: String {
    switch self {
    case .connected: "connected"
    case .disconnected(let reason): "disconnected: \(reason)"
    case .mtu(let mtu): "the MTU is \(mtu)"
    case .subscribed(let characteristic, let wanted):
      "\(characteristic.rawValue): \(wanted.isEmpty ? "not subscribed to any more" : "subscribed to")"
    case .controlPoint(let command, let value, let refused):
      "asked \(command.map { "for \($0.text)" } ?? "something malformed (\(value.hex))")"
        + (refused.map { ": refused with 0x\([$0].hex)" } ?? "")
    case .action(let uid, let action): "#\(uid): the \(action) action"
    case .registered(let registration):
      "attributes of the \(registration.entity) are wanted: "
        + registration.attributes.map(String.init).joined(separator: ", ")
    case .remoteCommand(let command): "the player is told to \(command.name ?? command.description)"
    case .violation(let what): "a rule was broken: \(what)"
    case .refused(let request, let handle, let code):
      "\(request) of the handle \(handle) was refused: \(code)"
    case .dropped(let bytes, let why): "dropped \(bytes.hex): \(why)"
    case .confirmed(let characteristic): "\(characteristic.rawValue): confirmed"
    case .read(let uuid, let handle, let value): "read \(uuid) at \(handle): \(value.hex)"
    case .discovered(let services): "the peer has \(services.count) services"
    case .failed(let question, let failure): "\(question): \(failure)"
    case .dayEnded: "the day is over"
    }
  }
}

extension ControlPointCommand {
  fileprivate var text: String {
    switch self {
    case .getNotificationAttributes(let uid, let requests):
      "\(requests.map { $0.id.name ?? String($0.id.rawValue) }.joined(separator: ", ")) of #\(uid)"
    case .getAppAttributes(let app, _): "the name of \(app)"
    case .performNotificationAction(let uid, let action): "the \(action) action of #\(uid)"
    }
  }
}
