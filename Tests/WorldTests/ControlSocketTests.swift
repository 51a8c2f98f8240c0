// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Control
import EventLoop
import JSON
import Mgmt
import OnLoop
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Clients of the control socket", .inWorld)
struct ControlSocketTests: InWorld {
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

  @Test("A notification of a phone that is away is told while another phone is here")
  func awayWhileAnotherIsHere() async throws {
    try await world.begin(.paired) { $0.radio.pairable = .always }
    let other = world.stranger()
    #expect(other.connect(to: world.adapter))
    try await world.until(.subscribed)
    try other.phone.perform(.add(.message(from: "Dad"), uid: 5))
    try await world.until(.notification)
    other.leave()
    try await world.until(.disconnected)
    let known = try await world.call(ControlMethods.getNotification, NotificationParameters(5, phone: nil))
    #expect(known.report.attributes.title == "Dad" && known.report.isStale)
  }

  @Test("What its phone has not announced since it is back is told as it was, whatever has its UID now")
  func notAnnouncedAgain() async throws {
    try await world.begin(.paired)
    try world.phoneDoes(.add(.message(from: "Mum"), uid: 5))
    try await world.until(.notification)
    try await world.phoneLeaves()
    try world.phoneDoes(.renumber, .add(.message(from: "Dad"), uid: 5))
    await world.phoneConnects()
    try await world.until(.subscribed)
    let known = try await world.call(ControlMethods.getNotification, NotificationParameters(5, phone: nil))
    #expect(known.report.attributes.title == "Mum" && known.report.isStale)
    await world.pass(.seconds(5))
    let now = try await world.call(ControlMethods.getNotification, NotificationParameters(5, phone: nil))
    #expect(now.report.attributes.title == "Dad" && !now.report.isStale)
  }

  @Test("What can't succeed is not to be tried again: a command longer than the MTU, texts without a Data Source")
  func inVain() async throws {
    world.phone.transform = { pdu, toPhone in
      let dataSource: [UInt8] = [0xFB, 0x7B, 0x7C, 0xCE, 0x6A, 0xB3, 0x44, 0xBE]
      guard !toPhone, let place = pdu.firstRange(of: dataSource) else { return pdu }
      var other = pdu
      other[place.lowerBound] = 0
      return other
    }
    try await world.serve()
    var write = WriteParameters()
    (write.handle, write.isCommand) = (AttributeHandle(value: 3), true)
    write.value = HexBytes([UInt8](repeating: 1, count: 512))
    let tooLong = await #expect(throws: RPCError.self) {
      _ = try await world.call(ControlMethods.writeAttribute, write)
    }
    #expect(tooLong?.code == RPCError.Code.unavailable, "\(String(describing: tooLong))")
    try world.phoneDoes(.add(.message(from: "Mum"), uid: 5))
    let noSource = await #expect(throws: RPCError.self) {
      _ = try await world.call(ControlMethods.getNotification, NotificationParameters(5, phone: nil))
    }
    #expect(noSource?.code == RPCError.Code.unavailable, "\(String(describing: noSource))")
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
    try await world.begin(.paired) { $0.radio.pairable = .always }
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

/// What clients and phones can use up (docs/security.md, “Limits”).
@Suite("The limits of what a client or a phone can use up", .inWorld)
struct LimitTests: InWorld {
  private static func reading(_ handle: Handle) -> ReadParameters {
    var parameters = ReadParameters()
    parameters.handle = AttributeHandle(value: handle)
    return parameters
  }

  /// Asks over a client for as many reads.
  @LoopActor private static func ask(_ client: World.Client, reads: Int64) {
    for id in 1...reads { client.call(ControlMethods.readAttribute, reading(3), id: id) }
  }

  nonisolated static let kilobyte = String(repeating: "x", count: 1_000)
  private static let message = NotificationContents.message(from: "Mum", kilobyte)

  // MARK: Requests

  @Test("Thousands of raw reads delay no notification, and all get responses")
  func readsAndNotification() async throws {
    try await world.begin(.paired)
    let clients = try (0..<10).map { _ in try world.connectClient() }
    for id in 1...300 {
      for client in clients {
        client.call(ControlMethods.readAttribute, Self.reading(3), id: Int64(id))
      }
    }
    await world.pass(.seconds(1))
    let before = world.clock.now
    try world.phoneDoes(.add(Self.message))
    try await world.until(.notification)
    #expect(world.clock.now - before < .seconds(2))
    try await world.until("all are answered", within: .seconds(3_600)) {
      clients.allSatisfy { $0.responses.count == 300 }
    }
    #expect(clients.allSatisfy { $0.responses.compactMap { $0["id"]?.int } == Array(1...300) })
  }

