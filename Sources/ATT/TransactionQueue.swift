// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// One direction's transactions, of which one is outstanding at a time (Vol 3 Part F, 3.3.2); the
/// others wait in order.
///
/// A bearer has two: requests and indications may be outstanding together. `Waiter` is what waits for
/// the answer: a closure in the bearer, anything in tests.
public struct TransactionQueue<Waiter> {
  private struct Transaction {
    let opcode: Opcode
    let bytes: [UInt8]
    let waiter: Waiter
  }

  private enum State {
    case idle
    /// Sent, and not answered yet.
    case outstanding(Transaction)
    /// Answered, but it keeps its place until it is sent again or finished.
    case suspended(Opcode, [UInt8])
  }

  private var state = State.idle
  private var waiting = FIFO<Transaction>()

  /// An idle queue.
  public init() {}

  /// The opcode whose answer is awaited.
  public var outstandingOpcode: Opcode? {
    if case .outstanding(let transaction) = state { transaction.opcode } else { nil }
  }

  /// Whether a transaction is outstanding or suspended.
  public var isBusy: Bool { if case .idle = state { false } else { true } }

  /// Adds a transaction; returns its bytes if they are to be sent now.
  public mutating func begin(_ opcode: Opcode, _ bytes: [UInt8], _ waiter: Waiter) -> [UInt8]? {
    waiting.append(Transaction(opcode: opcode, bytes: bytes, waiter: waiter))
    return next()
  }

  /// Ends the transaction at hand; returns its waiter, unless it was suspended.
  public mutating func finish() -> Waiter? {
    defer { state = .idle }
    return if case .outstanding(let transaction) = state { transaction.waiter } else { nil }
  }

  /// Suspends the outstanding transaction, so that nothing is sent until it is resumed or finished;
  /// returns its waiter.
  public mutating func suspend() -> Waiter? {
    guard case .outstanding(let transaction) = state else { return nil }
    state = .suspended(transaction.opcode, transaction.bytes)
    return transaction.waiter
  }

  /// Makes the suspended transaction outstanding again, for `waiter`; returns its bytes, which are to be
  /// sent now.
  public mutating func resume(_ waiter: Waiter) -> [UInt8]? {
    guard case .suspended(let opcode, let bytes) = state else { return nil }
    state = .outstanding(Transaction(opcode: opcode, bytes: bytes, waiter: waiter))
    return bytes
  }

  /// Makes the next transaction outstanding if the queue is idle; returns its bytes, which are to be
  /// sent now.
  public mutating func next() -> [UInt8]? {
    guard case .idle = state, let transaction = waiting.popFirst() else { return nil }
    state = .outstanding(transaction)
    return transaction.bytes
  }

  /// Ends everything; returns all waiters, in order.
  public mutating func drain() -> [Waiter] {
    defer { self = TransactionQueue() }
    return [finish()].compactMap(\.self) + waiting.map(\.waiter)
  }
}
