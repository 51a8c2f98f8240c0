// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GAP
import GATT
import TestLoop
import Testing
import Wire

@testable import Capture
@testable import FuzzTargets

/// A link on which the board has discovered the phone's ANCS and AMS, as `ancsd` does.
struct DiscoveredLink {
  var link = DecodedLink()

  /// A client's requests, and the phone's responses.
  static let discovery: [(request: PDU, response: PDU)] = [
    (find(.notificationCenter), .findByTypeValueResponse([HandleRange(0x10, 0x1F)])),
    (
      .readByTypeRequest(HandleRange(0x10, 0x1F), type: .characteristic),
      declarations([(0x11, 0x08, .controlPoint), (0x14, 0x10, .notificationSource), (0x17, 0x10, .dataSource)])
    ), (find(.mediaService), .findByTypeValueResponse([HandleRange(0x20, 0x2F)])),
    (
      .readByTypeRequest(HandleRange(0x20, 0x2F), type: .characteristic),
      declarations([(0x21, 0x18, .remoteCommand), (0x24, 0x18, .entityUpdate), (0x27, 0x0A, .entityAttribute)])
    ),
    (
      .readByTypeRequest(HandleRange(0x10, 0x1F), type: .clientConfiguration),
      .readByTypeResponse([
        .init(handle: 0x16, value: [0, 0]), .init(handle: 0x19, value: [0, 0]),
      ])
    ),
  ]

  private static func find(_ service: UUID) -> PDU {
    .findByTypeValueRequest(.all, type: 0x2800, value: service.littleEndian)
  }

  /// Declarations with their handle, properties and type; the value is behind each.
  private static func declarations(_ list: [(Handle, UInt8, UUID)]) -> PDU {
    .readByTypeResponse(
      list.map { handle, properties, uuid in
        .init(handle: handle, value: [properties] + Sample.little(handle + 1) + uuid.littleEndian)
      })
  }

  init() {
    link.connect()
    discover()
  }

  mutating func discover() {
    for (request, response) in Self.discovery {
      _ = link.send(request)
      _ = link.receive(response)
    }
  }

  /// The board's command to the Control Point.
  @discardableResult mutating func request(_ command: ControlPointCommand) -> DecodedUnit? {
    link.send(.writeRequest(0x0012, value: command.encoded))
  }

  /// The phone's response to it, or a part of one.
  @discardableResult mutating func respond(_ bytes: [UInt8]) -> DecodedUnit? {
    link.receive(.handleValueNotification(0x0018, value: bytes))
  }

  /// The phone's response about a notification, with one attribute.
  @discardableResult mutating func respond(
    about uid: NotificationUID, _ id: NotificationAttributeID, _ text: String
  ) -> DecodedUnit? {
    respond(
      DataSourceResponse(.notification(uid), [.init(id: id.rawValue, value: Array(text.utf8))])
        .encoded)
  }
}

@Suite("Captured discoveries and attributes")
struct AttributeTests {
  @Test("Handles have the names that were discovered")
  func names() {
    var known = DiscoveredLink()
    let unit = known.link.receive(.handleValueNotification(0x0015, value: [1, 2]))
    #expect(unit?.attributes.first?.uuid == .notificationSource)
    #expect(unit?.attributes.first?.service == .notificationCenter)
    #expect(unit?.profiles == [.ancs])
    let subscription = known.link.send(.writeRequest(0x0016, value: [1, 0]))
    #expect(subscription?.attributes.first?.name == "Client Characteristic Configuration (2902) of Notification Source")
    #expect(subscription?.said == "subscription: notifications (0x0001)")
    #expect(known.link.receive(.writeResponse)?.attributes.first?.handle == 0x0016)
  }

  @Test("The board's and the phone's attributes are separate")
  func twoServers() {
    var known = DiscoveredLink()
    // The same handle, but it is the phone that reads.
    let unit = known.link.receive(.readRequest(0x0015))
    #expect(unit?.attributes == [AttributeUse(handle: 0x0015, place: 1..<3)])
    let response = known.link.send(.readResponse([1]))
    #expect(response?.attributes == [AttributeUse(handle: 0x0015, value: [1], valuePlace: 1..<2)])
  }

