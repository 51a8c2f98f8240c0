// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import Testing
import VirtualKernel
import VirtualPhone

@testable import Board
@testable import Daemon

/// What the daemon does about a phone that is connected and of no use.
@Suite("A session that does not work is left or healed", .inWorld)
struct HealingTests: InWorld {
  @Test("Permission is unknown until the phone responds, and proven by a notification")
  func pending() async throws {
    try world.phoneDoes(.silence(1))
    try await world.serve()
    await world.pass(.seconds(12))
    #expect(try await world.link().authorization == .unknown(until: .response))
    #expect(world.wait == "permission")
    #expect(world.last(.authorization) == .authorization(.unknown(until: .response)))
    await world.pass(.seconds(10))
    #expect(try await world.link().authorization == .unknown(until: .notification))
    #expect(world.wait == "news")
    try world.phoneDoes(.add(.message(from: "Mum")))
    await world.pass(.seconds(1))
    #expect(try await world.link().authorization == .granted)
  }

  @Test("ANCS that never responds is located again, and then the link is ended once")
  func dead() async throws {
    let phone = world.phone
    try phone.phone.perform(.silence(1000))
    try await world.serve()
    try await world.until(.stale)
    #expect(phone.connection != nil)
    try await world.until(.subscribed)
    try await world.until(.stale)
    let end = try await world.until(.disconnected)
    #expect("\(end)".contains("does not respond on the Control Point"))
    await world.pass(.seconds(1))
    #expect(phone.connect(to: world.adapter))
    let mark = world.events.count
    await world.pass(.seconds(9 * 60))
    // It is located again, but the link is not ended again so soon.
    #expect(world.story(since: mark).contains("stale"))
    #expect(!world.story(since: mark).contains("disconnected"))
    await world.pass(.seconds(15 * 60))
    #expect(world.story(since: mark).contains("disconnected"))
  }

  @Test("ANCS that has moved silently is served where the search for AMS finds it")
  func movedWithoutMedia() async throws {
    try world.phoneDoes(.unpublish(.ams), .add(.message(from: "Mum"), uid: 76))
    try await world.serve()
    _ = try await world.notification()
    world.loseServiceChanges()
    try world.phoneDoes(.unpublish(.ancs), .publish(.ancs, freshHandles: true))
    await world.pass(.seconds(90))
    let mark = world.events.count
    try world.phoneDoes(.add(.message(from: "Mum"), uid: 77))
    await world.pass(.seconds(5))
    #expect(world.story(since: mark).contains("notification"), "\(world.story)")
  }

  @Test("A battery that the search for ANCS finds is no subscription")
  func onlyBattery() async throws {
    try world.phoneDoes(.unpublish(.ancs), .unpublish(.ams), .unpublish(.battery))
    try await world.meet { $0.quirks.reconnects = false }
    await world.pass(.seconds(10))
    world.loseServiceChanges()
    try world.phoneDoes(.publish(.battery, freshHandles: true))
    try await world.until(.battery)
    #expect(!world.story.contains("subscribed"))
  }

  @Test("ANCS that goes while its Control Point is written to is searched for where it was")
  func goesUnderARequest() async throws {
    let phone = world.phone
    try await world.begin(.paired)
    // Get Notification Attributes of UID 77 arrives after ANCS has gone, with Service Changed on its way to the board.
    var hasGone = false
    phone.hears { pdu in
      guard !hasGone, pdu[0] == 0x12, pdu.count > 4, pdu[3] == 0, pdu[4] == 77 else { return }
      hasGone = true
      _ = try? phone.phone.perform(.unpublish(.ancs))
    }
    let mark = world.events.count
    try phone.phone.perform(.add(.message(from: "Mum"), uid: 77))
    try await world.until(.servicesChanged)
    await world.pass(.seconds(1))
    try phone.phone.perform(.publish(.ancs, freshHandles: true))
    try await world.until(.subscribed)
    await world.pass(.seconds(1))
    #expect(!world.story(since: mark).contains("stale"))
    #expect(world.story(since: mark).contains("notification"))
  }

