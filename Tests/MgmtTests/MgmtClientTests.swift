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
    static func run(
      _ test: @escaping @Sendable (isolated TestLoop, Socket) async throws -> Void
    ) throws {
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

  @Test("A command that is begun as the socket closes fails at once, and is not sent")
  func closing() throws {
    try Socket.run { loop, socket in
      let calls = (0..<8).map { _ in loop.start { try await socket.client.readIndexList() } }
      // None of them need have come to sending.
      let sent = socket.sent.count
      socket.client.close(.closed("the kernel closed the management socket"))
      await loop.settle()
      #expect(calls.allSatisfy { $0.failure != nil })
      #expect(socket.sent.count == sent)
      #expect(loop.clock.scheduled == 0)
    }
  }

  @Test("A command that the kernel does not accept fails at once; the next one is still sent")
  func refused() throws {
    try Socket.run { loop, socket in
      socket.refusal = "Network is down (ENETDOWN)"
      let refused = socket.call(.setPowered(true), on: loop)
      await loop.settle()
      #expect(refused.failure as? MgmtError == .refused(.setPowered, "Network is down (ENETDOWN)"))
      #expect(loop.clock.scheduled == 0)
      socket.refusal = nil
      let reply = socket.call(.setPowered(true), on: loop)
      await loop.settle()
      socket.kernel(0x01, "0500 00 130a0000")
      await loop.settle()
      #expect(reply.value == [0x13, 0x0A, 0, 0])
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

  @Test("Events between a command and its reply arrive at once, in order")
  func eventsMeanwhile() throws {
    try Socket.run { loop, socket in
      let reply = socket.call(.setPowered(false), on: loop)
      await loop.settle()
      socket.kernel(0x24, "01")
      socket.kernel(0x0C, "\(Sample.phoneWire) 03")
      #expect(
        socket.events == [
          .advertisingRemoved(instance: 1), .deviceDisconnected(Sample.phone, .remote),
        ])
      socket.kernel(0x01, "0500 00 120a0000")
      await loop.settle()
      #expect(reply.value == [0x12, 0x0A, 0, 0])
      #expect(socket.events.count == 2)
    }
  }

  /// Commands that wait, what the kernel says then, and what has become of each command.
  struct Exchange: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var commands: [MgmtCommand]
    var packets: [(UInt16, String)]
    var outcomes: [Outcome]
  }

  enum Outcome: Hashable {
    case waits
    case reply([UInt8])
    case status(MgmtStatus)

    fileprivate init(_ call: Started<[UInt8]>) {
      self =
        if let reply = call.value {
          .reply(reply)
        } else if let status = (call.failure as? MgmtError)?.status {
          .status(status)
        } else {
          .waits
        }
    }
    static func reply(_ hex: String) -> Self { .reply(Sample.bytes(hex)) }
  }

  private static let pairsPrivately = MgmtCommand.pairDevice(Sample.privateAddress, .displayYesNo)
  private static let longTermKey: (UInt16, String) = (0x0A, Sample.newLongTermKey.hex)
  private static let identityKey: (UInt16, String) = (0x18, Sample.newIdentityResolvingKey.hex)

  static let exchanges: [Exchange] = [
    .init(
      testDescription: "Command Status and Command Complete both report an error status",
      commands: [.setPowered(true), .pairDevice(Sample.phone, .noInputNoOutput)],
      packets: [(0x02, "0500 03"), (0x01, "1900 13 \(Sample.phoneWire)")],
      outcomes: [.status(.failed), .status(.alreadyPaired)]),
    .init(
      testDescription: "A reply about a device goes to the command about that device",
      commands: [.getConnectionInformation(Sample.other), .getConnectionInformation(Sample.phone)],
      packets: [
        (0x01, "3100 00 \(Sample.phoneWire) c4 08 7f"), (0x01, "3100 02 010000eeffc0 01 7f 7f 7f"),
      ], outcomes: [.status(.notConnected), .reply("\(Sample.phoneWire) c4 08 7f")]),
    .init(
      testDescription:
        "The reply to Pair Device has the identity address, even while another one is pending",
      commands: [.pairDevice(Sample.other, .displayYesNo), pairsPrivately],
      packets: [
        identityKey, longTermKey, (0x01, "1900 00 \(Sample.phoneWire)"),
      ], outcomes: [.waits, .reply(Sample.phoneWire)]),
    .init(
      testDescription:
        "Of two in one private address that is told as one identity, each is answered by its name",
      commands: [pairsPrivately, pairsPrivately],
      packets: [
        identityKey, (0x01, "1900 0A 55443322114a 02"), (0x01, "1900 00 \(Sample.phoneWire)"),
      ], outcomes: [.reply(Sample.phoneWire), .status(.busy)]),
    .init(
      testDescription: "A reply to Pair Device may name an identity before its key does",
      commands: [pairsPrivately, pairsPrivately],
      packets: [(0x01, "1900 00 \(Sample.phoneWire)")],
      outcomes: [.reply(Sample.phoneWire), .waits]),
    .init(
      testDescription:
        "Busy is the response to the command that came last, not to the one that is being carried out",
      commands: [.setPowered(true), .setPowered(false)],
      packets: [(0x02, "0500 0a"), (0x01, "0500 00 13000000")],
      outcomes: [.reply("13000000"), .status(.busy)]),
  ]

  @Test("Each reply goes to the command that it answers", arguments: exchanges)
  func replies(_ exchange: Exchange) throws {
    try Socket.run { loop, socket in
      var calls: [Started<[UInt8]>] = []
      for command in exchange.commands {
        calls.append(socket.call(command, on: loop))
        await loop.settle()
      }
      for (code, body) in exchange.packets { socket.kernel(code, body) }
      await loop.settle()
      #expect(calls.map(Outcome.init) == exchange.outcomes)
      #expect(socket.events.count == exchange.packets.count { $0.0 > 0x02 })
      #expect(loop.clock.scheduled == exchange.outcomes.count { $0 == .waits })
    }
  }

  @Test("Replies may come in any order, for several adapters and commands")
  func concurrent() throws {
    try Socket.run { loop, socket in
      let hci1 = ControllerIndex(1)
      let one = socket.call(.setPowered(true), on: loop)
      let two = socket.call(.setPowered(true), index: hci1, on: loop)
      let three = socket.call(.setBondable(true), index: hci1, on: loop)
      await loop.settle()
      socket.kernel(0x01, "0900 00 03000000", index: hci1)
      socket.kernel(0x01, "0500 00 02000000", index: hci1)
      socket.kernel(0x01, "0500 00 01000000")
      await loop.settle()
      #expect([one, two, three].map(\.value) == [[1, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0]])
    }
  }

  @Test("A command without a reply times out, and affects no other")
  func timeout() throws {
    try Socket.run { loop, socket in
      let list = loop.start { try await socket.client.readIndexList() }
      let pair = socket.call(.pairDevice(Sample.phone, .displayYesNo), on: loop)
      await loop.sleep(for: .seconds(11))
      #expect(list.failure as? MgmtError == .timedOut(.readIndexList))
      #expect(pair.result == nil)
      socket.kernel(0x01, "0300 00 0000", index: .none)
      #expect(socket.events == [.commandComplete(.readIndexList, .success, reply: [0, 0])])
      await loop.sleep(for: .seconds(120))
      #expect(pair.failure as? MgmtError == .timedOut(.pairDevice))
    }
  }

  @Test("A late reply about one device does not complete a command about another")
  func lateAboutAnother() throws {
    try Socket.run { loop, socket in
      let given = socket.call(.pairDevice(Sample.other, .displayYesNo), on: loop)
      await loop.sleep(for: .seconds(121))
      #expect(given.failure as? MgmtError == .timedOut(.pairDevice))
      let pair = socket.call(.pairDevice(Sample.phone, .displayYesNo), on: loop)
      await loop.settle()
      socket.kernel(0x01, "1900 05 010000eeffc0 01")
      await loop.settle()
      #expect(pair.result == nil)
      socket.kernel(0x01, "1900 00 \(Sample.phoneWire)")
      await loop.settle()
      #expect(pair.value == Sample.bytes(Sample.phoneWire))
    }
  }

  @Test("A late reply answers the next command of its kind, whose own is then reported")
  func lateBeforeNext() throws {
    try Socket.run { loop, socket in
      let command = MgmtCommand.setPowered(true)
      let given = socket.call(command, on: loop)
      await loop.sleep(for: .seconds(31))
      #expect(given.failure as? MgmtError == .timedOut(.setPowered))
      let next = socket.call(command, on: loop)
      await loop.settle()
      socket.kernel(0x01, "0500 00 13000000")
      await loop.settle()
      #expect(next.value == [0x13, 0, 0, 0])
      socket.kernel(0x01, "0500 00 13000000")
      #expect(socket.events == [.commandComplete(.setPowered, .success, reply: [0x13, 0, 0, 0])])
    }
  }

  @Test("Closing fails pending and later commands")
  func close() throws {
    try Socket.run { loop, socket in
      let early = loop.start { try await socket.client.readIndexList() }
      await loop.settle()
      socket.client.close(.closed("no more"))
      let late = loop.start { try await socket.client.readIndexList() }
      await loop.settle()
      #expect(early.failure as? MgmtError == .closed("no more"))
      #expect(late.failure as? MgmtError == .closed("no more"))
      #expect(loop.clock.scheduled == 0)
      socket.kernel(0x04, "")
      #expect(socket.events.isEmpty)
    }
  }

  @Test("A malformed reply is an error with its offset")
  func malformedResponses() throws {
    try Socket.run { loop, socket in
      let list = loop.start { try await socket.client.readIndexList() }
      let information = loop.start {
        try await socket.client.readControllerInformation(Sample.hci0)
      }
      await loop.settle()
      socket.kernel(0x01, "0300 00 0200 0100", index: .none)
      socket.kernel(0x01, "0400 00 f5f4f3f2f1f0")
      await loop.settle()
      #expect(
        list.failure as? MgmtError
          == .malformedReply(
            .readIndexList, DecodeError(offset: 4, .truncated(needed: 2, available: 0))))
      #expect(
        information.failure as? MgmtError
          == .malformedReply(
            .readControllerInformation,
            DecodeError(offset: 6, .truncated(needed: 1, available: 0))))
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
