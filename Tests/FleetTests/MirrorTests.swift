// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Fleet
import JSON
import Testing
import Wire

/// A board with one bonded phone, and what is told of it.
struct MirroredBoard {
  static let anna = Address(0xC011_2233_4455)
  var mirror: BoardMirror
  var status = StatusReport()

  init(_ policy: MirrorPolicy = MirrorPolicy(discovery: nil)) throws {
    let topics = BoardTopics(board: try #require(TopicName("kitchen")))
    let anna = try #require(TopicName("anna"))
    mirror = BoardMirror(topics, policy, names: PhoneNames(given: [Self.anna: anna]))
    status.version = "1.0"
    status.life = "life"
    var phone = PhoneReport()
    phone.phone = Self.anna
    phone.name = "Anna’s iPhone"
    status.phones = [phone]
    var link = LinkReport()
    link.phone = Self.anna
    link.name = "Anna’s iPhone"
    link.isBonded = true
    link.services = [.ancs, .ams]
    link.authorization = .granted
    link.battery = 80
    status.links = [link]
    var adapter = AdapterReport()
    adapter.adapter = "hci0"
    adapter.isPowered = true
    status.adapters = [adapter]
  }

  /// The daemon's status, an empty list, and nothing playing.
  mutating func begin() {
    _ = mirror.update(status)
    _ = mirror.list([])
  }

  mutating func tell(
    _ text: String, isEarlier: Bool = false, at now: String = "2026-11-24T07:00:10.000Z"
  ) throws -> [Publication] {
    let event = try #require(try JSONValue(parsing: Array(text.utf8)).object)
    let now = try #require(WallTime(rfc3339: now))
    let (news, then) = mirror.event(event, isEarlier: isEarlier, now: now, digest: nil)
    return then == .settles ? news + mirror.settle() : news
  }
}

extension [Publication] {
  /// What is published on a topic below the board's, as an object.
  func object(_ topic: String) throws -> JSONValue? {
    try first { $0.topic == "ancsd/kitchen/\(topic)" }.map { try JSONValue(parsing: $0.payload) }
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

@Suite("Published state of a board") struct MirrorTests {
  @Test("State comes first, then the board, then its phones by name")
  func states() throws {
    var board = try MirroredBoard()
    let told = board.mirror.update(board.status)
    #expect(
      told.topics == [
        "ancsd/kitchen/state", "ancsd/kitchen/board", "ancsd/kitchen/phone/anna/state",
        "ancsd/kitchen/phone/anna/battery",
      ])
    #expect(try told.object("state")?["state"] == "online")
    #expect(try told.object("state")?["life"] == "life")
    #expect(try told.object("phone/anna/state")?["authorization"] == "granted")
    #expect(try told.object("phone/anna/battery")?["level"] == 80)
    let everything = told.map { String(decoding: $0.payload, as: UTF8.self) }.joined()
    #expect(!everything.contains("C0:11") && !everything.contains("Anna"))
    #expect(told.allSatisfy { $0.kind == .state })
  }

  @Test("Only changes are published again, and everything on a new connection")
  func changes() throws {
    var board = try MirroredBoard()
    let all = board.mirror.update(board.status)
    #expect(board.mirror.update(board.status) == [])
    board.status.links[0].battery = 79
    #expect(board.mirror.update(board.status).topics == ["ancsd/kitchen/phone/anna/battery"])
    board.mirror.begin()
    #expect(board.mirror.update(board.status).topics == all.topics)
  }

  @Test("Counts and calls are published once the notifications are known")
  func counts() throws {
    var board = try MirroredBoard()
    #expect(try board.mirror.update(board.status).object("phone/anna/counts") == nil)
    let told = board.mirror.list([])
    #expect(try told.object("phone/anna/counts")?["total"] == 0)
    #expect(try told.object("phone/anna/call") == ["state": "idle"])
    let news = try board.tell(notification(category: "missed-call"))
    #expect(try news.object("phone/anna/counts")?["total"] == 1)
    #expect(try news.object("phone/anna/counts")?["categories"]?["missed-call"] == 1)
  }

  @Test(
    "A notification is told as the content has it, and what is withheld is named",
    arguments: [
      (ContentLevel.app, [], ["title", "subtitle", "message"]),
      (.title, ["title", "subtitle"], ["message"]), (.full, ["title", "subtitle", "message"], []),
    ])
  func content(_ level: ContentLevel, _ shown: [String], _ withheld: [String]) throws {
    var board = try MirroredBoard(MirrorPolicy(content: ContentPolicy(level), discovery: nil))
    board.begin()
    let news = try board.tell(notification())
    let event = try #require(try news.object("phone/anna/event/notification"))
    for name in ["title", "subtitle", "message"] {
      #expect((event[name] != nil) == shown.contains(name))
    }
    #expect(event["withheld"] == (withheld.isEmpty ? nil : .strings(withheld)))
    #expect(event["phone"] == "anna" && event["app"] == "Messages" && event["seq"] == 5)
    let published = try #require(news.first { $0.topic.hasSuffix("event/notification") })
    #expect(published.kind == .event(Position(life: "life", seq: 5), expiry: 600))
  }

  @Test("With content none a notification is only counted; a rule lets one app through")
  func rules() throws {
    var policy = ContentPolicy(.none)
    policy.rules = [ContentPolicy.Rule(apps: [Glob("com.apple.*")], .full)]
    var board = try MirroredBoard(MirrorPolicy(content: policy, discovery: nil))
    board.begin()
    #expect(
      try board.tell(notification(app: "com.example.game")).topics == [
        "ancsd/kitchen/phone/anna/counts"
      ])
    let told = try board.tell(notification(uid: 8))
    #expect(try told.object("phone/anna/event/notification")?["message"] == "Are you coming?")
  }

