// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
public import ANCS
public import Control
public import JSON
import Wire

/// The boards as a client of the broker sees them, from their retained states.
///
/// Anyone who may write to the broker may write these topics, so nothing is trusted: invalid
/// payloads are ignored, and the number of boards is limited.
public struct FleetView: Sendable {
  /// The prefix of the boards' topics.
  private let prefix: String
  private var boards: [TopicName: Entry] = [:]

  /// What was received about a board.
  fileprivate struct Entry {
    var presence: BoardPresence?
    var condition: BoardCondition?
    var phones: [FleetPhone] = []
  }

  /// More than one broker can serve.
  static let mostBoards = 100_000
  static let mostPhones = 64

  public init(prefix: String) { self.prefix = prefix }

  /// The topic filters to subscribe to.
  public var filters: [String] {
    ["state", "board"].map { "\(prefix)/+/\($0)" }
      + BoardTopics.PhoneTopic.states.map { "\(prefix)/+/phone/+/\($0.rawValue)" }
  }

  /// In the order of their names.
  public var all: [FleetBoard] {
    boards.map { FleetBoard($0.key, $0.value) }.sorted { $0.board < $1.board }
  }

  /// The same with only one board.
  public func only(_ board: TopicName) -> FleetView {
    var view = self
    view.boards = boards.filter { $0.key == board }
    return view
  }

  /// Handles a message.
  ///
  /// - Returns: whether it has changed anything.
  public mutating func receive(_ topic: String, _ payload: [UInt8]) -> Bool {
    guard let levels = BoardTopics.levels(of: topic, below: prefix),
      let name = TopicName(levels[0])
    else { return false }
    let before = boards[name]
    guard before != nil || !payload.isEmpty && boards.count < Self.mostBoards else { return false }
    var entry = before ?? Entry()
    do throws(JSONError) {
      // An empty payload means removal.
      let state = payload.isEmpty ? JSONValue?.none : try JSONValue(parsing: payload)
      try entry.read(Array(levels.dropFirst()), state)
    } catch { return false }
    // A board without a state was removed.
    boards[name] = levels[1] == "state" && payload.isEmpty ? nil : entry
    return boards[name].map { FleetBoard(name, $0) } != before.map { FleetBoard(name, $0) }
  }
}

extension FleetView.Entry {
  /// - Parameter state: nil: it was removed.
  /// - Throws: if it is none.
  fileprivate mutating func read(_ levels: [String], _ state: JSONValue?) throws(JSONError) {
    switch (levels.first, levels.count) {
    case ("state", 1): presence = try state.map(BoardPresence.init(reading:))
    case ("board", 1):
      condition = try state.map(BoardCondition.init(reading:))
      // They are not shown, and could be many.
      condition?.adapters = []
    case ("phone", 3):
      guard let phone = TopicName(levels[1]),
        let topic = BoardTopics.PhoneTopic(rawValue: levels[2])
      else { throw JSONError("not a phone's state") }
      try read(phone, topic, state)
    default: throw JSONError("not a state")
    }
  }

  private mutating func read(
    _ name: TopicName, _ topic: BoardTopics.PhoneTopic, _ state: JSONValue?
  ) throws(JSONError) {
    let known = phones.firstIndex { $0.phone == name.description }
    guard let state else {
      // A phone without a state was removed.
      if topic == .state, let known { phones.remove(at: known) }
      return
    }
    var phone = known.map { phones[$0] } ?? FleetPhone(name)
    try phone.read(topic, state)
    if let known {
      phones[known] = phone
    } else if phones.count < FleetView.mostPhones {
      phones.insert(phone, at: phones.firstIndex { $0.phone > name.description } ?? phones.endIndex)
    }
  }
}

/// A board, from its states.
public struct FleetBoard: JSONObjectCodable, Hashable, Sendable {
  /// Its name in topics.
  public var board = ""
  /// Unknown before the first message.
  public var state = Presence.unknown
  public var version: String?
  /// Its wait, by name and as a sentence; if it is offline, the reason.
  public var wait: String?
  public var why: String?
  /// Whether it needs attention.
  public var isProblem = false
  public var phones: [FleetPhone] = []

  public init() {}

