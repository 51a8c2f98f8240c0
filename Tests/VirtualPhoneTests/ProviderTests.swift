// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import GAP
import GATT
import TestLoop
import Testing
import VirtualPhone
import Wire

@Suite("Virtual phone: the Notification Provider")
struct ProviderTests {
  static let message = NotificationContents(
    .social, app: "com.apple.MobileSMS", title: "Mum", subtitle: "To you & Ada",
    message: "Saturday? 🍰", date: "20261121T070000", positive: "Reply", negative: "Clear")
  static let everything = NotificationAttributeID.all.map {
    ControlPointCommand.AttributeRequest($0)
  }
  static let title = ControlPointCommand.getNotificationAttributes(7, [.init(.title)])

  @Test("A notification is added, modified and removed on the Notification Source")
  func lifetime() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      try await bench.perform(
        .add(Self.message, uid: 7), .add(Self.message, uid: 9),
        .modify(7, NotificationContents(flags: .important)), .remove(7))
      let actions: EventFlags = [.positiveAction, .negativeAction]
      #expect(
        bench.source == [
          NotificationEvent(.added, 7, category: .social, categoryCount: 1, flags: actions),
          NotificationEvent(.added, 9, category: .social, categoryCount: 2, flags: actions),
          NotificationEvent(
            .modified, 7, category: .social, categoryCount: 2, flags: actions.union(.important)),
          NotificationEvent(
            .removed, 7, category: .social, categoryCount: 1, flags: actions.union(.important)),
        ])
      #expect(bench.violations == [])
    }
  }

  @Test("Notifications from before the session are announced as pre-existing, after the Write Response")
  func preExisting() throws {
    try Bench.run { _, bench in
      try await bench.perform(.add(Self.message, uid: 3), .add(Self.message, uid: 2))
      try await bench.subscribeNotifications()
      #expect(bench.source.map(\.uid) == [3, 2])
      #expect(bench.source.allSatisfy { $0.flags.contains(.preExisting) })
      try await bench.configure(.notificationSource)
      await bench.pass()
      #expect(bench.source.count == 2, "subscribing again to what is subscribed begins nothing")
      try await bench.configure(.notificationSource, [])
      try await bench.configure(.notificationSource)
      await bench.pass()
      #expect(bench.source.count == 4)
    }
  }

  @Test("Attributes are returned in the order of the command, cut to its maximum lengths")
  func attributes() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      try bench.phone.perform(.add(Self.message, uid: 7))
      let whole = try await bench.ask(.getNotificationAttributes(7, Self.everything.reversed()))
      #expect(whole?.attributes.map(\.id) == [7, 6, 5, 4, 3, 2, 1, 0])
      #expect(
        whole?.attributes.map { String(decoding: $0.value, as: UTF8.self) } == [
          "Clear", "Reply", "20261121T070000", "14", "Saturday? 🍰", "To you & Ada", "Mum", "com.apple.MobileSMS",
        ])
      // Twelve bytes end inside the emoji.
      let cut = try await bench.ask(
        .getNotificationAttributes(7, [.init(.message, maximumLength: 12), .init(.messageSize)]))
      #expect(cut?.attributes.first?.value == Array("Saturday? 🍰".utf8.prefix(12))[...])
      #expect(cut?.attributes.last?.value == Array("14".utf8)[...])
      #expect(bench.violations == [])
    }
  }

  @Test(
    "An invalid command is refused with the specification's code",
    arguments: [
      ("", 0xA1), ("00", 0xA1), ("00070000", 0xA1), ("0007000000 01", 0xA1),
      ("0007000000 0110", 0xA1), ("0107", 0xA1), ("01 616263", 0xA1), ("0207000000", 0xA1),
      ("0207000000 00 00", 0xA1), ("03", 0xA0), ("ff07000000", 0xA0), ("0008000000", 0xA2),
      ("00ffffffff", 0xA2), ("0007000000 08", 0xA2), ("01 616263 00 00", 0xA2),
      ("01 636f6d2e6170706c652e4d6f62696c65534d53 00 01", 0xA2), ("0208000000 00", 0xA2),
      ("0207000000 02", 0xA2), ("0209000000 00", 0xA3),
    ] as [(String, UInt8)])
  func refusals(command: String, code: UInt8) throws {
    try Bench.run { _, bench in
      try await bench.bearer.exchangeMTU()
      try await bench.subscribeNotifications()
      try bench.phone.perform(.add(Self.message, uid: 7))
      var plain = Self.message
      plain[.positiveActionLabel] = ""
      try bench.phone.perform(.add(plain, uid: 9))
      let bytes = try #require([UInt8](hex: command))
      #expect(await bench.refusal(of: bytes, to: .controlPoint) == code)
      await bench.pass()
      #expect(bench.data.isEmpty)
      #expect(
        bench.events.contains {
          if case .controlPoint(_, bytes, code) = $0 { true } else { false }
        })
    }
  }

  @Test("A command during a response is a violation, and is handled after it")
  func twoCommands() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      try await bench.perform(
        .add(Self.message, uid: 7), .pace(response: .seconds(1), fragment: .milliseconds(100)))
      for _ in 0..<2 { try await bench.write(Self.title.encoded, to: .controlPoint) }
      #expect(bench.violations.count == 1)
      await bench.pass(.seconds(3))
      #expect(bench.data.count == 2)
      try await bench.write(Self.title.encoded, to: .controlPoint)
      #expect(bench.violations.count == 1)
    }
  }

  @Test("Answers can be delayed, cut off or refused")
  func faults() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      try await bench.perform(.add(Self.message, uid: 7), .silence(1), .cutResponses(1))
      let whole = DataSourceResponse(.notification(7), [.init(id: 1, value: Array("Mum".utf8))])
      for data in [[], [Array(whole.encoded.prefix(whole.encoded.count / 2))]] {
        try await bench.write(Self.title.encoded, to: .controlPoint)
        await bench.pass(.seconds(10))
        #expect(bench.data == data)
      }
      #expect(bench.violations == [])
      try bench.phone.perform(.failCommands(code: 0xA2, count: 2))
      for code: UInt8? in [0xA2, 0xA2, nil] {
        #expect(await bench.refusal(of: Self.title.encoded, to: .controlPoint) == code)
      }
    }
  }

  @Test("An answered call is removed, a declined one becomes a missed call")
  func calls() throws {
    try Bench.run { _, bench in
      try await bench.subscribeNotifications()
      let call = NotificationContents(
        .incomingCall, app: "com.apple.mobilephone", title: "Ada", positive: "Answer", negative: "Decline")
      try await bench.perform(.add(call, uid: 1), .add(call, uid: 2))
      #expect(try await bench.ask(.performNotificationAction(1, .positive)) == nil)
      #expect(try await bench.ask(.performNotificationAction(2, .negative)) == nil)
      await bench.pass()
      #expect(bench.source.map(\.change) == [.added, .added, .removed, .removed, .added])
      #expect(bench.source.last?.category == .missedCall && bench.phone.notifications.count == 1)
      #expect(bench.events.contains(.action(1, .positive)) && bench.events.contains(.action(2, .negative)))
    }
  }
}