  @Test("A member that nobody knows does not leave the board below full content, nor at it")
  func unknownMember() throws {
    for level in ContentLevel.allCases where level > .none {
      var board = try MirroredBoard(MirrorPolicy(content: ContentPolicy(level), discovery: nil))
      board.begin()
      let news = try board.tell(notification(extra: ",\"secret\":\"x\""))
      #expect(try news.object("phone/anna/event/notification")?["secret"] == nil)
    }
  }

  @Test(
    "Notifications from before the session are counted, and published as events only on request")
  func preExisting() throws {
    for flag in [true, false] {
      var board = try MirroredBoard(
        MirrorPolicy(includesPreExisting: flag, discovery: nil))
      board.begin()
      let old = try board.tell(notification(flags: ["pre-existing"]))
      #expect((try old.object("phone/anna/event/notification") != nil) == flag)
      #expect(try old.object("phone/anna/counts")?["total"] == 1)
      let again = try board.tell(notification(uid: 9, extra: ",\"repeat\":true"))
      #expect((try again.object("phone/anna/event/notification") != nil) == flag)
    }
  }

  @Test("After an outage, events older than max-age are omitted; live events never are")
  func age() throws {
    var board = try MirroredBoard()
    board.begin()
    let late = "2026-11-24T07:10:01.000Z"
    let old = try board.tell(notification(), isEarlier: true, at: late)
    #expect(try old.object("phone/anna/event/notification") == nil)
    #expect(try old.object("phone/anna/counts")?["total"] == 1)
    let young = try board.tell(
      notification(uid: 8), isEarlier: true, at: "2026-11-24T07:09:59.000Z")
    #expect(try young.object("phone/anna/event/notification") != nil)
    // The board's clock was set meanwhile.
    let live = try board.tell(notification(uid: 9), at: late)
    #expect(try live.object("phone/anna/event/notification") != nil)
  }

  @Test("A call rings, and ends; the caller is published only with titles")
  func calls() throws {
    for level in [ContentLevel.app, .title] {
      var board = try MirroredBoard(MirrorPolicy(content: ContentPolicy(level), discovery: nil))
      board.begin()
      let rings = try board.tell(notification(category: "incoming-call"))
      #expect(try rings.object("phone/anna/call")?["state"] == "ringing")
      #expect(try rings.object("phone/anna/call")?["caller"] == (level == .app ? nil : "Mum"))
      #expect(try rings.object("phone/anna/event/call")?["change"] == "incoming")
      #expect(try rings.object("phone/anna/event/call")?["event"] == "call")
      let ends = try board.tell(notification("removed", category: "incoming-call"))
      #expect(try ends.object("phone/anna/call")?["state"] == "idle")
      #expect(try ends.object("phone/anna/event/call")?["change"] == "ended")
      let missed = try board.tell(notification(uid: 8, category: "missed-call"))
      #expect(try missed.object("phone/anna/event/call")?["change"] == "missed")
    }
  }

