// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Writes, at once and prepared (Vol 3 Part F, 3.4.5 and 3.4.6).
extension Server {
  func write(_ value: [UInt8], at handle: Handle) throws(Refusal) -> PDU {
    try put(value, into: try writable(handle))
    return .writeResponse
  }

  func writeCommand(_ value: [UInt8], at handle: Handle) throws(Refusal) -> PDU? {
    try put(value, into: try writable(handle))
    return nil
  }

  private func writable(_ handle: Handle) throws(Refusal) -> Attribute {
    let attribute = try attribute(at: handle)
    try check(attribute.permissions.write, or: .writeNotPermitted, at: handle)
    return attribute
  }

  private func put(_ value: [UInt8], into attribute: Attribute) throws(Refusal) {
    guard value.count <= attribute.maximumLength else {
      throw Refusal(code: .invalidAttributeValueLength, handle: attribute.handle)
    }
    do throws(ErrorCode) {
      switch attribute.content {
      case .stored: database.setValue(value, at: attribute.handle)
      case .handled(_, let write): try write?(self, value)
      case .clientConfiguration: try configure(attribute.handle, value)
      }
    } catch {
      throw Refusal(code: error, handle: attribute.handle)
    }
  }

  /// Permissions are checked when a write is prepared, its offset and length when it is executed.
  func prepareWrite(
    _ handle: Handle, _ offset: UInt16, _ value: [UInt8]
  ) throws(Refusal) -> PDU {
    _ = try writable(handle)
    // A part that the MTU has no room for cannot be sent back either.
    guard value.count <= bearer.mtu - 5 else { throw Refusal(code: .invalidPDU, handle: handle) }
    guard prepared.add(handle, Int(offset), value) else {
      throw Refusal(code: .prepareQueueFull, handle: handle)
    }
    return .prepareWriteResponse(handle, offset: offset, value: value)
  }

  /// Writes all that was prepared, or nothing: what can be checked is checked before the first.
  func executeWrite(_ flag: PDU.ExecuteFlag) throws(Refusal) -> PDU {
    let parts = prepared.take()
    guard flag == .write else { return .executeWriteResponse }
    let handles = parts.map(\.handle)
    if let first = handles.first, handles.contains(where: { $0 != first }) {
      for handle in handles where !isReliable(handle) {
        throw Refusal(code: .requestNotSupported, handle: handle)
      }
    }
    var writes: [(attribute: Attribute, value: [UInt8])] = []
    for part in parts {
      let target = try writable(part.handle)
      let index = writes.firstIndex { $0.attribute.handle == part.handle }
      var value = index.map { writes[$0].value } ?? base(of: target, part.offset)
      guard part.offset <= value.count else {
        throw Refusal(code: .invalidOffset, handle: part.handle)
      }
      value.replaceSubrange(
        part.offset..<min(value.count, part.offset + part.value.count), with: part.value)
      guard value.count <= target.maximumLength else {
        throw Refusal(code: .invalidAttributeValueLength, handle: part.handle)
      }
      if let index { writes[index].value = value } else { writes.append((target, value)) }
    }
    for write in writes { try put(write.value, into: write.attribute) }
    return .executeWriteResponse
  }

  /// What a first part at `offset` is laid over: a write from the beginning replaces the value.
  private func base(of attribute: Attribute, _ offset: Int) -> [UInt8] {
    guard offset > 0 else { return [] }
    return switch attribute.content {
    case .stored(let value): value
    case .clientConfiguration: client.configurations[attribute.handle, default: []].bytes
    case .handled(let read, _): (try? read?(self)) ?? []
    }
  }

  /// Several values can only be written together where each characteristic says that it takes
  /// reliable writes (Vol 3 Part G, 3.3.3.1 and 4.9.5): its Extended Properties, where there are any.
  private func isReliable(_ handle: Handle) -> Bool {
    guard let characteristic = database.characteristic(of: handle),
      characteristic.value == handle, characteristic.properties.contains(.extended)
    else { return false }
    guard let range = characteristic.descriptors,
      let extended = database.attributes(in: range)
        .first(where: { $0.type == GATTType.extendedProperties })?.stored?.first
    else { return true }
    return extended & 1 == 1
  }
}

/// The writes that a client prepared and has not executed yet; bounded, since a client may prepare
/// and never execute.
struct PreparedWrites {
  struct Part {
    var handle: Handle
    var offset: Int
    var value: [UInt8]
  }

  /// Enough for the longest value in the smallest parts, twice.
  static let mostParts = 64
  static let mostOctets = 4 * Client.longestValue

  private var parts: [Part] = []
  private var octets = 0

  /// Adds a part; false where there is no room for it.
  mutating func add(_ handle: Handle, _ offset: Int, _ value: [UInt8]) -> Bool {
    guard parts.count < Self.mostParts, octets + value.count <= Self.mostOctets else {
      return false
    }
    parts.append(Part(handle: handle, offset: offset, value: value))
    octets += value.count
    return true
  }

  /// Everything, in the order of preparing; nothing is left.
  mutating func take() -> [Part] {
    defer { self = PreparedWrites() }
    return parts
  }
}
