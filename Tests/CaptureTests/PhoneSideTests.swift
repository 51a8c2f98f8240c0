// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Capture
import Testing
import Wire

@testable import FuzzTargets

/// What an iPhone with iOS 26.5.1 logged of a bonded accessory, as PacketLogger saw it: the phone is the
/// host, so what it sends is the response of a server. The accessory and the texts are invented.
private struct PhoneLog {
  static let accessory = Address(0xC411_2233_4455)
  static let handle: UInt16 = 0x0041
  private(set) var records: [CaptureRecord] = []
  /// How many of the last records are about notifications.
  static let served = 6

  private mutating func add(_ opcode: MonitorOpcode, _ data: [UInt8]) {
    let time = WallTime(microseconds: Sample.time.microseconds + Int64(records.count) * 30_000)
    records.append(CaptureRecord(opcode, data, time: time))
  }

  private mutating func phone(_ pdu: PDU) {
    add(.aclTransmitted, Sample.acl(Self.handle, 0b00, Sample.att(pdu.encoded)))
  }

  private mutating func accessory(_ pdu: PDU) {
    add(.aclReceived, Sample.acl(Self.handle, 0b10, Sample.att(pdu.encoded)))
  }

  /// - Parameter role: that of the phone: 0 central, 1 peripheral; nil if the log begins later.
  init(role: UInt8? = 0) {
    if let role {
      add(
        .event,
        [0x3E, 31, 0x0A, 0x00] + Sample.little(Self.handle) + [role, 0x01]
          + Self.accessory.littleEndian + [UInt8](repeating: 0, count: 12)
          + [24, 0, 0, 0, 72, 0, 0])
    }
    for (request, response) in DiscoveredLink.discovery {
      accessory(request)
      phone(response)
    }
    let event = NotificationEvent(
      .added, 58, category: .social, flags: [.silent, .preExisting, .negativeAction])
    phone(.handleValueNotification(0x15, value: event.encoded))
    let command = ControlPointCommand.getNotificationAttributes(58, [.init(.title, maximumLength: 43)])
    accessory(.writeRequest(0x12, value: command.encoded))
    phone(.writeResponse)
    let response = DataSourceResponse(.notification(58), [.init(id: 1, value: Array("Ann".utf8))])
    phone(.handleValueNotification(0x18, value: response.encoded))
    accessory(.writeRequest(0x12, value: [2, 58, 0, 0, 0, 1]))
    phone(.error(ErrorCode(0xA3), to: .writeRequest, at: 0x12))
  }

  /// As PacketLogger writes it: among notes, and with each response before its request.
  var file: [UInt8] {
    var disordered = records
    for place in stride(from: 1, to: records.count - 1, by: 2) {
      disordered.swapAt(place, place + 1)
    }
    return disordered.flatMap {
      Sample.packetLogger(0xFC, Array("note".utf8), $0.time) + Sample.packetLogger([$0])
    }
  }
}

@Suite("Captures of the phone's side")
struct PhoneSideTests {
  private static func decode(_ file: [UInt8]) -> [DecodedFrame] {
    var decoder = CaptureDecoder()
    let reading = Sample.read(file)
    decoder.assumedPeer = reading.assumedPeer
    return reading.records.map { decoder.decode($0) }
  }

  @Test("What the phone serves is understood: ANCS with its commands, answers and errors")
  func served() {
    let frames = Self.decode(PhoneLog().file)
    let units = frames.flatMap(\.units)
    #expect(units.allSatisfy { $0.problem == nil })
    #expect(frames.allSatisfy { $0.notes.isEmpty && $0.warning == nil })
    func all(_ key: String) -> [String] { units.compactMap { $0.value(key) } }
    #expect(all("ancs_event") == ["added"])
    #expect(all("ancs_command") == ["Get Notification Attributes", "Perform Notification Action"])
    #expect(all("title") == ["Ann"])
    #expect(units.last?.value("error") == "Action Failed (0xa3)")
    #expect(units.filter { $0.profiles.contains(.ancs) }.count == 12)
  }

  @Test(
    "The peer is the phone if the host is the peripheral, until ANCS shows that the host is",
    arguments: [0, 1, nil] as [UInt8?])
  func peer(role: UInt8?) {
    let links = Self.decode(PhoneLog(role: role).file).flatMap(\.units)
      .compactMap(\.link)
    #expect(links.first?.peerKind == (role == 1 ? .phone : .accessory))
    #expect(links.last?.peerKind == .accessory)
    #expect(links.last?.peer == (role == nil ? nil : PhoneLog.accessory))
    // PacketLogger records the phone; any other file that begins later may be the board's.
    let other = Self.decode(Sample.btsnoop(Array(PhoneLog(role: nil).records.prefix(1))))
    #expect(other.first?.units.first?.link?.peerKind == .phone)
    var board = DiscoveredLink()
    #expect(board.link.receive([0x1E])?.link?.peerKind == .phone)
  }

  @Test("A link that was up before has the names that another link's discovery shows later")
  func namedLater() throws {
    let log = PhoneLog().records
    let later = log.map { record in
      var record = record
      record.time = WallTime(microseconds: record.time.microseconds + 60_000_000)
      return record
    }
    let file = Sample.packetLogger(log.suffix(PhoneLog.served) + later)
    func events(_ decoder: CaptureDecoder, _ reader: CaptureReader) throws -> Int {
      var (decoder, reader, count) = (decoder, reader, 0)
      while let record = try reader.next() {
        count += decoder.decode(record).units.filter { $0.value("ancs_event") != nil }.count
      }
      return count
    }
    var reader = CaptureReader()
    reader.feed(file)
    #expect(try reader.next() == nil)
    reader.finish()
    var decoder = CaptureDecoder()
    #expect(try events(decoder, reader) == 1)
    decoder.learnHosts(ahead: reader)
    #expect(try events(decoder, reader) == 2)
  }
}