  @Test("ANCS that goes under a request for a moment at the start of a link is served again")
  func goesAtTheStart() async throws {
    let phone = world.phone.phone
    var written: Set<PhoneCharacteristic> = []
    phone.onEvent = { event in
      guard case .subscribed(let characteristic, _) = event,
        written.insert(characteristic).inserted
      else { return }
      switch characteristic {
      // As every iPhone does.
      case .dataSource: _ = try? phone.perform(.indicate(.serviceChanged, [0x0A, 0, 0xFF, 0xFF]))
      case .batteryLevel: _ = try? phone.perform(.add(.message(from: "Mum"), uid: 77))
      case .currentTime: _ = try? phone.perform(.publish(.ancs, freshHandles: false))
      default: break
      }
    }
    var hasGone = false
    world.phone.hears { pdu in
      guard !hasGone, pdu[0] == 0x12, pdu.count > 4, pdu[3] == 0, pdu[4] == 77 else { return }
      hasGone = true
      _ = try? phone.perform(.unpublish(.ancs))
    }
    try await world.serve()
    await world.pass(.seconds(60))
    #expect(hasGone)
    try phone.perform(.add(.message(from: "Dad"), uid: 78))
    await world.pass(.seconds(5))
    #expect(world.told().contains("added Dad"), "\(world.story)")
  }

  @Test(
    "A phone that has just paired and shows no ANCS is disconnected once", arguments: [true, false])
  func newPhone(mayReconnect: Bool) async throws {
    let phone = world.phone
    try phone.phone.perform(.unpublish(.ancs))
    try await world.meet { $0.quirks.reconnects = mayReconnect }
    try await world.until(.paired)
    await world.pass(.seconds(70))
    #expect((phone.connection == nil) == mayReconnect)
    guard mayReconnect else { return }
    #expect(world.story.contains("stale"))
    #expect(phone.connect(to: world.adapter))
    await world.pass(.seconds(1800))
    #expect(phone.connection != nil)
    #expect(world.story.count { $0 == "disconnected" } == 1)
  }

  @Test("A phone that refuses the search for its services keeps its link, and is asked again after pauses")
  func refusesDiscovery() async throws {
    let phone = world.phone
    var requests = 0
    phone.transform = { pdu, toPhone in
      // Find Information, Find By Type Value, Read By Type and Read By Group Type.
      guard toPhone, [0x04, 0x06, 0x08, 0x10].contains(pdu[0]) else { return pdu }
      requests += 1
      phone.say([0x01, pdu[0], pdu[1], pdu[2], ErrorCode.insufficientResources.rawValue])
      return nil
    }
    try await world.meet { $0.quirks.reconnects = false }
    try await world.until(.error)
    await world.pass(.seconds(600))
    #expect(phone.connection != nil && world.wait == "refused" && requests < 60)
    phone.transform = { pdu, _ in pdu }
    try await world.until(.subscribed, within: .seconds(300))
    #expect(!world.story.contains("disconnected"))
  }

  @Test("The level of a battery that can't be subscribed to is in `status`, as it was read")
  func unfollowedBattery() async throws {
    try await world.begin(.paired)
    let phone = world.phone
    let located = try #require(world.daemon?.sessions.first?.services.located)
    let cccd = try #require(located.first { $0.service.uuid == .batteryService }?[.batteryLevel]?.cccd)
    try await world.phoneLeaves()
    phone.transform = { pdu, toPhone in
      guard toPhone, pdu.starts(with: [0x12, UInt8(cccd & 0xFF), UInt8(cccd >> 8)]) else { return pdu }
      phone.say([0x01, 0x12, pdu[1], pdu[2], ErrorCode.writeNotPermitted.rawValue])
      return nil
    }
    await world.phoneConnects()
    try await world.until(.battery)
    await world.pass(.seconds(5))
    let link = try await world.link()
    #expect(world.last(.battery) == link.battery.map { .battery(level: $0) })
    #expect(link.services == [.ancs, .ams, .battery, .time])
    #expect(world.story.count { $0 == "error" } == 1)
  }