  private static let playing = """
    {"event":"media","seq":6,"time":"2026-11-24T07:00:00.000Z","phone":"C0:11:22:33:44:55",\
    "player":{"name":"Music","state":"playing","rate":1,"elapsed":61,"volume":0.5},\
    "queue":{"index":0,"count":3,"shuffle":"off","repeat":"all"},\
    "track":{"artist":"Nina Simone","album":"Pastel Blues","title":"Sinnerman","duration":622},\
    "commands":["play"],"changed":["track.title"]}
    """

  @Test("The track is published only with titles")
  func media() throws {
    for level in ContentLevel.allCases {
      var board = try MirroredBoard(MirrorPolicy(content: ContentPolicy(level), discovery: nil))
      board.begin()
      let media = try #require(try board.tell(Self.playing).object("phone/anna/media"))
      #expect(media["player"]?["state"] == "playing")
      #expect((media["track"] != nil) == (level >= .title))
      #expect((media["player"]?["name"] != nil) == (level >= .app))
      #expect(media["event"] == nil && media["phone"] == nil && media["changed"] == nil)
    }
  }

  @Test(
    "A phone that has left plays nothing, and keeps its counters; so does a daemon that has left")
  func left() throws {
    var board = try MirroredBoard()
    board.begin()
    _ = try board.tell(Self.playing)
    _ = try board.tell(notification())
    board.status.links = []
    let told = board.mirror.update(board.status)
    #expect(
      told.topics == ["ancsd/kitchen/phone/anna/state", "ancsd/kitchen/phone/anna/media"])
    #expect(try told.object("phone/anna/state")?["state"] == "offline")
    #expect(try told.object("phone/anna/media")?["player"]?["state"] == .null)
    let gone = board.mirror.daemonLeft("the daemon has exited")
    #expect(gone.topics == ["ancsd/kitchen/state"])
    #expect(try gone.object("state")?["why"] == "the daemon has exited")
  }

