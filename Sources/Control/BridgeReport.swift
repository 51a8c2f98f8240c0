// SPDX-License-Identifier: GPL-3.0-or-later
public import JSON
public import Wire

/// What a bridge to a broker says of itself, by `bridge.report`. The daemon keeps it as long as the bridge's connection
/// to it, so that none is told of that is no more.
public struct BridgeReport: JSONObjectCodable, Hashable, Sendable {
  /// Where its broker is, as in `mqtts://ha.lan:8883`.
  public var broker = ""
  /// As whom it is there: its client id, and its user's name if it has one.
  public var client = ""
  public var user: String?
  public var version = ""
  /// What its topics begin with.
  public var topics = ""
  public var state = State.connecting
  /// Since when it is in that state.
  public var since = WallTime(seconds: 0)
  /// Why it is not connected.
  public var why: String?
  /// Up to 16 topics that the broker does not let it publish or subscribe to.
  public var refused: [String] = []
  /// How many messages the broker has not acknowledged.
  public var waiting = 0
  /// How many it has acknowledged.
  public var sent: UInt64 = 0

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
  }
}

extension BridgeReport {
  /// The bridge on a line, and what the broker refuses on the next.
  public func lines(_ style: TextStyle, now: WallTime) -> [String] {
    var line = StyledText()
    line.addWhole("mqtt   ", .faint)
    line.add(broker, .strong)
    line.add("as “\(user ?? client)”")
    line.add(state.rawValue, state == .connected ? .good : .attention)
    line.add("for \(StatusReport.age(from: since, to: now)),")
    line.add("\(sent) messages sent, \(waiting) waiting", .faint)
    if let why { line.add("– \(why)", .attention) }
    var lines = line.lines(style, indent: 8)
    if !refused.isEmpty {
      let topics = refused.joined(separator: ", ")
      lines += StyledText("the broker refuses \(topics)", .attention)
        .lines(style, indent: 8, hanging: false)
    }
    return lines
  }
}
