// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GATT
import Wire

extension ServerView {
  /// Reads a request: what a client wants of this server.
  mutating func readRequest(_ pdu: PDU, _ unit: inout Unit) {
    switch pdu {
    case .exchangeMTURequest(let mtu):
      unit.details = [.number("Client RX MTU", mtu)]
    case .findInformationRequest(let range):
      ask(range, type: nil, &unit)
    case .findByTypeValueRequest(let range, let type, let value):
      ask(range, type: UUID(type), &unit)
      if let uuid = UUID(littleEndian: value), value.count != 4 {
        unit.details.append(Self.type(uuid, "UUID"))
        if let profile = Profile(uuid) { unit.profiles.insert(profile) }
      }
      unit.attributes = [AttributeUse(nil, value: value)]
    case .readByTypeRequest(let range, let type), .readByGroupTypeRequest(let range, let type):
      ask(range, type: type, &unit)
    case .readRequest(let handle):
      name(handle, &unit)
    case .readBlobRequest(let handle, let offset):
      name(handle, &unit)
      unit.details.append(.number("Offset", offset))
    case .readMultipleRequest(let handles), .readMultipleVariableRequest(let handles):
      unit.isList = true
      for handle in handles { name(handle, &unit) }
    case .writeRequest(let handle, let value):
      add(handle, written: value, to: &unit)
    case .prepareWriteRequest(let handle, let offset, let value):
      part(handle, offset, value, &unit)
      if prepared.count < Self.mostPrepared { prepared.append((handle, offset, value)) }
    case .executeWriteRequest(let flag):
      execute(flag, &unit)
    case .unknown(_, let body):
      unit.details = [Detail("Data", .bytes(body))]
    default: break
    }
  }

  /// Reads what nobody answers: commands, notifications, indications and confirmations.
  mutating func readUnasked(_ pdu: PDU, _ unit: inout Unit) {
    switch pdu {
    case .writeCommand(let handle, let value):
      add(handle, written: value, to: &unit)
    case .signedWriteCommand(let handle, let value, let signature):
      add(handle, written: value, to: &unit)
      // Twelve bytes: a counter and a check sum, which is no key.
      unit.details.append(Detail("Signature", .bytes(signature)))
    case .handleValueNotification(let handle, let value):
      add(handle, notified: value, to: &unit)
    case .handleValueIndication(let handle, let value):
      add(handle, notified: value, to: &unit)
      open.indicated = handle
      if database.type(of: handle) == GATTType.serviceChanged,
        let changed = try? ServiceChanged(decoding: value)
      {
        let before = database
        database.forget(changed.range)
        // The characteristic that says so stays, even where everything has changed.
        if let type = before.type(of: handle) {
          database.learn(characteristic: type, value: handle)
        }
      }
    case .handleValueConfirmation:
      if let handle = open.indicated { name(handle, &unit) }
      open.indicated = nil
    case .multipleHandleValueNotification(let values):
      unit.isList = true
      for value in values { add(value.handle, notified: value.value, to: &unit) }
    case .unknown(_, let body):
      unit.details = [Detail("Data", .bytes(body))]
    default: break
    }
  }

  private func ask(_ range: HandleRange, type: UUID?, _ unit: inout Unit) {
    unit.range = range
    unit.type = type
    unit.details = [Self.range(range)]
    if let type {
      unit.details.append(Self.type(type))
      if let profile = Profile(type) { unit.profiles.insert(profile) }
    }
    unit.profiles.formUnion(database.profiles(in: range))
  }

  func name(_ handle: Handle, _ unit: inout Unit) {
    unit.attributes.append(database.use(handle))
  }

  private mutating func add(
    _ handle: Handle, notified value: [UInt8], to unit: inout Unit
  ) {
    var use = database.use(handle, value: value)
    use.meaning = meaning(ofNotified: value, use)
    unit.attributes.append(use)
  }

  func part(_ handle: Handle, _ offset: UInt16, _ value: [UInt8], _ unit: inout Unit) {
    unit.attributes = [database.use(handle, value: value)]
    unit.details = [.number("Offset", offset)]
  }

  /// The prepared parts become values, handle by handle, where they fit together.
  private mutating func execute(_ flag: PDU.ExecuteFlag, _ unit: inout Unit) {
    unit.details = [.named("Flags", flag == .write ? "Write" : "Cancel", flag.rawValue)]
    let parts = prepared
    prepared = []
    guard flag == .write else { return }
    var order: [Handle] = []
    var values: [Handle: [UInt8]] = [:]
    for part in parts {
      if values[part.handle] == nil { order.append(part.handle) }
      var value = values[part.handle] ?? []
      if Int(part.offset) == value.count { value += part.value }
      values[part.handle] = value
    }
    for handle in order {
      guard let value = values[handle] else { continue }
      let use = database.use(handle, value: value)
      unit.profiles.formUnion(use.profiles)
      unit.details.append(
        .several(
          "Written", .named(use.name, UInt64(handle), digits: 4), key: "written",
          [Detail("Value", .bytes(value), key: "bytes")] + meaning(ofWritten: value, use)))
    }
  }
}
