// SPDX-License-Identifier: GPL-3.0-or-later
import TestLoop
import Testing
import Wire

@testable import Mgmt

@Suite("The client of the management socket")
struct MgmtClientTests {
  /// A client that records its packets and events.
  final class Socket {
    let client: MgmtClient
    var sent: [String] = []
    /// Why the kernel accepts no command at present.
    var refusal: String?
    var events: [MgmtEvent] = []
    var malformed: [MalformedPacket] = []

    init(_ clock: HandClock) {
      client = MgmtClient(scheduler: clock)
      client.send = { [unowned self] in
        sent.append($0.hex)
        return refusal
      }
      client.onEvent = { [unowned self] _, event in events.append(event) }
      client.onMalformed = { [unowned self] in malformed.append($0) }
    }

    /// Runs a test with a client, which is closed at its end.
    static func run(_ test: @escaping @Sendable (isolated TestLoop, Socket) async throws -> Void) throws {
      try TestLoop.run { loop in
        let socket = Socket(loop.clock)
        try await test(loop, socket)
        socket.client.close(.closed("end of the test"))
        await loop.settle()
      }
    }

    /// Begins a command.
    func call(
      _ command: MgmtCommand, index: ControllerIndex = Sample.hci0, on loop: isolated TestLoop
    ) -> Started<[UInt8]> { loop.start { try await self.client.call(command, index: index) } }

    /// A packet from the kernel.
    func kernel(_ code: UInt16, _ hex: String, index: ControllerIndex = Sample.hci0) {
      client.receive(Sample.packet(code, hex, index: index).encoded)
    }
  }

  @Test(
    "Of commands in a row only essential ones must succeed, however the kernel refuses the others")
  func steps() throws {
    try Socket.run { loop, socket in
      let steps: [MgmtClient.Step] = [
        .init(.setConnectable(false), isEssential: false),
        .init(.setAdvertising(false), isEssential: false), .init(.setPowered(true)),
        .init(.setBondable(true)),
      ]
      // An adapter that is off.
      socket.refusal = "Network is down (ENETDOWN)"
      let performing = loop.start {
        try await socket.client.perform(
          steps, index: Sample.hci0, onRefusal: { if $0.status == nil { socket.refusal = nil } })
      }
      await loop.settle()
      socket.kernel(0x01, "2900 0b")
      await loop.settle()
      socket.kernel(0x01, "0500 0b")
      await loop.settle()
      #expect(performing.failure as? MgmtError == .status(.setPowered, .rejected))
      #expect(socket.sent.count == 3)
    }
  }

