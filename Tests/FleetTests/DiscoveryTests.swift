// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import JSON
import Testing
import Wire

@testable import Fleet

@Suite("Home Assistant discovery") struct DiscoveryTests {
  private func devices(
    _ policy: MirrorPolicy = MirrorPolicy()
  ) throws -> (topics: [String], board: JSONValue, phone: JSONValue) {
    var board = try MirroredBoard(policy)
    let told = board.update().filter { $0.topic.hasPrefix("homeassistant/") }
    #expect(told.count == 2)
    return (told.topics, try JSONValue(parsing: told[0].payload), try JSONValue(parsing: told[1].payload))
  }

  private func components(_ device: JSONValue) throws -> [(key: String, value: JSONObject)] {
    try #require(device["cmps"]?.object).members.map { ($0.name, try #require($0.value.object)) }
      .filter { $0.1.members.count > 1 }
  }

  @Test("The board's device comes before its phones', each below the board's name")
  func topics() throws {
    let (topics, board, phone) = try devices()
    #expect(
      topics == [
        "homeassistant/device/kitchen/board/config",
        "homeassistant/device/kitchen/p1/config",
      ])
    #expect(board["dev"]?["ids"] == ["ancsd-b1"])
    #expect(phone["dev"]?["ids"] == ["ancsd-b1-p1"])
    #expect(phone["dev"]?["via_device"] == "ancsd-b1")
    #expect(phone["avty"]?.array?.count == 2 && phone["avty_mode"] == "all")
    // There is no key that an older version refuses: at the top and in dev, only these.
    for device in [board, phone] {
      let top = Set(try #require(device.object).members.map(\.name))
      #expect(top == ["dev", "o", "avty", "avty_mode", "cmps"])
      let dev = Set(try #require(device["dev"]?.object).members.map(\.name))
      #expect(dev.isSubset(of: ["ids", "name", "mf", "mdl", "sw", "cu", "via_device"]))
    }
  }

  @Test("Every entity has its unique id, and its quality of service; none has an address")
  func entities() throws {
    let (_, board, phone) = try devices(MirrorPolicy(allowed: Set(Permission.allCases)))
    var ids: Set<String> = []
    for (key, component) in try components(board) + components(phone) {
      #expect(component["p"]?.string != nil && component["qos"] == 1, "\(key)")
      if component["p"] == "device_automation" { continue }
      let id = try #require(component["uniq_id"]?.string)
      #expect(ids.insert(id).inserted && id.hasPrefix("ancsd-b1-"))
    }
    #expect(!"\(board)\(phone)".contains("C0:11"))
    // These are names that Home Assistant keeps what it knows under: they never change.
    for id in [
      "ancsd-b1-board-wait", "ancsd-b1-board-problem", "ancsd-b1-board-pair", "ancsd-b1-board-pair-close",
      "ancsd-b1-p1-seen", "ancsd-b1-p1-forget", "ancsd-b1-p1-notification", "ancsd-b1-p1-call", "ancsd-b1-p1-ringing",
      "ancsd-b1-p1-notifications", "ancsd-b1-p1-count-missed-call", "ancsd-b1-p1-battery", "ancsd-b1-p1-connected",
      "ancsd-b1-p1-authorization", "ancsd-b1-p1-signal", "ancsd-b1-p1-player", "ancsd-b1-p1-volume",
      "ancsd-b1-p1-repeat", "ancsd-b1-p1-shuffle", "ancsd-b1-p1-media-toggle", "ancsd-b1-p1-answer",
      "ancsd-b1-p1-decline", "ancsd-b1-p1-clear",
    ] { #expect(ids.contains(id), "\(id)") }
  }

  @Test("What is withheld or not allowed is removed from Home Assistant by its platform alone")
  func policy() throws {
    let anna = try #require(TopicName("anna"))
    func keys(_ policy: MirrorPolicy) throws -> (there: Set<String>, removed: Set<String>) {
      let (_, board, phone) = try devices(policy)
      let all = try [board, phone].flatMap { try #require($0["cmps"]?.object).members }
      #expect(all.allSatisfy { $0.value["p"]?.string != nil })
      let there = Set(try (components(board) + components(phone)).map(\.key))
      return (there, Set(all.map(\.name)).subtracting(there))
    }
    let least = try keys(MirrorPolicy(content: ContentPolicy(level: .none), allowed: []))
    #expect(least.removed.isSuperset(of: ["answer", "pair", "forget", "track", "repeat", "update"]))
    #expect(least.removed.isSuperset(of: ["media-next", "notification-email"]))
    #expect(least.there.contains("player"))
    let usual = try keys(MirrorPolicy())
    #expect(usual.there.isSuperset(of: ["answer", "media-next", "repeat"]))
    #expect(usual.removed.isSuperset(of: ["forget", "track"]))
    let titles = ContentPolicy(level: .title)
    #expect(try keys(MirrorPolicy(content: titles)).there.contains("track"))
    let rule = ContentPolicy.Rule(phones: [anna], level: .app)
    let covered = try keys(MirrorPolicy(content: ContentPolicy(level: .title, rules: [rule])))
    #expect(covered.removed.contains("track"))
    #expect(least.there.union(least.removed) == usual.there.union(usual.removed))
  }

  @Test("The board has its model and the page in its settings; a newer version is shown if apt knows of one")
  func board() throws {
    var board = try MirroredBoard(MirrorPolicy(link: "https://kitchen.lan/"))
    board.mirror.latestVersion = "1.1"
    let told = board.update()
    let device = try JSONValue(parsing: try #require(told.first { $0.topic.hasSuffix("/board/config") }).payload)
    #expect(device["dev"]?["name"] == "Kitchen" && device["dev"]?["mdl"] == "Raspberry Pi 5")
    #expect(device["dev"]?["cu"] == "https://kitchen.lan/")
    #expect(try components(device).contains { $0.key == "update" })
    #expect(told["board"]?["latest"] == "1.1")
  }

  @Test(
    "Names are as Home Assistant's users write them",
    arguments: [
      ("kitchen", "Kitchen"), ("living-room", "Living room"), ("iphone", "iPhone"),
      ("iphone-2", "iPhone 2"), ("7", "7"),
    ])
  func titles(_ name: String, _ title: String) throws {
    #expect(try #require(TopicName(name)).title == title)
  }

  @Test(
    "Versions are compared as apt does",
    arguments: [
      ("0.2.0", "0.10.0"), ("0.2.0", "0.2.0+git20261124.3.gabc"), ("0.2.0+git20261124.3.gabc", "0.3.0"),
      ("1.9", "1.10.1"),
    ])
  func versions(_ older: String, _ newer: String) {
    #expect(PackageList.isOlder(older, than: newer) && !PackageList.isOlder(newer, than: older))
    #expect(!PackageList.isOlder(older, than: older))
    let list = """
      Package: ancsd-mqtt
      Version: 9

      Package: ancsd
      Version: \(newer)
      Depends: x

      Package: ancsd
      Version: \(older)
      """
    #expect(PackageList.versions(of: "ancsd", in: list) == [newer, older])
  }

  @Test("Buttons send what the board performs")
  func buttons() throws {
    var board = try MirroredBoard.begun(MirrorPolicy(allowed: Set(Permission.allCases)))
    _ = try board.tell(notification(category: "incoming-call"))
    _ = try board.tell(notification(uid: 8))
    var desk = RequestDesk()
    let (_, ours, phone) = try devices(MirrorPolicy(allowed: Set(Permission.allCases)))
    let buttons = try (components(ours) + components(phone)).filter { $0.value["p"] == "button" }
    #expect(buttons.count == 20)
    for (key, button) in buttons {
      let message = IncomingMessage(
        topic: try #require(button["cmd_t"]?.string),
        payload: Array(try #require(button["pl_prs"]?.string).utf8))
      let outcome = desk.receive(message, board.mirror, now: .zero, time: MirroredBoard.now)
      #expect(outcome.calls.count == 1 && outcome.publications.isEmpty, "\(key)")
      for (number, _) in outcome.calls { _ = desk.answered(number, ["result": true], board.mirror) }
    }
  }
}
