// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
@testable import Fleet
import JSON
import Testing
import Wire

@Suite("Requests through a broker") struct RequestTests {
  private func ask(
    _ desk: inout RequestDesk, _ board: MirroredBoard, _ method: String, _ payload: String = "",
    phone: String? = "anna", retained: Bool = false, to response: String? = nil
  ) -> RequestDesk.Outcome {
    let topic = "ancsd/kitchen\(phone.map { "/phone/\($0)" } ?? "")/request/\(method)"
    return desk.receive(
      IncomingMessage(
        topic: topic, payload: Array(payload.utf8), isRetained: retained, responseTopic: response,
        correlation: [1, 2]), board.mirror, now: .zero, time: MirroredBoard.now)
  }

  private func served(_ allowed: Set<Permission> = Permission.usual) throws -> MirroredBoard {
    try MirroredBoard.begun(MirrorPolicy(allowed: allowed))
  }

  private func line(_ call: DaemonCall) -> String { String(decoding: call(1), as: UTF8.self) }

  private func text(_ publications: [Publication]) -> String {
    publications.map { String(decoding: $0.payload, as: UTF8.self) }.joined(separator: "\n")
  }

  @Test("A command goes to the daemon for the topic's phone, and its response comes back")
  func command() throws {
    let board = try served()
    var desk = RequestDesk()
    let outcome = ask(
      &desk, board, "media.command", #"{"command":"toggle","transaction":"t1"}"#)
    #expect(outcome.publications == [])
    let call = try #require(outcome.calls.first)
    #expect(
      line(call.call)
        == #"{"jsonrpc":"2.0","id":1,"method":"media.command","params":{"command":"toggle","phone":"C0:11:22:33:44:55"}}"#
    )
    let told = desk.answered(call.number, ["id": 3, "result": true], board.mirror)
    #expect(told.map(\.topic) == ["ancsd/kitchen/phone/anna/response/media.command"])
    #expect(text(told) == #"{"status":"ok","data":true,"transaction":"t1"}"#)
    #expect(told[0].kind == .response(correlation: [1, 2]))
    #expect(desk.deadline == nil)
  }

