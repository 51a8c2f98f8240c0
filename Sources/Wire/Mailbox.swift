// SPDX-License-Identifier: GPL-3.0-or-later

/// A line of things for one reader, who waits where it is empty. Used from one loop only.
public final class Mailbox<Element: Sendable> {
  private var waiting: [Element] = []
  private var reader: CheckedContinuation<Element?, Never>?
  private var isClosed = false

  public init() {}

  /// Puts something behind what waits; nothing goes into a closed one.
  public func post(_ element: Element) {
    guard !isClosed else { return }
    if let reader {
      self.reader = nil
      reader.resume(returning: element)
    } else {
      waiting.append(element)
    }
  }

  /// The next thing; nil once it is closed and empty. There is one reader: a second one that waits at
  /// the same time gets nil.
  public func next() async -> Element? {
    // Looked at where the continuation is: the loop may turn on the way there.
    await withCheckedContinuation { reader in
      if !waiting.isEmpty {
        reader.resume(returning: waiting.removeFirst())
      } else if isClosed || self.reader != nil {
        reader.resume(returning: nil)
      } else {
        self.reader = reader
      }
    }
  }

  /// What waits now, all of it.
  public func takeAll() -> [Element] {
    defer { waiting = [] }
    return waiting
  }

  /// Lets nothing more in, and the reader go.
  public func close() {
    isClosed = true
    reader?.resume(returning: nil)
    reader = nil
  }
}
