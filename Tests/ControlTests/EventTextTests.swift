// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Testing
import Wire

@testable import Control

/// A notification of an event, and its text.
struct NotificationText: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let report: NotificationReport
  let style: TextStyle
  let text: String

  /// - Parameter set: makes of the short one what it is about.
  init(
    _ description: String, _ text: String, change: NotificationChange = .added, style: TextStyle = TextStyle(),
    of report: NotificationReport = short, _ set: (inout NotificationReport) -> Void = { _ in }
  ) {
    var report = report
    set(&report)
    report.event.change = change
    (testDescription, self.report, self.style, self.text) = (description, report, style, text)
  }

  /// A notification without a message and actions.
  static var short: NotificationReport {
    var report = Examples.notification
    report.attributes[.message] = nil
    report.event.flags = []
    return report
  }
}

@Suite("Events as text")
struct EventTextTests {
  private func text(_ content: Event.Content, _ style: TextStyle = TextStyle()) -> String {
    NumberedEvent(seq: 1, time: Examples.time, Event(content, adapter: "hci0", phone: Examples.phone)).text(style)
  }

  /// A board that is an hour ahead of UTC.
  private static let east = TextStyle(zone: 3_600)

  /// The time of the events, by a clock that is so many hours ahead.
  private static func date(hours: Int64) -> CivilTime {
    CivilTime(secondsSince1970: 1_795_244_400 + hours * 3_600)
  }

  @Test(
    "A notification is one line, with its message below",
    arguments: [
      .init(
        "with a message and actions",
        "07:00:00 + Messages Anna #12 social [+Reply -Clear]\n          Dinner tonight?",
        of: Examples.notification),
      .init(
        "on a narrow terminal",
        "07:00 + Messages Anna #12 social [+Reply\n  -Clear]\n  Dinner tonight?",
        style: TextStyle(width: 40), of: Examples.notification),
      .init("urgent, of a phone that is away", "07:00:00 + Messages Anna #12 social urgent stale") {
        $0.display = .urgent
        $0.isStale = true
      },
      .init(
        "gone", "07:00:00 - Messages Anna #12 removed", change: .removed, of: Examples.notification),
      .init("titled as its app", "07:00:00 ~ Messages Two new #12 social", change: .modified) {
        $0.attributes[.title] = "Messages"
        $0.attributes[.subtitle] = "Two new"
      },
      .init(
        "without any text", "07:00:00 + incoming-call #3 incoming-call",
        of: NotificationReport(NotificationEvent(.added, 3, category: .incomingCall))),
      .init("older, of the same day", "07:00:00 + Messages Anna (05:46) #12 social pre-existing") {
        $0.event.flags = [.preExisting]
        $0.attributes.fetchedDate = CivilTime(secondsSince1970: 1_795_240_000)
      },
      .init("of another day", "07:00:00 + Messages Anna (2026-11-20 02:00) #12 social") {
        $0.attributes.fetchedDate = date(hours: -29)
      },
      .init("of another zone", "08:00:00 + Messages Anna #12 social", style: east) {
        $0.attributes.fetchedDate = date(hours: 3)
        $0.sent = WallTime(seconds: 1_795_244_400)
      },
      .init(
        "with a message that the phone cut",
        "07:00:00 + Messages Anna #12 social\n          Dinner?…"
      ) {
        $0.attributes[.message] = "Dinner?"
        $0.attributes.truncated = [.message]
      },
      .init(
        "with one that it cut in an ellipsis",
        "07:00:00 + Messages Anna #12 social\n          Dinner…"
      ) {
        $0.attributes[.message] = "Dinner…"
        $0.attributes.truncated = [.message]
      },
    ] as [NotificationText])
  func notification(_ example: NotificationText) {
    #expect(text(.notification(example.report), example.style) == example.text)
  }