  @Test("What a client has asked for is not asked of the phone once it has gone")
  func deadClients() async throws {
    try await world.begin(.paired)
    var requests = 0
    world.phone.hears { if $0[0] == 0x0A { requests += 1 } }
    for _ in 0..<20 {
      let client = try world.connectClient()
      Self.ask(client, reads: 50)
      await idle()
      client.onClose?(.ended)
    }
    await world.pass(.seconds(60))
    #expect(requests <= 20)
    // There is room for others again.
    let services = try await world.call(ControlMethods.discover, PhoneParameters())
    #expect(services["services"]?.array?.isEmpty == false)
  }

  @Test("Beyond the total limit of requests, a client is told to try again")
  func allClients() async throws {
    try await world.begin(.paired)
    try world.phoneDoes(.freeze(true))
    let clients = try (0...ControlLimits.requests / ControlLimits.requestsOfClient).map { _ in
      try world.connectClient()
    }
    for client in clients { Self.ask(client, reads: 20) }
    await idle()
    #expect(clients.dropLast().allSatisfy { $0.responses.isEmpty })
    let error = try RPCError(reading: clients.last?.responses.first?["error"] ?? .null)
    #expect(error.code == RPCError.Code.tryAgain)
  }

  @Test("A client that has finished sending still gets all its responses")
  func halfClosed() async throws {
    try await world.begin(.paired)
    let client = try world.connectClient()
    Self.ask(client, reads: 5)
    client.onEnd?()
    await idle()
    #expect(!client.isClosed)
    await world.pass(.seconds(5))
    #expect(client.responses.count == 5 && client.isClosed)
  }

  @Test("A client that has finished sending with a batch gets the events that the batch asked for, and others none")
  func halfClosedSubscriber() async throws {
    try await world.start()
    let (client, other) = (try world.connectClient(), try world.connectClient())
    let requests = [
      RPC.request(ControlMethods.subscribe.name, Subscription(), id: RequestID(1)),
      RPC.request(ControlMethods.status.name, NoParameters(), id: RequestID(2)),
    ]
    client.onLine?(RPC.batch(of: requests))
    client.onEnd?()
    await idle()
    #expect(client.responses.count == 1 && !client.isClosed)
    world.daemon?.feed.publish(Event(.error(what: "test", code: nil, message: "")))
    #expect(client.events.map(\.event.name) == [.error] && other.events.isEmpty)
  }

  // MARK: Clients