  @Test("AMS that refuses the registration is asked again after pauses that grow, and then used")
  func media() async throws {
    world.phone.transform = { pdu, toPhone in
      toPhone && pdu.starts(with: [0x12, 0x29, 0x00]) ? [0x12, 0x29, 0x00] : pdu
    }
    try await world.serve()
    await world.pass(.seconds(600))
    #expect((4...6).contains(world.story.count { $0 == "error" }), "\(world.story)")
    #expect(world.last(.servicesChanged) == .servicesChanged([.ancs, .battery, .time]))
    world.phone.transform = { pdu, _ in pdu }
    try await world.until(.media)
    #expect(try await world.link().services == [.ancs, .ams, .battery, .time])
  }

  @Test("Where Service Changed was, another value is heard once Service Changed has moved")
  func serviceChangedMoves() async throws {
    try await world.serve()
    let session = try #require(world.daemon?.sessions.first)
    var service = try #require(session.services.located.first { $0.service.uuid == .genericAttribute })
    let changes = ServiceClient.serviceChanged(ServiceContext(session)) { _, _ in }
    func subscribe(_ service: LocatedService) async throws {
      var isDone = false
      Loop.start {
        _ = try? await changes.subscribe(service, false)
        isDone = true
      }
      try await world.until("the subscription") { isDone }
    }
    try await subscribe(service)
    var heard = 0
    let former = try #require(service[.serviceChanged]).value
    session.client.setHandler(for: former) { _ in heard += 1 }
    service.characteristics[0].value = 0x7777
    try await subscribe(service)
    try world.phoneDoes(.indicate(.serviceChanged, [0x0A, 0, 0xFF, 0xFF]))
    await world.pass(.seconds(1))
    #expect(heard == 1)
  }

  @Test("A malformed Service Changed is confirmed, and changes nothing")
  func malformedChange() async throws {
    try await world.begin(.paired)
    var confirmations = 0
    world.phone.hears { if $0 == [0x1E] { confirmations += 1 } }
    let values: [[UInt8]] = [[], [1], [1, 0, 0xFF], [1, 0, 0xFF, 0xFF, 0], [9, 0, 3, 0], [0, 0, 0, 0]]
    for value in values { try world.phoneDoes(.indicate(.serviceChanged, value)) }
    await world.pass(.seconds(5))
    #expect(confirmations == values.count && !world.story.contains("services-changed"))
    try world.phoneDoes(.add(.message(from: "Mum")))
    try await world.until(.notification)
  }

  @Test("Service Changed that refuses its subscription once is subscribed to a moment later")
  func serviceChanged() async throws {
    let phone = world.phone
    var writes: [[UInt8]] = []
    phone.transform = { pdu, toPhone in
      // A Write Request for indications.
      guard toPhone, pdu.count == 5, pdu[0] == 0x12, pdu[3] == 2 else { return pdu }
      writes.append(pdu)
      guard writes.count == 1 else { return pdu }
      phone.say([0x01, 0x12, pdu[1], pdu[2], ErrorCode.insufficientResources.rawValue])
      return nil
    }
    try await world.serve()
    await world.pass(.seconds(10))
    #expect(writes.count == 2 && !world.story.contains("error"))
  }
}

/// A subscription whose run ends when the test says so.
@LoopActor private final class StubRun: RunningService {
  private(set) var isEnded = false
  private(set) var failure: CheckedContinuation<ATTFailure, Never>?

  func run() async throws(ATTFailure) { throw await withCheckedContinuation { failure = $0 } }

  func end() { isEnded = true }

  func fail() { failure?.resume(returning: .protocolViolation("a test")) }
}

