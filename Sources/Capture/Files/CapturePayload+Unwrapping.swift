// SPDX-License-Identifier: GPL-3.0-or-later

extension CapturePayload {
  /// What is known about a packet from outside of it.
  struct Envelope {
    var time: CaptureTime
    /// How many bytes of it the capture left out.
    var missing: Int
    /// Which way it went, where the file's record says so.
    var direction: CaptureDirection?
    /// Whether it is a command or an event, where the file's record says so.
    var isControl = false
    /// The adapter and the kind, where the file's record says so.
    var monitor: (adapter: UInt16, opcode: MonitorOpcode)?
    /// The adapter where nothing in the packet names one.
    var adapter: UInt16 = 0
  }

  /// Takes a packet out of its wrapping; nil for one that is none, such as an empty one, or one of a
  /// kind that H4 does not have.
  func record(_ bytes: ArraySlice<UInt8>, _ envelope: Envelope) -> CaptureRecord? {
    switch self {
    case .monitor:
      if let monitor = envelope.monitor {
        return CaptureRecord(
          monitor.opcode, Array(bytes), time: envelope.time, adapter: monitor.adapter,
          missing: envelope.missing)
      }
      // Link type 254: adapter and opcode in front of the packet, most significant byte first.
      guard bytes.count >= 4 else { return nil }
      let head = FileBytes(bytes)
      return CaptureRecord(
        MonitorOpcode(rawValue: head.u16(2, .bigEndian)), Array(bytes.dropFirst(4)),
        time: envelope.time, adapter: head.u16(0, .bigEndian), missing: envelope.missing)
    case .unencapsulated:
      let opcode: MonitorOpcode =
        switch (envelope.isControl, envelope.direction) {
        case (true, .received): .event
        case (true, _): .command
        case (false, .received): .aclReceived
        case (false, _): .aclTransmitted
        }
      return CaptureRecord(
        opcode, Array(bytes), time: envelope.time, adapter: envelope.adapter,
        missing: envelope.missing)
    case .uart:
      return uart(bytes, envelope)
    case .uartWithDirection:
      guard bytes.count >= 4 else { return nil }
      var envelope = envelope
      envelope.direction = FileBytes(bytes).u32(0, .bigEndian) & 1 == 0 ? .sent : .received
      return uart(bytes.dropFirst(4), envelope)
    case .air: return air([0, 0], bytes, envelope)
    case .airWithRemarks:
      // Channel, signal, noise, errors in the address, the address expected; then what is of use.
      guard bytes.count >= 10 else { return nil }
      let remarks = FileBytes(bytes).slice(8, 2)
      return air(remarks, bytes.dropFirst(10), envelope)
    }
  }

  private func air(
    _ remarks: ArraySlice<UInt8>, _ packet: ArraySlice<UInt8>, _ envelope: Envelope
  ) -> CaptureRecord {
    CaptureRecord(
      .air, Array(remarks + packet), time: envelope.time, adapter: MonitorOpcode.noAdapter,
      missing: envelope.missing, isDirectionKnown: false)
  }

  /// An H4 packet: its kind, then itself (Vol 4 Part A, 2).
  private func uart(_ bytes: ArraySlice<UInt8>, _ envelope: Envelope) -> CaptureRecord? {
    guard let kind = bytes.first else { return nil }
    let packet = bytes.dropFirst()
    let sent = (envelope.direction ?? Self.direction(ofACL: packet)) == .sent
    let opcode: MonitorOpcode
    switch kind {
    case 1: opcode = .command
    case 2: opcode = sent ? .aclTransmitted : .aclReceived
    case 3: opcode = sent ? .scoTransmitted : .scoReceived
    case 4: opcode = .event
    case 5: opcode = sent ? .isoTransmitted : .isoReceived
    default: return nil
    }
    return CaptureRecord(
      opcode, Array(packet), time: envelope.time, adapter: envelope.adapter,
      missing: envelope.missing,
      isDirectionKnown: envelope.direction != nil || opcode == .command || opcode == .event)
  }

  /// The way that an ACL packet's flags point to: on LE a host begins with packet boundary flag 0b00,
  /// a controller with 0b10 (Vol 4 Part E, 5.4.2).
  private static func direction(ofACL packet: ArraySlice<UInt8>) -> CaptureDirection {
    FileBytes(packet).u8(1) >> 4 & 0b11 == 0b00 ? .sent : .received
  }
}
