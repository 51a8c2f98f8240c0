// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The rule that there is one outstanding transaction a direction (Vol 3 Part F, 3.3.2), as a value:
/// what is to be sent waits in order behind what waits for its answer.
///
/// A bearer has two: one for requests and one for indications, which may be outstanding together.
/// `Waiter` is whoever waits for the answer: a continuation in the daemon, a word in tests.
public struct TransactionQueue<Waiter> {
  /// A PDU and who waits for its answer.
  public struct Transaction {
    public let opcode: Opcode
    public let bytes: [UInt8]
    public let waiter: Waiter
  }

  private var outstanding: Transaction?
  private var waiting: [Transaction] = []
  private var head = 0

  /// Nothing outstanding, nothing waiting.
  public init() {}

  /// The opcode that waits for its answer now.
  public var outstandingOpcode: Opcode? { outstanding?.opcode }

  /// Takes a transaction; returns its octets where they are to be sent now.
  public mutating func begin(_ opcode: Opcode, _ bytes: [UInt8], _ waiter: Waiter) -> [UInt8]? {
    let transaction = Transaction(opcode: opcode, bytes: bytes, waiter: waiter)
    guard outstanding == nil else {
      waiting.append(transaction)
      return nil
    }
    outstanding = transaction
    return bytes
  }

  /// Ends the outstanding transaction; returns who waited for it.
  public mutating func finish() -> Waiter? {
    defer { outstanding = nil }
    return outstanding?.waiter
  }

  /// Makes the next one outstanding, where none is; returns its octets, which are to be sent now.
  public mutating func next() -> [UInt8]? {
    guard outstanding == nil, head < waiting.count else { return nil }
    let transaction = waiting[head]
    head += 1
    if head > 32, head * 2 > waiting.count {
      waiting.removeFirst(head)
      head = 0
    }
    outstanding = transaction
    return transaction.bytes
  }

  /// Ends everything; returns all who waited, in order.
  public mutating func drain() -> [Waiter] {
    defer {
      outstanding = nil
      waiting = []
      head = 0
    }
    return [outstanding?.waiter].compactMap { $0 } + waiting[head...].map(\.waiter)
  }
}
