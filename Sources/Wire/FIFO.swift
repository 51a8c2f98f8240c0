// SPDX-License-Identifier: GPL-3.0-or-later

/// A first-in, first-out queue: adding and removing at either end takes amortised constant time, and
/// what is removed is released at once.
///
/// With a limit it keeps the newest elements: `append` then drops the first one to make room.
public struct FIFO<Element>: RandomAccessCollection, MutableCollection {
  /// The maximum number of elements after `append`; nil: unlimited.
  public let limit: Int?

  /// The elements at the front in reverse order, so that the first of them is removed cheaply.
  private var front: [Element] = []
  /// The elements behind `front`, in order.
  private var back: [Element] = []

  /// An empty queue.
  public init(limit: Int? = nil) { self.limit = limit }

  /// Adds an element at the end.
  ///
  /// - Returns: the first element, if it had to make room.
  @discardableResult public mutating func append(_ element: Element) -> Element? {
    back.append(element)
    guard let limit, count > limit else { return nil }
    return popFirst()
  }

  /// Puts an element in front of all others, whatever the limit.
  public mutating func prepend(_ element: Element) { front.append(element) }

  /// Removes and returns the first element; nil if the queue is empty.
  public mutating func popFirst() -> Element? {
    if front.isEmpty {
      if back.count == 1 { return back.popLast() }
      swap(&front, &back)
      front.reverse()
    }
    return front.popLast()
  }

  /// Removes the elements for which `condition` holds.
  public mutating func removeAll(where condition: (Element) -> Bool) {
    front.removeAll(where: condition)
    back.removeAll(where: condition)
  }

  /// Removes everything.
  public mutating func removeAll() { self = FIFO(limit: limit) }

  public var startIndex: Int { 0 }
  public var endIndex: Int { front.count + back.count }

  public subscript(index: Int) -> Element {
    get { index < front.count ? front[front.count - 1 - index] : back[index - front.count] }
    set {
      if index < front.count {
        front[front.count - 1 - index] = newValue
      } else {
        back[index - front.count] = newValue
      }
    }
  }
}

extension FIFO: Sendable where Element: Sendable {}
