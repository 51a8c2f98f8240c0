// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
@testable import Fleet
import JSON
import Testing
import Wire

@Suite("Published state of a board") struct MirrorTests {
  @Test(
    "State comes first, then the board, then its phones by name; without discovery nothing else")
  func states() throws {
    var board = try MirroredBoard()
    let told = board.update()
    #expect(
      told.topics == [
        "ancsd/kitchen/state", "ancsd/kitchen/board", "ancsd/kitchen/phone/anna/state",
        "ancsd/kitchen/phone/anna/battery",
      ])
    #expect(told["state"]?["state"] == "online")
    #expect(told["state"]?["life"] == "life")
    #expect(told["phone/anna/state"]?["authorization"] == "granted")
    #expect(told["phone/anna/battery"]?["level"] == 80)
    let everything = told.map { String(decoding: $0.payload, as: UTF8.self) }.joined()
    #expect(!everything.contains("C0:11") && !everything.contains("Anna"))
    #expect(told.allSatisfy { $0.isState })
  }

  @Test("Only changes are published again, and everything on a new connection")
  func changes() throws {
    var board = try MirroredBoard()
    let all = board.update()
    #expect(board.update() == [])
    board.status.links[0].battery = 79
    #expect(board.update().topics == ["ancsd/kitchen/phone/anna/battery"])
    board.mirror.begin()
    #expect(board.update().topics == all.topics)
  }

  @Test(
    "A notification is told as the content has it, and what is withheld is named",
    arguments: [
      (ContentLevel.app, [], ["title", "subtitle", "message", "message_size"]),
      (.title, ["title", "subtitle"], ["message", "message_size"]),
      (.full, ["title", "subtitle", "message", "message_size"], []),
    ])
  func content(_ level: ContentLevel, _ shown: [String], _ withheld: [String]) throws {
    var board = try MirroredBoard.begun(level)
    let news = try board.tell(notification())
    let event = try #require(news["phone/anna/event/notification"])
    for name in ["title", "subtitle", "message", "message_size"] {
      #expect((event[name] != nil) == shown.contains(name))
    }
    #expect(event["withheld"] == (withheld.isEmpty ? nil : .strings(withheld)))
    #expect(event["phone"] == "anna" && event["app"] == "Messages" && event["seq"] == 5)
    let published = try #require(news.first { $0.topic.hasSuffix("event/notification") })
    #expect(published.kind == .event(Position(life: "life", seq: 5), expiry: 600))
    // What nobody knows does not leave the board, whatever the content.
    let odd = try board.tell(notification(uid: 8, extra: ",\"secret\":\"x\""))
    #expect(odd["phone/anna/event/notification"]?["secret"] == nil)
  }

  @Test("With content none a notification is only counted; a rule lets one app through")
  func rules() throws {
    var board = try MirroredBoard.begun(
      .none, rules: [ContentPolicy.Rule(apps: [Glob("com.apple.*")], level: .full)])
    #expect(
      try board.tell(notification(app: "com.example.game")).topics == [
        "ancsd/kitchen/phone/anna/counts"
      ])
    let told = try board.tell(notification(uid: 8))
    #expect(told["phone/anna/event/notification"]?["message"] == "Are you coming?")
  }

  @Test(
    "Notifications from before the session are counted, and published as events only on request")
  func preExisting() throws {
    for flag in [true, false] {
      var board = try MirroredBoard.begun(MirrorPolicy(includesPreExisting: flag, discovery: nil))
      let old = try board.tell(notification(flags: ["pre-existing"]))
      #expect((old["phone/anna/event/notification"] != nil) == flag)
      #expect(old["phone/anna/counts"]?["total"] == 1)
      let again = try board.tell(notification(uid: 9, extra: ",\"repeat\":true"))
      #expect((again["phone/anna/event/notification"] != nil) == flag)
    }
  }

  @Test("A call rings, and ends; the caller is only in the event, and only with titles")
  func calls() throws {
    for level in [ContentLevel.app, .title] {
      var board = try MirroredBoard.begun(level)
      let rings = try board.tell(notification(category: "incoming-call"))
      #expect(rings["phone/anna/call"] == ["state": "ringing", "app": "Messages"])
      #expect(rings["phone/anna/event/call"]?["change"] == "incoming")
      #expect(rings["phone/anna/event/call"]?["event"] == "call")
      #expect(rings["phone/anna/event/call"]?["title"] == (level == .app ? nil : "Mum"))
      let ends = try board.tell(notification("removed", category: "incoming-call"))
      #expect(ends["phone/anna/call"]?["state"] == "idle")
      #expect(ends["phone/anna/event/call"]?["change"] == "ended")
      let missed = try board.tell(notification(uid: 8, category: "missed-call"))
      #expect(missed["phone/anna/event/call"]?["change"] == "missed")
    }
  }

  @Test("No call rings without its phone, without the daemon, or after the program has ended")
  func callsThatEnd() throws {
    let ends: [(inout MirroredBoard) -> [Publication]] = [
      {
        $0.status.links = []
        return $0.update()
      }, { $0.goOffline() },
    ]
    for end in ends {
      var board = try MirroredBoard.begun()
      _ = try board.tell(notification(category: "incoming-call"))
      #expect(end(&board)["phone/anna/call"] == ["state": "idle"])
    }
    // A run that was killed has left that it rings, and what played.
    var board = try MirroredBoard.begun()
    _ = try board.tell(notification(category: "incoming-call"))
    var next = try board.next(named: "anna")
    let told = next.goOffline()
    #expect(told["phone/anna/call"] == ["state": "idle"])
    #expect(told["phone/anna/media"]?["player"]?["state"] == .null)
    // Nobody knows how many notifications the phone had when it left, nor when that was.
    #expect(told["phone/anna/counts"]?["total"] == .null)
    #expect(told["phone/anna/counts"]?["categories"]?["social"] == .null)
    #expect(told["phone/anna/state"]?["seen"] == .string(board.status.links[0].since.rfc3339))
    // One that has ended has left the numbers, and when they were right.
    _ = board.goOffline()
    next = try board.next(named: "anna")
    let later = next.goOffline()
    #expect(later["phone/anna/counts"] == nil)
    #expect(later["phone/anna/state"]?["seen"] == .string(MirroredBoard.now.rfc3339))
  }

  @Test("A call that ended while its phone was away does not ring when the phone is back")
  func callsWhileAway() throws {
    var board = try MirroredBoard.begun()
    _ = try board.tell(notification(category: "incoming-call"))
    let links = board.status.links
    board.status.links = []
    #expect(board.update()["phone/anna/call"] == ["state": "idle"])
    board.status.links = links
    #expect(board.update()["phone/anna/call"] == nil)
    // The daemon lists it until the phone has said whether it is still there.
    let stale = notification(category: "incoming-call", extra: ",\"stale\":true")
    #expect(try board.list([stale]) == [])
    let again = try board.tell(notification(category: "incoming-call", extra: ",\"repeat\":true"))
    #expect(again["phone/anna/call"]?["state"] == "ringing")
  }

  @Test("What the daemon sends again after an outage is news, but changes no state")
  func sentAgain() throws {
    var board = try MirroredBoard()
    board.status.seq = 9
    board.begin()
    _ = try board.list(asOf: 9)
    #expect(try board.tell(notification()).topics == ["ancsd/kitchen/phone/anna/event/notification"])
    #expect(try board.tell(Self.playing) == [])
    #expect(try board.tell(Self.left).topics == ["ancsd/kitchen/event"])
    #expect(board.update() == [])
    // The same after the list.
    _ = try board.list(asOf: 4)
    #expect(try board.tell(notification())["phone/anna/counts"]?["total"] == 1)
    #expect(try board.tell(Self.playing)["phone/anna/media"]?["player"]?["state"] == "playing")
    _ = try board.tell(Self.left)
    #expect(board.mirror.settle(at: MirroredBoard.now).topics.contains("ancsd/kitchen/phone/anna/state"))
  }

  @Test("While a phone is away its counts are those of its last link, and say when they were right")
  func countsWhileAway() throws {
    var board = try MirroredBoard.begun()
    _ = try board.tell(notification(category: "missed-call"))
    let link = board.status.links
    board.status.links = []
    _ = try board.tell(Self.left)
    var told = board.update()
    #expect(told["phone/anna/counts"]?["total"] == 1)
    #expect(told["phone/anna/counts"]?["as_of"] == "2026-11-24T07:00:05.000Z")
    // The grace period is over.
    #expect(try board.tell(notification("removed", category: "missed-call")).topics.count == 1)
    #expect(try board.list() == [])
    // It is back, and has not announced its notifications yet.
    board.status.links = link
    board.status.links[0].since = MirroredBoard.now
    #expect(board.update()["phone/anna/counts"] == nil)
    #expect(board.mirror.isIncomplete(at: MirroredBoard.now))
    #expect(try board.tell(notification(uid: 9))["phone/anna/counts"] == nil)
    told = board.update(after: 10)
    #expect(told["phone/anna/counts"]?["total"] == 1)
    #expect(told["phone/anna/counts"]?["categories"]?["missed-call"] == 0)
    #expect(told["phone/anna/counts"]?["as_of"] == nil)
  }

  private static let left = """
    {"event":"disconnected","seq":6,"time":"2026-11-24T07:00:05.000Z","phone":"C0:11:22:33:44:55",\
    "reason":"Connection Timeout"}
    """

  private static let playing = """
    {"event":"media","seq":6,"time":"2026-11-24T07:00:00.000Z","phone":"C0:11:22:33:44:55",\
    "player":{"name":"Music","state":"playing","rate":1,"elapsed":61,"volume":0.5},\
    "queue":{"index":0,"count":3,"shuffle":"off","repeat":"all"},\
    "track":{"artist":"Nina Simone","album":"Pastel Blues","title":"Sinnerman","duration":622},\
    "commands":["play"],"changed":["track.title"]}
    """

  @Test("The track is published only with titles, and without content only that something plays")
  func media() throws {
    for level in ContentLevel.allCases {
      var board = try MirroredBoard.begun(level)
      let media = try #require(try board.tell(Self.playing)["phone/anna/media"])
      #expect(media["player"]?["state"] == "playing")
      #expect((media["track"] != nil) == (level >= .title))
      #expect((media["as_of"] == "2026-11-24T07:00:00.000Z") == (level >= .app))
      #expect(media["event"] == nil && media["phone"] == nil && media["changed"] == nil)
      let player = Set(try #require(media["player"]?.object).members.map(\.name))
      let members: Set = ["state", "volume"]
      #expect(player == (level == .none ? members : members.union(["name", "rate", "elapsed"])))
    }
  }

  @Test("A rule about a phone covers its player; one about an app or a category does not")
  func mediaRules() throws {
    let anna = try #require(TopicName("anna"))
    for (rule, shows) in [
      (ContentPolicy.Rule(phones: [anna], level: .none), false), (.init(level: .none), false),
      (.init(categories: [.social], phones: [anna], level: .none), true),
      (.init(apps: [Glob("*")], level: .none), true),
    ] {
      var board = try MirroredBoard.begun(.title, rules: [rule])
      let media = try #require(try board.tell(Self.playing)["phone/anna/media"])
      #expect((media["track"] != nil) == shows)
    }
  }

  @Test(
    "A phone that has left plays nothing, and keeps its counters; so does a daemon that has left")
  func left() throws {
    var board = try MirroredBoard.begun()
    _ = try board.tell(Self.playing)
    _ = try board.tell(notification())
    board.status.links = []
    let told = board.update()
    #expect(
      told.topics == [
        "ancsd/kitchen/phone/anna/state", "ancsd/kitchen/phone/anna/media", "ancsd/kitchen/phone/anna/counts",
      ])
    #expect(told["phone/anna/state"]?["state"] == "offline")
    #expect(told["phone/anna/media"]?["player"]?["state"] == .null)
    let gone = board.goOffline("the daemon has exited")
    #expect(gone.topics == ["ancsd/kitchen/state"])
    #expect(gone["state"]?["why"] == "the daemon has exited")
  }

  @Test(
    "Of a phone that was forgotten first the device is removed, then its states, each once", arguments: [true, false])
  func forgotten(isNamed: Bool) throws {
    let phone = isNamed ? "anna" : "iphone"
    var board = try MirroredBoard(MirrorPolicy(), isNamed: isNamed)
    var spare = AdapterReport()
    spare.adapter = "hci1"
    board.status.adapters.append(spare)
    board.begin()
    _ = try board.tell(Self.playing)
    board.status.phones = []
    board.status.links = []
    // An adapter that was unplugged has its bonds with it; one where the phone was never bonded says nothing.
    board.status.adapters[0].isPresent = false
    board.status.adapters[1].isPowered = true
    let kept = board.update()
    #expect(kept.allSatisfy { !$0.payload.isEmpty })
    board.status.adapters[0].isPresent = true
    board.status.adapters[1].isPresent = false
    func emptied() -> [String] { board.update().filter(\.payload.isEmpty).topics }
    #expect(emptied() == ["homeassistant/device/kitchen/p1/config"])
    #expect(emptied() == [])
    board.mirror.removed("homeassistant/device/kitchen/p1/config")
    #expect(
      emptied() == [
        "ancsd/kitchen/phone/\(phone)/battery", "ancsd/kitchen/phone/\(phone)/call",
        "ancsd/kitchen/phone/\(phone)/counts", "ancsd/kitchen/phone/\(phone)/media",
        "ancsd/kitchen/phone/\(phone)/state",
      ])
    #expect(emptied() == [])
  }

  @Test("What an earlier run left is removed until the broker has acknowledged that")
  func leftovers() throws {
    let ours: Set = ["ancsd/kitchen/state", "ancsd/kitchen/phone/mum/state"]
    let others: Set = ["ancsd/attic/state", "homeassistant/device/attic/board/config"]
    var board = try MirroredBoard().next(MirrorPolicy(discovery: nil), retained: ours.union(others))
    func removed() -> [String] {
      let told = board.update()
      #expect(told.allSatisfy { $0.isRemoval == $0.payload.isEmpty })
      return told.filter(\.isRemoval).topics
    }
    // Which phones there are is not known yet.
    board.status.adapters[0].isPresent = false
    #expect(removed() == ["homeassistant/device/attic/board/config"])
    board.mirror.removed("homeassistant/device/attic/board/config")
    #expect(removed() == ["ancsd/attic/state"])
    board.status.adapters[0].isPresent = true
    // Meanwhile it was told that mum is away.
    let mums = ["call", "media", "state"].map { "ancsd/kitchen/phone/mum/\($0)" }
    #expect(removed() == mums)
    board.mirror.begin()
    #expect(removed() == ["ancsd/attic/state"] + mums)
    for topic in board.mirror.retained { board.mirror.removed(topic) }
    board.mirror.begin()
    #expect(removed() == [])
    #expect(board.mirror.retained.contains("ancsd/kitchen/phone/anna/state"))
  }

  @Test(
    "The state of another board is told from a phone's, whatever the board is called",
    arguments: [
      ("ancsd/attic/state", true), ("ancsd/phone/state", true), ("phone/attic/state", true),
      ("ancsd/kitchen/state", false), ("ancsd/attic/phone/anna/state", false),
      ("ancsd/phone/phone/anna/state", false), ("ancsd/attic/board", false),
    ])
  func otherBoards(_ topic: String, _ isOther: Bool) throws {
    #expect(try MirroredBoard().mirror.isStateOfOther(topic) == isOther)
  }

  @Test("Home Assistant learns of the devices once it has forgotten those that had other topics")
  func forgetting() throws {
    let earlier = "homeassistant/device/attic/board/config"
    var board = try MirroredBoard().next(retained: [earlier])
    #expect(board.update().filter(\.isOfDevice).topics == [earlier])
    board.mirror.removed(earlier)
    #expect(board.update().filter(\.isOfDevice).isEmpty)
    #expect(
      board.mirror.forgotten().topics == [
        "homeassistant/device/kitchen/board/config", "homeassistant/device/kitchen/p1/config",
      ])
    #expect(board.update().filter(\.isOfDevice).isEmpty)
  }

  @Test("A stranger is no phone of the board's")
  func strangers() throws {
    var board = try MirroredBoard.begun()
    let connected = try board.tell(
      #"{"event":"connected","seq":9,"time":"2026-11-24T07:00:00.000Z","phone":"DE:AD:BE:EF:00:01","bonded":false}"#)
    #expect(connected.topics == ["ancsd/kitchen/event"] && connected["event"]?["phone"] == nil)
  }

  @Test("Texts from the daemon do not leave the board, wherever an address or a name is in them")
  func texts() throws {
    var board = try MirroredBoard(
      MirrorPolicy(content: ContentPolicy(level: .full), discovery: nil))
    let secrets = ["C0:11:22", "C0-11-22", "Anna", "/var/lib", "DE:AD", "123456"]
    let text = "Anna’s iPhone /var/lib/ancsd/C0-11-22-33-44-55.bond.json.new C0:11:22:33:44:55"
    for kind in EventName.allCases where kind != .notification && kind != .media {
      let news = try board.tell(
        """
        {"event":"\(kind.rawValue)","seq":9,"time":"2026-11-24T07:00:00.000Z","adapter":"\(text)",\
        "phone":"DE:AD:BE:EF:00:01","what":"\(text)","message":"\(text)","reason":"\(text)",\
        "remedy":"\(text)","passkey":"123456","code":14}
        """)
      let published = news.map { String(decoding: $0.payload, as: UTF8.self) }.joined()
      #expect(!secrets.contains(where: published.contains))
    }
    for wait in ["failing", "bond-lost-by-phone", "nobody-listens", "new-\(text)"] {
      board.status.adapters[0].waiting.wait = wait
      board.status.adapters[0].waiting.why = text
      let told = try #require(board.update().first { $0.topic == "ancsd/kitchen/board" })
      let why = try JSONValue(parsing: told.payload)["why"]?.string ?? ""
      #expect(why.contains(" ") && !secrets.contains(where: why.contains), "\(why)")
    }
    for wait in [Wait.bondedPhone, .news, .unprovenNews] {
      board.status.adapters[0].waiting = WaitReport(wait, name: "kitchen")
      #expect(board.update()["board"]?["why"]?.string == wait.sentence(name: "kitchen"))
    }
    for name in Wait.Name.allCases {
      #expect(!PublicText.why(name.rawValue, nil, board: "kitchen").contains("what it waits for"))
    }
    let ended = try board.tell(
      """
      {"event":"disconnected","seq":9,"time":"2026-11-24T07:00:00.000Z","adapter":"hci0",\
      "reason":"Connection Timeout"}
      """)
    #expect(ended["event"]?["reason"] == "Connection Timeout")
    #expect(ended["event"]?["adapter"] == "hci0")
  }

  @Test("Unnamed phones are numbered, and keep their names unless the settings give them to others")
  func names() throws {
    var board = try MirroredBoard()
    let others = [Address(0xAA00_0000_0001), Address(0xAA00_0000_0002)]
    for other in others {
      var phone = PhoneReport()
      (phone.phone, phone.adapter) = (other, "hci0")
      board.status.phones.append(phone)
    }
    func names(_ board: MirroredBoard) -> [String?] {
      others.map { board.mirror.names.name(of: $0)?.description }
    }
    _ = board.update()
    #expect(Set(names(board)) == ["iphone", "iphone-2"])
    var next = try board.next(MirrorPolicy(discovery: nil), names: [MirroredBoard.anna: "iphone"])
    _ = next.update()
    #expect(Set(names(next)) == ["iphone-2", "iphone-3"])
    // Adapters that are away say nothing about their phones.
    let before = names(board)
    board.status.phones = []
    board.status.adapters[0].isPowered = false
    _ = board.update()
    #expect(names(board) == before)
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

  @Test("What is no name is none", arguments: ["", "Anna", "a/b", "a+", "#", "ä", String(repeating: "a", count: 33)])
  func noName(_ text: String) { #expect(TopicName(text) == nil) }
}
