// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import TerminalScreen
import Testing
import Wire

@testable import LiveScreen

/// What of the list is shown, and how one finds something in it.
extension DashboardTests {
  @Test("A search shows what contains the text, a only the app of the selection, c its category; Escape ends each")
  func narrowing() {
    var dashboard = Self.dashboard(columns: 80)
    var mail = Self.notification(4, "Invoice", category: .email)
    (mail.app, mail.attributes[.appIdentifier]) = ("Mail", "com.apple.mobilemail")
    dashboard.add(mail)
    for (text, keys, shown) in [
      ("/SUNDAY", [], "── 1/1 of 4 notifications with “SUNDAY” ──"),
      ("", [.backspace, .enter], "── 1/1 of 4 notifications with “SUNDA” ──"), ("/zzz", [], "no match; Esc shows all"),
      ("", [.escape], "with “SUNDA” ──"), ("", [.escape], "── 2/4 notifications ──"),
      ("/ben", [.enter, .escape], "── 3/4 notifications ──"), ("ga", [], "── 1/1 of 4 notifications of Mail ──"),
      ("/zzz", [.enter], "── 0 of 4 notifications of com.apple.mobilemail with “zzz” ──"),
      ("", [.escape, .escape], "── 1/4 notifications ──"),
      ("Gc", [], "── 3/3 of 4 notifications in social ──"), ("c", [], "── 4/4 notifications ──"),
    ] as [(String, [Key], String)] {
      dashboard.type(text)
      for key in keys { dashboard.press(key) }
      #expect(dashboard.text().contains(shown), "\(text)\(keys)")
      #expect(dashboard.view().hasCursor == (text.hasPrefix("/") && keys.isEmpty))
    }
  }

  @Test("What comes above the rows that are shown is counted until it was seen") func newAbove() {
    var dashboard = Self.dashboard(rows: 9)
    dashboard.press(.end)
    #expect(!dashboard.text().contains("above"))
    for uid in 4...9 { dashboard.add(Self.notification(UInt32(uid), "Ben")) }
    dashboard.add(Self.notification(10, "Old", flags: .preExisting))
    #expect(dashboard.text().contains("── 10/10 notifications, 3 new above ──"))
    dashboard.add(Self.notification(9, "", change: .removed))
    #expect(dashboard.text().contains(", 2 new above"))
    dashboard.press(.home, .end)
    #expect(!dashboard.text().contains("above"))
  }

  @Test("A click selects what is in its row, and nothing elsewhere") func click() {
    var dashboard = Self.dashboard()
    let rows = dashboard.text().split(separator: "\n", omittingEmptySubsequences: false)
    for (title, uid) in [("Anna", 1), ("Mum", 3), ("Ben", 2)] as [(String, UInt32)] {
      let row = rows.firstIndex { $0.contains(title) } ?? -1
      dashboard.press(.click(row: row))
      #expect(dashboard.target?.report.event.uid.rawValue == uid)
    }
    for row in [0, 1, rows.count - 1, 999] { dashboard.press(.click(row: row)) }
    #expect(dashboard.target?.report.event.uid.rawValue == 2)
  }

  @Test("What is stale is not acted on, and what was to be done does not reach another notification with its number")
  func otherSession() {
    let later = Self.start + .seconds(10)
    var away = Self.dashboard()
    var stale = Self.notification(3, "Mum", message: "Are you coming on Sunday?")
    stale.isStale = true
    away.add(stale)
    #expect(away.press("-", at: later).isEmpty && away.pending.isEmpty)
    #expect(away.note?.text == "#3 is stale: its phone is away, or has not announced it again")
    let same = Self.notification(3, "Mum", message: "Are you coming on Sunday?")
    for (news, requests) in [
      ([stale], []), ([stale, same], [Self.act(.negative, 3)]), ([stale, Self.notification(3, "Eve")], []),
      ([Self.notification(3, "", change: .removed), Self.notification(3, "Eve")], []),
    ] as [([NotificationReport], [Dashboard.Request])] {
      var dashboard = Self.dashboard()
      dashboard.press("-", at: later)
      for report in news { dashboard.add(report, at: later) }
      #expect(dashboard.pass(to: later + .seconds(2)) == requests)
      let isLeft = news.last?.isStale == true
      #expect((dashboard.note?.text == "not done, because its phone is away: Clear: #3 “Mum”") == isLeft)
    }
  }

  @Test(
    "What is selected, opened or begun is not another notification with its number by now", arguments: [true, false])
  func anotherNumber(isListed: Bool) {
    let later = Self.start + .seconds(10)
    let eve = Self.notification(3, "Eve")
    var stale = Self.notification(3, "Mum")
    stale.isStale = true
    func dashboard(_ keys: Key...) -> Dashboard {
      var dashboard = Self.dashboard()
      for key in keys { dashboard.press(key, at: later) }
      if isListed {
        dashboard.replace([ActiveNotification(eve, adapter: "hci0", phone: Self.phone)], at: later)
      } else {
        for report in [stale, eve] { dashboard.add(report, at: later) }
      }
      return dashboard
    }
    var top = dashboard()
    #expect(top.press("-", at: later).isEmpty && top.pending.isEmpty)
    #expect(top.note?.text == "the list has just moved: press it again")
    var selected = dashboard(.down, .up)
    selected.press("-", at: later + .seconds(1))
    #expect(selected.pending.isEmpty && selected.obstacle == .missing)
    var opened = dashboard(.enter)
    #expect(opened.text().contains("the phone has removed it"))
    #expect(opened.press("-", at: later + .seconds(1)).isEmpty && opened.pending.isEmpty)
    var begun = dashboard("-")
    #expect(begun.pass(to: later + .seconds(2)).isEmpty)
  }
}
