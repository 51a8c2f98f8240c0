// SPDX-License-Identifier: GPL-3.0-or-later
public import GATT
public import Wire

/// Reads captured packets into what they say, from the controller's commands up to the attributes of
/// a notification. It follows the links: fragments are put together, discovery that goes by teaches it
/// what the handles are, and a phone that comes back is known again.
///
///     record ──▶ command, event ──▶ links begin and end
///           └──▶ ACL data ──▶ L2CAP frame ──▶ ATT ──▶ ANCS, AMS, …
///                                        └──▶ SMP, signalling
///
/// What a sniffer heard on the air joins in at the L2CAP frames (`decodeAir`).
public struct CaptureDecoder: Sendable {
  var links = LinkTable()
  var airLinks = AirLinks()
  private var count = 0

  public init() {}

  /// Tells of a link that was there before the capture began.
  ///
  /// - Parameters:
  ///   - remote: what is known of the other side's services.
  ///   - local: what is known of the board's own.
  public mutating func know(
    _ peer: Address, handle: UInt16, adapter: UInt16, remote: [LocatedService] = [],
    local: [LocatedService] = []
  ) {
    links.change(adapter, handle) { link in
      link.name.peer = peer
      link.isKnown = true
      link.dialogue.know(remote: remote, local: local)
    }
  }

  /// Decodes the next packet.
  public mutating func decode(_ record: CaptureRecord) -> Frame {
    count += 1
    var frame = Frame(number: count, record: record, title: "\(record.opcode)")
    switch record.opcode {
    case .command:
      let (title, unit) = HCIDecoder.command(record.data)
      frame.title = title
      frame.units = [named(unit, record)]
      // Reset ends every link without a word about them.
      if unit.code == 0x0C03 { links.endAll(of: record.adapter) }
    case .event:
      let (title, unit) = HCIDecoder.event(record.data)
      frame.title = title
      follow(unit, record)
      frame.units = [named(unit, record)]
      if record.data.first == 0x05, let handle = Self.endedHandle(record.data) {
        links.end(record.adapter, handle)
      }
    case .aclTransmitted, .aclReceived: decodeACL(record, &frame)
    case .scoTransmitted, .scoReceived, .isoTransmitted, .isoReceived:
      let bytes = FileBytes(record.data[...])
      let handle = bytes.u16(0, .littleEndian) & 0x0FFF
      frame.title = "\(record.opcode): Handle \(handle) len \(record.data.count)"
      var unit = Unit(.data, "\(record.opcode)", length: record.data.count)
      unit.link = links.name(record.adapter, handle)
      frame.units = [unit]
    case .air: decodeAir(record, &frame)
    case .closeIndex, .deleteIndex:
      links.endAll(of: record.adapter)
      fallthrough
    default:
      if let (title, unit) = KernelPacket.decode(record) {
        frame.title = title
        frame.units = [unit]
      } else {
        frame.title = "\(record.opcode): len \(record.data.count)"
      }
    }
    if record.missing > 0 { frame.notes.append("\(record.missing) bytes were not captured") }
    return frame
  }

  // MARK: Events

  /// A command or event with the link that its parameters name.
  private func named(_ unit: Unit, _ record: CaptureRecord) -> Unit {
    var unit = unit
    if case .number(let handle)? = unit.details.first(where: { $0.key == "handle" })?.value {
      unit.link = links.name(record.adapter, UInt16(truncatingIfNeeded: handle))
    }
    return unit
  }

  /// Lets links begin where an event says so.
  private mutating func follow(_ unit: Unit, _ record: CaptureRecord) {
    guard record.data.first == 0x3E, record.data.count > 2 else { return }
    var reader = ByteReader(record.data.dropFirst(3))
    switch record.data[2] {
    case 0x01, 0x0A, 0x29:
      guard (try? reader.u8()) == 0, let handle = try? reader.u16(), (try? reader.bytes(2)) != nil,
        let address = try? reader.address()
      else { return }
      // Behind an identity that the controller resolved comes the address on the air.
      var name = LinkName(handle: handle & 0x0FFF, peer: address)
      if record.data[2] != 0x01, (try? reader.bytes(6)) != nil, let air = try? reader.address(),
        air.value != 0
      {
        name.aliases.insert(air)
      }
      links.begin(record.adapter, name)
    default: break
    }
  }

