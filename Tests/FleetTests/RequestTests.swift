// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
@testable import Fleet
import JSON
import Testing
import Wire

@Suite("Requests through a broker") struct RequestTests {
  /// A board, and a client of the broker that asks it.
  private struct Client {
    var board: MirroredBoard
    var desk = RequestDesk()

    init(_ board: MirroredBoard) { self.board = board }
    init(allowed: Set<Permission> = Permission.usual) throws {
      self.init(try MirroredBoard.begun(MirrorPolicy(allowed: allowed)))
    }

    mutating func ask(
      _ method: String, _ payload: String = "", phone: String? = "anna", retained: Bool = false,
      to response: String? = nil
    ) -> RequestDesk.Outcome {
      let topic = "ancsd/kitchen\(phone.map { "/phone/\($0)" } ?? "")/request/\(method)"
      return desk.receive(
        IncomingMessage(
          topic: topic, payload: Array(payload.utf8), isRetained: retained, responseTopic: response,
          correlation: [1, 2]), board.mirror, now: .zero, time: MirroredBoard.now)
    }

    /// The code of the error of a request that asks nothing of the daemon.
    mutating func refusal(_ method: String, _ payload: String = "", retained: Bool = false) -> Int? {
      let outcome = ask(method, payload, retained: retained)
      guard outcome.calls.isEmpty, let refusal = outcome.publications.first else { return nil }
      return (try? JSONValue(parsing: refusal.payload)["code"]?.int).map { Int($0) }
    }

    /// What is published once the daemon has answered the first call of a request.
    mutating func answered(_ outcome: RequestDesk.Outcome, _ answer: JSONValue) throws -> [Publication] {
      desk.answered(try #require(outcome.calls.first).number, answer, board.mirror)
    }
  }

  private func line(_ call: DaemonCall) -> String { String(decoding: call(1), as: UTF8.self) }

  private func text(_ publications: [Publication]) -> String {
    publications.map { String(decoding: $0.payload, as: UTF8.self) }.joined(separator: "\n")
  }