  @Test("A phone that was forgotten has all its topics emptied, once")
  func forgotten() throws {
    var board = try MirroredBoard(MirrorPolicy())
    board.begin()
    _ = try board.tell(Self.playing)
    board.status.phones = []
    board.status.links = []
    // An adapter that was unplugged has its bonds with it.
    board.status.adapters[0].isPresent = false
    let kept = board.mirror.update(board.status)
    #expect(kept.allSatisfy { !$0.payload.isEmpty })
    board.status.adapters[0].isPresent = true
    let told = board.mirror.update(board.status)
    let emptied = told.filter(\.payload.isEmpty).topics
    #expect(
      emptied == [
        "ancsd/kitchen/phone/anna/battery", "ancsd/kitchen/phone/anna/call",
        "ancsd/kitchen/phone/anna/counts", "ancsd/kitchen/phone/anna/media",
        "ancsd/kitchen/phone/anna/state", "homeassistant/device/kitchen/anna/config",
      ])
    #expect(board.mirror.update(board.status) == [])
  }

  @Test("What an earlier run left is removed until the broker has acknowledged that")
  func leftovers() throws {
    let ours: Set = ["ancsd/kitchen/state", "ancsd/kitchen/phone/mum/state"]
    let others: Set = ["ancsd/attic/state", "homeassistant/device/attic/board/config"]
    var board = try MirroredBoard()
    board.mirror = BoardMirror(
      board.mirror.topics, MirrorPolicy(discovery: nil), names: board.mirror.names,
      retained: ours.union(others))
    func removed() -> [String] {
      let told = board.mirror.update(board.status)
      #expect(told.allSatisfy { $0.isRemoval == $0.payload.isEmpty })
      return told.filter(\.isRemoval).topics
    }
    // Which phones there are is not known yet.
    board.status.adapters[0].isPresent = false
    #expect(removed() == others.sorted())
    board.mirror.removed("ancsd/attic/state")
    board.status.adapters[0].isPresent = true
    #expect(removed() == ["ancsd/kitchen/phone/mum/state"])
    board.mirror.begin()
    #expect(
      removed() == ["ancsd/kitchen/phone/mum/state", "homeassistant/device/attic/board/config"])
    for topic in board.mirror.retained { board.mirror.removed(topic) }
    board.mirror.begin()
    #expect(removed() == [])
    #expect(board.mirror.retained.contains("ancsd/kitchen/phone/anna/state"))
  }

  @Test("A name that the settings give to one phone is no other's, which had it before")
  func givenName() throws {
    let (anna, other) = (MirroredBoard.anna, Address(0xAA00_0000_0001))
    let iphone = try #require(TopicName("iphone"))
    var board = try MirroredBoard()
    board.mirror = BoardMirror(
      board.mirror.topics, MirrorPolicy(discovery: nil),
      names: PhoneNames(given: [anna: iphone], found: [other: iphone]))
    var phone = PhoneReport()
    phone.phone = other
    board.status.phones.append(phone)
    _ = board.mirror.update(board.status)
    #expect(board.mirror.names.name(of: anna) == iphone)
    #expect(board.mirror.names.name(of: other) == TopicName("iphone-2"))
  }

  @Test("After a change of settings no stale message stays retained")
  func removals() throws {
    var board = try MirroredBoard(MirrorPolicy())
    board.begin()
    _ = try board.tell(Self.playing)
    func next(_ name: String, phone: String = "anna", discovery: String? = "homeassistant") throws
      -> [String]
    {
      let topics = BoardTopics(board: try #require(TopicName(name)))
      let names = PhoneNames(given: [MirroredBoard.anna: try #require(TopicName(phone))])
      let heir = BoardMirror(topics, MirrorPolicy(discovery: discovery), names: names)
      let removals = board.mirror.removals(for: heir)
      #expect(removals.allSatisfy { $0.payload.isEmpty && $0.kind == .state })
      return removals.topics
    }
    #expect(try next("kitchen") == [])
    #expect(
      try next("kitchen", discovery: nil) == [
        "homeassistant/device/kitchen/anna/config", "homeassistant/device/kitchen/board/config",
      ])
    let renamed = try next("kitchen", phone: "mum")
    #expect(renamed.count == 6 && renamed.allSatisfy { $0.contains("anna") })
    let all = board.mirror.removals(for: nil).topics
    #expect(all.count == 9 && Set(all) == board.mirror.retained)
    #expect(try next("attic") == all)
  }

  @Test("A stranger is no phone of the board's, and a passkey leaves it never")
  func strangers() throws {
    var board = try MirroredBoard()
    board.begin()
    let connected = try board.tell(
      """
      {"event":"connected","seq":9,"time":"2026-11-24T07:00:00.000Z","adapter":"hci0",\
      "phone":"DE:AD:BE:EF:00:01","encrypted":false,"bonded":false}
      """)
    #expect(connected.topics == ["ancsd/kitchen/event"])
    #expect(try connected.object("event")?["phone"] == nil)
    let pairing = try board.tell(
      """
      {"event":"pairing","seq":9,"time":"2026-11-24T07:00:00.000Z","phone":"DE:AD:BE:EF:00:01",\
      "method":"confirm","passkey":"123456","seconds":30}
      """)
    #expect(try pairing.object("event")?["method"] == "confirm")
    #expect(try pairing.object("event")?["passkey"] == nil)
    let error = try board.tell(
      """
      {"event":"error","seq":9,"time":"2026-11-24T07:00:00.000Z","what":"C0:11:22:33:44:55 has left",\
      "code":1,"message":"DE:AD:BE:EF:00:01"}
      """)
    #expect(try error.object("event")?["what"] == "anna has left")
    #expect(try error.object("event")?["message"] == "a phone")
  }

  @Test("Unnamed phones are numbered, and keep their names")
  func names() throws {
    var board = try MirroredBoard()
    for number in 1...2 {
      var phone = PhoneReport()
      phone.phone = Address(0xAA00_0000_0000 + UInt64(number))
      board.status.phones.append(phone)
    }
    _ = board.mirror.update(board.status)
    #expect(Set(board.mirror.names.found.values.map(\.description)) == ["iphone", "iphone-2"])
    let kept = board.mirror.names
    board.status.phones.removeFirst()
    _ = board.mirror.update(board.status)
    #expect(board.mirror.names == kept)
  }

  @Test(
    "A name for topics is made of any text",
    arguments: [
      ("Anna’s Küche", "anna-s-k-che"), ("raspberrypi", "raspberrypi"), ("--", "board"),
      ("Wohnzimmer 2", "wohnzimmer-2"), ("ÄÖÜ", "board"),
    ])
  func slug(_ text: String, _ name: String) {
    #expect(TopicName(from: text, or: .board).description == name)
  }

  @Test(
    "What is no name is none",
    arguments: ["", "Anna", "a/b", "a+", "#", "ä", String(repeating: "a", count: 33)])
  func noName(_ text: String) { #expect(TopicName(text) == nil) }
}