@Suite("The run of a service", .inWorld)
struct ServiceRunTests: InWorld {
  @Test("Its failure ends the subscription that it is of, and not one that came after it")
  func failsLate() async throws {
    try await world.serve { $0.radio.io = .noInputNoOutput }
    let session = try #require(world.daemon?.sessions.first)
    var runs: [StubRun] = []
    let client = ServiceClient(
      uuid: .batteryService, characteristics: [.batteryLevel], name: .battery, title: "the stub", phase: .first
    ) { _, _ throws(ATTFailure) in
      let run = StubRun()
      runs.append(run)
      return run
    }
    let services = SessionServices([client], ServiceContext(session), .verify)
    var failures = 0
    services.onFailure = { failures += 1 }
    Loop.start {
      try? await services.locate()
      try? await services.subscribe()
      services.start()
      _ = try? await services.rediscover(in: .all)
      services.start()
    }
    try await world.until("two runs") { runs.count { $0.failure != nil } == 2 }
    runs[0].fail()
    await world.pass(.seconds(1))
    #expect(services.names == [.battery] && !runs[1].isEnded && failures == 0)
    runs[1].fail()
    await world.pass(.seconds(1))
    #expect(services.names == [] && runs[1].isEnded && failures == 1)
  }
}

/// The captured iPhone and the whole daemon: how many requests a session costs, and what Service Changed
/// does to it.
@Suite("World: an iPhone as captured", .inWorld)
struct IPhoneTests: InWorld {
  /// Does something as a request reaches the phone, before the response.
  ///
  /// - Returns: how many requests have reached it.
  private func at(_ request: Int, _ act: @escaping () -> Void) -> () -> Int {
    var count = 0
    world.phone.hears { pdu in
      guard Opcode(rawValue: pdu[0]).role == .request else { return }
      count += 1
      if count == request { act() }
    }
    return { count }
  }

  @Test("A return takes 7 requests until subscribed and 15 until quiet, also after a restart of the daemon")
  func returning() async throws {
    try await world.begin(.paired)
    for round in 0..<2 {
      try await world.phoneLeaves(silently: true)
      if round == 1 {
        try await world.stop()
        try await world.start()
      }
      await world.phoneConnects()
      let event = try await world.until(.subscribed)
      // The first probe of the notifications comes a second after the subscription to ANCS, which precedes the event.
      await world.pass(.milliseconds(700))
      #expect(event.content == .subscribed([.ancs, .ams, .battery, .time], mtu: 185, requests: 7))
      #expect(try await world.link().requests == 15)
      let totals = try #require(try await world.status().totals)
      #expect([totals.links, totals.sessions, totals.reconnections] == (round == 0 ? [2, 2, 1] : [1, 1, 0]))
    }
  }

