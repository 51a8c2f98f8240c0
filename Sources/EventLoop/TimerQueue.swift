// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Actions and their deadlines: a binary heap, earliest first; equal deadlines in the order in which they
/// were set.
///
/// Most timers are time-outs that are cancelled, so cancelling must be cheap. It only removes the action.
/// The empty place in the heap is removed when it comes up, or when more than half of the places are
/// empty.
struct TimerQueue {
  private var heap: [Entry] = []
  private var actions: [UInt64: () -> Void] = [:]
  private var lastNumber: UInt64 = 0

  private struct Entry: Comparable {
    let deadline: Instant
    let number: UInt64

    static func < (one: Entry, other: Entry) -> Bool {
      one.deadline == other.deadline ? one.number < other.number : one.deadline < other.deadline
    }
  }

  var isEmpty: Bool { actions.isEmpty }

  /// The number of actions.
  var count: Int { actions.count }

  /// The number of places in the heap, including empty ones.
  package var places: Int { heap.count }

  /// The earliest deadline.
  var next: Instant? {
    mutating get {
      clearFront()
      return heap.first?.deadline
    }
  }

  mutating func insert(_ deadline: Instant, _ action: @escaping () -> Void) -> TimerID {
    lastNumber += 1
    actions[lastNumber] = action
    heap.append(Entry(deadline: deadline, number: lastNumber))
    siftUp(heap.count - 1)
    return TimerID(lastNumber)
  }

  mutating func remove(_ timer: TimerID) {
    actions[timer.number] = nil
    if heap.count > 64, heap.count > 2 * actions.count {
      // A sorted list is a heap.
      heap = heap.filter { actions[$0.number] != nil }.sorted()
    }
  }

  /// Removes and returns the action with the earliest deadline, if that has been reached.
  mutating func popDue(_ now: Instant) -> (() -> Void)? {
    clearFront()
    guard let first = heap.first, first.deadline <= now else { return nil }
    removeFirst()
    return actions.removeValue(forKey: first.number)
  }

  private mutating func clearFront() {
    while let first = heap.first, actions[first.number] == nil { removeFirst() }
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    siftDown(0)
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    while index > 0, heap[index] < heap[(index - 1) / 2] {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2] where child < heap.count {
        if heap[child] < heap[least] { least = child }
      }
      if least == index { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}