  @Test("In a list, a notification has its date by the board's clock, short on a narrow terminal")
  func listing() {
    var report = NotificationText.short
    report.sent = WallTime(seconds: 1_795_244_400 - 3_600)
    #expect(report.listing(Self.east, now: Examples.time) == "2026-11-21 07:00 Messages Anna #12 social")
    let narrow = TextStyle(width: 40)
    #expect(
      Examples.notification.listing(narrow, now: Examples.time)
        == "06:59 Messages Anna #12 social [+Reply\n  -Clear]\n  Dinner tonight?")
    #expect(
      Examples.notification.listing(narrow, now: WallTime(seconds: Examples.time.seconds + 86_400))
        .hasPrefix("11-21 06:59 Messages"))
  }

  @Test("The phone's clock is compared in one zone")
  func clock() {
    let phoneTime = CivilTime(secondsSince1970: 1_795_244_400 + 7 * 3_600)
    #expect(
      text(.time(phoneTime, offset: 0.4)) == "07:00:00 the phone's clock: 2026-11-21 14:00:00 there, 07:00:00 here "
        + "(the board's is the same)")
    #expect(
      text(.time(phoneTime, offset: 90), TextStyle(zone: 7 * 3_600))
        == "14:00:00 the phone's clock: 2026-11-21 14:00:00 (90 s ahead of the board's)")
    #expect(text(.time(phoneTime, offset: .infinity)).hasPrefix("07:00:00 the phone's clock"))
  }

  @Test("Where the day changes, its date has a line")
  func days() {
    func event(_ seconds: Int64) -> NumberedEvent {
      NumberedEvent(seq: 1, time: WallTime(seconds: seconds), Event(.paired))
    }
    let midnight: Int64 = 1_795_219_200 + 86_400
    var page = EventPage(TextStyle(), today: WallTime(seconds: midnight - 60))
    #expect(page.text(event(midnight - 1)) == "23:59:59 paired")
    #expect(page.text(event(midnight)) == "--- 2026-11-22 ---\n00:00:00 paired")
    #expect(page.text(event(midnight + 1)) == "00:00:01 paired")
    var east = EventPage(TextStyle(zone: 3_600), today: WallTime(seconds: midnight - 60))
    #expect(east.text(event(midnight)) == "01:00:00 paired")
  }

  @Test("A hostile notification can't drive the terminal, nor break its line")
  func hostile() {
    var report = Examples.notification
    report.app = "\u{1b}]0;x\u{7}"
    report.attributes[.title] = "a\nb\u{202e}"
    report.attributes[.subtitle] = "\u{9b}2J"
    report.attributes[.message] = "\u{1b}[31mred\r\n\u{1b}c"
    report.attributes[.positiveActionLabel] = "\u{8}\u{8}"
    let shown = text(.notification(report), TextStyle(width: 60))
    #expect(!shown.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" })
    #expect(!shown.unicodeScalars.contains { (0x7F...0x9F).contains($0.value) })
    #expect(!shown.unicodeScalars.contains("\u{202e}"))
    #expect(shown.contains("a b"))
  }

  @Test("No line is wider than the terminal, and a long message is cut", arguments: [20, 40, 80])
  func width(columns: Int) {
    var report = Examples.notification
    report.attributes[.message] = String(repeating: "日本語 and words ", count: 100)
    report.attributes[.title] = String(repeating: "x", count: 300)
    let lines = text(.notification(report), TextStyle(width: columns))
      .split(separator: "\n").map(String.init)
    #expect(lines.allSatisfy { $0.displayWidth <= columns })
    #expect(lines.last?.hasSuffix("…") == true)
  }

  @Test("Media is the track, and a bar under it; its volume alone is a line")
  func media() {
    #expect(
      text(.media(Examples.media, changed: [.trackTitle]), TextStyle(width: 60))
        == "07:00:00 playing Lovers Dream · Anna Ternheim (Music)\n"
        + "          1:07 ████░░░░░░░░░░░ 4:12 volume 6 % track 1 of 12")
    #expect(text(.media(Examples.media, changed: [.playerVolume])) == "07:00:00 volume 6 %")
    #expect(text(.media(MediaState(), changed: [])) == "07:00:00 nothing is playing")
  }

  @Test(
    "Every event has a text, on one line where there is room, with colours and adapters as wanted",
    arguments: Examples.all)
  func oneLine(content: Event.Content) {
    let shown = text(content)
    #expect(shown.hasPrefix("07:00:00 "))
    if ![.notification, .media].contains(content.name) { #expect(!shown.contains("\n")) }
    #expect(!shown.contains("\u{1b}"))
    #expect(text(content, TextStyle(colour: true)).contains("\u{1b}["))
    #expect(text(content, TextStyle(namesAdapter: true)).hasPrefix("07:00:00 hci0 "))
  }

  @Test("All about one notification, its message in full")
  func details() {
    var report = Examples.notification
    report.attributes[.message] = "One\nTwo"
    report.attributes.truncated = [.title]
    var tokyo = report
    tokyo.sent = WallTime(seconds: 1_795_244_399 - 9 * 3_600)
    #expect(
      tokyo.details(TextStyle(), now: WallTime(seconds: 1_795_244_399 - 32_000)).contains(
        "\ndate      2026-11-20 21:59:59 (6 min 40 s ago, 2026-11-21 06:59:59 there)\n"))
    #expect(
      report.details(TextStyle()) == """
        #12
        app       Messages
        app id    com.apple.MobileSMS
        title     Anna
        date      2026-11-21 06:59:59
        category  social (2 active)
        flags     positive-action negative-action
        positive  Reply
        negative  Clear
        size      15 bytes
        truncated title
          One
          Two
        """)
  }
}
