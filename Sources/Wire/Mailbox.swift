// SPDX-License-Identifier: GPL-3.0-or-later

/// A queue with one reader, who waits while it is empty. Used on one loop only.
public final class Mailbox<Element: Sendable> {
  private var waiting = FIFO<Element>()
  private var reader: CheckedContinuation<Element?, Never>?
  private var isClosed = false

  public init() {}

  /// Adds an element, or hands it to the waiting reader; ignored once the mailbox is closed.
  public func post(_ element: Element) {
    guard !isClosed else { return }
    if let reader {
      self.reader = nil
      reader.resume(returning: element)
    } else {
      waiting.append(element)
    }
  }

  /// The next element; nil once the mailbox is closed and empty. A second reader that waits at the same
  /// time gets nil.
  public func next() async -> Element? {
    // Checked inside the continuation: other tasks may run before it is reached.
    await withCheckedContinuation { reader in
      if let element = waiting.popFirst() {
        reader.resume(returning: element)
      } else if isClosed || self.reader != nil {
        reader.resume(returning: nil)
      } else {
        self.reader = reader
      }
    }
  }

  /// Accepts no more elements. A reader still gets those that are there; one that waits gets nil.
  public func close() {
    isClosed = true
    reader?.resume(returning: nil)
    reader = nil
  }
}
