// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// Packets that a sniffer heard. From the L2CAP fragments up they are decoded as a controller's; the
// information that a controller has in events is in link layer PDUs here. The board is assumed to be the peripheral:
// packets from the central count as received.

extension CaptureDecoder {
  mutating func decodeAir(_ record: CaptureRecord, _ frame: inout DecodedFrame) {
    guard let packet = AirPacket(record.data) else {
      let count = max(0, record.data.count - 2)
      return frame.notes.append("\(count) bytes, less than any packet has")
    }
    if packet.flags.isDamaged { frame.notes.append("its check sum is wrong") }
    if packet.isAdvertising {
      var (unit, connection) = LinkLayer.advertising(packet)
      unit.bytes = record.data
      frame.title = "LE Advertising: \(unit.name) len \(packet.length)"
      frame.units = [unit]
      if let connection, !packet.flags.isDamaged {
        links.begin(
          .air(connection.accessAddress), LinkName(handle: 0, peer: connection.central))
      }
      return
    }
    let place = LinkPlace.air(packet.accessAddress)
    var direction = packet.flags.direction ?? .received
    var isRepeated = false
    // An empty packet does not add a connection: it may be the last one of a connection that has ended.
    if packet.length > 0 || links.isUp(place) {
      links.change(place) { link in
        direction = link.air.direction(of: packet, at: record.time)
        isRepeated = !packet.flags.isDamaged && link.air.isRepeated(packet, direction)
      }
    }
    frame.record.opcode = direction == .sent ? .aclTransmitted : .aclReceived
    let address = hexadecimal(packet.accessAddress, 8)
    frame.title =
      switch packet.content {
      case .control: "LE Control: \(address) len \(packet.length)"
      case .start, .continuation:
        "LE Data: \(address) \(packet.length == 0 ? "empty" : "len \(packet.length)")"
      case .reserved: "LE Data: \(address) reserved kind, len \(packet.length)"
      }
    guard packet.length > 0, !packet.flags.isDamaged else { return }
    guard !isRepeated else { return frame.notes.append("sent again") }
    links.change(place) { Self.decode(packet, direction, &$0, &frame) }
    let unit = frame.units.first
    if unit?.layer == .linkLayer, unit?.name == "LL_TERMINATE_IND" { links.end(place) }
  }

  /// Decodes a data channel packet that is undamaged and not a retransmission.
  private static func decode(
    _ packet: AirPacket, _ direction: CaptureDirection, _ link: inout LinkState, _ frame: inout DecodedFrame
  ) {
    guard packet.flags.isDecrypted || !link.air.isEncrypted else {
      frame.notes.append("encrypted")
      guard !link.air.isReportedEncrypted else { return }
      link.air.isReportedEncrypted = true
      frame.warning =
        "handle \(link.name.handle): encrypted from packet \(frame.number) on; without its keys nobody "
        + "can read it: let the sniffer decrypt it, or capture on the board (ancsd trace --write)"
      return
    }
    switch packet.content {
    case .control: decodeControl(packet, &link, &frame)
    case .start, .continuation:
      deliver(
        Array(packet.payload), direction, isStart: packet.content == .start, missing: packet.missing, &link, &frame)
    case .reserved: break
    }
  }

  private static func decodeControl(_ packet: AirPacket, _ link: inout LinkState, _ frame: inout DecodedFrame) {
    guard var unit = LinkLayer.control(packet.payload, length: packet.length) else {
      return frame.notes.append("its content was not captured")
    }
    unit.link = link.name
    unit.bytes = frame.record.data
    frame.title += " \(unit.name)"
    frame.units = [unit]
    // Encryption begins with the response to LL_START_ENC_REQ (Vol 6 Part B, 5.1.3) and ends with a
    // pause (5.1.3.2).
    switch unit.code {
    case 0x05: link.air.isEncrypted = true
    case 0x0B: link.air.isEncrypted = false
    default: break
    }
  }
}

/// A packet on the air: access address, advertising or data channel PDU, CRC (Core Specification Vol 6
/// Part B, 2.1), preceded by the sniffer's flags.
struct AirPacket {
  /// The access address of primary advertising channel packets (2.1.2).
  static let advertisingAddress: UInt32 = 0x8E89_BED6