  /// What is done and said, and what has become of each command then.
  struct Exchange: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var acts: [Act]
    var outcomes: [Outcome]
  }

  enum Act: Sendable {
    case call(MgmtCommand, on: ControllerIndex = Sample.hci0)
    /// The kernel answers a command.
    case answer(UInt16, String, on: ControllerIndex = Sample.hci0)
    /// The kernel sends what is reported as an event at once.
    case event(UInt16, String, on: ControllerIndex = Sample.hci0)
    case pass(Duration)
    /// The kernel accepts no command, for this reason; or does again.
    case refuse(String?)
  }

  enum Outcome: Hashable {
    case waits
    case reply([UInt8])
    case fails(MgmtError)

    fileprivate init(_ call: Started<[UInt8]>) {
      self =
        if let reply = call.value {
          .reply(reply)
        } else if let failure = call.failure as? MgmtError {
          .fails(failure)
        } else {
          .waits
        }
    }
    static func reply(_ hex: String) -> Self { .reply(Sample.bytes(hex)) }
  }

  private static let pairsPrivately = MgmtCommand.pairDevice(Sample.privateAddress, .displayYesNo)
  private static let longTermKey = Act.event(0x0A, Sample.newLongTermKey.hex)
  private static let identityKey = Act.event(0x18, Sample.newIdentityResolvingKey.hex)

  static let exchanges: [Exchange] = [
    .init(
      testDescription: "Command Status and Command Complete both report an error status",
      acts: [
        .call(.setPowered(true)), .call(.pairDevice(Sample.phone, .noInputNoOutput)),
        .answer(0x02, "0500 03"), .answer(0x01, "1900 13 \(Sample.phoneWire)"),
      ],
      outcomes: [
        .fails(.status(.setPowered, .failed)), .fails(.status(.pairDevice, .alreadyPaired)),
      ]),
    .init(
      testDescription: "A command that the kernel does not accept fails at once; the next one is still sent",
      acts: [
        .refuse("Network is down (ENETDOWN)"), .call(.setPowered(true)), .refuse(nil),
        .call(.setPowered(true)), .answer(0x01, "0500 00 130a0000"),
      ],
      outcomes: [
        .fails(.refused(.setPowered, "Network is down (ENETDOWN)")), .reply("130a0000"),
      ]),
    .init(
      testDescription: "Events between a command and its reply arrive at once, in order",
      acts: [
        .call(.setPowered(false)), .event(0x24, "01"), .event(0x0C, "\(Sample.phoneWire) 03"),
        .answer(0x01, "0500 00 120a0000"),
      ], outcomes: [.reply("120a0000")]),
    .init(
      testDescription: "A reply about a device goes to the command about that device",
      acts: [
        .call(.getConnectionInformation(Sample.other)),
        .call(.getConnectionInformation(Sample.phone)),
        .answer(0x01, "3100 00 \(Sample.phoneWire) c4 08 7f"),
        .answer(0x01, "3100 02 010000eeffc0 01 7f 7f 7f"),
      ],
      outcomes: [
        .fails(.status(.getConnectionInformation, .notConnected)),
        .reply("\(Sample.phoneWire) c4 08 7f"),
      ]),
    .init(
      testDescription: "The reply to Pair Device has the identity address, even while another one is pending",
      acts: [
        .call(.pairDevice(Sample.other, .displayYesNo)), .call(pairsPrivately), identityKey,
        longTermKey, .answer(0x01, "1900 00 \(Sample.phoneWire)"),
      ], outcomes: [.waits, .reply(Sample.phoneWire)]),
    .init(
      testDescription: "Of two in one private address that is told as one identity, each is answered by its name",
      acts: [
        .call(pairsPrivately), .call(pairsPrivately), identityKey,
        .answer(0x01, "1900 0A 55443322114a 02"), .answer(0x01, "1900 00 \(Sample.phoneWire)"),
      ], outcomes: [.reply(Sample.phoneWire), .fails(.status(.pairDevice, .busy))]),
    .init(
      testDescription: "A reply to Pair Device may name an identity before its key does",
      acts: [
        .call(pairsPrivately), .call(pairsPrivately),
        .answer(0x01, "1900 00 \(Sample.phoneWire)"),
      ], outcomes: [.reply(Sample.phoneWire), .waits]),
    .init(
      testDescription: "Busy is the response to the command that came last, not to the one that is being carried out",
      acts: [
        .call(.setPowered(true)), .call(.setPowered(false)), .answer(0x02, "0500 0a"),
        .answer(0x01, "0500 00 13000000"),
      ], outcomes: [.reply("13000000"), .fails(.status(.setPowered, .busy))]),
    .init(
      testDescription: "Replies may come in any order, for several adapters and commands",
      acts: [
        .call(.setPowered(true)), .call(.setPowered(true), on: hci1),
        .call(.setBondable(true), on: hci1), .answer(0x01, "0900 00 03000000", on: hci1),
        .answer(0x01, "0500 00 02000000", on: hci1), .answer(0x01, "0500 00 01000000"),
      ], outcomes: [.reply("01000000"), .reply("02000000"), .reply("03000000")]),
    .init(
      testDescription: "A command without a reply times out, and affects no other",
      acts: [
        .call(.readIndexList, on: .none), .call(.pairDevice(Sample.phone, .displayYesNo)),
        .pass(.seconds(11)), .event(0x01, "0300 00 0000", on: .none), .pass(.seconds(100)),
      ], outcomes: [.fails(.timedOut(.readIndexList)), .waits]),
    .init(
      testDescription: "A late reply about one device does not complete a command about another",
      acts: [
        .call(.pairDevice(Sample.other, .displayYesNo)), .pass(.seconds(121)),
        .call(.pairDevice(Sample.phone, .displayYesNo)), .event(0x01, "1900 05 010000eeffc0 01"),
        .answer(0x01, "1900 00 \(Sample.phoneWire)"),
      ], outcomes: [.fails(.timedOut(.pairDevice)), .reply(Sample.phoneWire)]),
    .init(
      testDescription: "A late reply answers the next command of its kind, whose own is then reported",
      acts: [
        .call(.setPowered(true)), .pass(.seconds(31)), .call(.setPowered(true)),
        .answer(0x01, "0500 00 13000000"), .event(0x01, "0500 00 13000000"),
      ], outcomes: [.fails(.timedOut(.setPowered)), .reply("13000000")]),
  ]

  private static let hci1 = ControllerIndex(1)

  @Test("Each reply goes to the command that it answers", arguments: exchanges)
  func replies(_ exchange: Exchange) throws {
    try Socket.run { loop, socket in
      var calls: [Started<[UInt8]>] = []
      var events: [MgmtEvent] = []
      for act in exchange.acts {
        switch act {
        case .call(let command, let index):
          calls.append(socket.call(command, index: index, on: loop))
        case .answer(let code, let hex, let index): socket.kernel(code, hex, index: index)
        case .event(let code, let hex, let index):
          events.append(try MgmtEvent(decoding: Sample.packet(code, hex, index: index)))
          socket.kernel(code, hex, index: index)
        case .pass(let duration): await loop.sleep(for: duration)
        case .refuse(let why): socket.refusal = why
        }
        #expect(socket.events == events)
        await loop.settle()
      }
      #expect(calls.map(Outcome.init) == exchange.outcomes)
      #expect(loop.clock.scheduled == exchange.outcomes.count { $0 == .waits })
    }
  }

  @Test("Closing fails pending, begun and later commands at once, and nothing is sent or read then")
  func close() throws {
    try Socket.run { loop, socket in
      var calls = [loop.start { try await socket.client.readIndexList() }]
      await loop.settle()
      // None of these need have come to sending.
      calls += (0..<8).map { _ in loop.start { try await socket.client.readIndexList() } }
      let sent = socket.sent.count
      socket.client.close(.closed("no more"))
      calls.append(loop.start { try await socket.client.readIndexList() })
      await loop.settle()
      #expect(calls.allSatisfy { $0.failure as? MgmtError == .closed("no more") })
      #expect(socket.sent.count == sent)
      #expect(loop.clock.scheduled == 0)
      socket.kernel(0x04, "")
      #expect(socket.events.isEmpty)
    }
  }

  @Test("A malformed reply is an error with its offset")
  func malformedResponses() throws {
    try Socket.run { loop, socket in
      let list = loop.start { try await socket.client.readIndexList() }
      await loop.settle()
      socket.kernel(0x01, "0300 00 0200 0100", index: .none)
      await loop.settle()
      let cut = DecodeError(offset: 4, .truncated(needed: 2, available: 0))
      #expect(list.failure as? MgmtError == .malformedReply(.readIndexList, cut))
      socket.kernel(0x0C, "0102")
      #expect(socket.malformed.count == 1)
      #expect(socket.malformed.first?.description.hasSuffix(": 0c00000002000102") == true)
    }
  }

  @Test("Lists and Controller Information are decoded to the last byte")
  func lists() throws {
    try Socket.run { loop, socket in
      let commands = loop.start { try await socket.client.readCommands() }
      let list = loop.start { try await socket.client.readIndexList() }
      let information = loop.start {
        try await socket.client.readControllerInformation(Sample.hci0)
      }
      let connections = loop.start { try await socket.client.getConnections(Sample.hci0) }
      let strength = loop.start {
        try await socket.client.getSignalStrength(Sample.phone, index: Sample.hci0)
      }
      await loop.settle()
      socket.kernel(0x01, "0200 00 0200 0100 0300 5400 0100", index: .none)
      socket.kernel(0x01, "0300 00 0200 0100 0000", index: .none)
      let name = "616e637364" + String(repeating: "00", count: 244)
      socket.kernel(
        0x01,
        "0400 00 f5f4f3f2f1f0 0a f105 ffbe0100 d10a0000 0c0102 \(name) 616e6300000000000000 00")
      socket.kernel(0x01, "1500 00 0100 \(Sample.phoneWire)")
      socket.kernel(0x01, "3100 00 \(Sample.phoneWire) c4 08 7f")
      await loop.settle()
      #expect(commands.value == [.readIndexList, .addExtendedAdvertisingParameters])
      #expect(list.value == [ControllerIndex(0), ControllerIndex(1)])
      #expect(list.value?.map(\.description) == ["hci0", "hci1"])
      #expect(information.value?.address == Sample.phone.address)
      #expect(information.value?.supported.contains(.classic) == true)
      #expect(information.value?.current == ControllerSettings(rawValue: 0xAD1))
      #expect(information.value?.localName == LocalName("ancsd", short: "anc"))
      #expect(connections.value == [Sample.phone] && strength.value == -60)
    }
  }
}
