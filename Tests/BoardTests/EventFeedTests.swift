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

  @Test("Incoming events are numbered and not kept, so that a flood of them pushes out nothing")
  func incoming() {
    var recent = RecentEvents()
    for number in 0..<2_000 { _ = recent.record(number == 0 ? Event(.paired) : Self.incoming, at: Self.time) }
    #expect(recent.lastSeq == 2_000)
    #expect(recent.events(since: 0).map(\.seq) == [1])
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
