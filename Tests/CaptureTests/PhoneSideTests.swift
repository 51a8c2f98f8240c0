// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Capture
import GAP
import Testing
import Wire

@testable import FuzzTargets

/// What an iPhone with iOS 26.5.1 logged of a bonded accessory, as PacketLogger saw it: the phone is the
/// host, so what it sends is the response of a server. The accessory and the texts are invented.
private struct PhoneLog {
  static let accessory = Address(0xC411_2233_4455)
  static let handle: UInt16 = 0x0041
  private(set) var records: [CaptureRecord] = []

  private mutating func add(_ milliseconds: Int64, _ opcode: MonitorOpcode, _ data: [UInt8]) {
    let time = WallTime(microseconds: Sample.time.microseconds + milliseconds * 1000)
    records.append(CaptureRecord(opcode, data, time: time))
  }

  /// A PDU of the phone.
  private mutating func phone(_ milliseconds: Int64, _ pdu: PDU) {
    add(milliseconds, .aclTransmitted, Sample.acl(Self.handle, 0b00, Sample.att(pdu.encoded)))
  }

  /// A PDU of the accessory.
  private mutating func accessory(_ milliseconds: Int64, _ pdu: PDU) {
    add(milliseconds, .aclReceived, Sample.acl(Self.handle, 0b10, Sample.att(pdu.encoded)))
  }

  private mutating func connect(role: UInt8) {
    let event: [UInt8] =
      [0x3E, 31, 0x0A, 0x00] + Sample.little(Self.handle) + [role, 0x01]
      + Self.accessory.littleEndian + [UInt8](repeating: 0, count: 12) + [24, 0, 0, 0, 72, 0, 0]
    add(0, .event, event)
  }

  private static func declaration(
    _ handle: Handle, _ properties: UInt8, _ uuid: UUID
  ) -> PDU.AttributeValue {
    .init(
      handle: handle, value: [properties] + Sample.little(handle + 1) + uuid.littleEndian)
  }

  /// - Parameter role: that of the phone: 0 central, 1 peripheral; nil if the log begins later.
  init(role: UInt8? = 0) {
    if let role { connect(role: role) }
    accessory(31, .readByTypeRequest(.all, type: 0x2A00))
    add(330, .event, [0x08, 4, 0x00] + Sample.little(Self.handle) + [0x01])
    phone(331, .handleValueIndication(0x0008, value: [0x0A, 0x00, 0xFF, 0xFF]))
    phone(332, .readByTypeResponse([.init(handle: 0x0003, value: Array("iPhone".utf8))]))
    phone(336, .exchangeMTURequest(clientMTU: 185))
    accessory(391, .handleValueConfirmation)
    accessory(392, .readByGroupTypeRequest(.all, type: .primaryService))
    accessory(393, .exchangeMTUResponse(serverMTU: 515))
    phone(394, .findByTypeValueRequest(.all, type: 0x2800, value: [0x0D, 0x18]))
    accessory(451, .error(.attributeNotFound, to: .findByTypeValueRequest, at: 1))
    phone(
      452,
      .readByGroupTypeResponse([
        .init(range: HandleRange(0x19, 0x22), value: UUID.notificationCenter.littleEndian),
        .init(range: HandleRange(0x39, 0x3D), value: UUID.unknownAppleService.littleEndian),
      ]))
    accessory(511, .readByTypeRequest(HandleRange(0x19, 0x22), type: .characteristic))
    phone(
      512,
      .readByTypeResponse([
        Self.declaration(0x1A, 0x88, .controlPoint),
        Self.declaration(0x1D, 0x10, .notificationSource),
        Self.declaration(0x20, 0x10, .dataSource),
      ]))
    accessory(571, .readByTypeRequest(HandleRange(0x39, 0x3D), type: .characteristic))
    phone(572, .readByTypeResponse([Self.declaration(0x3A, 0x94, .unknownApple)]))
    accessory(3001, .writeRequest(0x1F, value: [1, 0]))
    phone(3002, .writeResponse)
    let event = NotificationEvent(
      .added, 58, category: .social, flags: [.silent, .preExisting, .negativeAction])
    phone(3003, .handleValueNotification(0x1E, value: event.encoded))
    let command = ControlPointCommand.getNotificationAttributes(
      58, [.init(.appIdentifier), .init(.title, maximumLength: 43)])
    accessory(3061, .writeRequest(0x1B, value: command.encoded))
    phone(3062, .writeResponse)
    let response = DataSourceResponse(
      .notification(58),
      [
        .init(id: 0, value: Array("com.apple.MobileSMS".utf8)),
        .init(id: 1, value: Array("Ann".utf8)),
      ])
    phone(3063, .handleValueNotification(0x21, value: response.encoded))
    accessory(3121, .writeRequest(0x1B, value: [2, 58, 0, 0, 0, 1]))
    phone(3122, .error(ErrorCode(0xA3), to: .writeRequest, at: 0x1B))
  }

  /// As PacketLogger writes it: among notes, and with each response before its request.
  var file: [UInt8] {
    var disordered = records
    for place in stride(from: 2, to: records.count - 1, by: 2) {
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
    #expect(units.filter { $0.profiles.contains(.ancs) }.count == 11)
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
    func after(_ seconds: Int64) -> WallTime {
      WallTime(microseconds: Sample.time.microseconds + seconds * 1_000_000)
    }
    let served = log.drop { $0.time < after(3) }
    let file = Sample.packetLogger(
      served
        + log.map { record in
          var record = record
          record.time = WallTime(microseconds: record.time.microseconds + 60_000_000)
          return record
        })
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
