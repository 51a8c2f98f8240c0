// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import JSON
import Mgmt
import EventLoop
import Testing
import VirtualKernel
import VirtualPhone

@testable import Board

@Suite("Clients of the control socket", .inWorld)
struct ControlSocketTests: InWorld {
  @Test("A client gets the events that it subscribed to last, and none before")
  func subscriptions() async throws {
    try await world.start()
    await world.pass(.seconds(1))
    let client = try world.connectClient()
    world.phone.connect(to: world.adapter)
    try await world.until(.connected)
    #expect(client.events.isEmpty)
    client.subscribe(Subscription())
    try await world.until(.subscribed)
    await world.pass(.seconds(10))
    #expect(client.events.map(\.event.name).starts(with: [.pairing, .paired, .subscribed]))
    #expect(!client.events.contains { $0.event.name.isQuiet })
    client.subscribe(Subscription(events: [.incoming]))
    let count = client.events.count
    try world.phoneDoes(.add(NotificationContents(), uid: nil))
    try await world.until(.notification)
    #expect(client.events[count...].map(\.event.name) == [.incoming])
  }

  @Test("A returning client gets the events it missed, and the active notifications")
  func missed() async throws {
    try await world.begin(.paired)
    try world.phoneDoes(.add(NotificationContents(), uid: nil))
    try await world.until(.notification)
    let client = try world.connectClient()
    client.subscribe(Subscription(replay: true, since: 0))
    let names = client.events.map(\.event.name)
    // What is active comes first, and once.
    #expect(names.prefix(2) == [.notification, .media])
    #expect(names.filter { $0 == .notification }.count == 1)
    #expect(names.contains(.ready) && names.contains(.subscribed))
  }

  @Test("status tells adapters, links and phones, and phones.list the bonds")
  func status() async throws {
    try await world.begin(.paired)
    let status = try await world.status()
    #expect(status.adapters.map(\.adapter) == ["hci0"])
    #expect(status.adapters.map(\.isPowered) == [true])
    #expect(status.adapters.map(\.profile) == [nil], "the only phone is here")
    let link = try #require(status.links.first)
    #expect(link.isEncrypted && link.isBonded)
    #expect(link.authorization == .unknown(until: .notification))
    #expect(link.services == [.ancs, .ams, .battery, .time])
    #expect(link.rssi == -60)
    let phones = try await world.call(ControlMethods.listPhones, NoParameters())
    #expect(status.phones == phones.elements)
    #expect(status.phones.map(\.isConnected) == [true])
  }

  @Test("An answer to no question is refused")
  func unasked() async throws {
    try await world.start()
    let unasked = await #expect(throws: RPCError.self) {
      _ = try await world.call(ControlMethods.respondToPairing, PairingResponse(accept: true))
    }
    #expect(unasked?.message == "no pairing is waiting for an answer")
  }

  @Test(
    "A list goes on where its page ended, whichever phone leaves before or after the first page",
    arguments: [0, 1], [0, 1])
  func pages(leaving: Int, page: Int) async throws {
    try await world.bond { $0.pairable = .always }
    let phones = [world.phone, world.stranger()]
    #expect(phones[1].connect(to: world.adapter))
    try await world.until(.subscribed)
    for phone in phones { phone.phone.rules.textLimit = nil }
    for phone in phones {
      try phone.phone.perform(.burst(300, .message(from: "Mum", LimitTests.kilobyte)))
    }
    await world.pass(.seconds(100))
    let pages = try await world.pages(try world.connectClient()) { number in
      guard number == page else { return }
      phones[leaving].leave()
      try await world.until(.disconnected)
    }
    let listed = pages.joined().map { "\($0["phone"]?.text ?? "") \($0["uid"]?.text ?? "")" }
    #expect(pages.count > 2 && listed.count == 600 && Set(listed).count == 600)
  }
}
