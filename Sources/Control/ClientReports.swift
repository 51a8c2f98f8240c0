// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON
public import Wire

/// A bridge's report about itself (`bridge.report`). The daemon keeps it until the bridge's
/// connection ends, so `status` never shows a bridge that is gone.
public struct BridgeReport: JSONObjectCodable, Hashable, Sendable {
  /// The broker's address, as in `mqtts://ha.lan:8883`.
  public var broker = ""
  /// The client id, and the user name if there is one.
  public var client = ""
  public var user: String?
  public var version = ""
  /// The prefix of its topics.
  public var topics = ""
  public var state = State.connecting
  /// When it entered that state.
  public var since = WallTime(seconds: 0)
  /// Why it is not connected.
  public var why: String?
  /// Up to 16 topics that the broker refuses, or whose messages are too long for it.
  public var refused: [String] = []
  /// The number of unacknowledged messages.
  public var waiting = 0
  /// The number of acknowledged messages.
  public var sent: UInt64 = 0
  /// The number of events that were not published: too old, no longer kept by the daemon, refused, or too long.
  public var skipped: UInt64 = 0
  /// The number of connections after the first.
  public var reconnections = 0

  public init() {}

  public enum State: String, CaseIterable, JSONNamed, Sendable {
    case connecting, connected, waiting, refused

    public static let jsonKind = "the state of a bridge"
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("broker", &broker)
    try json.required("client", &client)
    try json.optional("user", &user)
    try json.required("version", &version)
    try json.required("topics", &topics)
    try json.required("state", &state)
    try json.required("since", &since)
    try json.optional("why", &why)
    try json.list("refused", &refused)
    try json.required("waiting", &waiting)
    try json.required("sent", &sent)
    try json.required("skipped", &skipped)
    try json.required("reconnections", &reconnections)
  }

  /// Adds a topic to the refused ones.
  ///
  /// - Returns: whether it is new; false if there are too many, because whoever requests something names topics, too.
  @discardableResult public mutating func refuse(_ topic: String) -> Bool {
    let shown = topic.printable
    guard refused.count < 16, !refused.contains(shown) else { return false }
    refused.append(shown)
    return true
  }

  /// The bridge on one line, and the refused topics on the next.
  public func lines(_ style: TextStyle, now: WallTime) -> [String] {
    var line = StyledText(subject: "mqtt", broker)
    line.add("as “\(user ?? client)”")
    line.add(state.rawValue, state == .connected ? .good : .attention)
    line.add("for \(StatusReport.age(from: since, to: now)),")
    line.add("\(sent) messages sent, \(waiting) waiting", .faint)
    if skipped > 0 { line.add("\(skipped) events left out", .attention) }
    if let why { line.add("– \(why)", .attention) }
    let topics = refused.joined(separator: ", ")
    let refusal = StyledText(topics.isEmpty ? "" : "the broker refuses \(topics)", .attention)
    return [line, refusal].lines(style, indent: 8)
  }
}

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
    var line = StyledText(subject: "forward", shown)
    line.add("\(sent) sent, \(waiting) waiting", .faint)
    if lost > 0 { line.add("\(lost) lost", .attention) }
    if let why { line.add("– \(why)", .attention) }
    return line.lines(style, indent: 8)
  }
}
