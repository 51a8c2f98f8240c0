// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A packet as a sniffer heard it on the air: the access address, an advertising or a data channel PDU,
/// the check sum (Core Specification Vol 6 Part B, 2.1). The sniffer's remarks come with it, as link
/// type 256 has them (https://www.tcpdump.org/linktypes/LINKTYPE_BLUETOOTH_LE_LL_WITH_PHDR.html).
struct AirPacket {
  /// The access address of everything that is no connection (2.1.2).
  static let advertisingAddress: UInt32 = 0x8E89_BED6

  let remarks: Remarks
  let accessAddress: UInt32
  /// Whether it is on an advertising channel, of one kind or the other; else it is a connection's.
  let isAdvertising: Bool
  /// The first byte of the PDU's header; what is in it depends on the channel (2.3, 2.4).
  let header: UInt8
  /// How many bytes the PDU's payload has.
  let length: Int
  /// As much of them as was captured.
  let payload: ArraySlice<UInt8>

  /// What the sniffer says besides the packet.
  struct Remarks: RawRepresentable {
    let rawValue: UInt16

    var isDecrypted: Bool { rawValue & 0x0008 != 0 }
    /// Whether the check sum was looked at, and was wrong.
    var isDamaged: Bool { rawValue & 0x0C00 == 0x0400 }
    var isCoded: Bool { rawValue >> 14 == 2 }
    var isOnSecondaryChannel: Bool { kind == 1 }
    /// Seen from the peripheral, which is the board mostly; nil where the sniffer does not say.
    var direction: CaptureDirection? {
      switch kind {
      case 2: .received
      case 3: .sent
      default: nil
      }
    }
    private var kind: UInt16 { rawValue >> 7 & 0b111 }
  }

  /// - Parameter record: the remarks, two bytes, least significant first, and the packet.
  init?(_ record: [UInt8]) {
    let bytes = FileBytes(record[...])
    remarks = Remarks(rawValue: bytes.u16(0, .littleEndian))
    accessAddress = bytes.u32(2, .littleEndian)
    isAdvertising =
      accessAddress == Self.advertisingAddress || remarks.isOnSecondaryChannel
    // The coded PHY has an indicator of its rate behind the address (2.2).
    let start = remarks.isCoded ? 7 : 6
    guard bytes.count >= start + 2 else { return nil }
    header = bytes.u8(start)
    length = Int(bytes.u8(start + 1))
    // Data may have a byte about its constant tone in the header (2.4).
    let hasTone = !isAdvertising && header & 0x20 != 0
    payload = bytes.slice(start + (hasTone ? 3 : 2), length)
  }

  /// How many bytes of the payload were not captured.
  var missing: Int { length - payload.count }

  /// Of a data channel PDU: what it is (2.4, LLID).
  var content: Content { Content(rawValue: header & 0b11) ?? .reserved }

  enum Content: UInt8 {
    case reserved, continuation, start, control
  }

  /// Of a data channel PDU: the bit that is another with each new one (4.5.9).
  var sequenceNumber: UInt8 { header >> 3 & 1 }

  /// How long it was on the air at least, in microseconds: at 1 Mbit/s, with preamble and check sum.
  var duration: Int64 { Int64(1 + 4 + 2 + length + 3) * 8 }
}
