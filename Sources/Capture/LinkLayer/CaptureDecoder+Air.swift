// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// What a sniffer heard. Its packets take the way of a controller's from the L2CAP fragments up; what a
// controller would say in events is read from the link layer's own PDUs. The board is taken for the
// peripheral: what the central sends is received.

extension CaptureDecoder {
  mutating func decodeAir(_ record: CaptureRecord, _ frame: inout Frame) {
    guard let packet = AirPacket(record.data) else {
      frame.notes.append("\(max(0, record.data.count - 2)) bytes, less than any packet has")
      return
    }
    if packet.remarks.isDamaged { frame.notes.append("its check sum is wrong") }
    if packet.isAdvertising {
      let (unit, connection) = LinkLayerDecoder.advertising(packet)
      frame.title = "LE Advertising: \(unit.name) len \(packet.length)"
      frame.units = [unit]
      if let connection, !packet.remarks.isDamaged {
        let handle = airLinks.begin(connection.accessAddress)
        links.begin(record.adapter, LinkName(handle: handle, peer: connection.central))
      }
      return
    }
    let (direction, isRepeated) = airLinks.hear(packet, at: record.time)
    frame.record.opcode = direction == .sent ? .aclTransmitted : .aclReceived
    let address = hexadecimal(packet.accessAddress, 8)
    frame.title =
      switch packet.content {
      case .control: "LE Control: \(address) len \(packet.length)"
      case .start, .continuation:
        packet.length == 0
          ? "LE Data: \(address) empty" : "LE Data: \(address) len \(packet.length)"
      case .reserved: "LE Data: \(address) reserved kind, len \(packet.length)"
      }
    guard packet.length > 0, !packet.remarks.isDamaged else { return }
    if isRepeated {
      frame.notes.append("sent again")
    } else {
      follow(packet, direction, &frame)
    }
  }

  /// A packet that says something new, and was heard as it was sent.
  private mutating func follow(
    _ packet: AirPacket, _ direction: CaptureDirection, _ frame: inout Frame
  ) {
    let (handle, isOpaque, isNews) = airLinks.change(packet.accessAddress) { link in
      let isOpaque = link.isEncrypted && !packet.remarks.isDecrypted
      defer { link.isGivenUp = link.isGivenUp || isOpaque }
      return (link.handle, isOpaque, isOpaque && !link.isGivenUp)
    }
    guard !isOpaque else {
      frame.notes.append("encrypted")
      if isNews {
        frame.warning =
          "handle \(handle): encrypted from packet \(frame.number) on; without its keys nobody can "
          + "read it: let the sniffer decrypt it, or capture on the board (ancsd trace --write)"
      }
      return
    }
    switch packet.content {
    case .control: control(packet, handle, &frame)
    case .start, .continuation:
      links.change(frame.record.adapter, handle) {
        Self.deliver(
          Array(packet.payload), direction, isStart: packet.content == .start,
          missing: packet.missing, &$0, &frame)
      }
    case .reserved: break
    }
  }

  private mutating func control(_ packet: AirPacket, _ handle: UInt16, _ frame: inout Frame) {
    guard var unit = LinkLayerDecoder.control(packet) else {
      frame.notes.append("its content was not captured")
      return
    }
    unit.link = links.name(frame.record.adapter, handle)
    frame.title += " \(unit.name)"
    frame.units = [unit]
    switch packet.payload.first {
    case 0x02:  // LL_TERMINATE_IND
      links.end(frame.record.adapter, handle)
      airLinks.end(packet.accessAddress)
    // From the answer to LL_START_ENC_REQ on (Vol 6 Part B, 5.1.3), until a pause of it (5.1.3.2).
    case 0x05: airLinks.change(packet.accessAddress) { $0.isEncrypted = true }
    case 0x0B: airLinks.change(packet.accessAddress) { $0.isEncrypted = false }
    default: break
    }
  }
}
