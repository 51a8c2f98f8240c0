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
    ) -> Started<[UInt8]> {
      loop.start { try await self.client.call(command, index: index) }
    }

    /// A packet from the kernel.
    func kernel(_ code: UInt16, _ hex: String, index: ControllerIndex = Sample.hci0) {
      client.receive(Sample.packet(code, hex, index: index).encoded)
    }
  }

  @Test("A command that is begun as the socket closes fails at once, and is not sent")
  func closing() throws {
    try Socket.run { loop, socket in
      let calls = (0..<8).map { _ in
        loop.start { try await socket.client.readIndexList() }
      }
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
      #expect(
        refused.failure as? MgmtError == .refused(.setPowered, "Network is down (ENETDOWN)"))
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

  @Test("Command Status and Command Complete both report an error status")
  func refusals() throws {
    try Socket.run { loop, socket in
      let power = socket.call(.setPowered(true), on: loop)
      let pair = socket.call(.pairDevice(Sample.phone, .noInputNoOutput), on: loop)
      await loop.settle()
      socket.kernel(0x02, "0500 03")
      socket.kernel(0x01, "1900 13 \(Sample.phoneWire)")
      await loop.settle()
      #expect(power.failure as? MgmtError == .status(.setPowered, .failed))
      #expect(pair.failure as? MgmtError == .status(.pairDevice, .alreadyPaired))
      for status in [MgmtStatus.failed, .rfkilled] {
        #expect("\(MgmtError.status(.setPowered, status))".contains("rfkill unblock"))
      }
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
      #expect(one.value == [1, 0, 0, 0])
      #expect(two.value == [2, 0, 0, 0])
      #expect(three.value == [3, 0, 0, 0])
      #expect(loop.clock.scheduled == 0)
    }
  }

  @Test("A reply about a device goes to the command about that device")
  func devices() throws {
    try Socket.run { loop, socket in
      let one = loop.start {
        try await socket.client.getSignalStrength(Sample.other, index: Sample.hci0)
      }
      let two = loop.start {
        try await socket.client.getSignalStrength(Sample.phone, index: Sample.hci0)
      }
      await loop.settle()
      socket.kernel(0x01, "3100 00 \(Sample.phoneWire) c4 08 7f")
      socket.kernel(0x01, "3100 02 010000eeffc0 01 7f 7f 7f")
      await loop.settle()
      #expect(one.failure as? MgmtError == .status(.getConnectionInformation, .notConnected))
      #expect(two.value == -60)
    }
  }

  @Test("The reply to Pair Device has the identity address, even while another one is pending")
  func pairDevice() throws {
    try Socket.run { loop, socket in
      let stranger = socket.call(.pairDevice(Sample.other, .displayYesNo), on: loop)
      let phone = socket.call(.pairDevice(Sample.privateAddress, .displayYesNo), on: loop)
      await loop.settle()
      socket.client.receive(
        Packet(code: 0x18, index: Sample.hci0, body: Sample.newIdentityResolvingKey).encoded)
      socket.client.receive(
        Packet(code: 0x0A, index: Sample.hci0, body: Sample.newLongTermKey).encoded)
      socket.kernel(0x01, "1900 00 \(Sample.phoneWire)")
      await loop.settle()
      #expect(phone.value == Sample.bytes(Sample.phoneWire))
      #expect(stranger.result == nil)
      #expect(socket.events.count == 2)
    }
  }

  @Test("Of two in one private address that is told as one identity, each is answered by its name")
  func pairDeviceTwice() throws {
    try Socket.run { loop, socket in
      let command = MgmtCommand.pairDevice(Sample.privateAddress, .displayYesNo)
      let phone = socket.call(command, on: loop)
      await loop.settle()
      let second = socket.call(command, on: loop)
      await loop.settle()
      socket.client.receive(
        Packet(code: 0x18, index: Sample.hci0, body: Sample.newIdentityResolvingKey).encoded)
      socket.kernel(0x01, "1900 0A 55443322114a 02")
      await loop.settle()
      #expect(phone.result == nil)
      #expect((second.failure as? MgmtError)?.status == .busy)
      socket.kernel(0x01, "1900 00 \(Sample.phoneWire)")
      await loop.settle()
      #expect(phone.value == Sample.bytes(Sample.phoneWire))
    }
  }

  @Test("A reply to Pair Device may name an identity before its key does")
  func earlyReply() throws {
    try Socket.run { loop, socket in
      let calls = (0..<2).map { _ in
        socket.call(.pairDevice(Sample.privateAddress, .displayYesNo), on: loop)
      }
      await loop.settle()
      socket.kernel(0x01, "1900 00 \(Sample.phoneWire)")
      await loop.settle()
      #expect(calls[0].value == Sample.bytes(Sample.phoneWire))
      #expect(calls[1].result == nil)
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
      #expect(
        socket.events == [.commandComplete(.readIndexList, .success, reply: [0, 0])])
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
      #expect(
        socket.events == [.commandComplete(.setPowered, .success, reply: [0x13, 0, 0, 0])])
    }
  }

  @Test(
    "Busy is the response to the command that came last, not to the one that is being carried out")
  func busy() throws {
    try Socket.run { loop, socket in
      let calls = [true, false].map { socket.call(.setPowered($0), on: loop) }
      await loop.settle()
      socket.kernel(0x02, "0500 0a")
      socket.kernel(0x01, "0500 00 13000000")
      await loop.settle()
      #expect(calls[0].value == [0x13, 0, 0, 0])
      #expect(calls[1].failure as? MgmtError == .status(.setPowered, .busy))
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
  func replies() throws {
    try Socket.run { loop, socket in
      let commands = loop.start { try await socket.client.readCommands() }
      let list = loop.start { try await socket.client.readIndexList() }
      let information = loop.start {
        try await socket.client.readControllerInformation(Sample.hci0)
      }
      let connections = loop.start { try await socket.client.getConnections(Sample.hci0) }
      await loop.settle()
      socket.kernel(0x01, "0200 00 0200 0100 0300 5400 0100", index: .none)
      socket.kernel(0x01, "0300 00 0200 0100 0000", index: .none)
      let name = "616e637364" + String(repeating: "00", count: 244)
      socket.kernel(
        0x01,
        "0400 00 f5f4f3f2f1f0 0a f105 ffbe0100 d10a0000 0c0102 \(name) 616e6300000000000000 00")
      socket.kernel(0x01, "1500 00 0100 \(Sample.phoneWire)")
      await loop.settle()
      #expect(commands.value == [.readIndexList, .addExtendedAdvertisingParameters])
      #expect(list.value == [ControllerIndex(0), ControllerIndex(1)])
      #expect(list.value?.map(\.description) == ["hci0", "hci1"])
      #expect(information.value?.address == Sample.phone.address)
      #expect(information.value?.supported.contains(.classic) == true)
      #expect(information.value?.current == ControllerSettings(rawValue: 0xAD1))
      #expect(information.value?.localName == LocalName("ancsd", short: "anc"))
      #expect(connections.value == [Sample.phone])
    }
  }
}
