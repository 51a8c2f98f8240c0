// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import System

/// What has happened, in order: numbers every event, keeps the last thousand, and tells whoever
/// listens.
@LoopActor
public final class Journal {
  /// The last events, for clients that come later.
  public private(set) var ring = EventRing()
  private var listeners: [(id: Int, take: (NumberedEvent) -> Void)] = []
  private var lastID = 0

  public init() {}

  /// Numbers an event and tells it.
  public func post(_ event: Event) {
    let numbered = ring.record(event, at: WallTime.now)
    for listener in listeners { listener.take(numbered) }
  }

  /// Tells a state that holds from now on, which is no event of its own: it bears the last event's
  /// number and is not kept.
  public func mention(_ state: Event) {
    let mentioned = NumberedEvent(seq: ring.lastSeq, time: WallTime.now, state)
    for listener in listeners { listener.take(mentioned) }
  }

  /// Tells `take` every event from now on.
  ///
  /// - Returns: what ends that.
  public func listen(_ take: @escaping (NumberedEvent) -> Void) -> Int {
    lastID += 1
    listeners.append((lastID, take))
    return lastID
  }

  /// Ends what `listen` began.
  public func ignore(_ id: Int) { listeners.removeAll { $0.id == id } }
}
