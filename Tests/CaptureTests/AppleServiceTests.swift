// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Capture
import Testing
import Wire

@Suite("Captured ANCS")
struct ANCSDecodingTests {
  @Test("Notification Source: change, category and flags")
  func event() {
    var known = DiscoveredLink()
    let event = NotificationEvent(
      .added, 58, category: .incomingCall, flags: [.positiveAction, .negativeAction])
    let unit = known.link.receive(.handleValueNotification(0x0015, value: event.encoded))
    #expect(
      unit?.said == "ancs_event: added; uid: 58; category: incoming-call; category_count: 1; "
        + "flags: positive-action, negative-action (0x18)")
    let short = known.link.receive(.handleValueNotification(0x0015, value: [1, 2, 3]))
    #expect(short?.said == "ancs_event: 3 bytes, eight needed")
  }

  @Test("A response is reassembled from its fragments")
  func response() {
    var known = DiscoveredLink()
    let command = ControlPointCommand.getNotificationAttributes(
      7, [.init(.appIdentifier), .init(.title, maximumLength: 64), .init(.date)])
    let written = known.request(command)
    #expect(
      written?.said == "ancs_command: Get Notification Attributes; uid: 7; "
        + "attributes: AppIdentifier, Title (64), Date")
    _ = known.link.receive(.writeResponse)
    let response = DataSourceResponse(
      .notification(7),
      [
        .init(id: 0, value: Array("com.apple.MobileSMS".utf8)),
        .init(id: 1, value: Array("Ann".utf8)), .init(id: 5, value: []),
      ])
    let said = response.fragments(ofAtMost: 20).map { known.respond($0)?.said }
    #expect(
      said == [
        "ancs_response: to be continued; fragments: 1; bytes: 20",
        "ancs_response: complete; fragments: 2; bytes: 36; uid: 7; app_id: com.apple.MobileSMS; "
          + "title: Ann; date: ",
      ])
  }

  @Test("Responses to several open commands come in their order")
  func pipelined() {
    var known = DiscoveredLink()
    for uid: NotificationUID in [1, 2] {
      let command = ControlPointCommand.getNotificationAttributes(uid, [.init(.messageSize)])
      _ = known.link.send(.writeCommand(0x0012, value: command.encoded))
    }
    for uid: NotificationUID in [1, 2] {
      let unit = known.respond(about: uid, .messageSize, "9")
      #expect(unit?.value("uid") == "\(uid)")
      #expect(unit?.value("message_size") == "9")
    }
  }

  @Test("A refused command has no response, and the next one's is understood")
  func refused() {
    var known = DiscoveredLink()
    known.request(.getNotificationAttributes(1, [.init(.messageSize)]))
    let error = known.link.receive(PDU.error(ErrorCode(0xA2), to: .writeRequest, at: 0x0012))
    #expect(error?.value("error") == "Invalid Parameter (0xa2)")
    known.request(.getNotificationAttributes(2, [.init(.messageSize)]))
    #expect(known.respond(about: 2, .messageSize, "9")?.value("ancs_response") == "complete")
  }

  @Test("A response that breaks off ends where the next one begins")
  func brokenOff() {
    var known = DiscoveredLink()
    for uid: NotificationUID in [1, 2] {
      known.request(.getNotificationAttributes(uid, [.init(.message, maximumLength: 100)]))
      let response = DataSourceResponse(
        .notification(uid), [.init(id: 3, value: [UInt8](repeating: 0x61, count: 40))])
      let bytes = uid == 1 ? Array(response.encoded.prefix(20)) : response.encoded
      let unit = known.respond(bytes)
      #expect(unit?.value("ancs_response") == (uid == 1 ? "to be continued" : "complete"))
    }
  }

  @Test(
    "A response is decoded by its command, and without one as far as possible",
    arguments: [
      (
        nil, [0, 9, 0, 0, 0, 1, 2, 0, 0x48, 0x69, 3, 3, 0, 1, 2],
        "to no command in this capture; fragments: 1; bytes: 15; uid: 9; title: Hi"
      ),
      (
        .getNotificationAttributes(1, [.init(.date)]), [0, 1, 0, 0, 0, 1, 0, 0],
        "malformed; fragments: 1; bytes: 8; error: attribute 1 where another was requested"
      ),
      (
        .getAppAttributes(appIdentifier: "a.b", [.displayName]), [1, 0x61, 0x2E, 0x62, 0, 0, 3, 0, 0x42, 0x65, 0x65],
        "complete; fragments: 1; bytes: 11; app_id: a.b; app: Bee"
      ),
    ] as [(ControlPointCommand?, [UInt8], String)])
  func responses(command: ControlPointCommand?, bytes: [UInt8], said: String) {
    var known = DiscoveredLink()
    if let command { known.request(command) }
    #expect(known.respond(bytes)?.said == "ancs_response: \(said)")
  }

  @Test("An unknown command is unreadable")
  func badCommand() {
    var known = DiscoveredLink()
    let unit = known.link.send(.writeRequest(0x0012, value: [9]))
    #expect(unit?.said == "ancs_command: unreadable; error: Unknown Command")
  }
}

@Suite("Captured AMS")
struct AMSDecodingTests {
  @Test(
    "Commands, registrations and selections are named",
    arguments: [
      (0x0022, [2], "ams_command: TogglePlayPause"),
      (0x0025, [2, 0, 2], "ams_registration: track; attributes: Artist, Title"),
      (0x0028, [1, 3], "ams_selection: queue; attribute: RepeatMode"),
      (0x0028, [1], "ams_selection: not two bytes"),
    ] as [(Handle, [UInt8], String)])
  func written(handle: Handle, value: [UInt8], said: String) {
    var known = DiscoveredLink()
    #expect(known.link.send(.writeRequest(handle, value: value))?.said == said)
  }

  @Test(
    "Updates have the attribute, its value and its meaning",
    arguments: [
      (
        EntityUpdate(.playbackInfo, Array("1,1.0,12.5".utf8)),
        "player; attribute: PlaybackInfo; text: 1,1.0,12.5; state: playing; rate: 1; elapsed: 12.5 s"
      ), (EntityUpdate(.shuffleMode, Array("2".utf8)), "queue; attribute: ShuffleMode; text: 2; mode: all"),
      (
        EntityUpdate(.title, Array("So W".utf8), flags: .truncated),
        "track; attribute: Title; text: So W; truncated: yes"
      ),
    ])
  func updates(update: EntityUpdate, said: String) {
    var known = DiscoveredLink()
    let unit = known.link.receive(.handleValueNotification(0x0025, value: update.encoded))
    #expect(unit?.said == "ams_update: \(said)")
  }

  @Test("The supported commands are named")
  func commands() {
    var known = DiscoveredLink()
    let unit = known.link.receive(.handleValueNotification(0x0022, value: [0, 1]))
    #expect(unit?.said == "ams_commands: Play, Pause")
  }
}