  @Test("ANCS is subscribed to before anything else, and by the first request after encryption when the phone returns")
  func order() async throws {
    var written: [PhoneCharacteristic] = []
    world.phone.phone.onEvent = { event in
      if case .subscribed(let characteristic, _) = event { written.append(characteristic) }
    }
    try await world.meet()
    try await world.until(.time)
    #expect(
      written == [
        .notificationSource, .dataSource, .entityUpdate, .remoteCommand, .serviceChanged,
        .batteryLevel, .currentTime,
      ])
    await world.pass(.seconds(10))
    var requests: [[UInt8]] = []
    world.phone.hears { pdu in
      // Exchange MTU was sent before encryption.
      if pdu[0] >= 4, Opcode(rawValue: pdu[0]).role == .request { requests.append(pdu) }
    }
    try await world.phoneReturnsEncrypted()
    #expect(requests.first == [0x12, 0x1F, 0, 1, 0])
  }

  @Test(
    "Service Changed costs nothing at the start, and a verification during the set-up, however often it comes",
    arguments: 1...18)
  func serviceChanged(at request: Int) async throws {
    let phone = world.phone
    var subscriptions = 0
    phone.phone.onEvent = { event in if case .subscribed = event { subscriptions += 1 } }
    _ = at(request) {
      for _ in 0..<3 {
        _ = try? phone.phone.perform(.indicate(.serviceChanged, [0x0A, 0, 0xFF, 0xFF]))
      }
    }
    try await world.meet()
    let subscribed = try await world.until(.subscribed)
    await world.pass(.seconds(30))
    let link = try await world.link()
    #expect(link.services == [.ancs, .ams, .battery, .time])
    #expect(link.authorization == .unknown(until: .notification))
    if case .subscribed(_, _, let requests) = subscribed.content { #expect(requests == 9) }
    // The probe of the notifications, and a verification for those that come apart.
    if request <= 9 {
      #expect(link.requests <= 21)
      #expect(subscriptions == 7)
      #expect(world.story.count { $0 == "subscribed" } == 1)
      #expect(!world.story.contains("services-changed"))
    }
  }

  @Test("A change during the search for another is not lost, at whichever request", arguments: 1...9)
  func changedMeanwhile(at request: Int) async throws {
    let phone = world.phone
    try await world.begin(.paired)
    await world.pass(.seconds(20))
    let count = at(request) {
      _ = try? phone.phone.perform(.unpublish(.battery))
      _ = try? phone.phone.perform(.publish(.battery, freshHandles: true))
    }
    try phone.phone.perform(.indicate(.serviceChanged, [1, 0, 0xFF, 0xFF]))
    await world.pass(.seconds(60))
    #expect(count() > request)
    try phone.phone.perform(.battery(42))
    await world.pass(.seconds(1))
    let link = try await world.link()
    #expect(link.services == [.ancs, .ams, .battery, .time] && link.battery == 42)
  }

  @Test("A battery that is new during the set-up is found, and no subscription begins again", arguments: 5...7)
  func newBattery(at request: Int) async throws {
    let phone = world.phone
    try phone.phone.perform(.unpublish(.battery))
    try await world.begin(.phoneLeft)
    var subscriptions = 0
    phone.phone.onEvent = { event in if case .subscribed = event { subscriptions += 1 } }
    _ = at(request) {
      _ = try? phone.phone.perform(.publish(.battery, freshHandles: true))
      _ = try? phone.phone.perform(.indicate(.serviceChanged, [0x0A, 0, 0xFF, 0xFF]))
    }
    await world.phoneConnects()
    try await world.until(.subscribed)
    await world.pass(.seconds(30))
    let link = try await world.link()
    #expect(link.services == [.ancs, .ams, .battery, .time] && link.battery != nil)
    #expect(subscriptions == 7)
  }

  @Test("Handles that have moved are not taken for right")
  func moved() async throws {
    try await world.begin(.phoneLeft)
    let phone = world.phone.phone
    for service in [PublishedService.ams, .ancs] {
      try phone.perform(.unpublish(service))
      try phone.perform(.publish(service, freshHandles: true))
    }
    try phone.perform(.add(.message(from: "Mum"), uid: 5))
    await world.phoneConnects()
    try await world.until(.subscribed, within: .seconds(5))
    let report = try await world.notification()
    #expect(report.attributes.title == "Mum" && !world.story.contains("error"))
  }

  @Test("Handles that were remembered without a hash are not taken for right by one")
  func movedWithoutHash() async throws {
    try await world.begin(.phoneLeft)
    try await world.stop()
    let phone = world.phone.phone
    try phone.perform(.unpublish(.ancs))
    try phone.perform(.publish(.ancs, freshHandles: true))
    try await world.serve { $0.quirks.handles = .hash }
    #expect(!world.story.contains("error"))
  }

  @Test("PDUs that arrive before a handler is set are not lost")
  func early() async throws {
    let phone = world.phone
    var isTold = false
    try phone.phone.perform(.add(.message(from: "Mum"), uid: 5))
    phone.hears { pdu in
      guard pdu[0] == 0x08, !isTold else { return }
      isTold = true
      // A subscription that the phone remembers: it speaks at once, and not again.
      _ = try? phone.phone.perform(.notify(.notificationSource, [0, 0, 4, 1, 5, 0, 0, 0]))
      _ = try? phone.phone.perform(.authorize(false))
      _ = try? phone.phone.perform(.notify(.notificationSource, [2, 0, 4, 0, 9, 0, 0, 0]))
    }
    try await world.meet()
    try await world.until(.authorization)
    let removed = NotificationEvent(.removed, 9, category: .social, categoryCount: 0)
    #expect(world.events.contains { $0.content == .incoming(removed) })
    try phone.phone.perform(.authorize(true))
    let added = try await world.notification()
    #expect(added.attributes.title == "Mum")
  }
}
