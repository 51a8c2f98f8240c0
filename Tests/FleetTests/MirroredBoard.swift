// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
@testable import Fleet
import JSON
import Testing
import Wire

/// A board with one bonded phone, and what is told of it.
struct MirroredBoard {
  static let anna = Address(0xC011_2233_4455)
  static let now = WallTime(seconds: 1_795_503_610)
  /// Ids of phones are random; here Anna's is the first.
  static let newID: @Sendable () -> String = { "p1" }
  var mirror: BoardMirror
  var status = StatusReport()

  /// - Parameter isNamed: whether the settings have a name for Anna's phone.
  init(_ policy: MirrorPolicy = MirrorPolicy(discovery: nil), isNamed: Bool = true) throws {
    let topics = BoardTopics(board: try #require(TopicName("kitchen")))
    let anna = try #require(TopicName("anna"))
    mirror = BoardMirror(
      topics, policy, names: PhoneNames(given: isNamed ? [Self.anna: anna] : [:]),
      board: BoardIdentity(id: "b1", model: "Raspberry Pi 5"), newID: Self.newID)
    (status.version, status.life) = ("1.0", "life")
    var phone = PhoneReport()
    (phone.phone, phone.name, phone.adapter) = (Self.anna, "Anna’s iPhone", "hci0")
    var link = LinkReport()
    (link.phone, link.name, link.isBonded) = (Self.anna, "Anna’s iPhone", true)
    (link.services, link.authorization, link.battery) = ([.ancs, .ams], .granted, 80)
    link.since = WallTime(seconds: Self.now.seconds - 60)
    var adapter = AdapterReport()
    (adapter.adapter, adapter.isPowered) = ("hci0", true)
    (status.phones, status.links, status.adapters) = ([phone], [link], [adapter])
  }

  /// The board in the next run, which reads what this one has kept.
  ///
  /// - Parameter names: what its settings call the phones; nil: this run's.
  /// - Parameter retained: what is retained at the broker; nil: what this run has published.
  func next(
    _ policy: MirrorPolicy = MirrorPolicy(), names: [Address: String]? = nil,
    retained: Set<String>? = nil
  ) throws -> MirroredBoard {
    let given = try names?.mapValues { try #require(TopicName($0)) }
    var next = self
    next.mirror = BoardMirror(
      mirror.topics, policy,
      names: given.map { PhoneNames(given: $0, records: Array(mirror.names.records.values)) } ?? mirror.names,
      retained: retained ?? mirror.retained, newID: Self.newID)
    return next
  }

  /// The same, with this name of Anna's phone.
  func next(named name: String) throws -> MirroredBoard { try next(names: [Self.anna: name]) }

  /// A board that has begun.
  static func begun(_ policy: MirrorPolicy = MirrorPolicy(discovery: nil)) throws -> MirroredBoard {
    var board = try MirroredBoard(policy)
    board.begin()
    return board
  }

  /// The same, with this content.
  static func begun(_ level: ContentLevel, rules: [ContentPolicy.Rule] = []) throws -> MirroredBoard {
    try begun(MirrorPolicy(content: ContentPolicy(level: level, rules: rules), discovery: nil))
  }

  /// The daemon's status, an empty list, and nothing playing.
  mutating func begin() {
    _ = update()
    _ = mirror.list([], asOf: 0, at: Self.now)
  }

  /// The daemon's list, as of this event.
  mutating func list(_ texts: [String] = [], asOf seq: UInt64 = 0) throws -> [Publication] {
    try mirror.list(texts.map(object), asOf: seq, at: Self.now)
  }

  mutating func goOffline(_ why: String = "") -> [Publication] {
    mirror.goOffline(why, at: Self.now)
  }

  mutating func update(after seconds: Int64 = 0) -> [Publication] {
    mirror.update(status, at: WallTime(seconds: Self.now.seconds + seconds))
  }

  mutating func tell(_ text: String) throws -> [Publication] {
    let (news, outdated) = mirror.event(try object(text), at: Self.now, digest: nil)
    return outdated == .nothing ? news + mirror.settle(at: Self.now) : news
  }

  private func object(_ text: String) throws -> JSONObject {
    try #require(try JSONValue(parsing: text).object)
  }
}

extension [Publication] {
  /// What is published on a topic below the board's.
  subscript(topic: String) -> JSONValue? {
    first { $0.topic == "ancsd/kitchen/\(topic)" }.flatMap { try? JSONValue(parsing: $0.payload) }
  }

  var topics: [String] { map(\.topic) }
}

/// A notification as the daemon tells it.
func notification(
  _ change: String = "added", uid: Int = 7, category: String = "social",
  flags: [String] = ["negative-action"], app: String = "com.apple.MobileSMS", extra: String = ""
) -> String {
  let flags = flags.map { "\"\($0)\"" }.joined(separator: ",")
  return """
    {"event":"notification","seq":5,"time":"2026-11-24T07:00:00.000Z","adapter":"hci0",\
    "phone":"C0:11:22:33:44:55","change":"\(change)","uid":\(uid),"category":"\(category)",\
    "category_count":1,"flags":[\(flags)],"app_id":"\(app)","app":"Messages","title":"Mum",\
    "subtitle":"Family","message":"Are you coming?","message_size":15\(extra)}
    """
}
