// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Companion
import Control
import GATT
import JSON
import Mgmt
import Testing
import VirtualPhone
import Wire

@testable import CentralTools

private func connect(to accessory: String) -> PhoneInstruction {
  .link(.connect(AccessoryChoice(accessory)))
}

@Suite("Virtual phone: its script as JSON Lines, its events as JSON")
struct PhoneInstructionTests {
  private func read(_ text: String) throws -> PhoneInstruction {
    try PhoneInstruction(json: try JSONValue(parsing: text))
  }

  @Test("A notification has the values of its members, and defaults for the others")
  func add() throws {
    let text = """
      {"command":"add","uid":7,"category":"email","flags":["silent",64],"app_id":"a.b",
      "title":"T","message":{"hex":"ff00"},"date":"2026-11-21T07:00:00","negative":"",
      "message_size":99}
      """
    var contents = NotificationContents(
      .email, app: "a.b", title: "T", date: "20261121T070000", negative: "", flags: [.silent, EventFlags(rawValue: 64)])
    contents.attributes[.message] = [0xFF, 0]
    contents[.messageSize] = "99"
    #expect(try read(text) == .command(.add(contents, uid: 7)))
    let plain = NotificationContents(.social, app: "com.apple.MobileSMS", negative: "Clear")
    #expect(try read(#"{"command":"add"}"#) == .command(.add(plain)))
    #expect(
      try read(#"{"command":"modify","uid":1,"title":"x"}"#)
        == .command(.modify(1, NotificationContents(attributes: [.title: [0x78]]))))
  }

  @Test(
    "Every other command is read with its members, here in the words in which it may be typed",
    arguments: [
      (
        "burst count=500 category=12",
        .command(
          .burst(500, NotificationContents(Category(rawValue: 12), app: "com.apple.MobileSMS", negative: "Clear")))
      ), ("remove uid=3", .command(.remove(3))), ("remove-all", .command(.removeAll)),
      ("renumber", .command(.renumber)), ("app app_id=a app=A", .command(.nameApp("a", "A"))),
      ("app app_id=a app=null", .command(.nameApp("a", nil))), ("authorize granted=false", .command(.authorize(false))),
      ("fragments size=1", .command(.fragments(ofAtMost: 1))), ("fragments", .command(.fragments(ofAtMost: nil))),
      ("pace answer=1.5", .command(.pace(response: .milliseconds(1500), fragment: .zero))),
      ("fail code=0xA2 count=3", .command(.failCommands(code: 0xA2, count: 3))),
      ("fail code=3", .command(.failCommands(code: 3, count: 1))), ("silence", .command(.silence(1))),
      ("cut count=2", .command(.cutResponses(2))), ("remote name=next", .command(.remote(.nextTrack))),
      ("battery level=79", .command(.battery(79))),
      (
        "time time=2026-11-21T07:00:00 zone=3600",
        .command(
          .time(
            CivilTime("2026-11-21T07:00:00")!,
            zone: LocalTimeInformation(timeZone: 4, daylightSaving: 0)))
      ),
      ("publish service=ancs", .command(.publish(.ancs, freshHandles: true))),
      ("publish service=ams handles=same", .command(.publish(.ams, freshHandles: false))),
      ("unpublish service=time", .command(.unpublish(.time))),
      ("forget-subscriptions", .command(.forgetSubscriptions(nil))),
      ("encrypt encrypted=false", .command(.encrypt(false))), ("limit-mtu mtu=23", .command(.limitMTU(23))),
      ("freeze frozen=true", .command(.freeze(true))), ("disconnect", .command(.disconnect)),
      ("leave", .command(.leave)), ("come-back", .command(.comeBack)), ("connect", .link(.connect(nil))),
      ("connect accessory=board", connect(to: "board")),
      ("connect accessory=F0:F1:F2:F3:F4:F5", connect(to: "F0:F1:F2:F3:F4:F5")), ("forget", .link(.forget)),
      ("explore", .request(.explore)), ("respond accept=false", .link(.respond(accept: false, nil))),
      ("respond accept=true passkey=012345", .link(.respond(accept: true, Passkey(value: 12345)))),
      ("send pdu='1b 28 00'", .command(.send([0x1B, 0x28, 0]))),
      ("notify characteristic=data-source value=00", .command(.notify(.dataSource, [0]))),
      ("indicate characteristic=service-changed value=", .command(.indicate(.serviceChanged, []))),
      (
        "media-attribute entity=track attribute=title value=x",
        .command(.mediaAttribute(.title, [0x78]))
      ),
      ("media-attribute entity=0 attribute=1", .command(.mediaAttribute(.playbackInfo, nil))),
      ("exchange-mtu", .request(.exchangeMTU)), ("discover", .request(.discover)),
      ("read uuid=2A00", .request(.read(0x2A00))), ("day", .day(once: true)),
      ("stop-day", .stopDay), ("wait seconds=0.25", .wait(.milliseconds(250), event: nil)),
      ("wait event=mtu", .wait(nil, event: "mtu")), ("quit", .quit),
    ] as [(String, PhoneInstruction)])
  func commands(line: String, instruction: PhoneInstruction) throws {
    #expect(try PhoneInstruction(json: PhoneInstruction.object(words: line)) == instruction)
  }

