// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import EventLoop
import Glibc
import JSON
import OnLoop
import Testing
import Wire

@testable import Board
@testable import Daemon

@Suite("What those who read events are given")
struct EventReaderTests {
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

  @Test("Missed events are filtered; active notifications come first, and once")
  func replay() {
    // What is active bears the last number, whatever number it was published under.
    let active = [NumberedEvent(seq: 6, time: Self.time, Event(.disconnected(reason: "4")))]
    func seqs(_ subscription: Subscription, _ recent: RecentEvents) -> [UInt64] {
      subscription.initialEvents(active: active, recent: recent, life: "one", now: .zero).map(\.seq)
    }
    let quiet = recent(6, others: Self.incoming)
    #expect(seqs(Subscription(since: 2), quiet) == [3, 5])
    #expect(seqs(Subscription(replay: true, since: 2), quiet) == [6, 3])
    #expect(seqs(Subscription(events: [.incoming], replay: true, since: 3), quiet).isEmpty)
    #expect(seqs(Subscription(replay: true), quiet) == [6])
    #expect(seqs(Subscription(), quiet).isEmpty)
    // What a client comes too late for is counted, unless it reads nothing of the kind.
    let long = recent(1_500, others: Event(.paired))
    #expect(seqs(Subscription(since: 3), long).prefix(2) == [500, 501])
    #expect(seqs(Subscription(events: [.paired], since: 3), long).prefix(2) == [500, 502])
    #expect(seqs(Subscription(events: [.battery], since: 3), long).isEmpty)
    // One that has only just connected has missed nothing, unless it has seen another life of the daemon.
    #expect(seqs(Subscription(since: 0), long).first == 501)
    #expect(seqs(Subscription(since: 0, life: "two"), long).prefix(2) == [500, 501])
    // One that knows this life was there: what it was sent may not have got any further.
    #expect(seqs(Subscription(since: 0, life: "one"), long).prefix(2) == [500, 501])
    let paired = recent(6, others: Event(.paired))
    // Numbers of another life of the daemon say nothing about this one's.
    #expect(seqs(Subscription(since: 5, life: "one"), paired) == [6])
    #expect(seqs(Subscription(since: 5, life: "two"), paired) == [1, 2, 3, 4, 5, 6])
    #expect(seqs(Subscription(since: 2), paired) == [3, 4, 5, 6])
    #expect(seqs(Subscription(replay: true, since: 2), paired) == [6, 3, 4, 6])
    #expect(seqs(Subscription(events: [.paired], replay: true, since: 3), paired) == [4, 6])
  }

  @Test("Events lost on standard output are reported there, with their count and range")
  func lost() async throws {
    try await onLoop {
      var ends: [Int32] = [-1, -1]
      try #require(Glibc.pipe(&ends) == 0)
      let (reading, writing) = (ends[0], ends[1])
      let feed = EventFeed { Self.time }
      let printer = EventPrinter(
        feed, RunOptions(), Console(.json, TextStyle()) { _ in }, to: LineWriter(writing, queueLimit: 10_000)
      ) { _, _ in }
      for level in 0..<2_000 { feed.publish(Event(.battery(level: level))) }
      // A quiet event is not printed, and so it is not missing either.
      feed.publish(Self.incoming)
      let reader = LineReader(reading)
      var seen: [NumberedEvent] = []
      reader.onLine = { line in
        if let json = try? JSONValue(parsing: line), let event = try? NumberedEvent(reading: json) {
          seen.append(event)
        }
      }
      await eventually { seen.last?.event.name == .lost }
      let first = UInt64(seen.count)
      #expect(seen.dropLast().map(\.seq) == Array(1..<first))
      #expect(seen.last?.event.content == .lost(count: 2_001 - seen.count, first: first, last: 2_000))
      printer.flush()
      reader.close()
      Glibc.close(reading)
      Glibc.close(writing)
    }
  }
}
