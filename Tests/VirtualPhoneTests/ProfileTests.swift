// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GAP
import GATT
import TestLoop
import Testing
import Wire

@testable import VirtualPhone

@Suite("Virtual phone: the captured iPhone")
struct ProfileTests {
  /// Every attribute of the capture: its handle and type.
  private static let attributes = """
    0001 2800, 0002 2803, 0003 2A00, 0004 2803, 0005 2A01
    0006 2800, 0007 2803, 0008 2A05, 0009 2902
    000A 2800, 000B 2803, 000C 2A29, 000D 2803, 000E 2A24
    000F 2800, 0010 2803, 0011 2A19, 0012 2902
    0013 2800, 0014 2803, 0015 2A2B, 0016 2902, 0017 2803, 0018 2A0F
    0019 2800, 001A 2803, 001B 69D1D8F3, 001C 2900, 001D 2803, 001E 9FBF120D, 001F 2902
    0020 2803, 0021 22EAC6E9, 0022 2902
    0023 2800, 0024 2803, 0025 9B3C81D8, 0026 2900, 0027 2902
    0028 2803, 0029 2F7CABCE, 002A 2900, 002B 2902, 002C 2803, 002D C6B2F38C, 002E 2900
    002F 2800, 0030 2803, 0031 8667556C, 0032 2900, 0033 2902
    0034 2800, 0035 2803, 0036 AF0BADB1, 0037 2900, 0038 2902
    0039 2800, 003A 2803, 003B F7DA4085, 003C 2900, 003D 2902
    """

  /// The properties of the characteristics, in the order of their handles.
  private static let properties: [UInt8] = [
    0x02, 0x02, 0x20, 0x02, 0x02, 0x12, 0x12, 0x02, 0x88, 0x10, 0x10, 0x98, 0x98, 0x8A, 0x98, 0x98, 0x94,
  ]

  @Test("The database is the captured one, attribute by attribute")
  func database() throws {
    try Bench.run(profile: .iphone) { _, bench in
      let found = try await bench.client.attributes(in: .all).map { attribute in
        "\(hexadecimal(attribute.handle).dropFirst(2)) \("\(attribute.type)".prefix(8))"
      }
      let captured = Self.attributes.split(separator: "\n")
        .flatMap { $0.split(separator: ", ").map(String.init) }
      #expect(found == captured)
      let characteristics = try await bench.client.characteristics(in: .all)
      #expect(characteristics.map(\.properties.rawValue) == Self.properties)
      #expect(try await bench.client.read(.databaseHash).isEmpty)
      #expect(try await bench.client.read(0x000C) == Array("Apple Inc.".utf8))
    }
  }

  @Test("It speaks first: Service Changed, then its request for the MTU, and later our name")
  func overture() throws {
    try TestLoop.run { loop in
      let bench = Bench(loop, mtu: 517, profile: .iphone, .unencrypted)
      var arrived: [String] = []
      bench.client.setHandler(for: 0x0008) { arrived.append("changed \($0.hex)") }
      let serve = bench.bearer.serve
      bench.bearer.serve = { pdu in
        arrived.append("\(pdu.opcode)")
        return serve(pdu)
      }
      await bench.pass(.seconds(10))
      #expect(arrived == [])
      try bench.phone.perform(.encrypt(true))
      await bench.pass(.milliseconds(4))
      #expect(arrived == ["changed 0a00ffff"])
      #expect(bench.bearer.mtu == 23)
      await bench.pass(.milliseconds(4))
      // The bearer answers the request for the MTU by itself.
      #expect(bench.bearer.mtu == 185)
      await bench.pass(.seconds(5))
      #expect(arrived == ["changed 0a00ffff", "Find By Type Value Request", "Read By Type Request"])
      #expect(bench.events.contains(.confirmed(.serviceChanged)))
      #expect(bench.bearer.requestsSent == 0)
    }
  }

  @Test("Requests of a bonded peer before encryption get their responses after it, following Service Changed")
  func holding() throws {
    try TestLoop.run { loop in
      let phone = VirtualPhone(.unencrypted, scheduler: loop.clock)
      let link = VirtualLink(scheduler: loop.clock)
      var received: [UInt8] = []
      link.other.receive = { received.append($0.first ?? 0) }
      phone.connect(link.one, isBonded: true)
      link.other.send(PDU.exchangeMTURequest(clientMTU: 247).encoded)
      await loop.sleep(for: .seconds(1))
      #expect(received == [])
      try phone.perform(.encrypt(true))
      await loop.sleep(for: .milliseconds(3))
      #expect(received == [0x1D, 0x03])
    }
  }

  @Test("Attribute Not Found names the ending handle of Read By Type, and the first of the others")
  func endingHandle() throws {
    try Bench.run(profile: .iphone) { _, bench in
      let range = HandleRange(0x0001, 0x0005)
      let requests: [(PDU, Handle)] = [
        (.readByTypeRequest(range, type: .batteryLevel), 0x0005),
        (.findByTypeValueRequest(range, type: 0x2800, value: [0x0D, 0x18]), 0x0001),
        (.readByGroupTypeRequest(HandleRange(0x003E, .max), type: .primaryService), 0x003E),
      ]
      var responses: [Result<PDU, ATTFailure>] = []
      for (request, _) in requests { bench.bearer.request(request) { responses.append($0) } }
      await bench.pass(.milliseconds(10))
      #expect(
        responses
          == requests.map { request, handle in
            let code = ErrorCode.attributeNotFound
            return .failure(.refused(.init(request: request.opcode, handle: handle, code: code)))
          })
    }
  }

  @Test(
    "What is too long is cut to the maximum, with an ellipsis, and no character is halved",
    arguments: [
      ("Saturday? 🍰 yes", 12, "Saturday?…"), ("Saturday?", 9, "Saturday?"),
      ("Saturday?", 8, "Satur…"), ("ééééé", 8, "éé…"), ("ééééé", 7, "éé…"), ("abc", 2, "ab"),
    ])
  func ellipsis(text: String, maximum: Int, sent: String) {
    let cut = PhoneProfile.iphone.cut(Array(text.utf8), to: maximum)
    #expect(String(decoding: cut, as: UTF8.self) == sent)
    #expect(cut.count <= maximum)
    #expect(PhoneProfile.ideal.cut(Array(text.utf8), to: maximum).count == min(maximum, text.utf8.count))
  }

  @Test("What was there before the session is silent, and a call has a date")
  func contents() throws {
    try Bench.run(profile: .iphone) { _, bench in
      try bench.phone.perform(
        .add(
          NotificationContents(
            .incomingCall, app: "com.apple.mobilephone", title: "+1 (212) 555-0142",
            message: "Incoming Call", positive: "Answer", negative: "Decline"), uid: 7))
      try bench.phone.perform(.add(PhoneTests.message, uid: 8))
      try await bench.subscribeNotifications()
      #expect(bench.source.map(\.flags.rawValue) == [0x1D, 0x1D])
      let response = try await bench.ask(
        .getNotificationAttributes(7, [.init(.date), .init(.messageSize)]))
      #expect(response?.attributes.map(\.value.count) == [15, 2])
    }
  }
}
