// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GAP
import Wire

/// How a value was transferred.
enum ValueAccess {
  case written, notified, read
}

/// The traffic of Control Point and Data Source: commands, and the responses to them, reassembled from
/// notifications.
struct NotificationExchange: Sendable {
  private struct Pending: Sendable {
    var assembler: DataSourceAssembler
    /// The number of the packet with the command.
    var packet: Int
    var fragments = 0
    var bytes = 0
  }

  private var pending: [Pending] = []
  /// The packet with the command that the last notification of the Data Source responds to.
  var answered: Int?
  /// Clients should send one command at a time; of more without a response, the oldest are dropped.
  private static let mostPending = 16

  /// Decodes a value of one of the characteristics; nil for those of other services.
  mutating func detail(of value: [UInt8], _ uuid: UUID, _ access: ValueAccess, _ packet: Int) -> Detail? {
    switch (access, uuid) {
    case (.written, .controlPoint): command(value, packet)
    case (.notified, .notificationSource): Self.event(value)
    case (.notified, .dataSource): data(value)
    default: nil
    }
  }

  /// Decodes a command that is written to the Control Point.
  private mutating func command(_ value: [UInt8], _ packet: Int) -> Detail {
    let command: ControlPointCommand
    do throws(ErrorCode) {
      command = try ControlPointCommand(decoding: value)
    } catch {
      let detail = Detail.text("Error", error.nameInANCS ?? "\(error.rawValue)")
      return ControlPointCommand.detail("unreadable", [detail])
    }
    if let assembler = DataSourceAssembler(for: command, lateBytesPossible: true) {
      if pending.count == Self.mostPending { pending.removeFirst() }
      pending.append(Pending(assembler: assembler, packet: packet))
    }
    return command.detail
  }

  /// Removes the last command after an Error Response to it.
  mutating func removeRefusedCommand() { if pending.last?.fragments == 0 { pending.removeLast() } }

  /// Decodes a notification of the Data Source.
  private mutating func data(_ fragment: [UInt8]) -> Detail {
    // A response that breaks off ends where the next one begins; that five bytes of command and UID
    // occur within a response is improbable.
    if let first = pending.first, first.fragments > 0,
      let next = pending.dropFirst().firstIndex(where: { fragment.starts(with: $0.assembler.head) })
    {
      pending.removeFirst(next)
    }
    while !pending.isEmpty {
      var first = pending.removeFirst()
      first.fragments += 1
      first.bytes += fragment.count
      answered = first.packet
      switch first.assembler.receive(fragment) {
      case .more:
        pending.insert(first, at: 0)
        return Self.response("to be continued", first.fragments, first.bytes)
      case .complete(let response, let trailing):
        let rest: [Detail] = trailing > 0 ? [.number("Trailing bytes", trailing)] : []
        return Self.response(
          "complete", first.fragments, first.bytes - trailing,
          response.details(inOneFragment: first.fragments == 1) + rest)
      case .failed(let error):
        let detail = Detail.text("Error", "\(error)")
        return Self.response("malformed", first.fragments, first.bytes, [detail])
      case .dropped:
        // Not the response to this command; maybe to a later one.
        answered = nil
        guard pending.isEmpty else { continue }
        (first.fragments, first.bytes) = (0, 0)
        pending = [first]
        return Self.standalone(fragment)
      }
    }
    return Self.standalone(fragment)
  }

  /// A fragment of a response to a command that is not in the capture: the attributes that are
  /// complete in it.
  private static func standalone(_ fragment: [UInt8]) -> Detail {
    var details: [Detail] = []
    var reader = ByteReader(fragment)
    if (try? reader.u8()) == ControlPointCommand.ID.getNotificationAttributes,
      let uid = try? reader.u32()
    {
      details.append(.number("UID", uid))
      while let id = try? reader.u8(), let length = try? reader.u16(), let value = try? reader.bytes(Int(length)) {
        details.append(NotificationAttributeID(rawValue: id).detail(value))
      }
    }
    return response("to no command in this capture", 1, fragment.count, details)
  }

  private static func response(_ state: String, _ fragments: Int, _ bytes: Int, _ details: [Detail] = []) -> Detail {
    Detail(
      "ANCS Response", .text(state), valueKey: "state",
      [.number("Fragments", fragments), .number("Bytes", bytes)] + details)
  }

  /// Decodes a notification of the Notification Source.
  private static func event(_ value: [UInt8]) -> Detail {
    guard let event = try? NotificationEvent(decoding: value) else {
      return .text("ANCS Event", "\(value.count) bytes, eight needed")
    }
    var names = event.flags.names
    let unnamed = event.flags.unnamed
    if !unnamed.isEmpty { names.append(hexadecimal(unnamed.rawValue, 2)) }
    return Detail(
      "ANCS Event", .text("\(event.change)"), valueKey: "change",
      [
        .number("UID", event.uid.rawValue).at(4..<8),
        .text("Category", "\(event.category)").at(2..<3),
        .number("Category Count", event.categoryCount).at(3..<4),
        .flags("Flags", names, event.flags.rawValue).at(1..<2),
      ]
    ).at(0..<8)
  }
}