  @Test("A client that listens and does not read is dropped at a mebibyte; the others hear all")
  func stuckListener() async throws {
    try await world.start()
    let stuck = try world.connectClient()
    let other = try world.connectClient()
    stuck.isStuck = true
    for client in [stuck, other] { client.subscribe(Subscription(events: [.error])) }
    let text = String(repeating: "x", count: 1_000)
    for count in 1...1_500 {
      world.daemon?.feed.publish(Event(.error(what: "test", code: nil, message: text)))
      #expect(stuck.queuedBytes <= ControlLimits.window + 2_000)
      if count == 900 { #expect(!stuck.isClosed) }
    }
    #expect(stuck.isClosed && !other.isClosed)
    #expect(other.events.count == 1_500)
  }

  // MARK: Lists

  @Test(
    "1,500 notifications of a kilobyte are listed and replayed in pieces that every client reads")
  func longList() async throws {
    try await world.begin(.paired)
    try world.phoneDoes(.burst(1_500, Self.message))
    await world.pass(.seconds(600))
    #expect(world.events.count { $0.name == .notification } == 1_500)
    let client = try world.connectClient()
    let pages = try await world.pages(client)
    let uids = pages.joined().compactMap { $0["uid"]?.int }
    #expect(uids.count == 1_500 && Set(uids).count == 1_500 && uids == uids.sorted())
    #expect(pages.count > 4 && client.longest < ControlLimits.page + 100)
    let apps = try await world.call(ControlMethods.listApps, PhoneParameters())
    #expect(apps.elements.map(\.count) == [1_500] && apps.next == nil)
    var query = NotificationQuery()
    query.after = "nonsense"
    client.call(ControlMethods.listNotifications, query)
    await idle()
    #expect(client.responses.last?["error"]?["code"] == .int(Int64(RPCError.Code.invalidParams)))
    try await unreadLists()
    try await replay()
  }

  /// A client that does not read its responses is not read either, long before it has asked too often.
  private func unreadLists() async throws {
    let client = try world.connectClient()
    client.isStuck = true
    var asked = 0
    while client.onLine != nil, asked < ControlLimits.requestsOfClient {
      client.call(ControlMethods.listNotifications, NotificationQuery())
      asked += 1
      await idle()
    }
    #expect(client.onLine == nil && asked <= 6)
    for _ in 0..<asked {
      client.read()
      await idle()
    }
    client.read()
    #expect(client.responses.count == asked && client.onLine != nil)
    // Of several subscriptions the last one's events are those that wait.
    for _ in 0..<3 { client.subscribe(Subscription(replay: true)) }
    for _ in 0..<20 {
      client.read()
      await idle()
    }
    #expect(client.events.count < 2_000)
  }

  /// A client that reads slowly gets everything that is active, and is not dropped.
  private func replay() async throws {
    let client = try world.connectClient()
    client.isStuck = true
    client.subscribe(Subscription(replay: true))
    try world.phoneDoes(.add(Self.message, uid: 9_999))
    try await world.until("the new one is there") { world.lastReport?.event.uid == 9_999 }
    while client.queuedBytes > 0 {
      #expect(client.queuedBytes < ControlLimits.window + 5_000)
      client.read()
      await idle()
    }
    #expect(!client.isClosed)
    let names = client.events.map(\.event.name)
    #expect(names.count { $0 == .notification } == 1_501)
    #expect(names.count { $0 == .media } == 1)
  }

  // MARK: Phones

  @Test("Too many notifications of a phone are logged once")
  func tooMany() async throws {
    try await world.serve { $0.live.fetch = .none }
    await world.pass(.seconds(10))
    let mark = world.events.count
    for uid in 0..<UInt32(NotificationLimits.notifications + 10) {
      let event = NotificationEvent(.added, NotificationUID(rawValue: uid))
      try world.phoneDoes(.notify(.notificationSource, event.encoded))
    }
    await world.pass(.seconds(10))
    #expect(world.story(since: mark).count { $0 == "error" } == 1)
    #expect(
      world.last(.error)
        == .error(
          what: "keeping the phone's notifications", code: nil,
          message: "there are too many of them: the oldest are no longer listed"))
  }

  @Test(
    "Strangers who come and go push out nothing that was told of the phone, and have nothing written, by any address",
    arguments: [false, true])
  func strangers(byPhonesAddress: Bool) async throws {
    try await world.begin(.paired)
    try await world.bringMailAndLeave()
    await world.pass(.seconds(1))
    let stranger = world.stranger {
      if byPhonesAddress { $0.identity = world.phone.kind.identity }
      $0.privateAddress = nil
    }
    let before = world.platform.disk.writes
    for _ in 0..<150 {
      await world.pass(.seconds(1))
      stranger.connect(to: world.adapter)
      await world.pass(.seconds(1))
      stranger.leave()
    }
    await world.pass(.seconds(1))
    let events = try #require(world.daemon).feed.recent.events(since: 0)
    let names = events.map(\.event.name)
    #expect(world.events.count { $0.name == .connected } > 100)
    #expect(names.first == .ready)
    #expect(names.contains(.subscribed) && names.contains(.paired))
    // What it has brought goes while they come.
    #expect(events.count { $0.event.content.report?.event.change == .removed } == 3)
    #expect(world.platform.disk.writes == before)
    let ofStrangers = events.count {
      $0.event.phone == stranger.kind.identity.address
        && [.connected, .disconnected].contains($0.event.name)
    }
    #expect(ofStrangers <= RecentEvents.capacity(of: .strangers) + 2 && ofStrangers > 50)
    #expect(events.map(\.seq) == events.map(\.seq).sorted())
  }
}

@Suite("What the daemon remembers of its links", .inWorld)
struct TimelineTests: InWorld {
  private func timeline() async throws -> TimelineReport {
    try await world.call(ControlMethods.timeline, NoParameters())
  }

