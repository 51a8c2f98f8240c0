// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import JSON
import Mgmt
import Testing

@testable import Daemon

@Suite("The control socket's protocol")
struct ControlTests {
  private let session = ControlSession()

  private func receive(_ line: String) -> ControlSession.Input { session.receive(Array(line.utf8)) }

  private func reply(_ line: String) -> String? {
    guard case .reply(let bytes) = receive(line) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  static let requests: [(ControlRequest, String)] = [
    (.status, #""method":"status""#),
    (.subscribe(Subscription()), #""method":"subscribe""#),
    (
      .subscribe(Subscription(events: [.incoming, .battery], replay: true, since: 12)),
      #""method":"subscribe","params":{"events":["battery","incoming"],"replay":true,"since":12}"#
    ),
    (.listNotifications(NotificationQuery()), #""method":"notifications.list""#),
    (
      .listNotifications(
        NotificationQuery(
          phone: PhoneSelector("C0:11:22:33:44:55"), app: Glob("com.apple.*"),
          category: Category(rawValue: 12))),
      #""method":"notifications.list","params":{"phone":"C0:11:22:33:44:55","#
        + #""app":"com.apple.*","category":12}"#
    ),
    (
      .getNotification(4_294_967_295, attributes: [.title, .message], phone: nil),
      #""method":"notifications.get","params":{"uid":4294967295,"attributes":["title","message"]}"#
    ),
    (
      .act(7, .negative, phone: PhoneSelector("Anna’s iPhone")),
      #""method":"notifications.act","params":{"uid":7,"action":"negative","#
        + #""phone":"Anna’s iPhone"}"#
    ),
    (
      .getApp(identifier: "com.apple.MobileSMS", phone: nil),
      #""method":"apps.get","params":{"app_id":"com.apple.MobileSMS"}"#
    ),
    (.listApps(phone: nil), #""method":"apps.list""#),
    (.getMedia(phone: nil), #""method":"media.get""#),
    (
      .command(.skipForward, phone: nil),
      #""method":"media.command","params":{"command":"skip-forward"}"#
    ),
    (.listPhones, #""method":"phones.list""#),
    (.forget(PhoneSelector("x")), #""method":"phones.forget","params":{"phone":"x"}"#),
    (.openPairing(seconds: 60), #""method":"pairing.open","params":{"seconds":60}"#),
    (.openPairing(seconds: nil), #""method":"pairing.open""#),
    (.closePairing, #""method":"pairing.close""#),
    (
      .respond(accept: true, passkey: Passkey(value: 42)),
      #""method":"pairing.respond","params":{"accept":true,"passkey":"000042"}"#
    ),
    (.discover(phone: nil), #""method":"gatt.discover""#),
    (.known, #""method":"gatt.known""#),
    (.read(handle: 3, phone: nil), #""method":"gatt.read","params":{"handle":3}"#),
    (
      .write(handle: 0xFFFF, value: [1, 0xAB], command: true, phone: nil),
      #""method":"gatt.write","params":{"handle":65535,"value":"01ab","command":true}"#
    ),
  ]

  @Test("Every request is written as documented, and read back", arguments: requests)
  func roundTrip(request: ControlRequest, members: String) {
    let line = request.json(id: .number(1)).text
    #expect(line == #"{"jsonrpc":"2.0","id":1,"# + members + "}")
    #expect(receive(line) == .request(request, .number(1)))
  }

  @Test("Every method has an example here")
  func complete() {
    #expect(
      Set(Self.requests.map { $0.0.method }) == Set(ControlRequest.Method.allCases))
  }

  @Test("An id is kept as it came; without one no answer is wanted")
  func ids() {
    #expect(
      receive(#"{"jsonrpc":"2.0","id":"a","method":"status"}"#) == .request(.status, .string("a")))
    #expect(receive(#"{"jsonrpc":"2.0","id":null,"method":"status"}"#) == .request(.status, .null))
    #expect(
      receive(#"{"jsonrpc":"2.0","id":1.5,"method":"status"}"#) == .request(.status, .number(1.5)))
    #expect(receive(#"{"jsonrpc":"2.0","method":"status"}"#) == .request(.status, nil))
    #expect(receive(#"{"jsonrpc":"2.0","method":"dance"}"#) == .nothing)
    #expect(receive(" \t\r") == .nothing)
  }

  @Test(
    "What is malformed is answered with JSON-RPC's own codes",
    arguments: [
      ("{", "null", -32700), ("\u{FEFF}nonsense", "null", -32700),
      ("[]", "null", -32600), (#"[{"jsonrpc":"2.0","id":1,"method":"status"}]"#, "null", -32600),
      ("3", "null", -32600), (#"{"id":1,"method":"status"}"#, "1", -32600),
      (#"{"jsonrpc":"1.0","id":1,"method":"status"}"#, "1", -32600),
      (#"{"jsonrpc":"2.0","id":[1],"method":"status"}"#, "null", -32600),
      (#"{"jsonrpc":"2.0","id":1}"#, "1", -32600),
      (#"{"jsonrpc":"2.0","id":1,"method":2}"#, "1", -32600),
      (#"{"jsonrpc":"2.0","id":"x","method":"dance"}"#, #""x""#, -32601),
      (#"{"jsonrpc":"2.0","id":1,"method":"status","params":[1]}"#, "1", -32602),
      (#"{"jsonrpc":"2.0","id":1,"method":"status","params":3}"#, "1", -32602),
      (#"{"jsonrpc":"2.0","id":1,"method":"notifications.act","params":{"uid":1}}"#, "1", -32602),
      (
        #"{"jsonrpc":"2.0","id":1,"method":"notifications.get","params":{"uid":-1}}"#, "1", -32602
      ),
      (
        #"{"jsonrpc":"2.0","id":1,"method":"notifications.get","params":{"uid":4294967296}}"#, "1",
        -32602
      ),
      (
        #"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"events":["dance"]}}"#, "1",
        -32602
      ),
      (#"{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"since":-1}}"#, "1", -32602),
      (
        #"{"jsonrpc":"2.0","id":1,"method":"media.command","params":{"command":"x"}}"#, "1", -32602
      ),
      (
        #"{"jsonrpc":"2.0","id":1,"method":"pairing.respond","params":{"accept":true,"#
          + #""passkey":"1234567"}}"#, "1", -32602
      ),
      (#"{"jsonrpc":"2.0","id":1,"method":"pairing.open","params":{"seconds":0}}"#, "1", -32602),
      (#"{"jsonrpc":"2.0","id":1,"method":"gatt.read","params":{"handle":0}}"#, "1", -32602),
      (
        #"{"jsonrpc":"2.0","id":1,"method":"gatt.write","params":{"handle":1,"value":"0"}}"#, "1",
        -32602
      ),
    ])
  func malformed(line: String, id: String, code: Int) throws {
    let reply = try #require(self.reply(line))
    #expect(reply.hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":\#(code),"message":""#))
  }

  @Test("A line that is too long is refused unread")
  func long() throws {
    let line = #"{"jsonrpc":"2.0","id":1,"method":"status","params":{"x":""#
    let reply = try #require(
      self.reply(line + String(repeating: "x", count: ControlSession.maximumLineLength) + "\"}}"))
    #expect(reply.contains("-32600"))
  }

  @Test("Random bytes are answered, never more")
  func random() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2_000 {
      let line = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
        Bool.random()
          ? UInt8.random(in: .min ... .max) : Array("{}[]\":,0".utf8).randomElement() ?? 0
      }
      _ = session.receive(line)
    }
  }

  @Test("The phone's refusal carries the ATT error")
  func phoneError() throws {
    let error = RPCError.phone("Invalid Parameter", att: 0xA2)
    #expect(
      String(decoding: ControlSession.reply(error, id: .number(3)), as: UTF8.self)
        == #"{"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"Invalid Parameter","data":"#
        + #"{"att":162}}}"#)
    #expect(try RPCError(json: error.json) == error)
    #expect(error.attError == 0xA2)
    #expect(RPCError.unavailable("no phone").attError == nil)
  }
}

@Suite("Who hears what")
struct SubscriptionTests {
  private func ring(_ count: Int, capacity: Int = 1_000) -> EventRing {
    var ring = EventRing(capacity: capacity)
    for level in 0..<count {
      let content: Event.Content =
        level % 2 == 0 ? .battery(level: level) : .incoming(NotificationEvent(.added, 1))
      _ = ring.record(Event(content), at: Examples.time)
    }
    return ring
  }

  @Test("Without names everything is heard but incoming, with names just those")
  func filter() {
    var session = ControlSession()
    let incoming = Event(.incoming(NotificationEvent(.added, 1)))
    #expect(!session.wants(Event(.paired)))
    _ = session.subscribe(Subscription(), active: [], ring: EventRing())
    #expect(session.wants(Event(.paired)) && !session.wants(incoming))
    _ = session.subscribe(Subscription(events: [.incoming]), active: [], ring: EventRing())
    #expect(!session.wants(Event(.paired)) && session.wants(incoming))
  }

  @Test("Events are numbered from 1 on, and the last thousand kept")
  func numbering() {
    let ring = ring(1_500)
    #expect(ring.lastSeq == 1_500)
    #expect(ring.events(since: 0).map(\.seq) == Array(501...1_500))
    #expect(ring.events(since: 1_498).map(\.seq) == [1_499, 1_500])
    #expect(ring.events(since: 1_500).isEmpty)
    #expect(EventRing().events(since: 0).isEmpty)
  }

  @Test("A number from an earlier run of the daemon brings everything")
  func restarted() {
    #expect(ring(5).events(since: 9).map(\.seq) == [1, 2, 3, 4, 5])
  }

  @Test("What was missed comes filtered, what is active once and first")
  func replay() {
    var session = ControlSession()
    let ring = ring(6)
    // What is active bears the last number, whatever number it was told under.
    let active = [NumberedEvent(seq: 6, time: Examples.time, Event(.battery(level: 4)))]
    func seqs(_ subscription: Subscription) -> [UInt64] {
      session.subscribe(subscription, active: active, ring: ring).map(\.seq)
    }
    #expect(seqs(Subscription(since: 2)) == [3, 5])
    #expect(seqs(Subscription(replay: true, since: 2)) == [6, 3])
    #expect(seqs(Subscription(events: [.incoming], replay: true, since: 3)) == [4, 6])
    #expect(seqs(Subscription(replay: true)) == [6])
    #expect(seqs(Subscription()).isEmpty)
  }

  @Test("An event's line is written once, and the event found in it as it was written")
  func eventLine() {
    let event = Event(.battery(level: 80)).json(seq: 1, time: Examples.time)
    let line = RPCLine.event(event)
    #expect(
      String(decoding: line, as: UTF8.self)
        == #"{"jsonrpc":"2.0","method":"event","params":\#(event.text)}"#)
    #expect(RPCLine.eventText(in: line).map { Array($0) } == event.utf8)
    #expect(RPCLine.eventText(in: RPCLine.result(true, id: .number(1)).utf8) == nil)
    #expect(RPCLine.eventText(in: []) == nil)
  }

  @Test(
    "Patterns match whole names, whatever their case",
    arguments: [
      ("com.apple.*", "com.apple.MobileSMS", true), ("COM.APPLE.*", "com.apple.MobileSMS", true),
      ("*", "", true), ("", "", true), ("", "x", false), ("?", "é", true), ("?", "", false),
      ("a*b*c", "a-b-b-c", true), ("a*b*c", "a-b-b-d", false),
      ("*sms", "com.apple.MobileSMS", true),
      ("com.apple", "com.apple.MobileSMS", false), ("***a", "bba", true), ("a?c", "abbc", false),
    ])
  func globs(pattern: String, text: String, matches: Bool) {
    #expect(Glob(pattern).matches(text) == matches)
  }

  @Test("A pattern full of stars does not take for ever")
  func hostileGlob() {
    let pattern = Glob(String(repeating: "*a", count: 500) + "b")
    #expect(!pattern.matches(String(repeating: "a", count: 2_000)))
  }

  @Test("Queries match app by identifier or name, and category")
  func queries() {
    let notification = Examples.notification
    #expect(NotificationQuery().matches(notification))
    #expect(NotificationQuery(app: Glob("messages")).matches(notification))
    #expect(NotificationQuery(app: Glob("*SMS"), category: .social).matches(notification))
    #expect(!NotificationQuery(app: Glob("*SMS"), category: .email).matches(notification))
    #expect(!NotificationQuery(app: Glob("WhatsApp")).matches(notification))
  }

  @Test("A phone is named by address or name")
  func phones() {
    let phone = Examples.phone
    #expect(PhoneSelector("c0:11:22:33:44:55").matches(phone, name: nil))
    #expect(PhoneSelector("ANNA’S iphone").matches(phone, name: "Anna’s iPhone"))
    #expect(!PhoneSelector("C0:11:22:33:44:56").matches(phone, name: "C0:11:22:33:44:56"))
    #expect(!PhoneSelector("x").matches(nil, name: nil))
  }
}
