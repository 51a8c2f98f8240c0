// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Testing
import Wire

@testable import FuzzTargets

@Suite("Captures of a sniffer")
struct AirTests {
  /// A sniffer's capture, decoded packet by packet.
  private struct Sniffer {
    var decoder = CaptureDecoder()
    var time: Int64 = 1_795_241_100_000_000
    static let address: UInt32 = 0x5065_5D57

    /// After a CONNECT_IND.
    static var connected: Sniffer {
      var sniffer = Sniffer()
      _ = sniffer.connect()
      return sniffer
    }

    enum Way: UInt16 {
      case unknown = 0
      case fromCentral = 2
      case fromPeripheral = 3
    }

    /// A packet, `after` this many microseconds.
    mutating func hear(
      _ pdu: [UInt8], _ way: Way = .unknown, on address: UInt32 = address, flags: UInt16 = 0x0C00, after: Int64 = 30_000
    ) -> DecodedFrame {
      time += after
      let data = Sample.little(flags | way.rawValue << 7) + Sample.little(address) + pdu + [1, 2, 3]
      return decoder.decode(
        CaptureRecord(
          .air, data, time: WallTime(microseconds: time), adapter: MonitorOpcode.noAdapter))
    }

    /// A CONNECT_IND of the central.
    mutating func connect() -> DecodedFrame {
      let fields: [UInt8] = [0xA2, 0xB3, 0x17, 2, 5, 0, 24, 0, 0, 0, 0xF4, 1]
      return hear(
        [0xC5, 34] + Sample.phone.address.littleEndian + [6, 5, 4, 3, 2, 0xC1] + Sample.little(Self.address) + fields
          + [0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0x25], on: 0x8E89_BED6)
    }

    /// An ATT PDU in one packet.
    mutating func att(
      _ pdu: [UInt8], _ way: Way, number: UInt8 = 0, on address: UInt32 = address, flags: UInt16 = 0x0C00
    ) -> DecodedFrame {
      let frame = Sample.att(pdu)
      return hear([2 | number << 3, UInt8(frame.count)] + frame, way, on: address, flags: flags)
    }
  }

  @Test("Advertisements have the advertiser and the data")
  func advertisement() {
    var sniffer = Sniffer()
    let frame = sniffer.hear([0x40, 9, 6, 5, 4, 3, 2, 0xC1, 2, 1, 6], on: 0x8E89_BED6)
    #expect(frame.title == "LE Advertising: ADV_IND len 9")
    #expect(frame.units.first?.layer == .linkLayer)
    #expect(frame.units.first?.value("adva") == "C1:02:03:04:05:06 (static)")
    #expect(frame.units.first?.value("flags") == "LE General Discoverable, BR/EDR Not Supported (0x06)")
  }

  @Test("After a CONNECT_IND, ATT PDUs have a phone, a direction and names")
  func connection() {
    var sniffer = Sniffer()
    let connect = sniffer.connect()
    #expect(connect.units.first?.name == "CONNECT_IND")
    #expect(connect.units.first?.value("access_address") == "0x50655d57")
    #expect(connect.units.first?.value("interval") == "30 ms")
    _ = sniffer.att([0x04, 1, 0, 9, 0], .fromPeripheral)
    let found = sniffer.att([0x05, 1, 3, 0, 0x00, 0x2A], .fromCentral)
    #expect(found.record.opcode == .aclReceived)
    #expect(found.units.first?.link?.peer == Sample.phone.address)
    let read = sniffer.att([0x0A, 3, 0], .fromPeripheral, number: 1)
    #expect(read.record.opcode == .aclTransmitted)
    #expect(read.units.first?.attributes.first?.uuid == UUID(0x2A00))
    #expect(read.warning == nil)
  }

  @Test("Without a direction, the time decides: the central begins, then they take turns")
  func unknownWay() {
    var sniffer = Sniffer.connected
    func direction(_ pdu: [UInt8], after: Int64) -> CaptureDirection? {
      sniffer.hear(pdu, after: after).record.opcode.direction
    }
    let empty: [UInt8] = [1, 0]
    #expect(direction(empty, after: 30_000) == .received)
    #expect(direction([2, 27] + [UInt8](repeating: 0, count: 27), after: 230) == .sent)
    #expect(direction(empty, after: 150 + 8 * 37) == .received)
    #expect(direction(empty, after: 7_500) == .received)
    #expect(direction(empty, after: 231) == .sent)
  }

