// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Decodes the advertising and control PDUs of the LE link layer (Core Specification Vol 6 Part B), from the air or from
/// a controller's log.
enum LinkLayer {
  /// A connection that a CONNECT_IND or AUX_CONNECT_REQ requests (2.3.3).
  typealias Connection = (central: Address, accessAddress: UInt32)

  static func advertising(_ packet: AirPacket) -> (unit: DecodedUnit, connection: Connection?) {
    let type = packet.header & 0x0F
    let layout = packet.flags.isOnSecondaryChannel ? secondary[type] : primary[type]
    let name = layout?.name ?? "Advertising PDU \(type)"
    var unit = DecodedUnit(layer: .linkLayer, name: name, code: UInt16(type), length: packet.length)
    var reader = ByteReader(packet.payload)
    var addresses: [Address] = []
    do {
      // The header says whether the first and the second address are random (2.3, TxAdd and RxAdd).
      for (label, bit) in zip(layout?.addresses ?? [], [UInt8(0x40), 0x80]) {
        let address = try reader.address()
        addresses.append(address)
        unit.details.append(.text(label, address.text(type: packet.header & bit == 0 ? 0 : 1)))
      }
    } catch {
      unit.problem = "\(error)"
      return (unit, nil)
    }
    let rest = reader.rest()
    switch type {
    case 0, 2, 4, 6: unit.details.append(AdvertisingSummary.detail("Data", rest))
    case 5:
      unit.read(connection, from: rest)
      var reader = ByteReader(rest)
      if let central = addresses.first, let accessAddress = try? reader.u32() {
        return (unit, (central, accessAddress))
      }
    default: break
    }
    return (unit, nil)
  }

  /// A control PDU; nil if the capture has not even the opcode. What is not known, such as a vendor's PDU, and what follows
  /// the known fields are shown as bytes.
  ///
  /// - Parameters:
  ///   - payload: the captured part, opcode first.
  ///   - length: its length on the air.
  static func control(_ payload: ArraySlice<UInt8>, length: Int) -> DecodedUnit? {
    guard let opcode = payload.first else { return nil }
    let layout = controlPDUs[UInt16(opcode)]
    let kind = opcode == 0xFF ? "a vendor's LL Control PDU" : "LL Control PDU"
    var unit = DecodedUnit(
      layer: .linkLayer, name: layout?.name ?? "\(kind) \(hexadecimal(opcode, 2))",
      code: UInt16(opcode), length: length)
    unit.read((layout?.fields ?? []) + [.data], from: payload.dropFirst())
    return unit
  }

  // MARK: PDUs by number

  private typealias AdvertisingLayout = (name: String, addresses: [String])

  /// Primary advertising channel PDUs, and the addresses that each begins with (2.3).
  private static let primary: [UInt8: AdvertisingLayout] = [
    0: ("ADV_IND", ["AdvA"]), 1: ("ADV_DIRECT_IND", ["AdvA", "TargetA"]),
    2: ("ADV_NONCONN_IND", ["AdvA"]), 3: ("SCAN_REQ", ["ScanA", "AdvA"]), 4: ("SCAN_RSP", ["AdvA"]),
    5: ("CONNECT_IND", ["InitA", "AdvA"]), 6: ("ADV_SCAN_IND", ["AdvA"]), 7: ("ADV_EXT_IND", []),
  ]

  /// Secondary advertising channel PDUs (2.3.4).
  private static let secondary: [UInt8: AdvertisingLayout] = [
    3: ("AUX_SCAN_REQ", ["ScanA", "AdvA"]), 5: ("AUX_CONNECT_REQ", ["InitA", "AdvA"]),
    7: ("AUX_ADV_IND", []), 8: ("AUX_CONNECT_RSP", []),
  ]

  /// CONNECT_IND after the addresses (2.3.3.1), without the channel map.
  private static let connection: [PacketField] = [
    .hex("Access Address", 4), .hex("CRCInit", 3, digits: 8), .u8("WinSize"), .u16("WinOffset"),
    .milliseconds("Interval", 1.25), .u16("Latency"), .milliseconds("Timeout", 10),
  ]