  fileprivate init(_ name: TopicName, _ entry: FleetView.Entry) {
    board = name.description
    state = entry.presence?.state ?? .unknown
    version = entry.presence?.version ?? entry.condition?.version
    isProblem = entry.condition?.isProblem ?? false
    phones = entry.phones
    if state == .offline {
      why = entry.presence?.why
      // What it has said of its phones' links may be over.
      for place in phones.indices { phones[place].lose() }
    } else {
      (wait, why) = (entry.condition?.wait, entry.condition?.why)
    }
  }

  public var isOnline: Bool { state == .online }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("board", &board)
    try json.required("state", &state)
    try json.optional("version", &version)
    try json.optional("wait", &wait)
    try json.optional("why", &why)
    try json.required("problem", &isProblem)
    try json.list("phones", &phones)
  }
}

/// A phone, from its states.
public struct FleetPhone: JSONObjectCodable, Hashable, Sendable {
  /// Its name in topics.
  public var phone = ""
  /// Unknown while its board is offline.
  public var state = Presence.unknown
  public var authorization: Authorization?
  /// In per cent.
  public var battery: Int?
  /// In dBm.
  public var rssi: Int?
  /// How many are active.
  public var notifications: Int?
  /// Whether a call rings.
  var call: PhoneCall.State?
  var player: PlaybackState?
  public var wait: String?

  public init() {}

  init(_ name: TopicName) { phone = name.description }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("phone", &phone)
    try json.required("state", &state)
    try json.optional("authorization", &authorization)
    try json.optional("battery", &battery)
    try json.optional("rssi", &rssi)
    try json.optional("notifications", &notifications)
    try json.optional("call", &call)
    try json.optional("player", &player)
    try json.optional("wait", &wait)
  }

  /// Its board is offline: only numbers that age slowly are left of what it has said.
  fileprivate mutating func lose() {
    (state, authorization, rssi, call, player, wait) = (.unknown, nil, nil, nil, nil, nil)
  }

  fileprivate mutating func read(_ topic: BoardTopics.PhoneTopic, _ json: JSONValue) throws(JSONError) {
    switch topic {
    case .state:
      let presence = try PhonePresence(reading: json)
      (state, authorization) = (presence.state, presence.authorization)
      (rssi, wait) = (presence.rssi, presence.wait)
    case .battery: battery = try PhoneBattery(reading: json).level
    case .counts: notifications = try PhoneCounts(reading: json).total
    case .call: call = try PhoneCall(reading: json).state
    case .media:
      guard let media = MediaState(published: json) else { throw JSONError("not a media state") }
      player = media.player.state
    case .notificationEvent, .callEvent: throw JSONError("not a state")
    }
  }
}

// MARK: - Text

extension FleetView {
  private static let heads = ["BOARD", "STATE", "VERSION", "PHONE", "STATE", "BATTERY", "SIGNAL", "ACTIVE", ""]

  /// A row for each phone, and one for each board without any.
  public func table(_ style: TextStyle) -> String {
    let blank = StyledRun("")
    var rows: [StyledRow] = [Self.heads.map { StyledRun($0, .faint) }]
    for board in all {
      var head = board.cells
      var remark = board.remark
      for phone in board.phones {
        rows.append(head + phone.cells + [remark ?? phone.remark])
        (head, remark) = ([blank, blank, blank], nil)
      }
      if board.phones.isEmpty {
        rows.append(head + [blank, blank, blank, blank, blank, remark ?? blank])
      }
    }
    return StyledRow.table(rows, style)
  }
}

extension FleetBoard {
  fileprivate var cells: StyledRow {
    [StyledRun(board, .strong), StyledRun(state.rawValue, isOnline ? .good : .attention), StyledRun(version ?? "")]
  }

  /// What it waits for, or why it is offline.
  fileprivate var remark: StyledRun? {
    why.map { StyledRun($0, isProblem || !isOnline ? .attention : .faint) }
  }
}

extension FleetPhone {
  fileprivate var cells: StyledRow {
    [
      StyledRun(phone, .strong), StyledRun(state.rawValue, state == .online ? .good : .faint),
      StyledRun(battery.map { "\($0) %" } ?? ""), StyledRun(rssi.map { "\($0) dBm" } ?? ""),
      StyledRun(notifications.map { "\($0)" } ?? ""),
    ]
  }

  /// Further remarks.
  fileprivate var remark: StyledRun {
    if call == .ringing { return StyledRun("a call is ringing", .attention) }
    if authorization == .refused { return StyledRun("no access to notifications", .attention) }
    return StyledRun(player == .playing ? "plays" : "")
  }
}