  @Test("Retransmissions are not new packets; new packets with the same content are")
  func repetition() {
    var sniffer = Sniffer.connected
    let notification: [UInt8] = [0x1B, 0x2A, 0x00, 1]
    #expect(sniffer.att(notification, .fromCentral, number: 0).units.count == 1)
    let again = sniffer.att(notification, .fromCentral, number: 0)
    #expect(again.units.isEmpty)
    #expect(again.notes == ["sent again"])
    #expect(sniffer.att(notification, .fromCentral, number: 1).units.count == 1)
    _ = sniffer.hear([1, 0], .fromCentral)
    #expect(sniffer.att(notification, .fromCentral, number: 1).units.count == 1)
  }

  @Test("Encrypted packets are not decoded, with one warning, until encryption is paused")
  func encryption() {
    var sniffer = Sniffer.connected
    let start = sniffer.hear([3, 1, 0x05], .fromPeripheral)
    #expect(start.units.first?.name == "LL_START_ENC_REQ")
    let first = sniffer.att([0x0A, 3, 0], .fromCentral)
    #expect(first.units.isEmpty && first.notes == ["encrypted"])
    #expect(first.warning?.contains("encrypted from packet 3 on") == true)
    let second = sniffer.att([0x0A, 4, 0], .fromCentral, number: 1)
    #expect(second.units.isEmpty && second.warning == nil)
    // A sniffer that has the keys hands out what they open.
    let open = sniffer.att([0x0A, 5, 0], .fromCentral, flags: 0x0C08)
    #expect(open.units.first?.name == "Read Request")
    _ = sniffer.hear([3, 1, 0x0B], .fromCentral, flags: 0x0C08)
    #expect(sniffer.att([0x0A, 6, 0], .fromCentral).units.count == 1)
  }

  @Test("Packets with a wrong CRC are shown, and not followed")
  func damaged() {
    var sniffer = Sniffer.connected
    let wrong = sniffer.att([0x0A, 3, 0], .fromCentral, flags: 0x0400)
    #expect(wrong.units.isEmpty)
    #expect(wrong.notes == ["its check sum is wrong"])
    #expect(sniffer.att([0x0A, 3, 0], .fromCentral).units.count == 1)
  }

  @Test("Packets of a reserved kind, or cut before the opcode, are not decoded, nor is less than a packet")
  func noMeaning() {
    var sniffer = Sniffer.connected
    let reserved = sniffer.hear([0, 7] + Sample.att([0x0A, 3, 0]), .fromCentral)
    #expect(reserved.title == "LE Data: 0x50655d57 reserved kind, len 7")
    #expect(reserved.units.isEmpty && reserved.notes.isEmpty)
    let data = Sample.little(UInt16(2 << 7)) + Sample.little(Sniffer.address) + [3, 12]
    let cut = sniffer.decoder.decode(CaptureRecord(.air, data, time: Sample.time, adapter: MonitorOpcode.noAdapter))
    #expect(cut.units.isEmpty && cut.notes == ["its content was not captured"])
    let short = CaptureRecord(.air, [0xD6, 0xBE, 0x89, 0x8E, 0x42], time: Sample.time)
    let read = Sample.read(Sample.pcap(251, of: [short])).records
    #expect(read.map { sniffer.decoder.decode($0).notes } == [["5 bytes, less than any packet has"]])
  }

  @Test("Connections without a CONNECT_IND are followed too, without names")
  func middle() {
    var sniffer = Sniffer()
    let frame = sniffer.att([0x1B, 0x2A, 0x00, 1], .fromCentral)
    #expect(frame.units.first?.name == "Handle Value Notification")
    #expect(frame.warning?.hasPrefix("handle 0: this link was up before") == true)
  }

  @Test("Connections are kept apart, and end")
  func several() {
    var sniffer = Sniffer.connected
    let pdu: [UInt8] = [0x1B, 0x2A, 0x00, 1]
    let other = sniffer.att(pdu, .fromCentral, on: 0x1234_5678)
    #expect(other.units.first?.link?.handle == 1)
    #expect(sniffer.att(pdu, .fromCentral).units.first?.link?.handle == 0)
    let end = sniffer.hear([3, 2, 0x02, 0x13], .fromCentral)
    #expect(end.units.first?.value("reason") == "Remote User Terminated Connection (0x13)")
    #expect(sniffer.hear([1, 0], .fromPeripheral).units.isEmpty)
    #expect(sniffer.connect().units.first?.name == "CONNECT_IND")
    #expect(sniffer.att(pdu, .fromCentral).units.first?.link?.handle == 2)
  }
}
