// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Wire

/// The daemon's events in order: numbers each one, keeps the last thousand for clients that connect
/// later, and passes it to every subscriber.
@LoopActor final class EventFeed {
  /// The latest events.
  private(set) var recent = RecentEvents()
  /// The time that events are stamped with.
  let now: () -> WallTime
  private var handlers: [(id: Int, handle: (NumberedEvent) -> Void)] = []
  private var lastID = 0

  init(now: @escaping () -> WallTime) { self.now = now }

  /// Publishes an event. A `why` tells a state rather than something that happened, so it gets no
  /// number of its own: it has that of the event before it.
  func publish(_ event: Event) {
    let numbered =
      event.name == .why
      ? NumberedEvent(seq: recent.lastSeq, time: now(), event) : recent.record(event, at: now())
    for handler in handlers { handler.handle(numbered) }
  }

  /// Calls `handle` with every event from now on.
  ///
  /// - Returns: the number to pass to `unsubscribe`.
  @discardableResult func subscribe(_ handle: @escaping (NumberedEvent) -> Void) -> Int {
    lastID += 1
    handlers.append((lastID, handle))
    return lastID
  }

  /// Ends what `subscribe` began.
  func unsubscribe(_ id: Int) { handlers.removeAll { $0.id == id } }
}

/// Numbers the events and keeps the latest. `incoming` is numbered but not kept: the notification
/// itself follows each one, and a flood of them would push out everything else.
struct RecentEvents {
  /// The number of the last event; 0 before the first.
  private(set) var lastSeq: UInt64 = 0
  private var events: FIFO<NumberedEvent>

  /// - Parameter capacity: how many events are kept.
  init(capacity: Int = 1_000) { events = FIFO(limit: max(capacity, 1)) }

  /// Gives an event its number and keeps it.
  mutating func record(_ event: Event, at time: WallTime) -> NumberedEvent {
    lastSeq += 1
    let numbered = NumberedEvent(seq: lastSeq, time: time, event)
    if event.name != .incoming { events.append(numbered) }
    return numbered
  }

  /// The events after number `seq` that are still kept, oldest first.
  ///
  /// A number that has not been given yet is from an earlier run of the daemon: then every event
  /// is new.
  func events(since seq: UInt64) -> [NumberedEvent] {
    seq > lastSeq ? Array(events) : events.filter { $0.seq > seq }
  }
}