  @Test("Requests of both sides may cross")
  func crossing() {
    var link = DecodedLink()
    _ = link.send(.readRequest(0x0003))
    _ = link.receive(.readRequest(0x0007))
    #expect(link.receive(.readResponse([3]))?.attributes.first?.handle == 0x0003)
    #expect(link.send(.readResponse([7]))?.attributes.first?.handle == 0x0007)
  }

  @Test("Services and includes are named in the responses that have them")
  func services() {
    var link = DecodedLink()
    _ = link.send(.readByGroupTypeRequest(.all, type: .primaryService))
    let groups = link.receive(.readByGroupTypeResponse([.init(range: HandleRange(1, 5), value: [0x00, 0x18])]))
    #expect(groups?.said == "service: Generic Access (1800)")
    _ = link.send(.readByTypeRequest(HandleRange(6, 9), type: .include))
    let include = link.receive(.readByTypeResponse([.init(handle: 7, value: [0x10, 0, 0x12, 0, 0x0A, 0x18])]))
    #expect(include?.said == "included: 0x0010-0x0012; service: Device Information (180A)")
  }

  @Test("Names hold after Service Changed until a discovery in its range shows something else")
  func serviceChanged() {
    var known = DiscoveredLink()
    _ = known.link.send(.readByTypeRequest(HandleRange(1, 5), type: .characteristic))
    _ = known.link.receive(
      .readByTypeResponse([.init(handle: 2, value: [0x20, 3, 0, 0x05, 0x2A])]))
    let unit = known.link.receive(.handleValueIndication(3, value: [0x10, 0, 0x1F, 0]))
    #expect(unit?.said == "changed: 0x0010-0x001f")
    #expect(known.link.send(.handleValueConfirmation)?.attributes.first?.handle == 3)
    func name(of handle: Handle) -> UUID? {
      known.link.receive(.handleValueNotification(handle, value: []))?.attributes.first?.uuid
    }
    let before = name(of: 0x0015)
    #expect(before != nil)
    // The same services are found again.
    known.discover()
    #expect(name(of: 0x0015) == before)
    // Another one is there now.
    _ = known.link.receive(.handleValueIndication(3, value: [0x10, 0, 0x1F, 0]))
    _ = known.link.send(.readByTypeRequest(HandleRange(0x10, 0x1F), type: .characteristic))
    _ = known.link.receive(
      .readByTypeResponse([.init(handle: 0x0011, value: [0x10, 0x12, 0, 0x19, 0x2A])]))
    #expect(name(of: 0x0012) == .batteryLevel)
    #expect(name(of: 0x0015) == nil)
    #expect(known.link.receive(.handleValueNotification(0x0025, value: []))?.attributes.first?.uuid == .entityUpdate)
  }

  @Test("A phone that reconnects is recognised; another one is not")
  func reconnected() {
    var known = DiscoveredLink()
    _ = known.link.disconnect()
    known.link.connect(DeviceAddress(Address(0x4000_0000_0001), .random))
    let stranger = known.link.receive(.handleValueNotification(0x0015, value: []))
    #expect(stranger?.attributes.first?.uuid == nil)
    _ = known.link.disconnect()
    known.link.connect()
    let phone = known.link.receive(.handleValueNotification(0x0015, value: []))
    #expect(phone?.attributes.first?.uuid == .notificationSource)
  }

  @Test("The board's attributes are known on the next phone's link")
  func board() {
    var link = DecodedLink()
    link.connect()
    _ = link.receive(.readByTypeRequest(.all, type: 0x2A00))
    _ = link.send(.readByTypeResponse([.init(handle: 3, value: [0x61])]))
    _ = link.disconnect()
    link.connect(DeviceAddress(Address(0x4000_0000_0001), .random))
    #expect(link.receive(.readRequest(3))?.attributes.first?.uuid == 0x2A00)
  }

  @Test("An Error Response has the request, the attribute and the error")
  func errors() {
    var known = DiscoveredLink()
    _ = known.link.send(.writeRequest(0x0012, value: [2, 9, 0, 0, 0, 1]))
    let refused = known.link.receive(PDU.error(ErrorCode(0xA3), to: .writeRequest, at: 0x0012))
    #expect(refused?.said == "request: Write Request (0x12); error: Action Failed (0xa3)")
    #expect(refused?.profiles == [.ancs])
    _ = known.link.send(.writeRequest(0x0025, value: [9]))
    let other = known.link.receive(PDU.error(ErrorCode(0xA1), to: .writeRequest, at: 0x0025))
    #expect(other?.value("error") == "Invalid Command (0xa1)")
    let plain = known.link.receive(PDU.error(.attributeNotFound, to: .readByTypeRequest, at: 5))
    #expect(plain?.value("error") == "Attribute Not Found (0x0a)")
  }

