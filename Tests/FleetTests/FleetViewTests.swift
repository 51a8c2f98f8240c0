// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import JSON
import Testing
import Wire

@testable import Fleet

@Suite("All boards")
struct FleetViewTests {
  private static let messages = [
    ("ancsd/kitchen/state", #"{"state":"online","life":"2f","version":"0.3.0"}"#),
    (
      "ancsd/kitchen/board",
      #"{"wait":"news","why":"all is well","problem":false,"pairable":false,"version":"0.3.0"}"#
    ),
    (
      "ancsd/kitchen/phone/iphone/state",
      #"{"state":"online","authorization":"granted","services":["ancs"],"rssi":-58}"#
    ), ("ancsd/kitchen/phone/iphone/battery", #"{"level":80}"#),
    ("ancsd/kitchen/phone/iphone/counts", #"{"total":3,"categories":{}}"#),
    ("ancsd/kitchen/phone/anna/state", #"{"state":"offline","authorization":null,"services":[]}"#),
    ("ancsd/attic/state", #"{"state":"offline","why":"the daemon is not running"}"#),
  ]

  private static func view(_ messages: [(String, String)] = messages) -> FleetView {
    var view = FleetView(prefix: "ancsd")
    for message in messages { _ = receive(message, in: &view) }
    return view
  }

  /// - Returns: whether the message has changed anything.
  private static func receive(_ message: (String, String), in view: inout FleetView) -> Bool {
    view.receive(message.0, Array(message.1.utf8))
  }

  @Test("A message says whether anything has changed; an empty state removes a phone, or a board")
  func changes() {
    var view = Self.view()
    let battery = Self.messages[3]
    #expect(!Self.receive(battery, in: &view))
    #expect(Self.receive((battery.0, #"{"level":79}"#), in: &view))
    #expect(Self.receive(("ancsd/kitchen/phone/anna/state", ""), in: &view))
    #expect(view.all.last?.phones.map(\.phone) == ["iphone"])
    #expect(Self.receive(("ancsd/attic/state", ""), in: &view))
    #expect(view.all.map(\.board) == ["kitchen"])
    for topic in ["ancsd/attic/state", "ancsd/attic/board", "ancsd/attic/phone/anna/battery"] {
      #expect(!Self.receive((topic, ""), in: &view) && view.all.count == 1)
    }
  }

  @Test(
    "The phones of a board that was killed are unknown, except what ages slowly, until it is back")
  func killed() {
    var view = Self.view()
    let before = view.all[1]
    let call = "ancsd/kitchen/phone/iphone/call"
    _ = Self.receive((call, #"{"state":"ringing","app":"Phone"}"#), in: &view)
    _ = Self.receive(("ancsd/kitchen/state", #"{"state":"offline"}"#), in: &view)
    let phone = view.all[1].phones[1]
    #expect(phone.state == .unknown && phone.authorization == nil && phone.call == nil)
    #expect(phone.rssi == nil && phone.battery == 80 && phone.notifications == 3)
    let text = view.table(TextStyle())
    #expect(!text.contains("online") && !text.contains("ringing"))
    _ = Self.receive((call, #"{"state":"idle"}"#), in: &view)
    _ = Self.receive(Self.messages[0], in: &view)
    #expect(view.all[1].phones[1].state == .online && view.all[1].phones[0] == before.phones[0])
  }

  @Test(
    "What nobody of ours has written changes nothing",
    arguments: [
      ("other/kitchen/state", "{}"), ("ancsd/K\u{fc}che/state", "{}"), ("ancsd/kitchen", "{}"),
      ("ancsd/kitchen/x", "{}"), ("ancsd/kitchen/state", "online"), ("ancsd/kitchen/state", "[1]"),
      ("ancsd/kitchen/phone/UP/state", "{}"), ("ancsd//state", "{}"), ("ancsd/kitchen/phone/x", "{}"),
      ("ancsd/kitchen/event/x/y", "{}"), ("ancsd/kitchen/state/x", "{}"),
    ])
  func strange(topic: String, payload: String) {
    var view = FleetView(prefix: "ancsd")
    #expect(!Self.receive((topic, payload), in: &view) && view.all.isEmpty)
  }

  @Test("A text in a state can't drive the terminal")
  func controlCharacters() {
    let view = Self.view([("ancsd/x/state", #"{"state":"offline","why":"a\u001B[31mb"}"#)])
    #expect(!view.table(TextStyle()).contains("\u{1B}"))
  }

  @Test(
    "Words become requests",
    arguments: [
      (["media"], "media.get", "{}"), (["media", "pause"], "media.command", #"{"command":"pause"}"#),
      (["media", "Stop"], "media.command", #"{"command":"pause"}"#),
      (["act", "#12", "positive"], "notifications.act", #"{"uid":12,"action":"positive"}"#),
      (["act", "answer"], "call", #"{"action":"answer"}"#),
      (["act", "7", "negative"], "notifications.act", #"{"uid":7,"action":"negative"}"#),
      (["act", "4294967295", "positive"], "notifications.act", #"{"uid":4294967295,"action":"positive"}"#),
      (["list"], "notifications.list", "{}"), (["clear"], "clear", "{}"),
    ])
  func words(_ words: [String], method: String, parameters: String) throws {
    let request = try FleetRequest(words)
    #expect(request.method == method)
    #expect(JSONValue.object(request.parameters).text == parameters)
  }

  @Test(
    "Words that are none",
    arguments: [
      [], ["dance"], ["media", "dance"], ["act"], ["act", "7"], ["act", "x", "negative"],
      ["act", "7", "open"], ["list", "all"], ["media", "pause", "now"],
    ])
  func misuse(_ words: [String]) {
    #expect(throws: Failure.self) { try FleetRequest(words) }
  }

  @Test(
    "A response is shown as far as the board tells, and counts only with its transaction",
    arguments: [
      (#""ok","data":true"#, "kitchen: done"), (#""ok","data":{"done":3}"#, "kitchen: 3 done"),
      (#""error","error":"no call rings","code":2"#, "kitchen: no call rings"),
      (
        #""ok","data":{"notifications":[{"phone":"iphone","change":"added","uid":7,"#
          + #""category":"social","category_count":1,"flags":[],"app_id":"com.apple.MobileSMS","#
          + #""app":"Messages","withheld":["title"]}]}"#, "Messages"
      ),
      (#""ok","data":{"player":{"state":"paused"},"withheld":["queue","track"]}"#, "paused"),
      (
        #""ok","data":{"player":{"name":"Music","state":"playing"},"queue":{},"withheld":["track"]}"#,
        "(Music)"
      ),
    ])
  func responses(_ status: String, _ shown: String) throws {
    let payload = Array(#"{"status":\#(status),"transaction":"t1"}"#.utf8)
    let board = try #require(TopicName("kitchen"))
    let response = try #require(FleetResponse(payload, transaction: "t1", board: board))
    #expect(response.isDone == status.hasPrefix(#""ok""#))
    let text = response.text(TextStyle(), now: WallTime(seconds: 1_795_236_000))
    #expect(text.hasPrefix("kitchen:") && text.contains(shown))
    #expect(FleetResponse(payload, transaction: "t2", board: board) == nil)
    #expect(FleetResponse(Array(payload.dropLast()), transaction: "t1", board: board) == nil)
  }

  @Test("A list that comes in parts is one list; a part that is refused stays a refusal")
  func parts() throws {
    func response(_ rest: String) throws -> FleetResponse {
      try #require(FleetResponse(Array(#"{"transaction":"t",\#(rest)}"#.utf8), transaction: "t", board: .board))
    }
    let first = try response(#""status":"ok","data":{"notifications":[{"uid":1}],"next":"1"}"#)
    let last = try response(#""status":"ok","data":{"notifications":[{"uid":2}]}"#).following(first)
    #expect(first.next == "1" && last.next == nil && first.following(nil) == first)
    #expect(last.data == ["notifications": [["uid": 1], ["uid": 2]]])
    let refused = try response(#""status":"error","error":"too many requests""#)
    #expect(refused.following(first) == refused)
  }
}
