// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The actions that wait for their time: a binary heap of deadlines, earliest first, and among equal
/// ones the one that was put in first.
///
/// Most timers here are time-outs that never come, so calling one off must be cheap: it only loses
/// its action, and its place in the heap is cleared away when it comes up, or when such empty
/// places are the greater part.
struct TimerQueue {
  private var heap: [Entry] = []
  private var actions: [UInt64: () -> Void] = [:]
  private var lastNumber: UInt64 = 0

  private struct Entry: Comparable {
    let deadline: Instant
    let number: UInt64

    static func < (one: Entry, other: Entry) -> Bool {
      one.deadline == other.deadline
        ? one.number < other.number : one.deadline < other.deadline
    }
  }

  var isEmpty: Bool { actions.isEmpty }

  /// How many actions wait.
  var count: Int { actions.count }

  /// How many places the heap has, the empty ones included.
  var places: Int { heap.count }

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

  /// The action of the earliest deadline that `now` has reached, taken out.
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