  /// The handle of a Disconnection Complete without error.
  private static func endedHandle(_ event: [UInt8]) -> UInt16? {
    let bytes = FileBytes(event[...])
    guard event.count >= 5, bytes.u8(2) == 0 else { return nil }
    return bytes.u16(3, .littleEndian) & 0x0FFF
  }

  // MARK: ACL data

  private mutating func decodeACL(_ record: CaptureRecord, _ frame: inout Frame) {
    let bytes = FileBytes(record.data[...])
    let head = bytes.u16(0, .littleEndian)
    let handle = head & 0x0FFF
    let flags = UInt8(truncatingIfNeeded: head >> 12)
    frame.title =
      "\(record.opcode): Handle \(handle) flags \(hexadecimal(flags, 2)) "
      + "dlen \(bytes.u16(2, .littleEndian))"
    guard record.data.count >= 4 else {
      frame.notes.append("\(record.data.count) bytes, four needed")
      return
    }
    links.change(record.adapter, handle) { Self.decodeACL(record, &$0, &frame) }
  }

  /// An ACL packet whose head is whole, on its link.
  private static func decodeACL(
    _ record: CaptureRecord, _ link: inout LinkState, _ frame: inout Frame
  ) {
    let bytes = FileBytes(record.data[...])
    let length = Int(bytes.u16(2, .littleEndian))
    let data = Array(record.data.dropFirst(4).prefix(length))
    let isStart = bytes.u8(1) >> 4 & 0b11 != 0b01
    var direction = record.opcode.direction ?? .received
    if !record.isDirectionKnown {
      direction = link.direction(direction, isStart: isStart)
      frame.record.opcode = direction == .sent ? .aclTransmitted : .aclReceived
    }
    deliver(
      data, direction, isStart: isStart, missing: max(record.missing, length - data.count), &link,
      &frame)
  }

  /// A piece of an L2CAP frame, on its link.
  static func deliver(
    _ data: [UInt8], _ direction: CaptureDirection, isStart: Bool, missing: Int,
    _ link: inout LinkState, _ frame: inout Frame
  ) {
    let outcome = link.receive(data, direction, isStart: isStart, missing: missing)
    if let note = outcome.note { frame.notes.append(note) }
    guard let l2cap = outcome.frame else { return }
    frame.units = decode(l2cap, direction, &link, &frame.notes)
    for place in frame.units.indices {
      frame.units[place].channel = l2cap.channel
      frame.units[place].link = link.name
    }
    guard frame.units.contains(where: { link.isNameless(to: $0) }) else { return }
    link.isKnown = true
    let adapter = frame.record.adapter
    let place = adapter == MonitorOpcode.noAdapter ? "" : "hci\(adapter) "
    frame.warning =
      "\(place)handle \(link.name.handle): this link was up before the capture began, and its "
      + "discovery is not in it: attributes have no names, and --ancs and --ams do not know them"
  }

  /// What a frame holds, by its channel (Vol 3 Part A, 2.1).
  private static func decode(
    _ frame: Reassembler.Frame, _ direction: CaptureDirection, _ link: inout LinkState,
    _ notes: inout [String]
  ) -> [Unit] {
    switch frame.channel {
    case 4: return [link.dialogue.decode(frame.payload, direction, isWhole: frame.isWhole)]
    case 1, 5:
      return Signalling.commands(in: frame.payload).map { command in
        if frame.isWhole { link.channels.follow(command, direction) }
        return flagged(Signalling.decode(command), frame)
      }
    case 6, 7:
      if let identity = SecurityManager.identity(frame.payload), direction == .received {
        if let peer = link.name.peer { link.name.aliases.insert(peer) }
        link.name.peer = identity
      }
      return [flagged(SecurityManager.decode(frame.payload), frame)]
    default:
      guard let delivery = link.channels.receive(frame, direction) else {
        let name = "Channel \(frame.channel)"
        return [flagged(Unit(.l2cap, name, length: frame.payload.count), frame)]
      }
      if let note = delivery.note { notes.append(note) }
      guard let pdu = delivery.pdu else { return [] }
      return [
        link.dialogue.decode(pdu, direction, bearer: delivery.bearer, isWhole: frame.isWhole)
      ]
    }
  }

  /// With a word on what is missing.
  private static func flagged(_ unit: Unit, _ frame: Reassembler.Frame) -> Unit {
    var unit = unit
    if !frame.isWhole { unit.problem = "only its beginning was captured" }
    return unit
  }
}
