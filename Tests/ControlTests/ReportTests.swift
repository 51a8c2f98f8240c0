// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import JSON
import Testing
import Wire

@testable import Control

@Suite("Reports")
struct ReportTests {
  private var status: StatusReport {
    var status = StatusReport()
    (status.version, status.life, status.seq) = ("0.1.0", "2f", 7)
    status.started = WallTime(seconds: 1_795_236_000)
    var adapter = AdapterReport()
    (adapter.adapter, adapter.name) = ("hci0", "kitchen")
    adapter.address = Address("00:1A:7D:DA:71:13")
    (adapter.isPowered, adapter.isPairable) = (true, true)
    var missing = AdapterReport()
    (missing.adapter, missing.isPresent) = ("hci1", false)
    missing.waiting.why = "waiting for it to be plugged in"
    status.adapters = [adapter, missing]
    var link = LinkReport()
    link.since = WallTime(seconds: 1_795_244_000)
    (link.adapter, link.phone, link.name) = ("hci0", Examples.phone, "Anna’s iPhone")
    (link.isEncrypted, link.isBonded, link.mtu) = (true, true, 185)
    (link.services, link.authorization) = ([.ancs, .ams], .refused)
    (link.notifications, link.backlog, link.requests) = (3, 1, 15)
    (link.battery, link.rssi) = (80, -58)
    // 48.75 ms and 6,000 ms.
    (link.interval, link.latency, link.timeout) = (48.75, 4, 6_000)
    link.parametersPause = 7_201
    link.waiting.why = "the phone does not share its notifications"
    status.links = [link]
    var bonded = PhoneReport()
    (bonded.phone, bonded.adapter) = (Examples.phone ?? Address(0), "hci0")
    bonded.isConnected = true
    var key = PhoneReport.BondKey()
    (key.isSecureConnections, key.size) = (true, 16)
    bonded.key = key
    var other = PhoneReport()
    other.phone = Address(0x1122_3344_5566)
    (key.isSecureConnections, key.isAuthenticated, key.size) = (false, true, 7)
    other.key = key
    status.phones = [bonded, other]
    return status
  }

  /// The value as it is read from the JSON that it is written as.
  private func reread<Value: JSONCodable>(_ value: Value) throws -> Value {
    try Value(reading: JSONValue(parsing: value.json))
  }

  @Test("A status is read back as it was")
  func roundTrip() throws {
    #expect(try reread(status) == status)
    #expect(try reread(StatusReport()) == StatusReport())
  }

  @Test("A status as text")
  func text() {
    #expect(
      status.text(TextStyle(), now: WallTime(seconds: 1_795_244_400)) == """
        ancsd 0.1.0 up 2 h 20 min
        adapter hci0 00:1A:7D:DA:71:13 “kitchen” on pairable
        adapter hci1 not present – waiting for it to be plugged in
        phone   C0:11:22:33:44:55 “Anna’s iPhone” on hci0 connected for 6 min 40 s, encrypted, \
        bonded (MTU 185, 15 requests, -58 dBm, an interval of 48.75 ms, latency 4)
                subscribed to ancs, ams; 3 notifications active (1 to fetch) \
        · reading not allowed · battery 80 % · drops links after requests for connection parameters: \
        no more for 3 h
                the phone does not share its notifications
        phone   11:22:33:44:55:66 not connected (key: legacy, authenticated, 7 bytes)
        """)
  }

  @Test("A phone without a radio is named, and no hint says to pair without a radio")
  func withoutRadio() {
    var status = StatusReport()
    status.version = "0.1.0"
    var link = LinkReport()
    (link.name, link.isEncrypted, link.isBonded) = ("iPhone", true, true)
    status.links = [link]
    let now = WallTime(seconds: 5)
    #expect(
      status.text(TextStyle(), now: now) == """
        ancsd 0.1.0 up 5 s
        phone   “iPhone” (address unknown) connected for 5 s, encrypted, bonded
                nothing subscribed yet
        """)
    status.links = []
    status.waiting.why = "waiting for a phone at /tmp/x"
    #expect(status.text(TextStyle(), now: now) == "ancsd 0.1.0 up 5 s\nwaiting for a phone at /tmp/x")
  }

  @Test("A clock that jumped makes no strange ages")
  func ages() {
    let now = WallTime(seconds: 1_000_000)
    #expect(StatusReport.age(from: WallTime(seconds: 2_000_000), to: now) == "0 s")
    #expect(StatusReport.age(from: WallTime(seconds: .min), to: now) == "0 s")
    #expect(StatusReport.age(from: WallTime(seconds: 1_000_000 - 90_000), to: now) == "1 d 1 h")
  }

  @Test("The media state has the members of the contract, and its position as of now")
  func media() {
    var state = MediaState()
    _ = state.apply(EntityUpdate(.playbackInfo, Array("1,1.0,10".utf8)), at: .zero)
    _ = state.apply(EntityUpdate(.shuffleMode, Array("2".utf8)), at: .zero)
    _ = state.apply(EntityUpdate(.title, Array("Song".utf8)), at: .zero)
    _ = state.apply(commands: [.play, .skipBackward, RemoteCommand(rawValue: 99)])
    #expect(
      state.carried(to: .zero + .seconds(5)).jsonText
        == #"{"player":{"name":null,"state":"playing","rate":1,"elapsed":15,"volume":null},"#
        + #""queue":{"index":null,"count":null,"shuffle":"all","repeat":null},"#
        + #""track":{"artist":null,"album":null,"title":"Song","duration":null},"#
        + #""commands":["play","skip-backward"]}"#)
  }
}