  let flags: Flags
  let accessAddress: UInt32
  /// Whether it is an advertising channel PDU; otherwise it belongs to a connection.
  let isAdvertising: Bool
  /// The first byte of the PDU's header, whose meaning depends on the channel (2.3, 2.4).
  let header: UInt8
  /// The length of the PDU's payload.
  let length: Int
  /// The part of the payload that was captured.
  let payload: ArraySlice<UInt8>

  /// The flags of link type 256
  /// (https://www.tcpdump.org/linktypes/LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR.html).
  struct Flags {
    let bits: UInt16

    var isDecrypted: Bool { bits & 0x0008 != 0 }
    /// Whether the CRC was checked and is wrong.
    var isDamaged: Bool { bits & 0x0C00 == 0x0400 }
    var isCoded: Bool { bits >> 14 == 2 }
    var isOnSecondaryChannel: Bool { kind == 1 }
    /// The direction as the peripheral sees it; nil if the sniffer does not say.
    var direction: CaptureDirection? { kind == 2 ? .received : kind == 3 ? .sent : nil }
    private var kind: UInt16 { bits >> 7 & 0b111 }
  }

  /// - Parameter record: the flags, two bytes, little endian, then the packet.
  init?(_ record: [UInt8]) {
    var reader = ByteReader(record)
    guard let flags = try? reader.u16(), let accessAddress = try? reader.u32() else { return nil }
    self.flags = Flags(bits: flags)
    self.accessAddress = accessAddress
    isAdvertising = accessAddress == Self.advertisingAddress || self.flags.isOnSecondaryChannel
    // On the coded PHY, a byte with the coding follows the access address (2.2).
    if self.flags.isCoded { _ = try? reader.u8() }
    guard let header = try? reader.u8(), let length = try? reader.u8() else { return nil }
    self.header = header
    self.length = Int(length)
    // The header of a data channel PDU may have a byte about its constant tone extension (2.4).
    if !isAdvertising, header & 0x20 != 0 { _ = try? reader.u8() }
    payload = reader.rest().prefix(self.length)
  }

  /// The number of bytes of the payload that were not captured.
  var missing: Int { length - payload.count }

  /// What a data channel PDU contains (2.4, LLID).
  var content: Content { Content(rawValue: header & 0b11) ?? .reserved }

  enum Content: UInt8 {
    case reserved, continuation, start, control
  }

  /// The sequence number of a data channel PDU, which changes with each new one (4.5.9).
  var sequenceNumber: UInt8 { header >> 3 & 1 }

  /// The shortest time that it was on the air, in microseconds: at 1 Mbit/s, with preamble and CRC.
  var duration: Int64 { Int64(1 + 4 + 2 + length + 3) * 8 }
}

/// What the packets of a connection on the air have shown of its link layer.
struct AirState: Sendable {
  /// Whether the link layer has started encryption.
  var isEncrypted = false
  /// Whether a warning said that the rest cannot be read.
  var isReportedEncrypted = false
  private var last: (time: WallTime, duration: Int64, direction: CaptureDirection)?
  /// The last sequence number and content in each direction.
  private var contents: [CaptureDirection: [UInt8]] = [:]

  /// The longest time between a packet and its response, in microseconds: the inter frame space (Vol 6
  /// Part B, 4.1.1), and as much for the sniffer's clock.
  private static let responseTime: Int64 = 300

  /// From the sniffer, or else from the timing: the central begins each connection event, and then the two take turns
  /// without a pause.
  mutating func direction(of packet: AirPacket, at time: WallTime) -> CaptureDirection {
    var direction = packet.flags.direction ?? .received
    if packet.flags.direction == nil, let last,
      (0...last.duration + Self.responseTime).contains(time.microseconds(since: last.time))
    {
      direction = last.direction.opposite
    }
    last = (time, packet.duration, direction)
    return direction
  }

  /// Whether sequence number and content are those of the last packet in this direction.
  mutating func isRepeated(_ packet: AirPacket, _ direction: CaptureDirection) -> Bool {
    let new = [packet.sequenceNumber] + packet.payload
    return contents.updateValue(new, forKey: direction) == new
  }
}
