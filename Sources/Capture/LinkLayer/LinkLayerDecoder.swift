// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Reads the PDUs of the link layer that are no data: advertising and control.
enum LinkLayerDecoder {
  /// A connection that a CONNECT_IND or AUX_CONNECT_REQ begins (Core Specification Vol 6 Part B, 2.3.3).
  struct Connection {
    var central: Address
    var accessAddress: UInt32
  }

  static func advertising(_ packet: AirPacket) -> (unit: Unit, connection: Connection?) {
    let type = packet.header & 0x0F
    let entry =
      packet.remarks.isOnSecondaryChannel
      ? LinkLayerTable.secondary[type] : LinkLayerTable.advertising[type]
    var unit = Unit(
      .linkLayer, entry?.name ?? "Advertising PDU \(type)", code: UInt16(type),
      length: packet.length)
    var reader = ByteReader(packet.payload)
    var addresses: [Address] = []
    do {
      // Whether the first and the second are random is in the header (2.3, TxAdd and RxAdd).
      for (label, bit) in zip(entry?.addresses ?? [], [UInt8(0x40), 0x80]) {
        let address = try reader.address()
        addresses.append(address)
        let isRandom = packet.header & bit != 0
        unit.details.append(.text(label, DeviceName.text(address, type: isRandom ? 1 : 0)))
      }
    } catch {
      unit.problem = "\(error)"
      return (unit, nil)
    }
    let rest = reader.rest()
    switch type {
    case 0, 2, 4, 6: unit.details.append(AdvertisingSummary.detail("Data", rest))
    case 5:
      unit.take(LinkLayerTable.connection, from: rest)
      if rest.count >= 4 {
        let accessAddress = FileBytes(rest).u32(0, .littleEndian)
        return (unit, Connection(central: addresses[0], accessAddress: accessAddress))
      }
    default: break
    }
    return (unit, nil)
  }

  /// - Returns: nil where not even its opcode was captured.
  static func control(_ packet: AirPacket) -> Unit? {
    guard let opcode = packet.payload.first else { return nil }
    let entry = LinkLayerTable.control[opcode]
    var unit = Unit(
      .linkLayer, entry?.name ?? "LL Control PDU \(hexadecimal(opcode, 2))",
      code: UInt16(opcode), length: packet.length)
    unit.take(entry?.fields, from: packet.payload.dropFirst())
    return unit
  }
}
