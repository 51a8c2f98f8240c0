// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import GAP
import GATT
import TestLoop
import Testing
import Wire

@testable import VirtualPhone

@Suite("Virtual phone: the rules of real phones")
struct RulesTests {
  private static let message = ProviderTests.message

  private static func phone(_ rules: String...) -> VirtualPhone.Configuration {
    var configuration = VirtualPhone.Configuration()
    for rule in rules {
      let isSet = configuration.rules.set(rule)
      #expect(isSet)
    }
    return configuration
  }

  @Test("Each rule has a switch, and anything else is refused")
  func switches() {
    let values = ["strikes": "3", "text-limit": "512", "previews": "com.example.secret"]
    for name in PhoneRules.names {
      var rules = PhoneRules()
      let isSet = rules.set("\(name)=\(values[name] ?? "on")")
      #expect(isSet && rules != PhoneRules(), "\(name)")
    }
    for wrong in ["patience=3", "strikes", "strikes=0", "late=", "previews="] {
      var rules = PhoneRules()
      let isSet = rules.set(wrong)
      #expect(!isSet && rules == PhoneRules())
    }
  }

  @Test("The independent phone of the Python suites has some of these rules, and no others")
  func elsewhere() throws {
    let lines = try Repository.text("Tests/Harness/profiles.py").split(separator: "\n")
    let table = lines.drop { !$0.contains("The rules of real phones, under the names") }
      .prefix { !$0.hasPrefix("IDEAL") }
    let names = table.filter { !$0.contains("#") && $0.contains(": ") }.map {
      String($0.prefix { $0 != ":" }.drop { $0 == " " }.map { $0 == "_" ? "-" : $0 })
    }
    #expect(names == PhoneRules.names.filter(names.contains) && names.contains("strikes"))
  }

  @Test("Texts are cut at the limit, and Modified is announced once until it was fetched")
  func textsAndChanges() throws {
    try Bench.run(profile: .iphone, Self.phone("text-limit=512", "modified-once=on")) { _, bench in
      try await bench.subscribeNotifications()
      var long = Self.message
      long[.message] = String(repeating: "x", count: 2000)
      try bench.phone.perform(.add(long, uid: 7))
      let whole = [ControlPointCommand.AttributeRequest(.message, maximumLength: 0xFFFF)]
      let response = try await bench.ask(.getNotificationAttributes(7, whole))
      #expect(response?.attributes.first?.value.count == 512)
      for _ in 0..<3 {
        try bench.phone.perform(.modify(7, NotificationContents(flags: .important)))
      }
      await bench.pass()
      #expect(bench.source.map(\.change) == [.added, .modified])
      _ = try await bench.ask(.getNotificationAttributes(7, whole))
      try await bench.perform(.modify(7, NotificationContents(flags: [])))
      #expect(bench.source.map(\.change) == [.added, .modified, .modified])
    }
  }

  @Test("UIDs begin again after the last unsubscription, late ones are marked, a hidden app's are not announced")
  func announcing() throws {
    let phone = Self.phone("fresh-uids=on", "late=on", "previews=com.example.secret")
    try Bench.run(phone) { _, bench in
      try await bench.subscribeNotifications()
      try bench.phone.perform(.add(Self.message, uid: 40))
      var secret = Self.message
      secret[.appIdentifier] = "com.example.secret"
      try bench.phone.perform(.add(secret))
      var fresh = Self.message
      fresh[.date] = nil
      try await bench.perform(.add(fresh, uid: 50))
      #expect(bench.source.map(\.uid) == [40, 50])
      #expect(bench.source.map { $0.flags.contains(.preExisting) } == [true, false])
      bench.phone.disconnected("away")
      #expect(bench.phone.notifications.map(\.uid) == [1, 2, 3])
    }
  }

  @Test("The Control Point responds without permission, but tells of no notification")
  func unshared() throws {
    try Bench.run(Self.phone("unshared=on")) { _, bench in
      try await bench.subscribeNotifications()
      try bench.phone.perform(.authorize(false))
      try bench.phone.perform(.add(Self.message, uid: 7))
      let name = try await bench.ask(
        .getAppAttributes(appIdentifier: "com.apple.MobileSMS", [.displayName]))
      #expect(name != nil && bench.source == [])
      await #expect(throws: (any Error).self) {
        try await bench.ask(.getNotificationAttributes(7, [.init(.title)]))
      }
    }
  }

  @Test("Entity Update tells only what changes")
  func media() throws {
    try Bench.run(Self.phone("media-changes=on")) { _, bench in
      try await bench.subscribeMedia()
      try await bench.write([0, 0, 1, 2], to: .entityUpdate)
      await bench.pass()
      #expect(bench.updates == [])
      var change = MediaState()
      change.player.volume = 0.25
      try await bench.perform(.media(change))
      #expect(bench.updates.map(\.value) == [Array("0.25".utf8)])
    }
  }

  @Test("Bluetooth that is switched off in Control Center comes back at 5 in the morning")
  func controlCenter() throws {
    try Bench.run { _, bench in
      let now = CivilTime(notificationDate: Array("20261121T230000".utf8))
      try await bench.perform(.time(try #require(now), zone: nil), .controlCenter)
      #expect(bench.end != nil && !bench.reconnect())
      await bench.pass(.seconds(6 * 3600 - 60))
      #expect(!bench.reconnect())
      await bench.pass(.seconds(61))
      #expect(bench.reconnect())
    }
  }

  @Test("At 5 in the morning, a phone stays out of range that has gone there since")
  func outOfRange() throws {
    try Bench.run { _, bench in
      try await bench.perform(.controlCenter, .comeBack, .leave)
      await bench.pass(.seconds(86_400))
      #expect(!bench.reconnect())
      try await bench.perform(.comeBack)
      #expect(bench.reconnect())
    }
  }
}
