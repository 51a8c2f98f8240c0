// SPDX-License-Identifier: GPL-3.0-or-later
public import System

/// Numbers the events, and keeps the last of them for clients that were away for a while.
public struct EventRing: Sendable {
  public let capacity: Int
  /// The number of the last event; 0 before the first.
  public private(set) var lastSeq: UInt64 = 0

  /// The events. Once they are `capacity`, the oldest of them is at `oldest`.
  private var events: [NumberedEvent] = []
  private var oldest = 0

  public init(capacity: Int = 1_000) { self.capacity = max(capacity, 1) }

  /// Gives an event its number and keeps it; beyond the capacity the oldest is forgotten.
  public mutating func record(_ event: Event, at time: WallTime) -> NumberedEvent {
    lastSeq += 1
    let numbered = NumberedEvent(seq: lastSeq, time: time, event)
    if events.count < capacity {
      events.append(numbered)
    } else {
      events[oldest] = numbered
      oldest = (oldest + 1) % capacity
    }
    return numbered
  }

  /// The events behind number `seq`, oldest first, as far as they are still kept.
  ///
  /// A number that was not given yet is from an earlier run of the daemon: everything is new then.
  public func events(since seq: UInt64) -> [NumberedEvent] {
    let all = events[oldest...] + events[..<oldest]
    return seq > lastSeq ? Array(all) : Array(all.drop { $0.seq <= seq })
  }
}