  private static func steps(_ link: LinkTimeline) -> [String] {
    (link.beginning + link.latest).compactMap { entry in
      if case .step(_, let name, _) = entry.moment { name } else { nil }
    }
  }

  @Test(
    "A pairing and its session: the kernel's events, the PDUs, the waits and what was published")
  func pairing() async throws {
    try await world.begin(.onAir) { $0.radio.io = .displayYesNo }
    world.phone.connect(to: world.adapter)
    let number = try #require(try await world.question().passkey)
    try await world.respond(PairingResponse(accept: true))
    let contents = NotificationContents(attributes: [.title: Array("Zahnarzt".utf8)])
    try world.phoneDoes(.add(contents, uid: nil))
    try await world.until(.notification)
    await world.pass(.seconds(5))
    let timeline = try await timeline()
    let link = try #require(timeline.links.last)
    #expect(link.hasPairing && !link.isOver)
    #expect(link.phone == world.phone.kind.identity.address)
    let steps = Self.steps(link)
    for step in [
      "Device Connected", "ATT channel", "Pair Device", "User Confirmation Request", "pairing",
      "New Identity Resolving Key", "New Long Term Key", "encrypted", "paired", "subscribed", "news",
    ] { #expect(steps.contains(step), "\(step) is not among \(steps)") }
    let pdus = link.beginning.compactMap { entry in
      if case .att(let pdu) = entry.moment { pdu } else { nil }
    }
    #expect(pdus.contains { $0.opcode == .writeRequest && $0.isSent })
    #expect(pdus.contains { $0.opcode == .handleValueNotification && !$0.isSent })
    #expect(link.beginning.map(\.time) == link.beginning.map(\.time).sorted())
    let json = String(decoding: timeline.json, as: UTF8.self)
    #expect(!json.contains("Zahnarzt") && !json.contains(number.description))
    #expect(Self.steps(timeline.board).starts(with: ["ready"]), "\(Self.steps(timeline.board))")
  }

  @Test("Nothing that a user or a phone has written is in it: names of boards, phones and rules, texts, paths")
  func anonymous() async throws {
    let rule = "[[rule]]\nname = 'marker-rule'\ncategory = 'social'\nact = 'negative'"
    try await world.serve(settings: "[log]\nfile = '/marker-path/log.db'\n\(rule)")
    try world.phoneDoes(.failCommands(code: 0xA3, count: 100))
    let contents = NotificationContents(
      .social, app: "marker.app", title: "marker-title", message: "marker-text", negative: "marker-label")
    try world.phoneDoes(.add(contents))
    await world.pass(.seconds(60))
    let rules: [String?] = world.events.map { event in
      if case .error(_, _, _, let rule) = event.content { rule } else { nil }
    }
    #expect(rules.contains("marker-rule"), "\(world.story)")
    let timeline = try await timeline()
    let json = String(decoding: timeline.json, as: UTF8.self)
    #expect(Self.steps(try #require(timeline.links.last)).contains("error"))
    #expect(!json.contains("marker") && !json.contains("kitchen"))
  }

  @Test("Only the latest links are remembered, and the last pairing")
  func links() async throws {
    try await world.begin(.paired)
    for _ in 0..<7 {
      try await world.phoneLeaves()
      await world.pass(.seconds(5))
      try await world.phoneComes()
    }
    let links = try await timeline().links
    #expect(links.count == 4)
    #expect(links.map(\.hasPairing) == [true, false, false, false])
    #expect(links.map(\.isOver) == [true, true, true, false])
  }

  @Test("Of a long session the beginning and the end are kept, and how much is missing")
  func bounded() async throws {
    let clock = HandClock()
    let history = LinkHistory(scheduler: clock, at: WallTime(seconds: 0))
    let most = LinkHistory.capacity
    for number in 0..<(3 * most + 5) {
      history.att([0x0A, UInt8(truncatingIfNeeded: number), UInt8(number >> 8)], isSent: true)
    }
    let report = history.report
    func handles(_ entries: [TimelineEntry]) -> [Handle] {
      entries.compactMap { if case .att(let pdu) = $0.moment { pdu.handle } else { nil } }
    }
    #expect(handles(report.beginning) == (0..<UInt16(most)).map { $0 })
    #expect(handles(report.latest) == (UInt16(2 * most + 5)..<UInt16(3 * most + 5)).map { $0 })
    #expect(report.omitted == most + 5)
  }
}