  @Test("A long value that is read in parts is decoded as a whole")
  func longRead() {
    var known = DiscoveredLink()
    _ = known.link.send(.writeRequest(0x0028, value: [2, 2]))
    _ = known.link.receive(.writeResponse)
    _ = known.link.send(.readRequest(0x0028))
    _ = known.link.receive(.readResponse(Array("So What, and".utf8)))
    _ = known.link.send(.readBlobRequest(0x0028, offset: 12))
    let unit = known.link.receive(.readBlobResponse(Array(" more".utf8)))
    #expect(unit?.said == "offset: 12; ams_value: track; attribute: Title; text: So What, and more")
  }

  @Test("What is decoded of a value that has no end stays in proportion to the capture")
  func endlessRead() {
    var known = DiscoveredLink()
    _ = known.link.send(.writeRequest(0x0028, value: [2, 2]))
    _ = known.link.receive(.writeResponse)
    _ = known.link.send(.readRequest(0x0028))
    _ = known.link.receive(.readResponse([0x41]))
    var decoded = 0
    for part in 0..<200 {
      _ = known.link.send(.readBlobRequest(0x0028, offset: UInt16(1 + 300 * part)))
      let unit = known.link.receive(.readBlobResponse([UInt8](repeating: 0x41, count: 300)))
      decoded += unit?.said.utf8.count ?? 0
    }
    #expect(decoded < 200 * 300 * 2)
  }

  @Test("No more attributes are learned than devices have, because forgetting many again and again takes long")
  func garbage() {
    var database = LearnedDatabase()
    for handle in 1...Handle.max { database.learn(type: .batteryLevel, at: handle) }
    #expect(database.count == 8192 && database.type(of: 8193) == nil)
    database.learn(type: .deviceName, at: 8192)
    #expect(database.type(of: 8192) == .deviceName)
  }

  @Test("Prepared writes are decoded when they are executed")
  func preparedWrites() {
    var known = DiscoveredLink()
    let command = ControlPointCommand.getAppAttributes(appIdentifier: "com.apple.MobileSMS", [.displayName]).encoded
    _ = known.link.send(.prepareWriteRequest(0x0012, offset: 0, value: Array(command.prefix(9))))
    _ = known.link.receive(
      .prepareWriteResponse(0x0012, offset: 0, value: Array(command.prefix(9))))
    _ = known.link.send(
      .prepareWriteRequest(0x0012, offset: 9, value: Array(command.dropFirst(9))))
    let unit = known.link.send(.executeWriteRequest(.write))
    #expect(unit?.value("ancs_command") == "Get App Attributes")
    #expect(unit?.value("app_id") == "com.apple.MobileSMS")
    #expect(unit?.profiles == [.ancs])
  }

  private static let source = LocatedService(
    service: Service(uuid: .notificationCenter, range: HandleRange(0x10, 0x1F)),
    characteristics: [
      Characteristic(
        declaration: 0x14, properties: .notify, value: 0x15, uuid: .notificationSource, end: 0x16, cccd: 0x16)
    ])
  private static let event: [UInt8] = [0x1B, 0x15, 0, 0, 0, 4, 1, 7, 0, 0, 0]

  @Test("Services that are known from elsewhere name the attributes of a link that was up before the capture")
  func known() {
    var link = DecodedLink()
    link.decoder.addLink(to: Sample.phone.address, handle: 0x40, adapter: 0, remote: [Self.source])
    let unit = link.receive(Self.event)
    #expect(unit?.link?.peer == Sample.phone.address)
    #expect(unit?.value("uid") == "7")
    let subscribed = link.send([0x12, 0x16, 0, 1, 0])
    #expect(subscribed?.attributes.first?.name == "Client Characteristic Configuration (2902) of Notification Source")
    #expect(subscribed?.profiles == [.ancs])
  }

  @Test("Malformed PDUs are shown with the reason")
  func malformed() {
    var link = DecodedLink()
    let unit = link.receive([0x0A, 0x01])
    #expect(unit?.name == "Read Request")
    #expect(unit?.problem == "malformed: truncated at byte 1: 2 bytes needed, 1 left")
    #expect(link.receive([UInt8]())?.problem == "an empty ATT PDU")
    let unknown = link.receive([0x7F, 1, 2])
    #expect(unknown?.said == "data: 0102")
    #expect(unknown?.problem == nil)
  }

