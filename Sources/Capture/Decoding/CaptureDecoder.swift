// SPDX-License-Identifier: GPL-3.0-or-later
public import GATT
public import Wire

/// Decodes captured packets, from the controller's commands up to the attributes of a notification. It
/// follows the links: it reassembles fragments, learns attribute types from the discoveries that it
/// sees, and recognises a phone that reconnects.
///
///     record ──▶ command, event ──▶ links begin and end
///           └──▶ ACL data ──▶ L2CAP frame ──▶ ATT ──▶ ANCS, AMS, …
///                                        └──▶ SMP, signalling
///
/// Packets that a sniffer heard on the air join in at the L2CAP frames (`decodeAir`).
public struct CaptureDecoder: Sendable {
  var links = LinkTable()
  /// The control PDUs of a phone's link layer that are not decoded, by opcode: Apple's own, or newer ones.
  public internal(set) var unknownControlPDUs: [UInt8: Int] = [:]
  /// How many records of the link layer have another form, so that not even the opcode is known.
  public internal(set) var unknownControlRecords = 0
  private var count = 0
  /// The packets of commands without an event that responds to them so far, by adapter and opcode.
  private var commands: [UInt32: Int] = [:]

  /// The assumed kind of the peer on a link that was up before the capture began, until its traffic shows it; from the
  /// file's reader.
  public var assumedPeer: LinkName.PeerKind {
    get { links.assumedPeer }
    set { links.assumedPeer = newValue }
  }

  public init() {}

  /// Adds a link that was up before the capture began.
  ///
  /// - Parameters:
  ///   - remote: known services of the peer.
  ///   - local: known services of the board.
  public mutating func addLink(
    to peer: Address, handle: UInt16, adapter: UInt16, remote: [LocatedService] = [], local: [LocatedService] = []
  ) {
    links.change(.adapter(adapter, handle: handle)) { link in
      link.name.peer = peer
      link.isKnown = true
      link.remote.database.learn(remote)
      link.local.database.learn(local)
    }
  }

  /// Learns the attributes of the captured host from all that a reader has still to return. They are the same for
  /// all its peers, so that those of a link that was up before the capture began have their names from another's
  /// discovery, though it comes later.
  public mutating func learnHosts(ahead reader: CaptureReader) {
    var (reader, scout) = (reader, CaptureDecoder())
    while let record = try? reader.next() { _ = scout.decode(record) }
    links.learnHosts(of: scout.links)
  }

