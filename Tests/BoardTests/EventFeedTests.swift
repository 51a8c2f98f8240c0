// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import OnLoop
import Testing
import Wire

@testable import Board

@Suite("Events and those who hear them")
struct EventFeedTests {
  private static let time = WallTime(seconds: 1_795_244_400, nanoseconds: 42_000_000)
  private static let incoming = Event(.incoming(NotificationEvent(.added, 1)))

  /// Events of which every other one is a disconnection, for another reason each.
  private func recent(_ count: Int, others: Event) -> RecentEvents {
    var recent = RecentEvents()
    for number in 0..<count {
      let event = Event(.disconnected(reason: "\(number)"))
      _ = recent.record(number % 2 == 0 ? event : others, at: Self.time)
    }
    return recent
  }

  @Test("Events are numbered from 1 on, and the last thousand kept; of another run's number, all")
  func numbering() {
    let recent = recent(1_500, others: Event(.paired))
    #expect(recent.lastSeq == 1_500)
    #expect(recent.events(since: 0).map(\.seq) == Array(501...1_500))
    #expect(recent.events(since: 1_498).map(\.seq) == [1_499, 1_500])
    #expect(recent.events(since: 1_500).isEmpty)
    #expect(recent.events(since: 1_501).count == 1_000)
    #expect(RecentEvents().events(since: 0).isEmpty)
  }

  @Test("Incoming events are numbered and not kept, so that a flood of them pushes out nothing")
  func incoming() {
    let alternating = recent(6, others: Self.incoming)
    #expect(alternating.lastSeq == 6)
    #expect(alternating.events(since: 0).map(\.seq) == [1, 3, 5])
    var flooded = recent(1, others: Self.incoming)
    for _ in 0..<2_000 { _ = flooded.record(Self.incoming, at: Self.time) }
    #expect(flooded.lastSeq == 2_001)
    #expect(flooded.events(since: 0).map(\.seq) == [1])
  }

  @Test(
    "What tells a state and what strangers do keep no news out, and the latest of each are kept",
    arguments: [
      (Event(.media(MediaState(), changed: [.playerElapsed])), false),
      (Event(.battery(level: 80)), false), (Event(.advertising(pairable: true)), false),
      (Event(.time(CivilTime(secondsSince1970: 0), offset: 0)), false),
      (Event(.connected(encrypted: false, bonded: false)), true),
      (Event(.disconnected(reason: "")), true), (Event(.pairingFailed(reason: "")), true),
    ])
  func shelves(flood: Event, ofStranger: Bool) {
    var recent = RecentEvents()
    for _ in 0..<900 { _ = recent.record(Event(.paired), at: Self.time) }
    for _ in 0..<5_000 { _ = recent.record(flood, at: Self.time, ofStranger: ofStranger) }
    _ = recent.record(Event(.paired), at: Self.time)
    let kept = recent.events(since: 0)
    #expect(kept.map(\.seq) == Array(1...900) + Array(5_801...5_901))
    #expect(recent.events(since: 5_899).map(\.seq) == [5_900, 5_901])
  }

  @Test("Events from before a time are lost, by a clock that nobody sets")
  func age() {
    var recent = RecentEvents()
    for second in 0..<100 {
      let event = Event(second % 10 == 0 ? .battery(level: second) : .paired)
      _ = recent.record(event, at: Self.time, .zero + .seconds(second))
    }
    let start = Instant.zero + .seconds(60)
    #expect(recent.events(since: 40, from: start).map(\.seq) == Array(61...100))
    // Of numbers 41 to 60, 41 and 51 were states.
    #expect(recent.missing(since: 40, from: start)?.event == Event(.lost(count: 18, first: 41, last: 60)))
    #expect(recent.missing(since: 60, from: start) == nil)
    let end = Instant.zero + .seconds(1_000)
    #expect(recent.events(since: 90, from: end).isEmpty)
    #expect(recent.missing(since: 90, from: end)?.event == Event(.lost(count: 9, first: 91, last: 100)))
  }

  @Test("Long notifications take no more than some mebibytes, the latest are kept")
  func bytes() {
    var recent = RecentEvents()
    var report = NotificationReport(NotificationEvent(.added, 1))
    for _ in 0..<1_000 {
      report.attributes[.message] = String(repeating: "x", count: 65_535)
      _ = recent.record(Event(.notification(report)), at: Self.time)
    }
    let kept = recent.events(since: 0)
    #expect(kept.count == RecentEvents.bytes / (2 * report.size))
    #expect(kept.last?.seq == 1_000)
    // Of usual ones a thousand are kept.
    report.attributes[.message] = String(repeating: "x", count: 1_024)
    for _ in 0..<1_000 { _ = recent.record(Event(.notification(report)), at: Self.time) }
    #expect(recent.events(since: 0).count == 1_000)
  }

  @Test("How many news are not kept any more is told, with the time of the next that is")
  func missing() {
    let recent = recent(2_400, others: Event(.disconnected(reason: "x")))
    let lost = recent.missing(since: 400)
    #expect(lost?.event.content == .lost(count: 1_000, first: 401, last: 1_400))
    #expect(lost?.seq == 1_400)
    #expect(recent.missing(since: 1_399)?.event.content == .lost(count: 1, first: 1_400, last: 1_400))
    #expect(recent.missing(since: 1_400) == nil)
    #expect(recent.missing(since: 9_999)?.event.content == .lost(count: 1_400, first: 1, last: 1_400))
  }

  @Test("All hear an event under one number, which also one has that nobody reads")
  func quiet() async throws {
    try await onLoop {
      let feed = EventFeed { Self.time }
      var seqs: [UInt64] = []
      var all: [UInt64] = []
      feed.subscribe { seqs.append($0.seq) }
      #expect(feed.reads(.paired) && !feed.reads(.incoming) && !feed.reads(.why))
      feed.pass(over: .incoming)
      feed.pass(over: .why)
      feed.publish(Event(.paired))
      feed.subscribe(readsQuiet: { $0 == .incoming }) { all.append($0.seq) }
      #expect(feed.reads(.incoming) && !feed.reads(.why))
      feed.publish(Self.incoming)
      feed.publish(Event(.paired))
      #expect(seqs == [2, 4] && all == [3, 4])
    }
  }

  @Test("A wait bears the number of the event before it, and is not kept")
  func waits() async throws {
    try await onLoop {
      let feed = EventFeed { Self.time }
      var seqs: [UInt64] = []
      feed.subscribe(readsQuiet: { $0 == .why }) { seqs.append($0.seq) }
      feed.publish(Event(.why(wait: "mtu", why: "connected")))
      feed.publish(Event(.paired))
      feed.publish(Event(.why(wait: "mtu", why: "connected")))
      feed.publish(Event(.paired))
      #expect(seqs == [0, 1, 1, 2])
      #expect(feed.recent.events(since: 0).map(\.seq) == [1, 2])
    }
  }
}
