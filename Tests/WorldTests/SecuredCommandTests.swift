// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import EventLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Commands reach secured phones only")
struct SecuredCommandTests {
  @Test("A device at a bonded phone's address gets nothing that a user sends, and is no phone")
  func impostor() async throws {
    try await inWorld(after: .phoneLeft) { world in
      let phone = PhoneSelector("\(world.phone.kind.identity.address)")
      let impostor = world.stranger { $0.privateAddress = world.phone.kind.identity.address }
      var heard: Set<UInt8> = []
      impostor.transform = { pdu, toPhone in
        if toPhone, let opcode = pdu.first { heard.insert(opcode) }
        return pdu
      }
      await world.pass(.seconds(1))
      #expect(impostor.connect(to: world.adapter))
      await world.pass(.seconds(2))
      #expect(world.daemon?.sessions.count == 1)
      @LoopActor func refuses<Parameters, Response>(
        _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters
      ) async {
        await #expect(throws: RPCError.self, "\(method.name)") {
          _ = try await world.call(method, parameters)
        }
      }
      for selector in [phone, nil] {
        var write = WriteParameters()
        (write.phone, write.value) = (selector, HexBytes([1, 2, 3]))
        var read = ReadParameters()
        read.phone = selector
        await refuses(ControlMethods.writeAttribute, write)
        write.isCommand = true
        await refuses(ControlMethods.writeAttribute, write)
        await refuses(ControlMethods.readAttribute, read)
        await refuses(ControlMethods.discover, PhoneParameters(phone: selector))
        await refuses(ControlMethods.sendMediaCommand, MediaParameters(.play, phone: selector))
      }
      let phones = try await world.call(ControlMethods.listPhones, NoParameters()).elements
      #expect(phones.map(\.isConnected) == [false])
      // The board's request for the MTU, and its responses.
      #expect(heard.isSubset(of: [0x01, 0x02, 0x03]), "\(heard)")
    }
  }

  @Test("A stranger does not make commands ambiguous")
  func stranger() async throws {
    try await inWorld(after: .paired) { world in
      try await world.openPairing()
      let stranger = world.stranger()
      stranger.consent = .ignores
      await world.pass(.seconds(1))
      #expect(stranger.connect(to: world.adapter))
      await world.pass(.seconds(2))
      #expect(world.daemon?.sessions.count == 2)
      var read = ReadParameters()
      read.handle = AttributeHandle(value: 3)
      _ = try await world.call(ControlMethods.readAttribute, read)
      _ = try await world.call(ControlMethods.getMedia, PhoneParameters())
    }
  }

  /// The phone brings three notifications, and leaves.
  @LoopActor private static func bringMailAndLeave(_ world: World) async throws {
    let mail = NotificationContents(.email, app: "com.apple.mobilemail", title: "Mail")
    try world.phone.phone.perform(.burst(3, mail))
    await world.pass(.seconds(10))
    try await world.phoneLeaves()
  }

  @Test("What a phone has told outlasts strangers, also if it is removed while one has its address")
  func shelf() async throws {
    try await inWorld { world in
      try await Bonds.make(world) { $0.grace = .seconds(60) }
      try await Self.bringMailAndLeave(world)
      let impostor = world.stranger { $0.privateAddress = world.phone.kind.identity.address }
      await world.pass(.seconds(55))
      #expect(impostor.connect(to: world.adapter))
      await world.pass(.seconds(9))
      #expect(world.daemon?.sessions.count == 1)
      let feed = try #require(world.daemon?.feed)
      for _ in 0..<200 { feed.publish(Event(.disconnected(reason: "")), ofStranger: true) }
      let removed = feed.recent.events(since: 0).count { event in
        guard case .notification(let report) = event.event.content else { return false }
        return report.event.change == .removed
      }
      #expect(removed == 3 && feed.recent.missing(since: 0) == nil)
    }
  }

  @Test("Whoever pairs at a bonded phone's address does not become that phone")
  func otherPhone() async throws {
    try await inWorld(after: .paired) { world in
      try await Self.bringMailAndLeave(world)
      try await world.openPairing()
      let stranger = world.stranger { $0.privateAddress = world.phone.kind.identity.address }
      await world.pass(.seconds(1))
      #expect(stranger.connect(to: world.adapter))
      stranger.pair()
      try await world.until(.subscribed)
      let phones = try #require(world.daemon?.phoneBook.phones)
      #expect(
        phones.map(\.identity) == [world.phone.kind.identity, stranger.kind.identity])
      #expect(phones.map(\.notifications.ledger.count) == [3, 0])
    }
  }
}
