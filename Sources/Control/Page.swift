// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

/// A part of a list that may be too long for one line. It is written as the array of its elements; where
/// the list goes on, the reply has a member `next` beside `result`: the text to pass as `after`.
public struct Page<Element: JSONCodable & Sendable>: JSONCodable, Sendable {
  public static var jsonKind: String { "an array" }

  public private(set) var elements: [Element] = []
  /// Where the next page begins; nil at the end of the list.
  public private(set) var next: String?
  private var bytes = 0
  private var last: String?

  public init() {}

  public init(reading json: JSONValue) throws(ShapeError) {
    elements = try [Element](reading: json)
  }

  public init?(json: JSONValue) { try? self.init(reading: json) }

  public func write(to json: inout JSONWriter) { elements.write(to: &json) }

  /// Adds an element, if the page has room for it; otherwise the next page begins with it.
  ///
  /// - Parameters:
  ///   - place: the text from which the list goes on behind the element.
  ///   - limit: the most bytes that a page may have. The first element is added whatever it has.
  /// - Returns: whether it was added.
  public mutating func add(_ element: Element, at place: String, within limit: Int) -> Bool {
    let size = element.json.count + 1
    guard elements.isEmpty || bytes + size <= limit else {
      next = last
      return false
    }
    elements.append(element)
    bytes += size
    last = place
    return true
  }
}

/// An answer of which there may be more.
protocol PagedAnswer { var next: String? { get } }

extension Page: PagedAnswer {}

/// The parameters of a method that answers with a `Page`.
public protocol PagedParameters: JSONObjectCodable {
  /// The `next` of the page before; nil for the first page.
  var after: String? { get set }
}
