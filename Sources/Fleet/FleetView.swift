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
    // An empty payload means removal.
    let before = boards[name]
    guard before != nil || !payload.isEmpty && boards.count < Self.mostBoards else { return false }
    var entry = before ?? Entry()
    switch (levels.count, levels.last) {
    case (2, "state"?) where payload.isEmpty:
      boards[name] = nil
      return true
    case (2, "state"?):
      guard let presence = BoardPresence(payload: payload) else { return false }
      entry.presence = presence
    case (2, "board"?) where payload.isEmpty: entry.condition = nil
    case (2, "board"?):
      guard let condition = BoardCondition(payload: payload) else { return false }
      entry.condition = condition
      // They are not shown, and could be many.
      entry.condition?.adapters = []
    case (4, let last?) where levels[1] == "phone":
      guard let phone = TopicName(levels[2]),
        let topic = BoardTopics.PhoneTopic(rawValue: last),
        entry.readPhone(phone, topic, payload)
      else { return false }
    default: return false
    }
    boards[name] = entry
    return FleetBoard(name, entry) != before.map { FleetBoard(name, $0) }
  }
}

extension FleetView.Entry {
  /// - Returns: whether the payload is a state.
  fileprivate mutating func readPhone(
    _ name: TopicName, _ topic: BoardTopics.PhoneTopic, _ payload: [UInt8]
  ) -> Bool {
    let known = phones.firstIndex { $0.phone == name.description }
    guard !payload.isEmpty else {
      // A phone without a state was removed.
      if topic == .state, let known { phones.remove(at: known) }
      return true
    }
    var phone = known.map { phones[$0] } ?? FleetPhone(name)
    guard phone.read(topic, payload) else { return false }
    if let known {
      phones[known] = phone
    } else if phones.count < FleetView.mostPhones {
      phones.insert(
        phone, at: phones.firstIndex { $0.phone > name.description } ?? phones.endIndex)
    }
    return true
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

  fileprivate mutating func read(_ topic: BoardTopics.PhoneTopic, _ payload: [UInt8]) -> Bool {
    switch topic {
    case .state:
      guard let presence = PhonePresence(payload: payload) else { return false }
      (state, authorization) = (presence.state, presence.authorization)
      (rssi, wait) = (presence.rssi, presence.wait)
    case .battery:
      guard let read = PhoneBattery(payload: payload) else { return false }
      battery = read.level
    case .counts:
      guard let counts = PhoneCounts(payload: payload) else { return false }
      notifications = counts.total
    case .call:
      guard let read = PhoneCall(payload: payload) else { return false }
      call = read.state
    case .media:
      guard let media = (try? JSONValue(parsing: payload)).flatMap(MediaState.init(published:))
      else { return false }
      player = media.player.state
    case .notificationEvent, .callEvent: return false
    }
    return true
  }
}

// MARK: - Text

extension FleetView {
  private static let heads = [
    "BOARD", "STATE", "VERSION", "PHONE", "STATE", "BATTERY", "SIGNAL", "ACTIVE", "",
  ]

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
    [
      StyledRun(board, .strong), StyledRun(state.rawValue, isOnline ? .good : .attention),
      StyledRun(version ?? ""),
    ]
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
    if authorization == .refused {
      return StyledRun("no access to notifications", .attention)
    }
    return StyledRun(player == .playing ? "plays" : "")
  }
}
