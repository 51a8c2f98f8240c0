// SPDX-License-Identifier: GPL-3.0-or-later
import System
import ANCS
import JSON
import Mgmt
import Testing
import Wire

@testable import Daemon

/// One event of each kind, with its line.
enum Examples {
  static let time = WallTime(seconds: 1_795_244_400, nanoseconds: 42_000_000)
  static let phone = Address("C0:11:22:33:44:55")

  static var notification: NotificationRecord {
    var report = NotificationRecord(
      NotificationEvent(
        .added, 12, category: .social, categoryCount: 2, flags: [.positiveAction, .negativeAction]))
    report.appID = "com.apple.MobileSMS"
    report.app = "Messages"
    report.title = "Anna"
    report.subtitle = ""
    report.message = "Dinner tonight?"
    report.messageSize = 15
    report.date = .value(CivilTime(secondsSince1970: 1_795_244_399))
    report.positive = "Reply"
    report.negative = "Clear"
    return report
  }

  static var media: MediaReport {
    var media = MediaReport()
    media.player.name = "Music"
    media.player.state = "playing"
    media.player.rate = 1
    media.player.elapsed = 67.0004
    media.player.volume = 0.0625
    media.queue.index = 0
    media.queue.count = 12
    media.queue.shuffle = "off"
    media.track.title = "Lovers Dream"
    media.track.artist = "Anna Ternheim"
    media.track.duration = 252.5
    media.commands = ["play", "pause"]
    return media
  }

  static let all: [(Event.Content, String)] = [
    (
      .ready(address: Address("00:1A:7D:DA:71:13"), name: "kitchen", version: "0.1.0"),
      #""address":"00:1A:7D:DA:71:13","name":"kitchen","version":"0.1.0""#
    ),
    (.advertising(pairable: true), #""pairable":true"#),
    (.connected(encrypted: true, bonded: false), #""encrypted":true,"bonded":false"#),
    (.pairing(.display, passkey: Passkey(value: 42)), #""method":"display","passkey":"000042""#),
    (.pairing(.justWorks, passkey: nil), #""method":"just-works""#),
    (.paired, ""),
    (.pairingFailed(reason: "refused"), #""reason":"refused""#),
    (
      .subscribed([.ancs, .ams, .battery, .time], mtu: 185, requests: 15),
      #""services":["ancs","ams","battery","time"],"mtu":185,"requests":15"#
    ),
    (.authorization(granted: false), #""granted":false"#),
    (
      .incoming(
        NotificationEvent(
          .removed, 0xFFFF_FFFE, category: Category(rawValue: 12), categoryCount: 0,
          flags: [.silent, .preExisting])),
      #""change":"removed","uid":4294967294,"category":12,"category_count":0,"#
        + #""flags":["silent","pre-existing"]"#
    ),
    (
      .notification(.added, notification),
      #""change":"added","uid":12,"category":"social","category_count":2,"#
        + #""flags":["positive-action","negative-action"],"app_id":"com.apple.MobileSMS","#
        + #""app":"Messages","title":"Anna","subtitle":"","message":"Dinner tonight?","#
        + #""message_size":15,"date":"2026-11-21T06:59:59","positive":"Reply","negative":"Clear""#
    ),
    (
      .media(media, changed: ["track.title"]),
      #""player":{"name":"Music","state":"playing","rate":1,"elapsed":67,"volume":0.0625},"#
        + #""queue":{"index":0,"count":12,"shuffle":"off","repeat":null},"#
        + #""track":{"artist":"Anna Ternheim","album":null,"title":"Lovers Dream","duration":252.5},"#
        + #""commands":["play","pause"],"changed":["track.title"]"#
    ),
    (.battery(level: 80), #""level":80"#),
    (
      .time(CivilTime(secondsSince1970: 1_795_244_400), offset: -1.25),
      #""phone_time":"2026-11-21T07:00:00","offset":-1.25"#
    ),
    (.stale(what: "no answer", remedy: "wait"), #""what":"no answer","remedy":"wait""#),
    (.servicesChanged([]), #""services":[]"#),
    (.disconnected(reason: "Connection Timeout"), #""reason":"Connection Timeout""#),
    (.why(wait: "mtu", why: "connected"), #""wait":"mtu","why":"connected""#),
    (.error(what: "read", code: 3, message: "m"), #""what":"read","code":3,"message":"m""#),
  ]
}

@Suite("Events as JSON")
struct EventJSONTests {
  @Test("Every event has its keys in the documented order", arguments: Examples.all)
  func order(content: Event.Content, members: String) {
    let event = Event(content, adapter: "hci0", phone: Examples.phone)
    let head =
      #"{"event":"\#(event.name.rawValue)","seq":7,"time":"2026-11-21T07:00:00.042Z","#
      + #""adapter":"hci0","phone":"C0:11:22:33:44:55""#
    #expect(
      event.json(seq: 7, time: Examples.time).text
        == head + (members.isEmpty ? "" : ",") + members + "}")
  }

  @Test("Every event is read back as it was", arguments: Examples.all)
  func roundTrip(content: Event.Content, members: String) throws {
    let event = NumberedEvent(seq: 7, time: Examples.time, Event(content, adapter: "hci0"))
    let read = try NumberedEvent(json: JSONValue(parsing: event.json.utf8))
    // Numbers of media are rounded on the way; the line is what counts.
    #expect(read.json.text == event.json.text)
    if event.event.name != .media { #expect(read == event) }
  }

  @Test("Every kind of event has an example here")
  func complete() {
    let names = Set(Examples.all.map { Event($0.0).name })
    #expect(names == Set(EventName.allCases))
  }

  @Test("What was not fetched is absent, what came empty is there")
  func fetched() {
    var report = NotificationRecord(NotificationEvent(.added, 1))
    let members = #""uid":1,"category":"other","category_count":1,"flags":[]"#
    func text() -> String {
      var object = JSONObject()
      report.add(to: &object)
      return JSONValue.object(object).text
    }
    #expect(text() == "{\(members)}")
    report.date = .empty
    report.title = ""
    report.truncated = [.message, .title]
    report.isRepeat = true
    report.error = "Invalid Parameter"
    #expect(
      text() == "{\(members),\"title\":\"\",\"date\":null,\"truncated\":[\"message\",\"title\"],"
        + "\"repeat\":true,\"error\":\"Invalid Parameter\"}")
  }

  @Test(
    "An event of another shape is an error with the member's name",
    arguments: [
      ("[]", "not an object"), ("{}", "seq is missing"),
      (#"{"seq":-1,"time":"2026-11-21T07:00:00.042Z","event":"paired"}"#, "seq is not a whole"),
      (#"{"seq":1,"time":"yesterday","event":"paired"}"#, "time is not a time"),
      (#"{"seq":1,"time":"2026-11-21T07:00:00.042Z","event":"dance"}"#, "event is not the name"),
      (
        #"{"seq":1,"time":"2026-11-21T07:00:00.042Z","event":"notification","change":"added","#
          + #""uid":4294967296,"category":"social","flags":[]}"#, "uid is not a whole"
      ),
    ])
  func shapes(text: String, error: String) throws {
    let json = try JSONValue(parsing: text)
    let thrown = #expect(throws: ShapeError.self) { try NumberedEvent(json: json) }
    #expect(thrown?.description.hasPrefix(error) == true)
  }
}