  @Test("A malformed request shows its range, and nothing is learned from it")
  func malformedRequests() {
    var link = DecodedLink()
    let cut = link.send([0x08, 1, 0, 9, 0, 3])
    #expect(cut?.range == HandleRange(1, 9))
    #expect(cut?.type == nil)
    #expect(link.receive([0x05, 1, 0x28, 0, 0x02, 0x29, 0])?.attributes.first?.uuid != nil)
    #expect(link.send([0x0A, 0x28, 0])?.attributes.first?.uuid == nil)
  }

  @Test(
    "A response has the packet of its request, and a part of an ANCS response that of the command")
  func requests() {
    var known = DiscoveredLink()
    func packet(_ pdu: PDU) -> Int {
      known.link.frame(.aclTransmitted, Sample.acl(0x40, 0, Sample.att(pdu.encoded))).number
    }
    let read = packet(.readRequest(0x0012))
    #expect(known.link.receive(.readResponse([1]))?.request == read)
    #expect(known.link.receive(.readResponse([1]))?.request == nil)
    let command = ControlPointCommand.getNotificationAttributes(7, [.init(.messageSize)])
    let written = packet(.writeRequest(0x0012, value: command.encoded))
    #expect(known.link.receive(.writeResponse)?.request == written)
    let response = DataSourceResponse(.notification(7), [.init(id: 4, value: [0x39])])
    for fragment in response.fragments(ofAtMost: 6) {
      #expect(known.respond(fragment)?.request == written)
    }
    #expect(known.respond([0])?.request == nil)
    let signal = known.link.frame(
      .aclTransmitted, Sample.acl(0x40, 0, Sample.frame(5, [0x12, 3, 8, 0] + [UInt8](repeating: 0, count: 8))))
    #expect(known.link.receive([0x13, 3, 2, 0, 0, 0], channel: 5)?.request == signal.number)
    let reset = known.link.frame(.command, [0x03, 0x0C, 0])
    let complete = known.link.frame(.event, [0x0E, 4, 1, 0x03, 0x0C, 0])
    #expect(complete.units.first?.request == reset.number)
  }

  @Test("Mutated PDUs on a discovered link are no trouble")
  func talks() {
    var generator = SeededGenerator(seed: 79)
    var known = DiscoveredLink()
    let pdus: [[UInt8]] = [
      [0x12, 0x12, 0, 0, 7, 0, 0, 0, 0, 1, 64, 0, 5], [0x1B, 0x18, 0, 0, 7, 0, 0, 0, 0, 1, 0, 0x61],
      [0x1B, 0x15, 0, 0, 0, 6, 1, 7, 0, 0, 0], [0x1B, 0x25, 0, 2, 2, 1, 0x61, 0xC3], [0x0A, 0x28, 0],
      [0x0B, 0x61, 0x62], [0x0C, 0x28, 0, 2, 0], [0x0D, 0x63], [0x13], [0x16, 0x12, 0, 0, 0, 1, 2], [0x18, 1],
      [0x1D, 0x03, 0, 0x10, 0, 0x1F, 0], [0x1E], [0x08, 1, 0, 0xFF, 0xFF, 3, 0x28],
      [0x09, 7, 2, 0, 0x10, 3, 0, 5, 0x2A], [0x10, 1, 0, 0xFF, 0xFF, 0, 0x28], [0x11, 6, 1, 0, 9, 0, 0, 0x18],
      [0x04, 1, 0, 9, 0], [0x05, 1, 2, 0, 3, 0x28], [0x06, 1, 0, 9, 0, 0, 0x28, 0, 0x18], [0x07, 1, 0, 9, 0],
      [0x01, 0x12, 0x12, 0, 0xA2], [0x20, 3, 0, 4, 0], [0x21, 1, 0, 5, 2, 0], [0x23, 0x15, 0, 1, 0, 9, 0x25, 0, 0, 0],
    ]
    for _ in 0..<30_000 {
      let pdu = generator.mutated(pdus.randomElement(using: &generator) ?? [])
      let unit = Bool.random(using: &generator) ? known.link.send(pdu) : known.link.receive(pdu)
      #expect(unit?.layer == .att)
    }
  }
}
