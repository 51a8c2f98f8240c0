// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import Control
import JSON
import Mgmt
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board

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
    try await world.start { $0.io = .displayYesNo }
    try await world.until(.advertising)
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
      "New Identity Resolving Key", "New Long Term Key", "encrypted", "paired", "subscribed",
      "news",
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

  @Test(
    "Nothing that a user or a phone has written is in it: names of boards, phones and rules, texts, paths"
  )
  func anonymous() async throws {
    let rule = "[[rule]]\nname = 'marker-rule'\ncategory = 'social'\nact = 'negative'"
    try await world.serve(settings: "[log]\nfile = '/marker-path/log.db'\n\(rule)")
    try world.phoneDoes(.failCommands(code: 0xA3, count: 100))
    let contents = NotificationContents(
      .social, app: "marker.app", title: "marker-title", message: "marker-text",
      negative: "marker-label")
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