  @Test("A command goes to the daemon for the topic's phone, and its response comes back")
  func command() throws {
    var client = try Client()
    let outcome = client.ask("media.command", #"{"command":"toggle","transaction":"t1"}"#)
    #expect(outcome.publications == [])
    #expect(
      line(try #require(outcome.calls.first).call)
        == #"{"jsonrpc":"2.0","id":1,"method":"media.command","params":{"command":"toggle","phone":"C0:11:22:33:44:55"}}"#
    )
    let told = try client.answered(outcome, ["id": 3, "result": true])
    #expect(told.map(\.topic) == ["ancsd/kitchen/phone/anna/response/media.command"])
    #expect(text(told) == #"{"status":"ok","data":true,"transaction":"t1"}"#)
    #expect(told[0].kind == .response(correlation: [1, 2]))
    #expect(client.desk.deadline == nil)
  }

  @Test("A method may come as levels of the topic, as RabbitMQ makes them")
  func levels() throws {
    var client = try Client()
    for phone in ["anna", nil] {
      let outcome = client.ask("media/command", #"{"command":"toggle"}"#, phone: phone)
      let told = try client.answered(outcome, ["result": true])
      let root = "ancsd/kitchen" + (phone.map { "/phone/\($0)" } ?? "")
      #expect(told.map(\.topic) == ["\(root)/response/media.command"])
    }
  }

  @Test("The phone's refusal is reported with its ATT error")
  func refusal() throws {
    var client = try Client()
    let outcome = client.ask("notifications.act", #"{"uid":7,"action":"negative"}"#)
    let told = try client.answered(
      outcome, ["id": 1, "error": ["code": 1, "message": "Invalid Parameter", "data": ["att": 162]]])
    #expect(
      text(told) == #"{"status":"error","error":"Invalid Parameter","code":1,"att":162,"name":"Invalid Parameter"}"#)
  }

  @Test("The daemon's errors become sentences of the board's own, without its addresses and paths")
  func errors() throws {
    var client = try Client()
    let message: JSONValue = "C0:11:22:33:44:55 of Anna: /var/lib"
    for code in [1, 2, 3, -32602, -32603] {
      let outcome = client.ask("media.command", #"{"command":"toggle"}"#)
      let told = try client.answered(outcome, ["error": ["code": .number(code), "message": message]])
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
      ("notifications.act", #"{"uid":-1,"action":"negative"}"#, -32602), ("call", #"{"action":"hold"}"#, -32602),
      ("call", #"{"action":"answer"}"#, 2), ("gatt.read", #"{"handle":1}"#, -32601), ("settings", "", -32601),
      ("timeline", "", -32601), ("bridge.report", "", -32601), ("pairing.respond", "", -32601), ("pairing.open", "", 4),
      ("pairing.close", "", 4), ("phones.forget", "", 4),
      ("media.command", String(repeating: " ", count: 9_000), -32602),
    ])
  func wrong(_ method: String, _ payload: String, _ code: Int) throws {
    var client = try Client()
    #expect(client.refusal(method, payload) == code)
    // One that is retained is refused, whatever it asks for.
    #expect(client.refusal("status", retained: true) == 4)
  }

  @Test(
    "A request that says that it was sent long ago is not performed", arguments: [0, 10, 11, -60])
  func late(seconds: Int64) throws {
    var client = try Client()
    let sent = WallTime(seconds: MirroredBoard.now.seconds - seconds).rfc3339
    let request = #"{"command":"toggle","time":"\#(sent)"}"#
    #expect(client.refusal("media.command", request) == (seconds > 10 ? 3 : nil))
    #expect(client.refusal("status", #"{"time":5}"#) == -32602)
    // As docs/mqtt.md and the error have it.
    #expect(client.ask("status", #"{"time":"2026-11-24T07:00:00Z"}"#).calls.count == 1)
  }

  @Test(
    "A response goes where the request says, if that is below the board's own topic or a prefix in the settings",
    arguments: [
      ("me/answers", "me/answers"), ("me", nil), ("men/answers", nil), ("a/+/b", nil), ("me/#", nil), ("", nil),
      ("me//x", nil), ("zigbee2mqtt/lamp/set", nil),
      // A sign with an accent is a wildcard all the same.
      ("me/#\u{301}", nil), ("ancsd/kitchen/response/+\u{301}", nil), ("me" + String(repeating: "/x", count: 200), nil),
      ("homeassistant/device/x/config", nil), ("$SYS/x", nil), ("ancsd/attic/request/media.command", nil),
      ("ancsd/attic/response/media.command", nil), ("ancsd/kitchen/state", nil),
      ("ancsd/kitchen/phone/response/state", nil), ("ancsd/kitchen/response", nil),
      ("ancsd/kitchen/response/mine", "ancsd/kitchen/response/mine"),
      ("ancsd/kitchen/phone/anna/response/mine", "ancsd/kitchen/phone/anna/response/mine"),
    ])
  func responseTopic(_ wanted: String, _ used: String?) throws {
    var client = Client(try MirroredBoard.begun(MirrorPolicy(responsePrefixes: ["me"])))
    let outcome = client.ask("status", to: wanted)
    #expect(outcome.calls.isEmpty == (used == nil))
    if let used {
      let told = try client.answered(outcome, ["result": true])
      #expect(told.map(\.topic) == [used])
    } else {
      #expect(outcome.publications.map(\.topic) == ["ancsd/kitchen/phone/anna/response/status"])
    }
  }

  @Test("A response that is longer than the broker allows becomes an error that says so")
  func tooLong() throws {
    var client = try Client()
    let outcome = client.ask("notifications.list", #"{"transaction":7}"#)
    let told = try client.answered(outcome, ["result": ["notifications": []]])
    let shorter = try #require(told.first?.shortened())
    #expect(shorter.topic == told[0].topic && shorter.kind == told[0].kind)
    let response = try JSONValue(parsing: shorter.payload)
    #expect(response["status"] == "error" && response["code"] == 2 && response["transaction"] == 7)
    #expect(shorter.shortened() == nil)
  }

  /// That each permission allows its requests is shown with Home Assistant's buttons.
  @Test("Nothing is done that is not allowed")
  func permissions() throws {
    var client = try Client(allowed: [])
    for method in ["media.command", "call", "clear", "status", "notifications.list"] {
      #expect(client.refusal(method, #"{"command":"play"}"#) == 4)
    }
  }

  @Test("A ringing call is answered or declined; with two, the request must say which")
  func call() throws {
    var client = try Client()
    _ = try client.board.tell(notification(uid: 3, category: "incoming-call"))
    let outcome = client.ask("call", #"{"action":"decline"}"#, phone: nil)
    #expect(
      line(try #require(outcome.calls.first).call)
        == #"{"jsonrpc":"2.0","id":1,"method":"notifications.act","params":{"uid":3,"action":"negative","phone":"C0:11:22:33:44:55"}}"#
    )
    _ = try client.board.tell(notification(uid: 4, category: "incoming-call"))
    #expect(client.ask("call", #"{"action":"answer"}"#).calls.isEmpty)
  }

  @Test("Clear all clears whatever can be cleared, and ends no call; the response has the count")
  func clear() throws {
    var client = try Client()
    _ = try client.board.tell(notification(uid: 1))
    _ = try client.board.tell(notification(uid: 2, category: "email", app: "com.apple.mobilemail"))
    _ = try client.board.tell(notification(uid: 3, flags: []))
    _ = try client.board.tell(notification(uid: 4, category: "incoming-call"))
    #expect(client.ask("clear", #"{"category":"email"}"#).calls.count == 1)
    #expect(client.ask("clear", #"{"app":"com.apple.mobilesms"}"#).calls.count == 1)
    let outcome = client.ask("clear")
    #expect(outcome.calls.count == 2)
    #expect(try client.answered(outcome, ["result": true]) == [])
    let told = client.desk.answered(
      outcome.calls[1].number, ["error": ["code": 1, "message": "gone"]], client.board.mirror)
    #expect(text(told) == #"{"status":"ok","data":{"done":1}}"#)
  }

  @Test(
    "No request tells which apps have notifications where the settings name none",
    arguments: ["clear", "notifications.list"])
  func unnamedApps(method: String) throws {
    var client = Client(try MirroredBoard.begun(MirrorPolicy(content: ContentPolicy(level: .none))))
    _ = try client.board.tell(notification())
    #expect(client.refusal(method, #"{"app":"com.apple.MobileSMS"}"#) == 4)
    #expect(client.ask(method).calls.count == 1)
    // Another rule names apps, but not this one.
    let rule = ContentPolicy.Rule(apps: [Glob("com.apple.MobileSMS")], level: .none)
    client.board = try MirroredBoard.begun(MirrorPolicy(content: ContentPolicy(level: .app, rules: [rule])))
    _ = try client.board.tell(notification())
    #expect(client.ask("clear", #"{"app":"com.apple.MobileSMS"}"#).calls.isEmpty)
  }

  @Test("A list respects the content setting, and has names instead of addresses")
  func list() throws {
    var client = try Client()
    let outcome = client.ask("notifications.list")
    let element = try JSONValue(parsing: Array(notification().utf8))
    let told = try client.answered(outcome, ["result": ["notifications": .array([element]), "next": "x"]])
    let response = try JSONValue(parsing: try #require(told.first).payload)
    let listed = try #require(response["data"]?["notifications"]?.array?.first)
    #expect(listed["phone"] == "anna" && listed["app"] == "Messages")
    #expect(response["data"]?["next"] == "x")
    #expect(!text(told).contains("Mum") && !text(told).contains("C0:11"))
  }

  @Test("The status has no address and no name of a phone")
  func status() throws {
    var client = try Client()
    let outcome = client.ask("status", phone: nil)
    let told = try client.answered(outcome, ["result": try JSONValue(parsing: client.board.status.json)])
    let response = try JSONValue(parsing: try #require(told.first).payload)
    #expect(response["data"]?["links"]?.array?.first?["phone"] == "anna")
    #expect(response["data"]?["links"]?.array?.first?["battery"] == 80)
    #expect(!text(told).contains("iPhone") && !text(told).contains("C0:11"))
  }

  @Test("Sixteen requests may be under way, each for 30 s")
  func limits() throws {
    var client = try Client()
    for _ in 0..<16 { #expect(client.ask("status").calls.count == 1) }
    #expect(client.refusal("status") == 3)
    #expect(client.desk.deadline == .zero + .seconds(30))
    #expect(client.desk.timeUp(now: .zero + .seconds(29)) == [])
    #expect(client.desk.timeUp(now: .zero + .seconds(30)).count == 16)
    #expect(client.desk.deadline == nil)
    // What comes too late is no response to anything.
    #expect(client.desk.answered(1, ["result": true], client.board.mirror) == [])
    #expect(client.ask("status").calls.count == 1)
    #expect(text(client.desk.daemonLeft()).contains("the daemon has exited"))
  }

  @Test("What is no request of this board is left alone")
  func otherTopics() throws {
    var client = try Client()
    for topic in [
      "ancsd/kitchen2/request/status", "ancsd/kitchen/request", "ancsd/kitchen/request/", "ancsd/kitchen/request//",
      "ancsd/kitchen/request/media/", "ancsd/kitchen/request/media//command", "ancsd/kitchen/phone/anna/request/",
      "ancsd/kitchen/phone/anna/status", "ancsd/kitchen/phone/ANNA/request/status", "ancsd/kitchen/response/status",
      "x",
    ] {
      let message = IncomingMessage(topic: topic, payload: [])
      let outcome = client.desk.receive(message, client.board.mirror, now: .zero, time: MirroredBoard.now)
      #expect(outcome.calls.isEmpty && outcome.publications.isEmpty)
    }
  }
}
