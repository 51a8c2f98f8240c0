// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import Wire

/// The daemon's events in order: numbers each one, keeps the latest for clients that connect
/// later, and passes it to every subscriber.
@LoopActor package final class EventFeed {
  /// The latest events.
  package private(set) var recent = RecentEvents()
  /// The time that events are stamped with.
  package let now: () -> WallTime
  /// The time by which their age is measured, which nobody sets.
  package let clock: () -> Instant
  private var handlers: [Handler] = []

  private struct Handler {
    let readsQuiet: (EventName) -> Bool
    let handle: (NumberedEvent) -> Void
  }

  package init(clock: @escaping () -> Instant = { .zero }, now: @escaping () -> WallTime) {
    self.clock = clock
    self.now = now
  }

  /// Whether anybody reads events of this kind. If not, `pass` is enough.
  package func reads(_ name: EventName) -> Bool {
    guard name.isQuiet else { return true }
    // (A closure passed to `contains` would check on each call that it is on the loop.)
    for index in handlers.indices where handlers[index].readsQuiet(name) { return true }
    return false
  }

  /// Skips an event that nobody reads. It still consumes a number.
  package func pass(over name: EventName) { if name != .why { recent.skipNumber() } }

  /// Publishes an event. A `why` describes a state rather than an occurrence, so it gets no number of its own: it has
  /// that of the previous event.
  ///
  /// - Parameter isOfStranger: whether it is about an unbonded device.
  package func publish(_ event: Event, ofStranger isOfStranger: Bool = false) {
    let name = event.name
    let numbered =
      name == .why
      ? NumberedEvent(seq: recent.lastSeq, time: now(), event)
      : recent.record(event, at: now(), clock(), ofStranger: isOfStranger)
    for index in handlers.indices where !name.isQuiet || handlers[index].readsQuiet(name) {
      handlers[index].handle(numbered)
    }
  }

  /// Calls `handle` with every event from now on.
  ///
  /// - Parameter readsQuiet: whether it is also called with quiet events of a kind.
  package func subscribe(
    readsQuiet: @escaping (EventName) -> Bool = { _ in false },
    _ handle: @escaping (NumberedEvent) -> Void
  ) {
    handlers.append(Handler(readsQuiet: readsQuiet, handle: handle))
  }
}

/// Numbers the events and keeps the latest on their shelves.
/// `incoming` is numbered but not kept, because the notification itself follows each one.
package struct RecentEvents {
  /// The maximum size of the events on a shelf in bytes.
  static let bytes = 8 << 20

  /// The maximum number of events on a shelf.
  static func capacity(of shelf: EventName.Shelf) -> Int { shelf == .news ? 1_000 : 100 }

  /// The number of the last event; 0 before the first.
  package private(set) var lastSeq: UInt64 = 0
  /// One for each shelf.
  private var rings = EventName.Shelf.allCases.map { _ in Ring() }

  private struct Ring {
    var events = FIFO<(event: NumberedEvent, instant: Instant, size: Int)>()
    var bytes = 0
    /// The number of the latest dropped event; 0 if none was dropped.
    var lastDropped: UInt64 = 0

    mutating func keep(_ event: NumberedEvent, at instant: Instant, atMost capacity: Int) {
      let size = event.size
      events.append((event, instant, size))
      bytes += size
      while events.count > capacity || bytes > RecentEvents.bytes, let oldest = events.popFirst() {
        bytes -= oldest.size
        lastDropped = oldest.event.seq
      }
    }
  }

  /// Gives a number to an event that nobody reads and that is not kept.
  mutating func skipNumber() { lastSeq += 1 }

  /// Gives an event its number and keeps it.
  mutating func record(
    _ event: Event, at time: WallTime, _ instant: Instant = .zero, ofStranger isOfStranger: Bool = false
  ) -> NumberedEvent {
    lastSeq += 1
    let numbered = NumberedEvent(seq: lastSeq, time: time, event)
    if let shelf = event.name.shelf(ofStranger: isOfStranger) {
      rings[shelf.rawValue].keep(numbered, at: instant, atMost: Self.capacity(of: shelf))
    }
    return numbered
  }

  /// The `lost` event for news after number `seq` that are no longer kept, or that happened before `start`; nil if there
  /// are none. It has the time of the next event, or of the last of them. Its count includes the numbers of events that are
  /// never kept (`incoming`), because they can't be told apart anymore.
  package func missing(since seq: UInt64, from start: Instant? = nil) -> NumberedEvent? {
    let first = (seq > lastSeq ? 0 : seq) + 1
    let news = rings[EventName.Shelf.news.rawValue]
    let old = news.events.filter { $0.event.seq >= first && $0.instant < start ?? $0.instant }
    let last = max(news.lastDropped, old.last?.event.seq ?? 0)
    guard last >= first else { return nil }
    let kept = events(since: first - 1)
    var count = UInt64(old.count)
    if news.lastDropped >= first {
      count += news.lastDropped - first + 1
      count -= UInt64(kept.count { $0.seq <= news.lastDropped })
    }
    let next = kept.first { $0.seq > last } ?? old.last?.event
    guard count > 0, let time = next?.time else { return nil }
    return NumberedEvent(seq: last, time: time, Event(.lost(count: Int(clamping: count), first: first, last: last)))
  }

  /// The events after number `seq` that are still kept and did not happen before `start`, oldest first.
  ///
  /// A number that was not assigned yet is from an earlier run of the daemon: then every event is new.
  package func events(since seq: UInt64, from start: Instant? = nil) -> [NumberedEvent] {
    let first = seq > lastSeq ? 0 : seq
    return rings.flatMap { ring in
      ring.events.lazy.filter { $0.event.seq > first && $0.instant >= start ?? $0.instant }
        .map(\.event)
    }
    .sorted { $0.seq < $1.seq }
  }
}

extension NumberedEvent {
  /// Its approximate memory size in bytes, with its line.
  fileprivate var size: Int {
    switch event.content {
    case .notification(let report): 2 * report.size
    // Four texts of up to 4,096 bytes, which are rarely that long.
    case .media: 2_048
    default: 1_024
    }
  }
}