  private static let parameters = PacketField.group([
    .milliseconds("Interval min", 1.25), .milliseconds("Interval max", 1.25), .u16("Latency"),
    .milliseconds("Timeout", 10),
  ])

  private static let lengths = PacketField.group([
    .u16("MaxRxOctets"), .u16("MaxRxTime"), .u16("MaxTxOctets"), .u16("MaxTxTime"),
  ])

  /// Control PDUs (2.4.2).
  static let controlPDUs: PacketTable = [
    0x00: .init(
      "LL_CONNECTION_UPDATE_IND", .u8("WinSize"), .u16("WinOffset"),
      .milliseconds("Interval", 1.25), .u16("Latency"), .milliseconds("Timeout", 10),
      .u16("Instant")),
    0x01: .init("LL_CHANNEL_MAP_IND", .hex("ChM", 5), .u16("Instant")),
    0x02: .init("LL_TERMINATE_IND", .reason),
    0x03: .init("LL_ENC_REQ", .hex("Rand", 8), .hex("EDIV", 2)),
    0x04: "LL_ENC_RSP", 0x05: "LL_START_ENC_REQ", 0x06: "LL_START_ENC_RSP",
    0x07: .init("LL_UNKNOWN_RSP", .hex("UnknownType", 1)),
    0x08: .init("LL_FEATURE_REQ", .hex("FeatureSet", 8)),
    0x09: .init("LL_FEATURE_RSP", .hex("FeatureSet", 8)),
    0x0A: "LL_PAUSE_ENC_REQ", 0x0B: "LL_PAUSE_ENC_RSP",
    0x0C: .init("LL_VERSION_IND", .hex("Version", 1), .u16("Company"), .hex("Subversion", 2)),
    0x0D: .init("LL_REJECT_IND", .reason), 0x0E: .init("LL_PERIPHERAL_FEATURE_REQ", .hex("FeatureSet", 8)),
    0x0F: .init("LL_CONNECTION_PARAM_REQ", parameters), 0x10: .init("LL_CONNECTION_PARAM_RSP", parameters),
    0x11: .init("LL_REJECT_EXT_IND", .hex("RejectOpcode", 1), .reason), 0x12: "LL_PING_REQ", 0x13: "LL_PING_RSP",
    0x14: .init("LL_LENGTH_REQ", lengths), 0x15: .init("LL_LENGTH_RSP", lengths),
    0x16: .init("LL_PHY_REQ", .phys("TX"), .phys("RX")), 0x17: .init("LL_PHY_RSP", .phys("TX"), .phys("RX")),
    0x18: .init("LL_PHY_UPDATE_IND", .phys("C to P"), .phys("P to C"), .u16("Instant")),
    0x19: .init("LL_MIN_USED_CHANNELS_IND", .phys("PHYs"), .u8("MinUsedChannels")), 0x1A: "LL_CTE_REQ",
    0x1B: "LL_CTE_RSP", 0x1C: "LL_PERIODIC_SYNC_IND", 0x1D: "LL_CLOCK_ACCURACY_REQ", 0x1E: "LL_CLOCK_ACCURACY_RSP",
    0x1F: "LL_CIS_REQ", 0x20: "LL_CIS_RSP", 0x21: "LL_CIS_IND", 0x22: "LL_CIS_TERMINATE_IND",
    0x23: "LL_POWER_CONTROL_REQ", 0x24: "LL_POWER_CONTROL_RSP", 0x25: "LL_POWER_CHANGE_IND",
    0x26: .init(
      "LL_SUBRATE_REQ", .u16("SubrateFactorMin"), .u16("SubrateFactorMax"), .u16("Max Latency"),
      .u16("ContinuationNumber"), .milliseconds("Timeout", 10)),
    0x27: .init(
      "LL_SUBRATE_IND", .u16("SubrateFactor"), .u16("SubrateBaseEvent"), .u16("Latency"),
      .u16("ContinuationNumber"), .milliseconds("Timeout", 10)),
    0x28: .init("LL_CHANNEL_REPORTING_IND", .u8("Enable"), .u8("Min Spacing"), .u8("Max Delay")),
    0x29: "LL_CHANNEL_STATUS_IND",
  ]
}
