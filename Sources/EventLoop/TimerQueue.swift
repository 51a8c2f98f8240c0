// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Actions and their deadlines: a binary heap, earliest first; equal deadlines in the order in which they
/// were set.
///
/// Most timers are timeouts that are cancelled, so setting and cancelling must be cheap: a timer's number names the
/// slot of its action, and cancelling only empties the slot. The heap entry is removed when it reaches the top, or
/// when more than half of the entries are empty.
struct TimerQueue {
  private var heap: [Place] = []
  private var slots: [Slot] = []
  /// The free slots.
  private var free: [Int] = []
  private var lastNumber: UInt64 = 0
  /// The number of actions.
  private(set) var count = 0

  private struct Slot {
    /// The number of its timer; 0 while free.
    var number: UInt64
    var action: () -> Void
  }

  private struct Place {
    let deadline: Instant
    let number: UInt64

    func isBefore(_ other: Place) -> Bool {
      deadline == other.deadline ? number < other.number : deadline < other.deadline
    }
  }

  /// A timer's number: the count of earlier timers, and its slot in the low bits. A board's memory can't hold more
  /// timers than these bits can number.
  private static let slotBits: UInt64 = 24

  private static func slot(of number: UInt64) -> Int { Int(number & (1 << slotBits - 1)) }

  var isEmpty: Bool { count == 0 }

  /// The number of heap entries, including empty ones.
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
    let slot = free.popLast() ?? slots.count
    let number = lastNumber << Self.slotBits | UInt64(slot)
    if slot == slots.count {
      slots.append(Slot(number: number, action: action))
    } else {
      slots[slot] = Slot(number: number, action: action)
    }
    count += 1
    heap.append(Place(deadline: deadline, number: number))
    siftUp(heap.count - 1)
    return TimerID(number)
  }

  mutating func remove(_ timer: TimerID) {
    guard take(timer.number) != nil else { return }
    if heap.count > 64, heap.count > 2 * count { removeEmptyPlaces() }
  }

  /// Removes and returns the action with the earliest deadline, if that has been reached.
  mutating func popDue(_ now: Instant) -> (() -> Void)? {
    clearFront()
    guard let first = heap.first, first.deadline <= now else { return nil }
    removeFirst()
    return take(first.number)
  }

  /// Empties a timer's slot; returns its action, unless the timer has fired or was cancelled.
  private mutating func take(_ number: UInt64) -> (() -> Void)? {
    guard isSet(number) else { return nil }
    let slot = Self.slot(of: number)
    let action = slots[slot].action
    slots[slot] = Slot(number: 0, action: {})
    free.append(slot)
    count -= 1
    return action
  }

  private func isSet(_ number: UInt64) -> Bool {
    let slot = Self.slot(of: number)
    return slot < slots.count && slots[slot].number == number
  }

  private mutating func clearFront() {
    while let first = heap.first, !isSet(first.number) { removeFirst() }
  }

  private mutating func removeEmptyPlaces() {
    let slots = slots
    heap.removeAll { slots[Self.slot(of: $0.number)].number != $0.number }
    for index in (0..<heap.count / 2).reversed() { siftDown(index) }
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    siftDown(0)
  }

  private mutating func siftUp(_ start: Int) {
    var index = start
    while index > 0, heap[index].isBefore(heap[(index - 1) / 2]) {
      heap.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private mutating func siftDown(_ start: Int) {
    var index = start
    while true {
      var least = index
      for child in 2 * index + 1..<max(2 * index + 1, min(2 * index + 3, heap.count))
      where heap[child].isBefore(heap[least]) { least = child }
      if least == index { return }
      heap.swapAt(index, least)
      index = least
    }
  }
}