  /// Decodes the next packet.
  public mutating func decode(_ record: CaptureRecord) -> DecodedFrame {
    count += 1
    var frame = DecodedFrame(number: count, record: record, title: "\(record.opcode)")
    switch record.opcode {
    case .command:
      decode(HCIDecoder.command(record.data), &frame)
      // Reset ends all links; no event says so.
      if frame.units.first?.code == 0x0C03 { links.endAll(of: record.adapter) }
    case .event:
      if let link = Self.connectedLink(record.data) {
        links.begin(.adapter(record.adapter, handle: link.handle), link)
      }
      let handle = decode(HCIDecoder.event(record.data), &frame)
      // Disconnection Complete, which has the handle only without an error.
      if record.data.first == 0x05, let handle {
        links.end(.adapter(record.adapter, handle: handle))
      }
    case .aclTransmitted, .aclReceived: decodeACL(record, &frame)
    case .scoTransmitted, .scoReceived, .isoTransmitted, .isoReceived:
      var reader = ByteReader(record.data)
      let handle = reader.u16OrZero() & 0x0FFF
      frame.title = "\(record.opcode): Handle \(handle) len \(record.data.count)"
      var unit = DecodedUnit(layer: .data, name: "\(record.opcode)", length: record.data.count)
      unit.link = links.name(.adapter(record.adapter, handle: handle))
      frame.units = [unit]
    case .air: decodeAir(record, &frame)
    case .linkControl: decodeLinkControl(record, &frame)
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

  // MARK: Commands and events

  /// Adds a command or event, with the link that it is about, whose handle it returns.
  @discardableResult
  private mutating func decode(
    _ packet: (title: String, unit: DecodedUnit), _ frame: inout DecodedFrame
  ) -> UInt16? {
    var unit = packet.unit
    unit.bytes = frame.record.data
    var handle: UInt16?
    if case .number(let number)? = unit.details.first(where: { $0.key == "handle" })?.value {
      handle = UInt16(truncatingIfNeeded: number)
    }
    unit.link = handle.map { links.name(.adapter(frame.record.adapter, handle: $0)) }
    let adapter = UInt32(frame.record.adapter) << 16
    if unit.layer == .hciCommand {
      commands[adapter | UInt32(unit.code ?? 0)] = frame.number
    } else if let first = unit.details.first, first.label == "Command",
      case .named(_, let opcode, _) = first.value
    {
      unit.request = commands.removeValue(forKey: adapter | UInt32(opcode))
    }
    frame.title = packet.title
    frame.units = [unit]
    return handle
  }

  /// The link that an LE (Enhanced) Connection Complete event without an error reports (Vol 4 Part E,
  /// 7.7.65.1 and 7.7.65.10).
  private static func connectedLink(_ event: [UInt8]) -> LinkName? {
    guard event.count > 3, event[0] == 0x3E, [0x01, 0x0A, 0x29].contains(event[2]), event[3] == 0
    else { return nil }
    var reader = ByteReader(event[4...])
    guard let handle = try? reader.u16(), let role = try? reader.u8(), (try? reader.skip(1)) != nil,
      let peer = try? reader.address()
    else { return nil }
    var link = LinkName(handle: handle & 0x0FFF, peer: peer)
    if role == 0 { link.peerKind = .accessory }
    // If the controller resolved the peer's identity, its address on the air follows.
    if event[2] != 0x01, (try? reader.skip(6)) != nil, let air = try? reader.address(), air.value != 0 {
      link.aliases.insert(air)
    }
    return link
  }

  // MARK: ACL data

  private mutating func decodeACL(_ record: CaptureRecord, _ frame: inout DecodedFrame) {
    var reader = ByteReader(record.data)
    let head = reader.u16OrZero()
    let length = Int(reader.u16OrZero())
    let handle = head & 0x0FFF
    let flags = UInt8(truncatingIfNeeded: head >> 12)
    frame.title = "\(record.opcode): Handle \(handle) flags \(hexadecimal(flags, 2)) dlen \(length)"
    guard record.data.count >= 4 else {
      frame.notes.append("\(record.data.count) bytes, four needed")
      return
    }
    let data = Array(reader.rest().prefix(length))
    let isStart = flags & 0b11 != 0b01
    links.change(.adapter(record.adapter, handle: handle)) { link in
      var direction = record.opcode.direction ?? .received
      if !record.isDirectionKnown {
        direction = link.direction(direction, isStart: isStart)
        frame.record.opcode = direction == .sent ? .aclTransmitted : .aclReceived
      }
      Self.deliver(data, direction, isStart: isStart, missing: max(record.missing, length - data.count), &link, &frame)
    }
  }

  /// Adds a fragment of an L2CAP frame to its link, and decodes the frame if it is complete.
  static func deliver(
    _ data: [UInt8], _ direction: CaptureDirection, isStart: Bool, missing: Int,
    _ link: inout LinkState, _ frame: inout DecodedFrame
  ) {
    let outcome = link.reassemblers[direction, default: Reassembler()]
      .receive(data, isStart: isStart, missing: missing)
    if let note = outcome.note { frame.notes.append(note) }
    frame.link = link.name
    guard let l2cap = outcome.frame else { return }
    frame.units = decode(l2cap, direction, frame.number, &link, &frame.notes)
    if frame.units.contains(where: { !$0.profiles.isEmpty }) { link.seePeerKind() }
    for place in frame.units.indices {
      frame.units[place].channel = l2cap.channel
      frame.units[place].link = link.name
      // The units of ATT say so themselves.
      guard !l2cap.isWhole, frame.units[place].layer != .att else { continue }
      frame.units[place].problem = "truncated in the capture"
    }
    guard frame.units.contains(where: { link.isNameless(to: $0) }) else { return }
    link.isKnown = true
    let adapter = frame.record.adapter
    let place = adapter == MonitorOpcode.noAdapter ? "" : "hci\(adapter) "
    let whose = link.local.database.count > 0 ? "the peer's attributes" : "attributes"
    frame.warning =
      "\(place)handle \(link.name.handle): this link was up before the capture began, so its "
      + "discovery is missing: \(whose) have no names, and --ancs and --ams skip them"
  }

  /// Decodes a frame by its channel (Vol 3 Part A, 2.1).
  private static func decode(
    _ frame: L2CAPFrame, _ direction: CaptureDirection, _ packet: Int, _ link: inout LinkState, _ notes: inout [String]
  ) -> [DecodedUnit] {
    switch frame.channel {
    case 4:
      return [link.decodeATT(frame.payload, direction, packet: packet, isWhole: frame.isWhole)]
    case 1, 5:
      return Signalling.commands(in: frame.payload).map { command in
        if frame.isWhole { link.channels.follow(command, direction) }
        var unit = Signalling.decode(command)
        if command.count > 1, let role = Signalling.role(of: command[0]) {
          unit.request = link.signals.request(
            of: role, isSent: direction == .sent, bearer: UInt16(command[1]), packet: packet)
        }
        return unit
      }
    case 6, 7:
      if let identity = SecurityManager.identity(frame.payload), direction == .received {
        if let peer = link.name.peer { link.name.aliases.insert(peer) }
        link.name.peer = identity
      }
      return [SecurityManager.decode(frame.payload)]
    default:
      guard let delivery = link.channels.receive(frame, direction) else {
        let name = "Channel \(frame.channel)"
        return [DecodedUnit(layer: .l2cap, name: name, length: frame.payload.count)]
      }
      if let note = delivery.note { notes.append(note) }
      guard let pdu = delivery.pdu else { return [] }
      return [link.decodeATT(pdu, direction, bearer: delivery.bearer, packet: packet, isWhole: frame.isWhole)]
    }
  }
}
