// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import Fleet
import JSON
import Testing
import Wire

@Suite("Home Assistant discovery") struct DiscoveryTests {
  private func devices(
    _ policy: MirrorPolicy = MirrorPolicy()
  ) throws -> (topics: [String], board: JSONValue, phone: JSONValue) {
    var board = try MirroredBoard(policy)
    let told = board.mirror.update(board.status).filter { $0.topic.hasPrefix("homeassistant/") }
    #expect(told.count == 2)
    return (
      told.topics, try JSONValue(parsing: told[0].payload), try JSONValue(parsing: told[1].payload)
    )
  }

  private func components(_ device: JSONValue) throws -> [(key: String, value: JSONObject)] {
    try #require(device["cmps"]?.object).members.map { ($0.name, try #require($0.value.object)) }
  }

  @Test("The board's device comes before its phones', each below the board's name")
  func topics() throws {
    let (topics, board, phone) = try devices()
    #expect(
      topics == [
        "homeassistant/device/kitchen/board/config",
        "homeassistant/device/kitchen/anna/config",
      ])
    #expect(board["dev"]?["ids"] == ["ancsd-kitchen"])
    #expect(phone["dev"]?["ids"] == ["ancsd-kitchen-anna"])
    #expect(phone["dev"]?["via_device"] == "ancsd-kitchen")
    #expect(phone["avty"]?.array?.count == 2 && phone["avty_mode"] == "all")
  }

  @Test("There is no key that an older version refuses: at the top and in dev, only these")
  func keys() throws {
    let (_, board, phone) = try devices()
    for device in [board, phone] {
      let top = Set(try #require(device.object).members.map(\.name))
      #expect(top == ["dev", "o", "avty", "avty_mode", "cmps"])
      let dev = Set(try #require(device["dev"]?.object).members.map(\.name))
      #expect(dev.isSubset(of: ["ids", "name", "mf", "mdl", "sw", "via_device"]))
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
      #expect(ids.insert(id).inserted && id.hasPrefix("ancsd-kitchen-"))
    }
    #expect(!"\(board)\(phone)".contains("C0:11"))
    // These are names that Home Assistant keeps what it knows under: they never change.
    for id in [
      "ancsd-kitchen-board-wait", "ancsd-kitchen-board-problem", "ancsd-kitchen-board-pair",
      "ancsd-kitchen-anna-notification", "ancsd-kitchen-anna-call", "ancsd-kitchen-anna-ringing",
      "ancsd-kitchen-anna-notifications", "ancsd-kitchen-anna-count-missed-call",
      "ancsd-kitchen-anna-battery", "ancsd-kitchen-anna-connected",
      "ancsd-kitchen-anna-authorization", "ancsd-kitchen-anna-signal",
      "ancsd-kitchen-anna-player", "ancsd-kitchen-anna-volume", "ancsd-kitchen-anna-repeat",
      "ancsd-kitchen-anna-shuffle", "ancsd-kitchen-anna-media-toggle",
      "ancsd-kitchen-anna-answer", "ancsd-kitchen-anna-decline", "ancsd-kitchen-anna-clear",
    ] { #expect(ids.contains(id), "\(id)") }
  }

  @Test("What is withheld or not allowed has no entity")
  func policy() throws {
    let (_, board, phone) = try devices(MirrorPolicy(allowed: [.read]))
    let keys = Set(try (components(board) + components(phone)).map(\.key))
    #expect(!keys.contains { $0.hasPrefix("media-") || $0 == "answer" || $0 == "pair" })
    #expect(!keys.contains("track") && keys.contains("player"))
    let (_, _, titled) = try devices(MirrorPolicy(content: ContentPolicy(.title)))
    #expect(try components(titled).contains { $0.key == "track" })
  }

  @Test("Buttons send what the board performs")
  func buttons() throws {
    var board = try MirroredBoard(MirrorPolicy(allowed: Set(Permission.allCases)))
    board.begin()
    _ = try board.tell(notification(category: "incoming-call"))
    _ = try board.tell(notification(uid: 8))
    var desk = RequestDesk()
    let (_, ours, phone) = try devices(MirrorPolicy(allowed: Set(Permission.allCases)))
    let buttons = try (components(ours) + components(phone)).filter { $0.value["p"] == "button" }
    #expect(buttons.count == 18)
    for (key, button) in buttons {
      let message = IncomingMessage(
        topic: try #require(button["cmd_t"]?.string),
        payload: Array(try #require(button["pl_prs"]?.string).utf8))
      let outcome = desk.receive(message, board.mirror, now: .zero)
      #expect(outcome.calls.count == 1 && outcome.publications.isEmpty, "\(key)")
      for (number, _) in outcome.calls {
        _ = desk.answered(number, ["result": true], board.mirror)
      }
    }
  }

  @Test("Discovery is not published if it is disabled")
  func none() throws {
    var board = try MirroredBoard(MirrorPolicy(discovery: nil))
    let told = board.mirror.update(board.status)
    #expect(!told.contains { $0.topic.hasPrefix("homeassistant") })
  }
}