extension ControlPointCommand {
  fileprivate var detail: Detail {
    switch self {
    case .getNotificationAttributes(let uid, let attributes):
      let wanted = attributes.map { request in
        request.maximumLength.map { "\(request.id) (\($0))" } ?? "\(request.id)"
      }
      return Self.detail(
        "Get Notification Attributes", [.number("UID", uid.rawValue).at(1..<5), .list("Attributes", wanted)])
    case .getAppAttributes(let app, let attributes):
      let identifier = Detail.text("AppIdentifier", app, key: "app_id")
      return Self.detail("Get App Attributes", [identifier, .list("Attributes", attributes)])
    case .performNotificationAction(let uid, let action):
      return Self.detail(
        "Perform Notification Action", [.number("UID", uid.rawValue).at(1..<5), .text("Action", "\(action)").at(5..<6)])
    }
  }

  fileprivate static func detail(_ command: String, _ below: [Detail]) -> Detail {
    Detail("ANCS Command", .text(command), valueKey: "command", below)
  }
}

extension DataSourceResponse {
  /// Its content, with byte ranges if nothing precedes it in its fragment.
  fileprivate func details(inOneFragment isWhole: Bool) -> [Detail] {
    var end = 1
    func place(_ length: Int) -> Range<Int>? {
      defer { end += length }
      return isWhole ? end..<end + length : nil
    }
    var details: [Detail] =
      switch subject {
      case .notification(let uid): [.number("UID", uid.rawValue).at(place(4))]
      case .app(let identifier):
        [
          .text("AppIdentifier", identifier, key: "app_id").at(place(identifier.utf8.count + 1))
        ]
      }
    for attribute in attributes {
      let detail: Detail
      switch subject {
      case .notification:
        detail = NotificationAttributeID(rawValue: attribute.id).detail(attribute.value[...])
      case .app:
        let id = AppAttributeID(rawValue: attribute.id)
        detail = .text("\(id)", String(cutUTF8: attribute.value), key: id == .displayName ? "app" : nil)
      }
      // A number and a length of two bytes stand before each value.
      details.append(detail.at(place(3 + attribute.value.count)))
    }
    return details
  }
}

extension NotificationAttributeID {
  /// The fields of the daemon's events for these attributes (docs/interface.md).
  private static let keys = ["app_id", "title", "subtitle", "message", "message_size", "date", "positive", "negative"]

  fileprivate func detail(_ value: ArraySlice<UInt8>) -> Detail {
    let (text, key) = (String(cutUTF8: value), Self.keys.name(of: rawValue))
    if self == .messageSize, let size = Int64(text) {
      return Detail("\(self)", .number(size), key: key)
    }
    return .text("\(self)", text, key: key)
  }
}

/// The traffic with the Apple Media Service.
struct MediaExchange: Sendable {
  /// The attribute that was written to Entity Attribute; a read returns its value.
  private var selected: MediaAttribute?

  /// Decodes a value of one of the characteristics; nil for those of other services. What is read from Entity Attribute
  /// is the value of the selected attribute.
  mutating func detail(of value: [UInt8], _ uuid: UUID, _ access: ValueAccess) -> Detail? {
    switch (access, uuid) {
    case (.written, .remoteCommand):
      guard value.count == 1 else { return .text("AMS Command", "not one byte") }
      return .text("AMS Command", "\(RemoteCommand(rawValue: value[0]))")
    case (.written, .entityUpdate):
      guard let registration = try? EntityRegistration(decoding: value) else {
        return .text("AMS Registration", "empty")
      }
      let names = registration.attributes.map { "\(MediaAttribute(registration.entity, $0))" }
      return Self.detail("AMS Registration", registration.entity, [.list("Attributes", names)])
    case (.written, .entityAttribute):
      selected = try? MediaAttribute(decoding: value)
      guard let selected else { return .text("AMS Selection", "not two bytes") }
      return Self.detail("AMS Selection", selected.entity, [.text("Attribute", "\(selected)")])
    case (.notified, .remoteCommand):
      return .list("AMS Commands", RemoteCommand.list(decoding: value))
    case (.notified, .entityUpdate):
      guard let update = try? EntityUpdate(decoding: value) else {
        return .text("AMS Update", "\(value.count) bytes, three needed")
      }
      let rest = update.isTruncated ? [Detail.flag("Truncated", true)] : []
      var below = Self.value(of: update.attribute, update.value)
      below[0].place = 0..<2
      below[1].place = 3..<3 + update.value.count
      return Self.detail("AMS Update", update.attribute.entity, below + rest)
    case (.read, .entityAttribute):
      guard let selected else { return .text("AMS Value", String(cutUTF8: value)) }
      return Self.detail("AMS Value", selected.entity, Self.value(of: selected, value))
    default: return nil
    }
  }

  private static func detail(_ label: String, _ entity: Entity, _ below: [Detail]) -> Detail {
    Detail(label, .text("\(entity)"), valueKey: "entity", below)
  }

  /// An attribute's value and its meaning.
  private static func value(of attribute: MediaAttribute, _ value: [UInt8]) -> [Detail] {
    var details: [Detail] = [
      .text("Attribute", "\(attribute)"), .text("Text", String(cutUTF8: value)),
    ]
    switch attribute {
    case .playbackInfo:
      guard let info = PlaybackInfo(decoding: value) else { break }
      if let state = info.state { details.append(.text("State", "\(state)")) }
      if let rate = info.rate { details.append(.measure("Rate", rate, "")) }
      if let elapsed = info.elapsed { details.append(.measure("Elapsed", elapsed, "s")) }
    case .shuffleMode, .repeatMode:
      if let mode = MediaNumber.count(value).flatMap(UInt8.init(exactly:)) {
        details.append(.text("Mode", "\(QueueMode(rawValue: mode))"))
      }
    default: break
    }
    return details
  }
}
