// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Wire

/// The traffic of Control Point and Data Source: commands, and the responses to them, reassembled from
/// notifications.
struct NotificationExchange: Sendable {
  private struct Pending: Sendable {
    var head: [UInt8]
    var assembler: DataSourceAssembler
    var fragments = 0
    var bytes = 0
  }

  private var pending: [Pending] = []
  /// Clients should send one command at a time; of more without a response, the oldest are dropped.
  private static let mostPending = 16

  /// Decodes a command that is written to the Control Point.
  mutating func command(_ value: [UInt8]) -> Detail {
    let command: ControlPointCommand
    do throws(ControlPointError) {
      command = try ControlPointCommand(decoding: value)
    } catch {
      return Detail(
        "ANCS Command", .text("unreadable"), valueKey: "command",
        [.text("Error", error.name ?? "\(error.rawValue)")])
    }
    if let assembler = DataSourceAssembler(for: command, lateBytesPossible: true) {
      if pending.count == Self.mostPending { pending.removeFirst() }
      pending.append(Pending(head: command.head, assembler: assembler))
    }
    return command.detail
  }

  /// Removes the last command after an Error Response to it.
  mutating func removeRefusedCommand() {
    if pending.last?.fragments == 0 { pending.removeLast() }
  }

  /// Decodes a notification of the Data Source.
  mutating func data(_ fragment: [UInt8]) -> Detail {
    // A response that breaks off ends where the next one begins; that five bytes of command and UID
    // occur within a response is improbable.
    if let first = pending.first, first.fragments > 0,
      let next = pending.dropFirst().firstIndex(where: { fragment.starts(with: $0.head) })
    {
      pending.removeFirst(next)
    }
    while !pending.isEmpty {
      pending[0].fragments += 1
      pending[0].bytes += fragment.count
      let (fragments, bytes) = (pending[0].fragments, pending[0].bytes)
      switch pending[0].assembler.receive(fragment) {
      case .more:
        return Self.response("to be continued", fragments, bytes)
      case .complete(let response, let trailing):
        pending.removeFirst()
        var detail = Self.response("complete", fragments, bytes - trailing)
        detail.children += response.details
        if trailing > 0 { detail.children.append(.number("Trailing bytes", trailing)) }
        return detail
      case .failed(let error):
        pending.removeFirst()
        var detail = Self.response("malformed", fragments, bytes)
        detail.children.append(.text("Error", "\(error)"))
        return detail
      case .dropped:
        // Not the response to this command; maybe to a later one.
        guard pending.count > 1 else {
          pending[0].fragments = 0
          pending[0].bytes = 0
          return standalone(fragment)
        }
        pending.removeFirst()
      }
    }
    return standalone(fragment)
  }

  /// A fragment of a response to a command that is not in the capture: the attributes that are
  /// complete in it.
  private func standalone(_ fragment: [UInt8]) -> Detail {
    var detail = Self.response("to no command in this capture", 1, fragment.count)
    var reader = ByteReader(fragment)
    guard (try? reader.u8()) == ControlPointCommand.ID.getNotificationAttributes,
      let uid = try? reader.u32()
    else { return detail }
    detail.children.append(.number("UID", uid))
    while let id = try? reader.u8(), let length = try? reader.u16(),
      let value = try? reader.bytes(Int(length))
    {
      detail.children.append(NotificationAttributeID(rawValue: id).detail(value))
    }
    return detail
  }

  private static func response(_ state: String, _ fragments: Int, _ bytes: Int) -> Detail {
    Detail(
      "ANCS Answer", .text(state), valueKey: "state",
      [.number("Fragments", fragments), .number("Bytes", bytes)])
  }
}

extension ControlPointCommand {
  /// The bytes that the response begins with.
  fileprivate var head: [UInt8] {
    switch self {
    case .getNotificationAttributes(let uid, _):
      ControlPointCommand.getNotificationAttributes(uid, []).encoded
    case .getAppAttributes(let app, _):
      ControlPointCommand.getAppAttributes(appIdentifier: app, []).encoded
    case .performNotificationAction: []
    }
  }

  fileprivate var detail: Detail {
    switch self {
    case .getNotificationAttributes(let uid, let attributes):
      let wanted = attributes.map { request in
        request.maximumLength.map { "\(request.id) (\($0))" } ?? "\(request.id)"
      }
      return Detail(
        "ANCS Command", .text("Get Notification Attributes"), valueKey: "command",
        [.number("UID", uid.rawValue), Detail("Attributes", .list(wanted))])
    case .getAppAttributes(let app, let attributes):
      return Detail(
        "ANCS Command", .text("Get App Attributes"), valueKey: "command",
        [
          .text("AppIdentifier", app, key: "app_id"),
          Detail("Attributes", .list(attributes.map { "\($0)" })),
        ])
    case .performNotificationAction(let uid, let action):
      return Detail(
        "ANCS Command", .text("Perform Notification Action"), valueKey: "command",
        [.number("UID", uid.rawValue), .text("Action", "\(action)")])
    }
  }
}

extension DataSourceResponse {
  fileprivate var details: [Detail] {
    switch subject {
    case .notification(let uid):
      [.number("UID", uid.rawValue)]
        + attributes.map { NotificationAttributeID(rawValue: $0.id).detail($0.value[...]) }
    case .app(let identifier):
      [.text("AppIdentifier", identifier, key: "app_id")]
        + attributes.map {
          let id = AppAttributeID(rawValue: $0.id)
          let key = id == .displayName ? "app" : nil
          return .text("\(id)", String(cutUTF8: $0.value), key: key)
        }
    }
  }
}

extension NotificationAttributeID {
  /// The fields of the daemon's events for these attributes (docs/interface.md).
  private static let keys = [
    "app_id", "title", "subtitle", "message", "message_size", "date", "positive", "negative",
  ]

  fileprivate func detail(_ value: ArraySlice<UInt8>) -> Detail {
    .text("\(self)", String(cutUTF8: value), key: Self.keys.name(of: rawValue))
  }
}

extension NotificationEvent {
  var detail: Detail {
    var bits = flags.names
    if !flags.unnamed.isEmpty { bits.append(hexadecimal(flags.unnamed.rawValue, 2)) }
    return Detail(
      "ANCS Event", .text("\(change)"), valueKey: "change",
      [
        .number("UID", uid.rawValue),
        .text("Category", "\(category)"),
        .number("Category Count", categoryCount),
        .flags("Flags", bits, flags.rawValue),
      ])
  }
}