  @Test("Media are given in the form of the daemon's event")
  func media() throws {
    let text = """
      {"command":"media","player":{"name":"Podcasts","state":"paused","volume":0.5},
      "queue":{"index":1,"repeat":"all"},"track":{"title":"T","duration":9.5},
      "commands":["play","skip-forward"],"playlist":[{"artist":"A"},{}]}
      """
    var change = MediaState()
    change.player.name = "Podcasts"
    change.player.state = .paused
    change.player.volume = 0.5
    change.queue.index = 1
    change.queue.repeatMode = .all
    change.track = MediaState.Track(title: "T", duration: 9.5)
    change.commands = [.play, .skipForward]
    let playlist = [MediaState.Track(artist: "A"), MediaState.Track()]
    #expect(try read(text) == .command(.media(change, playlist: playlist)))
  }

  @Test(
    "Unintelligible commands are refused with a sentence",
    arguments: [
      (#"{}"#, "command is missing"), (#"[]"#, "not an object"),
      (#"{"command":"ad"}"#, "unknown command “ad”; did you mean add?"),
      (#"{"command":"add","titel":"x"}"#, "add has no member “titel”; did you mean title?"),
      (#"{"command":"disconnect","x":1}"#, "disconnect has no member “x”; it has command, id"),
      (
        #"{"command":"media","player":{"nme":"x"}}"#,
        "player has no member “nme”; did you mean name?"
      ),
      (
        #"{"command":"add","category":"socail"}"#,
        "category is not one of other, incoming-call, missed-call, voicemail, social, schedule, email, "
          + "news, health-and-fitness, business-and-finance, location, entertainment, nor a number"
      ), (#"{"command":"remove"}"#, "uid is missing"),
      (#"{"command":"remove","uid":-1}"#, "uid is not a whole number in range"),
      (
        #"{"command":"add","flags":["loud"]}"#,
        "flags is not an array of flags: silent, important, pre-existing, positive-action, negative-action"
      ), (#"{"command":"send","pdu":"1"}"#, "pdu is not bytes in hexadecimal digits"),
      (#"{"command":"wait","seconds":-1}"#, "seconds is not a number of seconds from 0 on"),
    ])
  func errors(text: String, sentence: String) throws {
    let error = #expect(throws: JSONError.self) { try read(text) }
    #expect(error?.description == sentence)
  }

  @Test("Words that are typed are texts, unless they are JSON")
  func words() throws {
    let line = #"add uid=7 title=Mum message="Saturday? At 7" 'flags=["silent"]'"#
    #expect(
      try PhoneInstruction.object(words: line) == [
        "command": "add", "uid": 7, "title": "Mum", "message": "Saturday? At 7", "flags": ["silent"],
      ])
    #expect(throws: JSONError.self) { try PhoneInstruction.object(words: "add Mum") }
    #expect(throws: JSONError.self) {
      try PhoneInstruction(json: PhoneInstruction.object(words: ""))
    }
  }

  @Test("Events are objects with a name and what belongs to it")
  func events() {
    let events: [(PhoneEvent, String)] = [
      (.connected, #"{"event":"connected"}"#), (.mtu(185), #"{"event":"mtu","mtu":185}"#),
      (
        .subscribed(.dataSource, .notifications),
        #"{"event":"subscribed","characteristic":"data-source","subscription":"notifications"}"#
      ),
      (
        .controlPoint(
          .getNotificationAttributes(7, [.init(.title)]), value: [0, 7], refused: 0xA2),
        #"{"event":"control-point","command":"get-notification-attributes","uid":7,"#
          + #""attributes":["title"],"value":"0007","code":162,"error":"Invalid Parameter"}"#
      ), (.action(7, .negative), #"{"event":"action","uid":7,"action":"negative"}"#),
      (.remoteCommand(.nextTrack), #"{"event":"remote-command","name":"next"}"#),
      (.violation("x"), #"{"event":"violation","what":"x"}"#),
      (.dropped([1], "no"), #"{"event":"dropped","bytes":"01","why":"no"}"#),
    ]
    for (event, text) in events { #expect(JSONValue.object(event.json).text == text) }
  }
}
