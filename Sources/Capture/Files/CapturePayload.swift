// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What the records of a capture file contain.
public enum CapturePayload: Hashable, Sendable {
  /// Packets of the kernel's monitor channel: btsnoop datalink 2001, pcap link type 254.
  case monitor
  /// HCI packets without a packet indicator (H1): btsnoop 1001.
  case unencapsulated
  /// HCI packets after a packet indicator (H4, Core Specification Vol 4 Part A): btsnoop 1002, pcap 187.
  case uart
  /// H4 packets after four bytes that contain the direction: pcap 201.
  case uartWithDirection
  /// HCI packets after a byte with their type, or notes: PacketLogger.
  case packetLogger
  /// LE link layer packets that a sniffer heard, from the access address on: pcap 251.
  case air
  /// The same after ten bytes from the sniffer: pcap 256.
  case airWithHeader

  /// The supported link types of pcap (https://www.tcpdump.org/linktypes.html).
  static let linkTypes: [UInt32: CapturePayload] = [
    187: .uart, 201: .uartWithDirection, 251: .air, 254: .monitor, 256: .airWithHeader,
  ]

  /// The supported datalinks of btsnoop.
  static let datalinks: [UInt32: CapturePayload] = [1001: .unencapsulated, 1002: .uart, 2001: .monitor]

  /// An unsupported link type, in words for an error message.
  static func name(ofLinkType linkType: UInt32) -> String {
    switch linkType {
    case 255: "pcap link type 255 (the BR/EDR baseband)"
    case 272: "pcap link type 272 (the nRF sniffer's own)"
    default: "pcap link type \(linkType)"
    }
  }

  /// What a file says about a packet outside of the packet itself.
  struct Envelope {
    var time: WallTime
    /// The length of the packet in the file; in a damaged file it may be negative.
    var included: Int
    /// The packet's length before it was captured.
    var original: Int
    var direction: CaptureDirection?
    /// Whether it is a command or an event (btsnoop 1001).
    var isControl = false
    /// The kind, unless the packet has it (btsnoop 2001).
    var opcode: MonitorOpcode?
    /// The adapter, unless the packet names one.
    var adapter: UInt16 = 0

    fileprivate func record(
      _ opcode: MonitorOpcode, _ data: some Sequence<UInt8>, adapter: UInt16? = nil, isDirectionKnown: Bool = true
    ) -> CaptureRecord {
      CaptureRecord(
        opcode, Array(data), time: time, adapter: adapter ?? self.adapter,
        missing: max(0, original - included), isDirectionKnown: isDirectionKnown)
    }
  }

  /// The packet in a file's record; nil if there is none, or one of an unknown kind.
  func record(_ bytes: ArraySlice<UInt8>, _ envelope: Envelope) -> CaptureRecord? {
    var reader = ByteReader(bytes, order: .bigEndian)
    switch self {
    case .monitor:
      if let opcode = envelope.opcode { return envelope.record(opcode, bytes) }
      guard let adapter = try? reader.u16(), let opcode = try? reader.u16() else { return nil }
      return envelope.record(MonitorOpcode(rawValue: opcode), reader.rest(), adapter: adapter)
    case .unencapsulated:
      let isReceived = envelope.direction == .received
      if envelope.isControl { return envelope.record(isReceived ? .event : .command, bytes) }
      return envelope.record(isReceived ? .aclReceived : .aclTransmitted, bytes)
    case .uart: return uart(bytes, envelope)
    case .uartWithDirection:
      guard let direction = try? reader.u32() else { return nil }
      var envelope = envelope
      envelope.direction = direction & 1 == 0 ? .sent : .received
      return uart(reader.rest(), envelope)
    case .packetLogger:
      guard let type = bytes.first, let opcode = Self.packetLoggerTypes[type] else { return nil }
      return envelope.record(opcode, bytes.dropFirst())
    case .air: return air([0, 0], bytes, envelope)
    case .airWithHeader:
      // Channel, signal, noise, access address offenses and the reference address are not used.
      guard (try? reader.skip(8)) != nil, let flags = try? reader.bytes(2) else { return nil }
      return air(flags, reader.rest(), envelope)
    }
  }

  /// The types of PacketLogger's records that are HCI packets or the link layer's PDUs (10, which may also be BR/EDR's
  /// link manager's). The others are the link manager's (11), and notes of the system from 0xF7 on.
  private static let packetLoggerTypes: [UInt8: MonitorOpcode] = [
    0: .command, 1: .event, 2: .aclTransmitted, 3: .aclReceived, 8: .scoTransmitted, 9: .scoReceived, 10: .linkControl,
  ]

  private func air(
    _ flags: ArraySlice<UInt8>, _ packet: ArraySlice<UInt8>, _ envelope: Envelope
  ) -> CaptureRecord {
    envelope.record(
      .air, flags + packet, adapter: MonitorOpcode.noAdapter, isDirectionKnown: false)
  }

  /// An H4 packet: packet indicator and packet (Vol 4 Part A, 2).
  private func uart(_ bytes: ArraySlice<UInt8>, _ envelope: Envelope) -> CaptureRecord? {
    guard let indicator = bytes.first else { return nil }
    let packet = bytes.dropFirst()
    let isSent = (envelope.direction ?? Self.direction(ofACL: packet)) == .sent
    let opcode: MonitorOpcode
    switch indicator {
    case 1: opcode = .command
    case 2: opcode = isSent ? .aclTransmitted : .aclReceived
    case 3: opcode = isSent ? .scoTransmitted : .scoReceived
    case 4: opcode = .event
    case 5: opcode = isSent ? .isoTransmitted : .isoReceived
    default: return nil
    }
    let isDirectionKnown = envelope.direction != nil || opcode == .command || opcode == .event
    return envelope.record(opcode, packet, isDirectionKnown: isDirectionKnown)
  }

  /// The direction that an ACL packet's flags suggest: on LE, the packet boundary flag of a first
  /// fragment is 0b00 from the host and 0b10 from the controller (Vol 4 Part E, 5.4.2).
  private static func direction(ofACL packet: ArraySlice<UInt8>) -> CaptureDirection {
    (packet.dropFirst().first ?? 0) >> 4 & 0b11 == 0b00 ? .sent : .received
  }
}
