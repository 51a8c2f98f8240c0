// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Control
import GATT
import Testing
import VirtualKernel
import VirtualPhone

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

  /// The requests that the daemon had sent when it was subscribed, and when all was quiet (but for the
  /// probe of the notifications, a second later).
  private func requests() async throws -> (subscribed: Int, quiet: Int) {
    let event = try await world.until(.subscribed)
    guard case .subscribed(let services, _, let requests) = event.content else { return (0, 0) }
    #expect(services == [.ancs, .ams, .battery, .time])
    // The first probe comes a second after the subscription to ANCS, which precedes the event.
    await world.pass(.milliseconds(700))
    let link = try await world.link()
    return (requests, link.requests)
  }

  @Test("A return takes 7 and 15, also after a restart of the daemon")
  func returning() async throws {
    try await world.meet()
    try await world.until(.battery)
    await world.pass(.seconds(5))
    for round in 0..<2 {
      try await world.phoneLeaves(silently: true)
      if round == 1 {
        try await world.stop()
        try await world.start()
      }
      await world.phoneConnects()
      #expect(try await requests() == (7, 15))
    }
  }

  @Test("ANCS is subscribed to before anything else")
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

  @Test(
    "A change during the search for another is not lost, at whichever request", arguments: 1...9)
  func changedMeanwhile(at request: Int) async throws {
    let phone = world.phone
    try await world.meet()
    try await world.until(.battery)
    await world.pass(.seconds(30))
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

  @Test("Handles that have moved are not taken for right")
  func moved() async throws {
    try await world.meet()
    try await world.until(.battery)
    await world.pass(.seconds(5))
    try await world.phoneLeaves(silently: true)
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

  @Test(
    "At any MTU everything is found, from 185 on in 9 requests until subscribed and 18 until quiet",
    arguments: [23, 48, 64, 104, 185, 247, 517, nil])
  func firstMeeting(mtu: Int?) async throws {
    if let mtu { try world.phoneDoes(.limitMTU(mtu)) }
    try await world.meet()
    let requests = try await requests()
    #expect(!world.story.contains("services-changed"))
    if mtu.map({ $0 >= 185 }) ?? true {
      #expect(requests.subscribed == 9)
      #expect(requests.quiet == 18)
    }
    try world.phoneDoes(.add(.message(from: "Mum"), uid: 5))
    let report = try await world.notification()
    #expect(report.app == "Messages")
    #expect(report.failure == nil)
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
