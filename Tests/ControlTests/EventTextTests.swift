// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Testing
import Wire

@testable import Control

@Suite("Events as text")
struct EventTextTests {
  private func text(_ content: Event.Content, _ style: TextStyle = TextStyle()) -> String {
    NumberedEvent(
      seq: 1, time: Examples.time, Event(content, adapter: "hci0", phone: Examples.phone)
    ).text(style)
  }

  /// A notification with this change, as text.
  private func text(
    _ change: NotificationChange, _ report: NotificationReport, _ style: TextStyle = TextStyle()
  ) -> String {
    var report = report
    report.event.change = change
    return text(.notification(report), style)
  }

  /// A notification without a message and actions.
  private static var short: NotificationReport {
    var report = Examples.notification
    report.attributes[.message] = nil
    report.event.flags = []
    return report
  }

  @Test("A notification is one line, with its message below")
  func notification() {
    #expect(
      text(.added, Examples.notification)
        == "07:00:00 + Messages Anna #12 social [+Reply -Clear]\n          Dinner tonight?")
  }

  @Test("The effect of rules and a phone's absence are shown")
  func marks() {
    var report = Self.short
    report.display = .urgent
    report.isStale = true
    #expect(text(.added, report) == "07:00:00 + Messages Anna #12 social urgent stale")
  }

  @Test("A notification that is gone is one line")
  func removed() {
    #expect(text(.removed, Examples.notification) == "07:00:00 - Messages Anna #12 removed")
  }

  @Test("A title that is the app's name is not printed twice")
  func title() {
    var report = Self.short
    report.attributes[.title] = "Messages"
    report.attributes[.subtitle] = "Two new"
    #expect(text(.modified, report) == "07:00:00 ~ Messages Two new #12 social")
  }

  @Test("A notification without any text still says what it is")
  func nothing() {
    let report = NotificationReport(NotificationEvent(.added, 3, category: .incomingCall))
    #expect(text(.added, report) == "07:00:00 + incoming-call #3 incoming-call")
  }

  @Test("An older notification shows its own time, and its day where it is another")
  func date() {
    var report = Self.short
    report.event.flags = [.preExisting]
    report.attributes.fetchedDate = CivilTime(secondsSince1970: 1_795_240_000)
    #expect(text(.added, report) == "07:00:00 + Messages Anna (05:46) #12 social pre-existing")
    report.attributes.fetchedDate = CivilTime(secondsSince1970: 1_795_140_000)
    #expect(
      text(.added, report)
        == "07:00:00 + Messages Anna (2026-11-20 02:00) #12 social pre-existing")
    // A phone in the same zone as the board shows the board's time.
    report.attributes.fetchedDate = CivilTime(secondsSince1970: 1_795_244_400 + 3_600)
    #expect(
      text(.added, report, TextStyle(zone: 3_600))
        == "08:00:00 + Messages Anna #12 social pre-existing")
  }

  @Test("A phone in another time zone shows the board's times, and nothing that is only its own")
  func zones() {
    var report = Self.short
    // Written at 9:00 in the phone's zone, which is two hours ahead of the board's.
    report.attributes.fetchedDate = CivilTime(secondsSince1970: 1_795_244_400 + 3 * 3_600)
    report.sent = WallTime(seconds: 1_795_244_400)
    #expect(
      text(.added, report, TextStyle(zone: 3_600)) == "08:00:00 + Messages Anna #12 social")
    report.sent = WallTime(seconds: 1_795_244_400 - 3_600)
    #expect(
      text(.added, report, TextStyle(zone: 3_600)) == "08:00:00 + Messages Anna (07:00) #12 social")
    #expect(
      report.listing(TextStyle(zone: 3_600), now: Examples.time)
        == "2026-11-21 07:00 Messages Anna #12 social")
  }

  @Test("The phone's clock is compared in one zone")
  func clock() {
    let phoneTime = CivilTime(secondsSince1970: 1_795_244_400 + 7 * 3_600)
    #expect(
      text(.time(phoneTime, offset: 0.4))
        == "07:00:00 the phone's clock: 2026-11-21 14:00:00 there, 07:00:00 here "
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

  @Test("On a narrow terminal times are short, and the indent is two")
  func narrow() {
    let style = TextStyle(width: 40)
    #expect(
      text(.added, Examples.notification, style)
        == "07:00 + Messages Anna #12 social [+Reply\n  -Clear]\n  Dinner tonight?")
    #expect(
      Examples.notification.listing(style, now: Examples.time)
        == "06:59 Messages Anna #12 social [+Reply\n  -Clear]\n  Dinner tonight?")
    #expect(
      Examples.notification.listing(style, now: WallTime(seconds: Examples.time.seconds + 86_400))
        .hasPrefix("11-21 06:59 Messages"))
  }

  @Test("A hostile notification can't drive the terminal, nor break its line")
  func hostile() {
    var report = Examples.notification
    report.app = "\u{1b}]0;x\u{7}"
    report.attributes[.title] = "a\nb\u{202e}"
    report.attributes[.subtitle] = "\u{9b}2J"
    report.attributes[.message] = "\u{1b}[31mred\r\n\u{1b}c"
    report.attributes[.positiveActionLabel] = "\u{8}\u{8}"
    let shown = text(.added, report, TextStyle(width: 60))
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
    let lines = text(.added, report, TextStyle(width: columns))
      .split(separator: "\n").map(String.init)
    #expect(lines.allSatisfy { $0.displayWidth <= columns })
    #expect(lines.last?.hasSuffix("…") == true)
  }

  @Test("A message that the phone cut ends in an ellipsis, once")
  func truncated() {
    var report = Examples.notification
    report.attributes.truncated = [.message]
    #expect(text(.added, report).hasSuffix("Dinner tonight?…"))
    report.attributes[.message] = "Dinner…"
    #expect(text(.added, report).hasSuffix("Dinner…"))
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

  @Test("Every event has a text, on one line where there is room", arguments: Examples.all)
  func oneLine(content: Event.Content) {
    let shown = text(content)
    #expect(shown.hasPrefix("07:00:00 "))
    let name = Event(content).name
    if name != .notification && name != .media { #expect(!shown.contains("\n")) }
  }

  @Test("Colours are there only where they are wanted", arguments: Examples.all)
  func colours(content: Event.Content) {
    #expect(!text(content).contains("\u{1b}"))
    #expect(text(content, TextStyle(colour: true)).contains("\u{1b}["))
  }

  @Test("With several adapters each line names its own")
  func adapter() {
    #expect(text(.paired, TextStyle(namesAdapter: true)).hasPrefix("07:00:00 hci0 paired"))
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
