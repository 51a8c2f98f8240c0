// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Mgmt
import TestLoop
import Wire

extension FuzzTarget {
  /// The kernel, and what it passes on from anybody on the air.
  static let management = [
    FuzzTarget("mgmt-event", longest: 256, event), FuzzTarget("mgmt-client", kernel),
    FuzzTarget("advertising-data", longest: 64) { input in
      let data = AdvertisingData(decoding: input)
      let encoded = data.encoded
      try ensure(input.starts(with: encoded), "\(data) is encoded as \(encoded.hex)")
      try ensure(
        AdvertisingData(decoding: encoded).structures == data.structures,
        "\(data) is read otherwise")
      _ = data.localName
    },
  ]

  /// Input: a packet from the management socket.
  @Sendable private static func event(_ input: [UInt8]) throws {
    guard let packet = try? Packet(decoding: input) else { return }
    try ensure(packet.encoded == input, "\(packet) is encoded as \(packet.encoded.hex)")
    _ = try? MgmtEvent(decoding: packet)
    if let key = try? LongTermKey(entry: packet.body) {
      try ensure(key.entry == packet.body, "a key is encoded otherwise")
    }
    if let key = try? IdentityResolvingKey(entry: packet.body) {
      try ensure(key.entry == packet.body, "a key is encoded otherwise")
    }
  }

  /// Input: what the kernel sends while one command of each kind waits for its reply. Where a packet is
  /// marked, it is the rest of the reply to the command that its first byte chooses.
  @Sendable private static func kernel(_ bytes: [UInt8]) throws {
    try TestLoop.run { loop in
      var input = FuzzInput(bytes)
      let client = MgmtClient(scheduler: loop.clock)
      var codes: [UInt16] = []
      client.send = { octets in
        codes.append(UInt16(octets[0]) | UInt16(octets[1]) << 8)
        return nil
      }
      let peer = DeviceAddress(Address(0x0102_0304_0506), .random)
      let index = ControllerIndex(0)
      let commands = [
        loop.start { _ = try await client.readCommands() },
        loop.start { _ = try await client.readIndexList() },
        loop.start { _ = try await client.readIndexList(unconfigured: true) },
        loop.start { _ = try await client.needsOnlyAddress(index) },
        loop.start { _ = try await client.readControllerInformation(index) },
        loop.start { _ = try await client.getConnections(index) },
        loop.start { _ = try await client.readAdvertisingInstances(index) },
        loop.start { _ = try await client.getSignalStrength(peer, index: index) },
      ]
      for (packet, isReply) in input.packets(atMost: 24) {
        client.receive(isReply ? Self.reply(packet, codes) : packet)
        await loop.settle()
      }
      client.close(.closed("the input has ended"))
      await loop.settle()
      let waiting = commands.indices.filter { commands[$0].result == nil }
      try ensure(waiting.isEmpty, "the socket is closed and the commands \(waiting) wait")
      try ensure(loop.clock.scheduled == 0, "\(loop.clock.scheduled) timers are left")
    }
  }

  /// Command Complete with success for one of the commands that were sent.
  private static func reply(_ packet: [UInt8], _ codes: [UInt16]) -> [UInt8] {
    guard let choice = packet.first, !codes.isEmpty else { return packet }
    let number = Int(choice) % codes.count
    var body = ByteWriter()
    body.u16(codes[number])
    body.u8(0)
    body.bytes(packet.dropFirst())
    // The lists are not about one controller.
    let index: ControllerIndex = number < 3 ? .none : ControllerIndex(0)
    return Packet(code: 1, index: index, body: body.bytes).encoded
  }
}
