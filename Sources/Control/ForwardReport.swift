// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON
import Wire

/// What `ancsd forward` reports about one of its destinations (`forward.report`). The daemon keeps it until that
/// connection ends.
public struct ForwardReport: JSONObjectCodable, Listed, Hashable {
  public static let listName: StaticString = "destinations"

  /// Its name; without one, its number in the settings.
  public var name = ""
  /// The scheme of its URL, or the path of the file with the URL.
  public var to = ""
  /// The number of messages that wait to be delivered.
  public var waiting = 0
  /// The number of messages that were delivered.
  public var sent: UInt64 = 0
  /// The number of messages that were given up.
  public var lost: UInt64 = 0
  /// Why it takes no messages now.
  public var why: String?

  public init() {}

  public init(name: String, to: String) { (self.name, self.to) = (name, to) }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("name", &name)
    try json.required("to", &to)
    try json.required("waiting", &waiting)
    try json.required("sent", &sent)
    try json.required("lost", &lost)
    try json.optional("why", &why)
  }

  /// The destination without what may be secret in it.
  public var shown: String {
    "“\(name.printable)” (\(to.hasPrefix("/") ? "the URL in \(to.printable)" : "\(to.printable)://…"))"
  }

  /// The destination on one line.
  public func lines(_ style: TextStyle) -> [String] {
    var line = StyledText()
    line.addWhole("forward", .faint)
    line.add(shown, .strong)
    line.add("\(sent) sent, \(waiting) waiting", .faint)
    if lost > 0 { line.add("\(lost) lost", .attention) }
    if let why { line.add("– \(why)", .attention) }
    return line.lines(style, indent: 8)
  }
}
