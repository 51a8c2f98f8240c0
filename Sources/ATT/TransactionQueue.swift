// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// One direction's transactions, of which one is outstanding at a time (Vol 3 Part F, 3.3.2); the
/// others wait in order, those of the least rank first.
///
/// A bearer has two: requests and indications may be outstanding together.
struct TransactionQueue {
  typealias Waiter = Bearer.Completion

  private struct Transaction {
    let opcode: Opcode
    let bytes: [UInt8]
    let waiter: Waiter
    let number: UInt64
  }

  /// Without the waiter, so that the state is read without a copy of that.
  private enum State {
    case idle
    /// Sent, and not answered yet; `waiter` waits for that.
    case outstanding(Opcode, isRepeated: Bool)
    /// Answered, but it keeps its place, and its bytes, until it is sent again or finished.
    case suspended(Opcode)
  }

  private var state = State.idle
  /// The transaction at hand.
  private var waiter: Waiter?
  private var bytes: [UInt8] = []
  /// Those that wait, by their rank.
  private var waiting = Array(repeating: FIFO<Transaction>(), count: 3)
  private var lastNumber: UInt64 = 0

  /// The opcode whose response is awaited.
  var outstandingOpcode: Opcode? {
    if case .outstanding(let opcode, _) = state { opcode } else { nil }
  }

  /// Whether a transaction is outstanding or suspended.
  var isBusy: Bool { if case .idle = state { false } else { true } }

  /// Whether a transaction is suspended.
  var isSuspended: Bool { if case .suspended = state { true } else { false } }

  /// Adds a transaction; returns its bytes if they are to be sent now, and its number for `cancel`.
  ///
  /// - Parameter rank: 0 to 2; the least goes first.
  mutating func begin(
    _ opcode: Opcode, _ bytes: [UInt8], rank: Int = 0, _ waiter: @escaping Waiter
  ) -> (now: [UInt8]?, number: UInt64) {
    lastNumber += 1
    guard case .idle = state else {
      waiting[rank].append(Transaction(opcode: opcode, bytes: bytes, waiter: waiter, number: lastNumber))
      return (nil, lastNumber)
    }
    state = .outstanding(opcode, isRepeated: false)
    (self.waiter, self.bytes) = (waiter, bytes)
    return (bytes, lastNumber)
  }

  /// Removes a transaction that still waits; returns its waiter.
  mutating func cancel(_ number: UInt64) -> Waiter? {
    for rank in waiting.indices {
      guard let transaction = waiting[rank].first(where: { $0.number == number }) else { continue }
      waiting[rank].removeAll { $0.number == number }
      return transaction.waiter
    }
    return nil
  }

  /// Ends the transaction at hand; returns its waiter.
  mutating func finish() -> Waiter? {
    state = .idle
    return waiter.take()
  }

  /// Suspends the outstanding transaction, so that nothing is sent until it is resumed or finished; returns false if it
  /// was suspended before.
  mutating func suspend() -> Bool {
    guard case .outstanding(let opcode, isRepeated: false) = state else { return false }
    state = .suspended(opcode)
    return true
  }

  /// Makes the suspended transaction outstanding again; returns its bytes, which are to be sent now.
  mutating func resume() -> [UInt8]? {
    guard case .suspended(let opcode) = state else { return nil }
    state = .outstanding(opcode, isRepeated: true)
    return bytes
  }

  /// Makes the next transaction outstanding if the queue is idle; returns its bytes, which are to be
  /// sent now.
  mutating func next() -> [UInt8]? {
    guard case .idle = state else { return nil }
    for rank in waiting.indices {
      guard let transaction = waiting[rank].popFirst() else { continue }
      state = .outstanding(transaction.opcode, isRepeated: false)
      (waiter, bytes) = (transaction.waiter, transaction.bytes)
      return bytes
    }
    return nil
  }

  /// Ends everything; returns all waiters, in order.
  mutating func drain() -> [Waiter] {
    defer { self = TransactionQueue() }
    return [finish()].compactMap(\.self) + waiting.joined().map(\.waiter)
  }
}
