// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON

/// An element of the lists of a method.
public protocol Listed: JSONCodable, Sendable {
  /// The member of the result that contains the list.
  static var listName: StaticString { get }
}

/// A list, or a part of one that may be too long for one line: an object with the elements under
/// the name of their kind and, if the list continues, `next`, to be passed as `after`.
public struct Page<Element: Listed>: JSONObjectCodable, Sendable {
  public private(set) var elements: [Element] = []
  /// Where the next page begins; nil at the end of the list.
  public private(set) var next: String?
  private var bytes = 0
  private var last: String?

  public init() {}

  /// A list that is never too long.
  public init(_ elements: [Element]) { self.elements = elements }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.list(Element.listName, &elements)
    try json.optional("next", &next)
  }

  /// Adds an element, if the page has room for it; otherwise the next page begins with it.
  ///
  /// - Parameters:
  ///   - place: the text that continues the list after the element.
  ///   - limit: the maximum size of a page in bytes. The first element is always added.
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

/// The parameters of a method that returns a `Page`.
public protocol PagedParameters: JSONObjectCodable {
  /// The `next` of the previous page; nil for the first page.
  var after: String? { get set }
}

/// An event of the history, as JSON.
public struct RecordedEvent: Listed {
  public static var listName: StaticString { "events" }
  public static var jsonKind: String { "an object" }
  private let line: [UInt8]

  public init(line: [UInt8]) { self.line = line }
  public init?(json: JSONValue) {
    guard json.object != nil else { return nil }
    line = json.json
  }
  public func write(to json: inout JSONWriter) { json.raw(line) }
}

extension ActiveNotification: Listed {
  public static var listName: StaticString { "notifications" }
}
extension AppReport: Listed { public static var listName: StaticString { "apps" } }
extension PhoneReport: Listed { public static var listName: StaticString { "phones" } }
extension KnownLink: Listed { public static var listName: StaticString { "links" } }

extension Page: Equatable where Element: Equatable {}
extension Page: Hashable where Element: Hashable {}
