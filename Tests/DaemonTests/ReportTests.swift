// SPDX-License-Identifier: GPL-3.0-or-later
import System
import AMS
import ANCS
import ATT
import JSON
import Testing
import Wire

@testable import Daemon

@Suite("Reports")
struct ReportTests {
  private var status: StatusReport {
    var status = StatusReport(version: "0.1.0", started: WallTime(seconds: 1_795_236_000))
    var adapter = AdapterReport("hci0")
    adapter.address = Address("00:1A:7D:DA:71:13")
    adapter.name = "kitchen"
    adapter.isPowered = true
    adapter.isPairable = true
    var missing = AdapterReport("hci1")
    missing.isPresent = false
    missing.why = "waiting for it to be plugged in"
    status.adapters = [adapter, missing]
    var link = LinkReport(since: WallTime(seconds: 1_795_244_000))
    link.adapter = "hci0"
    link.phone = Examples.phone
    link.name = "Anna’s iPhone"
    link.isEncrypted = true
    link.isBonded = true
    link.mtu = 185
    link.services = [.ancs, .ams]
    link.isAuthorized = false
    link.battery = 80
    link.notifications = 3
    link.waiting = 1
    link.requests = 15
    link.rssi = -58
    link.interval = 48.75
    link.latency = 4
    link.timeout = 6_000
    link.why = "the phone does not share its notifications"
    status.links = [link]
    var bonded = PhoneReport(Examples.phone ?? Address(0))
    bonded.adapter = "hci0"
    bonded.isConnected = true
    bonded.key = PhoneReport.Key(isSecureConnections: true, isAuthenticated: false, size: 16)
    var other = PhoneReport(Address(0x1122_3344_5566))
    other.key = PhoneReport.Key(isSecureConnections: false, isAuthenticated: true, size: 7)
    status.phones = [bonded, other]
    return status
  }

  @Test("A status is read back as it was")
  func roundTrip() throws {
    #expect(try StatusReport(json: JSONValue(parsing: status.json.utf8)) == status)
    let empty = StatusReport(version: "0", started: WallTime(seconds: 0))
    #expect(try StatusReport(json: JSONValue(parsing: empty.json.utf8)) == empty)
  }

  @Test("A status as text")
  func text() {
    #expect(
      status.text(TextStyle(), now: WallTime(seconds: 1_795_244_400)) == """
        ancsd 0.1.0 up 2 h 20 min
        adapter hci0 00:1A:7D:DA:71:13 “kitchen” on pairable
        adapter hci1 not there – waiting for it to be plugged in
        phone   C0:11:22:33:44:55 “Anna’s iPhone” on hci0 connected for 6 min 40 s, encrypted, \
        bonded (MTU 185, 15 requests, -58 dBm, an interval of 48.75 ms, latency 4)
                subscribed to ancs, ams; 3 notifications active (1 to be fetched) \
        · reading not allowed · battery 80 %
                the phone does not share its notifications
        phone   11:22:33:44:55:66 not connected (key: legacy, authenticated, 7 bytes)
        """)
  }

  @Test("A clock that jumped makes no strange ages")
  func ages() {
    let now = WallTime(seconds: 1_000_000)
    #expect(StatusReport.age(from: WallTime(seconds: 2_000_000), to: now) == "0 s")
    #expect(StatusReport.age(from: WallTime(seconds: .min), to: now) == "0 s")
    #expect(StatusReport.age(from: WallTime(seconds: 1_000_000 - 90_000), to: now) == "1 d 1 h")
  }

  @Test("Small results are read back as they were")
  func others() throws {
    let app = AppReport(appID: "com.apple.MobileSMS", name: "Messages", count: 3)
    #expect(app.json.text == #"{"app_id":"com.apple.MobileSMS","name":"Messages","count":3}"#)
    #expect(try AppReport(json: app.json) == app)
    let pairing = PairingReport(name: "kitchen", seconds: 120)
    #expect(try PairingReport(json: pairing.json) == pairing)
    let active = ActiveNotification(Examples.notification, adapter: "hci0", phone: Examples.phone)
    #expect(try ActiveNotification(json: active.json) == active)
    #expect(active.json.text.hasPrefix(#"{"adapter":"hci0","phone":"C0:11:22:33:44:55","uid":12,"#))
    #expect(try MediaReport(json: MediaReport().json) == MediaReport())
  }

  @Test("The consumer's report becomes the record of the contract")
  func notification() {
    let event = NotificationEvent(.added, 5, category: .email, categoryCount: 2, flags: [.silent])
    let response = DataSourceResponse(
      .notification(5),
      [
        .init(id: 0, value: Array("com.apple.mobilemail".utf8)),
        .init(id: 1, value: Array("A".utf8)),
        .init(id: 3, value: Array("Hell".utf8)), .init(id: 4, value: Array("11".utf8)),
        .init(id: 5, value: []),
      ])
    let attributes = NotificationAttributes(
      response, requested: [.init(.title, maximumLength: 256), .init(.message, maximumLength: 4)])
    var report = NotificationReport(event, attributes: attributes, app: "Mail")
    report.isRepeat = true
    let record = NotificationRecord(report)
    var object = JSONObject()
    record.add(to: &object)
    #expect(
      JSONValue.object(object).text
        == #"{"uid":5,"category":"email","category_count":2,"flags":["silent"],"#
        + #""app_id":"com.apple.mobilemail","app":"Mail","title":"A","message":"Hell","#
        + #""message_size":11,"date":null,"truncated":["message"],"repeat":true}"#)
    let failed = NotificationReport(event, failure: .refused(ErrorCode(0xA2)))
    #expect(NotificationRecord(failed).error == "Invalid Parameter")
  }

  @Test("The media state becomes the report of the contract, its position carried on")
  func media() {
    var state = MediaState()
    _ = state.apply(EntityUpdate(.playbackInfo, Array("1,1.0,10".utf8)), at: .zero)
    _ = state.apply(EntityUpdate(.shuffleMode, Array("2".utf8)), at: .zero)
    _ = state.apply(EntityUpdate(.title, Array("Song".utf8)), at: .zero)
    _ = state.apply(commands: [.play, .skipBackward, RemoteCommand(rawValue: 99)])
    let report = MediaReport(state, at: .zero + .seconds(5))
    #expect(report.player.state == "playing" && report.player.elapsed == 15)
    #expect(report.queue.shuffle == "all" && report.queue.repeat == nil)
    #expect(report.track.title == "Song" && report.track.artist == nil)
    #expect(report.commands == ["play", "skip-backward"])
  }
}
