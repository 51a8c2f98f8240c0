// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import TerminalScreen
import Testing

@testable import LiveScreen

/// What of the list is shown, and how one finds something in it.
extension DashboardTests {
  @Test("A search shows what contains the text, and Escape ends it") func search() {
    var dashboard = Self.dashboard()
    dashboard.type("/SUNDAY")
    #expect(dashboard.text().contains("── 1/1 of 3 notifications with “SUNDAY”"))
    #expect(dashboard.view().hasCursor)
    dashboard.press(.backspace, .enter)
    #expect(dashboard.search == Dashboard.Search(text: "SUNDA"))
    dashboard.type("/zzz")
    #expect(dashboard.text().contains("no match; Esc shows all"))
    dashboard.press(.escape)
    #expect(dashboard.search == Dashboard.Search(text: "SUNDA"))
    dashboard.press(.escape)
    #expect(dashboard.text().contains("── 1/3 notifications"))
    dashboard.type("/ben")
    dashboard.press(.enter, .escape)
    #expect(dashboard.text().contains("── 2/3 notifications"), "the selection is another")
  }

  @Test("a shows only the app of the selection, c its category; again, or Escape, all") func parts()
  {
    var dashboard = Self.dashboard(columns: 80)
    var mail = Self.notification(4, "Invoice", category: .email)
    (mail.app, mail.attributes[.appIdentifier]) = ("Mail", "com.apple.mobilemail")
    dashboard.add(mail)
    dashboard.type("a")
    #expect(dashboard.text().contains("── 1/1 of 4 notifications of Mail ──"))
    dashboard.type("/zzz")
    dashboard.press(.enter)
    #expect(
      dashboard.text().contains("── 0 of 4 notifications of com.apple.mobilemail with “zzz”"))
    dashboard.press(.escape, .escape)
    #expect(dashboard.text().contains("── 1/4 notifications ──"))
    dashboard.press(.end, "c")
    #expect(dashboard.text().contains("── 3/3 of 4 notifications in social ──"))
    dashboard.type("c")
    #expect(dashboard.text().contains("── 4/4 notifications ──"))
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
}