  @Test("A method may come as levels of the topic, as RabbitMQ makes them")
  func levels() throws {
    let board = try served()
    var desk = RequestDesk()
    for phone in ["anna", nil] {
      let outcome = ask(
        &desk, board, "media/command", #"{"command":"toggle"}"#, phone: phone)
      let told = desk.answered(
        try #require(outcome.calls.first).number, ["result": true], board.mirror)
      let root = "ancsd/kitchen" + (phone.map { "/phone/\($0)" } ?? "")
      #expect(told.map(\.topic) == ["\(root)/response/media.command"])
    }
    for method in ["", "/", "media/", "media//command"] {
      #expect(ask(&desk, board, method).publications == [])
    }
  }

  @Test("The phone's refusal is reported with its ATT error")
  func refusal() throws {
    let board = try served()
    var desk = RequestDesk()
    let outcome = ask(&desk, board, "notifications.act", #"{"uid":7,"action":"negative"}"#)
    let told = desk.answered(
      try #require(outcome.calls.first).number,
      ["id": 1, "error": ["code": 1, "message": "Invalid Parameter", "data": ["att": 162]]],
      board.mirror)
    #expect(
      text(told)
        == #"{"status":"error","error":"Invalid Parameter","code":1,"att":162,"name":"Invalid Parameter"}"#
    )
  }

  @Test("The daemon's errors become sentences of the board's own, without its addresses and paths")
  func errors() throws {
    let board = try served()
    var desk = RequestDesk()
    for code in [1, 2, 3, -32602, -32603] {
      let outcome = ask(&desk, board, "media.command", #"{"command":"toggle"}"#)
      let told = desk.answered(
        try #require(outcome.calls.first).number,
        [
          "id": 1,
          "error": ["code": .number(code), "message": "C0:11:22:33:44:55 of Anna: /var/lib"],
        ],
        board.mirror)
      let response = try JSONValue(parsing: try #require(told.first).payload)
      #expect(response["code"]?.int == Int64(code))
      #expect(response["error"]?.string?.contains(" ") ?? false)
      #expect(!text(told).contains("C0:11") && !text(told).contains("Anna"))
      #expect(!text(told).contains("/var"))
    }
  }

  @Test(
    "What is wrong is answered with the reason, and asks nothing of the daemon",
    arguments: [
      ("media.command", "{", -32602), ("media.command", "[1]", -32602),
      ("media.command", #"{"command":"jump"}"#, -32602), ("media.command", "", -32602),
      ("notifications.act", #"{"uid":-1,"action":"negative"}"#, -32602),
      ("call", #"{"action":"hold"}"#, -32602), ("call", #"{"action":"answer"}"#, 2),
      ("gatt.read", #"{"handle":1}"#, -32601), ("settings", "", -32601),
      ("timeline", "", -32601), ("bridge.report", "", -32601), ("pairing.respond", "", -32601),
      ("pairing.open", "", 4), ("pairing.close", "", 4), ("phones.forget", "", 4),
      ("media.command", String(repeating: " ", count: 9_000), -32602),
    ])
  func wrong(_ method: String, _ payload: String, _ code: Int) throws {
    let board = try served()
    var desk = RequestDesk()
    let outcome = ask(&desk, board, method, payload)
    #expect(outcome.calls.isEmpty)
    let response = try JSONValue(parsing: try #require(outcome.publications.first).payload)
    #expect(response["status"] == "error" && response["code"]?.int == Int64(code))
  }

  @Test("A retained request is refused, whatever it asks for")
  func retained() throws {
    let board = try served()
    var desk = RequestDesk()
    let outcome = ask(&desk, board, "media.command", #"{"command":"toggle"}"#, retained: true)
    #expect(outcome.calls.isEmpty)
    #expect(text(outcome.publications).contains("must not be retained"))
  }

  @Test(
    "A request that says that it was sent long ago is not performed", arguments: [0, 10, 11, -60])
  func late(seconds: Int64) throws {
    let board = try served()
    var desk = RequestDesk()
    let sent = WallTime(seconds: MirroredBoard.now.seconds - seconds).rfc3339
    let outcome = ask(&desk, board, "media.command", #"{"command":"toggle","time":"\#(sent)"}"#)
    #expect(outcome.calls.isEmpty == (seconds > 10))
    #expect(text(outcome.publications).contains(#""code":3"#) == (seconds > 10))
    #expect(ask(&desk, board, "status", #"{"time":5}"#).calls.isEmpty)
    // As docs/mqtt.md and the error have it.
    #expect(ask(&desk, board, "status", #"{"time":"2026-11-24T07:00:00Z"}"#).calls.count == 1)
  }

  @Test(
    "A response goes where the request says, if that is below the board's own topic or a prefix in the settings",
    arguments: [
      ("me/answers", "me/answers"), ("me", nil), ("men/answers", nil), ("a/+/b", nil),
      ("me/#", nil),
      ("", nil), ("me//x", nil), ("zigbee2mqtt/lamp/set", nil),
      ("homeassistant/device/x/config", nil),
      ("$SYS/x", nil), ("ancsd/attic/request/media.command", nil),
      ("ancsd/attic/response/media.command", nil), ("ancsd/kitchen/state", nil),
      ("ancsd/kitchen/phone/response/state", nil), ("ancsd/kitchen/response", nil),
      ("ancsd/kitchen/response/mine", "ancsd/kitchen/response/mine"),
      ("ancsd/kitchen/phone/anna/response/mine", "ancsd/kitchen/phone/anna/response/mine"),
    ])
  func responseTopic(_ wanted: String, _ used: String?) throws {
    let board = try MirroredBoard.begun(MirrorPolicy(responsePrefixes: ["me"]))
    var desk = RequestDesk()
    let outcome = ask(&desk, board, "status", to: wanted)
    #expect(outcome.calls.isEmpty == (used == nil))
    if let used {
      let told = desk.answered(outcome.calls[0].number, ["result": true], board.mirror)
      #expect(told.map(\.topic) == [used])
    } else {
      #expect(outcome.publications.map(\.topic) == ["ancsd/kitchen/phone/anna/response/status"])
    }
  }

  @Test("A response that is longer than the broker allows becomes an error that says so")
  func tooLong() throws {
    let board = try served()
    var desk = RequestDesk()
    let outcome = ask(&desk, board, "notifications.list", #"{"transaction":7}"#)
    let told = desk.answered(
      try #require(outcome.calls.first).number, ["result": ["notifications": []]], board.mirror)
    let shorter = try #require(told.first?.shortened())
    #expect(shorter.topic == told[0].topic && shorter.kind == told[0].kind)
    let response = try JSONValue(parsing: shorter.payload)
    #expect(response["status"] == "error" && response["code"] == 2 && response["transaction"] == 7)
    #expect(shorter.shortened() == nil)
  }

  @Test("Nothing is done that is not allowed")
  func permissions() throws {
    let board = try served([])
    var desk = RequestDesk()
    for method in ["media.command", "call", "clear", "status", "notifications.list"] {
      let outcome = ask(&desk, board, method, #"{"command":"play"}"#)
      #expect(outcome.calls.isEmpty && text(outcome.publications).contains(#""code":4"#))
    }
    let open = try served([.pairing, .forget])
    #expect(ask(&desk, open, "pairing.open", #"{"seconds":60}"#, phone: nil).calls.count == 1)
    let forget = try #require(ask(&desk, open, "phones.forget").calls.first)
    #expect(
      line(forget.call)
        == #"{"jsonrpc":"2.0","id":1,"method":"phones.forget","params":{"phone":"C0:11:22:33:44:55"}}"#
    )
  }

  @Test("A ringing call is answered or declined; with two, the request must say which")
  func call() throws {
    var board = try served()
    var desk = RequestDesk()
    _ = try board.tell(notification(uid: 3, category: "incoming-call"))
    let outcome = ask(&desk, board, "call", #"{"action":"decline"}"#, phone: nil)
    #expect(
      line(try #require(outcome.calls.first).call)
        == #"{"jsonrpc":"2.0","id":1,"method":"notifications.act","params":{"uid":3,"action":"negative","phone":"C0:11:22:33:44:55"}}"#
    )
    _ = try board.tell(notification(uid: 4, category: "incoming-call"))
    #expect(ask(&desk, board, "call", #"{"action":"answer"}"#).calls.isEmpty)
  }

  @Test("Clear all clears whatever can be cleared, and ends no call; the response has the count")
  func clear() throws {
    var board = try served()
    var desk = RequestDesk()
    _ = try board.tell(notification(uid: 1))
    _ = try board.tell(notification(uid: 2, category: "email", app: "com.apple.mobilemail"))
    _ = try board.tell(notification(uid: 3, flags: []))
    _ = try board.tell(notification(uid: 4, category: "incoming-call"))
    #expect(ask(&desk, board, "clear", #"{"category":"email"}"#).calls.count == 1)
    #expect(ask(&desk, board, "clear", #"{"app":"com.apple.mobilesms"}"#).calls.count == 1)
    let outcome = ask(&desk, board, "clear")
    #expect(outcome.calls.count == 2)
    #expect(desk.answered(outcome.calls[0].number, ["result": true], board.mirror) == [])
    let told = desk.answered(
      outcome.calls[1].number, ["error": ["code": 1, "message": "gone"]], board.mirror)
    #expect(text(told) == #"{"status":"ok","data":{"done":1}}"#)
  }

  @Test(
    "No request tells which apps have notifications where the settings name none",
    arguments: ["clear", "notifications.list"])
  func unnamedApps(method: String) throws {
    var board = try MirroredBoard.begun(MirrorPolicy(content: ContentPolicy(level: .none)))
    _ = try board.tell(notification())
    var desk = RequestDesk()
    let app = ask(&desk, board, method, #"{"app":"com.apple.MobileSMS"}"#)
    #expect(app.calls.isEmpty && text(app.publications).contains(#""code":4"#))
    #expect(ask(&desk, board, method).calls.count == 1)
    // Another rule names apps, but not this one.
    let rule = ContentPolicy.Rule(apps: [Glob("com.apple.MobileSMS")], level: .none)
    board = try MirroredBoard.begun(
      MirrorPolicy(content: ContentPolicy(level: .app, rules: [rule])))
    _ = try board.tell(notification())
    #expect(ask(&desk, board, "clear", #"{"app":"com.apple.MobileSMS"}"#).calls.isEmpty)
  }

  @Test("A list respects the content setting, and has names instead of addresses")
  func list() throws {
    let board = try served()
    var desk = RequestDesk()
    let outcome = ask(&desk, board, "notifications.list")
    let element = try JSONValue(parsing: Array(notification().utf8))
    let told = desk.answered(
      try #require(outcome.calls.first).number,
      ["result": ["notifications": .array([element]), "next": "x"]], board.mirror)
    let response = try JSONValue(parsing: try #require(told.first).payload)
    let listed = try #require(response["data"]?["notifications"]?.array?.first)
    #expect(listed["phone"] == "anna" && listed["app"] == "Messages")
    #expect(response["data"]?["next"] == "x")
    #expect(!text(told).contains("Mum") && !text(told).contains("C0:11"))
  }

  @Test("The status has no address and no name of a phone")
  func status() throws {
    let board = try served()
    var desk = RequestDesk()
    let outcome = ask(&desk, board, "status", phone: nil)
    let told = desk.answered(
      try #require(outcome.calls.first).number,
      ["result": try JSONValue(parsing: board.status.json)], board.mirror)
    let response = try JSONValue(parsing: try #require(told.first).payload)
    #expect(response["data"]?["links"]?.array?.first?["phone"] == "anna")
    #expect(response["data"]?["links"]?.array?.first?["battery"] == 80)
    #expect(!text(told).contains("iPhone") && !text(told).contains("C0:11"))
  }

  @Test("Sixteen requests may be under way, each for 30 s")
  func limits() throws {
    let board = try served()
    var desk = RequestDesk()
    for _ in 0..<16 { #expect(ask(&desk, board, "status").calls.count == 1) }
    #expect(text(ask(&desk, board, "status").publications).contains(#""code":3"#))
    #expect(desk.deadline == .zero + .seconds(30))
    #expect(desk.timeUp(now: .zero + .seconds(29)) == [])
    #expect(desk.timeUp(now: .zero + .seconds(30)).count == 16)
    #expect(desk.deadline == nil)
    // What comes too late is no response to anything.
    #expect(desk.answered(1, ["result": true], board.mirror) == [])
    #expect(ask(&desk, board, "status").calls.count == 1)
    #expect(text(desk.daemonLeft()).contains("the daemon has exited"))
  }

  @Test("What is no request of this board is left alone")
  func otherTopics() throws {
    let board = try served()
    var desk = RequestDesk()
    for topic in [
      "ancsd/kitchen2/request/status", "ancsd/kitchen/request", "ancsd/kitchen/request/",
      "ancsd/kitchen/phone/anna/status", "ancsd/kitchen/phone/ANNA/request/status",
      "ancsd/kitchen/response/status", "x",
    ] {
      let message = IncomingMessage(topic: topic, payload: [])
      let outcome = desk.receive(message, board.mirror, now: .zero, time: MirroredBoard.now)
      #expect(outcome.calls.isEmpty && outcome.publications.isEmpty)
    }
  }
}
