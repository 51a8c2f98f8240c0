// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A control PDU of the link layer as an iPhone's own capture has it: PacketLogger's record of type 0x0A. It shows what the
/// controllers agree on below HCI.
///
///     ┌───────────┬───────┬─────────┬────────┬────────┬────────┬───────┐
///     │ direction │ clock │ address │ handle │ opcode │ fields │ stale │
///     └───────────┴───────┴─────────┴────────┴────────┴────────┴───────┘
///       1           4       6         2        1        …        1
///
/// The format is not published. This was found in the 598 such records of a public capture of an iPhone18,2 with iOS
/// 26.5.1 (docs/captures.md): requests and responses show the direction (0x80 sent, 0x81 received), connections and
/// disconnections in HCI the address (big endian) and the handle (little endian, as the clock), the intervals of pings and
/// parameter updates the clock (1.25 ms a tick). The last byte is what the buffer had before.
struct LoggedControlPDU {
  let isReceived: Bool
  /// The controller's clock, in steps of 1.25 ms.
  let clock: UInt32
  let peer: Address
  let handle: UInt16
  /// The PDU, opcode first.
  let pdu: ArraySlice<UInt8>

  /// Nil if it has another form, perhaps because it is one of BR/EDR's.
  init?(_ record: ArraySlice<UInt8>) {
    var reader = ByteReader(record)
    guard let direction = try? reader.u8(), direction & 0xFE == 0x80, let clock = try? reader.u32(),
      let address = try? reader.bytes(6), let handle = try? reader.u16(), handle <= 0x0EFF, reader.remaining >= 2
    else { return nil }
    isReceived = direction & 1 == 1
    self.clock = clock
    peer = Address(address.reduce(0) { $0 << 8 | UInt64($1) })
    self.handle = handle
    pdu = reader.rest().dropLast()
  }
}

extension CaptureDecoder {
  mutating func decodeLinkControl(_ record: CaptureRecord, _ frame: inout DecodedFrame) {
    guard let logged = LoggedControlPDU(record.data[...]),
      let decoded = LinkLayer.control(logged.pdu, length: logged.pdu.count)
    else {
      unknownControlRecords += 1
      var unit = DecodedUnit(layer: .linkLayer, name: "a record of another form", length: record.data.count)
      unit.bytes = record.data
      unit.read([.data], from: record.data[...])
      frame.title += ": len \(record.data.count)"
      frame.units = [unit]
      return
    }
    var unit = decoded
    if let opcode = logged.pdu.first, LinkLayer.controlPDUs[UInt16(opcode)] == nil {
      unknownControlPDUs[opcode, default: 0] += 1
    }
    links.change(.adapter(record.adapter, handle: logged.handle)) { link in
      if link.name.peer == nil { link.name.peer = logged.peer }
      unit.link = link.name
    }
    unit.bytes = record.data
    unit.details.append(.number("Clock", logged.clock))
    frame.record.opcode = logged.isReceived ? .linkControlReceived : .linkControlTransmitted
    frame.title = "\(frame.record.opcode): Handle \(logged.handle) \(unit.name)"
    frame.units = [unit]
  }
}
