// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import TerminalScreen
import Testing
import Wire

@testable import Tool

/// The screen of `tui`, without a screen: what is drawn, and what keys do.
@Suite("The screen of tui") struct DashboardTests {
  private static let phone = Address(0xC0_11_22_33_44_55)
  private static let start = Instant(nanoseconds: 1_000_000_000_000)

  private static func notification(
    _ uid: UInt32, _ title: String, message: String = "", category: ANCS.Category = .social,
    flags: EventFlags = [.negativeAction], change: NotificationChange = .added
  ) -> NotificationReport {
    var report = NotificationReport(
      NotificationEvent(change, NotificationUID(rawValue: uid), category: category, flags: flags))
    guard change != .removed else { return report }
    report.app = "Messages"
    report.attributes[.title] = title
    report.attributes[.message] = message
    report.attributes.fetchedDate = .some(CivilTime("2026-11-22T07:0\(uid % 10):00"))
    if flags.contains(.positiveAction) { report.attributes[.positiveActionLabel] = "Reply" }
    if flags.contains(.negativeAction) { report.attributes[.negativeActionLabel] = "Clear" }
    return report
  }

  private static func status(wait: Wait? = nil, battery: Int? = 80) -> StatusReport {
    var link = LinkReport()
    link.adapter = "hci0"
    link.phone = phone
    link.name = "iPhone"
    link.isEncrypted = true
    link.isBonded = true
    link.battery = battery
    link.waiting = WaitReport(wait, name: "board")
    var status = StatusReport()
    status.links = [link]
    return status
  }

  /// A dashboard with three notifications, of which the last is the newest.
  private static func dashboard(rows: Int = 16, columns: Int = 60) -> Dashboard {
    var dashboard = Dashboard(size: Screen.Size(rows: rows, columns: columns))
    dashboard.update(status(wait: .service(.news)))
    dashboard.add(notification(1, "Anna", message: "Dinner tonight?"))
    dashboard.add(notification(2, "Ben", flags: [.positiveAction, .negativeAction]))
    dashboard.add(notification(3, "Mum", message: "Are you coming on Sunday?"))
    return dashboard
  }

  private static func playing(_ state: PlaybackState) -> MediaState {
    var media = MediaState()
    media.player.name = "Music"
    media.player.state = state
    media.player.rate = state == .playing ? 1 : 0
    media.player.position = MediaState.Position(seconds: 67, instant: .zero)
    media.track = MediaState.Track(artist: "Anna Ternheim", title: "Lovers Dream", duration: 252)
    return media
  }

  // MARK: The picture

  @Test("Phone, notifications with their actions, what plays, and keys") func picture() {
    var dashboard = Self.dashboard(rows: 14)
    dashboard.receive(.media(Self.playing(.playing), changed: []), at: Self.start)
    #expect(
      dashboard.text() == """
        iPhone battery 80 % on hci0 encrypted bonded
        ── 3 notifications ─────────────────────────────────────────
        > 07:03 Messages Mum #3 social [-Clear]
                Are you coming on Sunday?
          07:02 Messages Ben #2 social [+Reply -Clear]
          07:01 Messages Anna #1 social [-Clear]
                Dinner tonight?



        ────────────────────────────────────────────────────────────
        playing Lovers Dream · Anna Ternheim (Music)
        1:07 █████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 4:12
        ↑↓ choose Enter open + - act ? keys q leave / search Space …
        """)
  }

  @Test("The bar moves by itself while something plays") func movingBar() {
    var dashboard = Self.dashboard()
    dashboard.receive(.media(Self.playing(.playing), changed: []), at: Self.start)
    #expect(dashboard.isMoving)
    #expect(dashboard.text(at: Self.start + .seconds(60)).contains("2:07 "))
    dashboard.receive(.media(Self.playing(.paused), changed: []), at: Self.start)
    #expect(!dashboard.isMoving)
    #expect(dashboard.text(at: Self.start + .seconds(60)).contains("1:07 "))
  }

  @Test("Why nothing comes is said; that all is well only where nothing else is to be seen")
  func reason() {
    var dashboard = Dashboard(size: Screen.Size(rows: 16, columns: 60))
    dashboard.update(Self.status(wait: .service(.forbidden)))
    #expect(dashboard.text().contains("the phone does not let its notifications"))
    #expect(dashboard.text().contains("System Notifications"))
    dashboard.update(Self.status(wait: .service(.news)))
    let rest = "waiting for"
    #expect(dashboard.text().contains(rest))
    dashboard.add(Self.notification(1, "Anna"))
    #expect(!dashboard.text().contains(rest))
    dashboard.lose("the daemon has left")
    #expect(dashboard.text().contains("no daemon"))
    #expect(dashboard.text().contains("the daemon has left"))
    #expect(!dashboard.text().contains("Anna"))
  }

  @Test("No size of the window breaks the picture, whatever a notification contains")
  func everySize() {
    let hostile = "\u{1B}[2J日本語テキスト🏳️‍🌈 \u{202E}gnirts\u{7} " + String(repeating: "x", count: 130)
    for columns in [1, 19, 20, 33, 59, 60, 121] {
      for rows in [1, 4, 5, 9, 10, 16, 40] {
        var dashboard = Self.dashboard(rows: rows, columns: columns)
        dashboard.receive(.media(Self.playing(.playing), changed: []), at: Self.start)
        dashboard.add(Self.notification(4, hostile, message: hostile, flags: [.positiveAction]))
        for page in [
          Dashboard.Page.list, .help(scroll: 3),
          .opened(Dashboard.Opened(notification: dashboard.notifications[3], scroll: 2)),
        ] {
          dashboard.page = page
          let lines = dashboard.text().split(separator: "\n", omittingEmptySubsequences: false)
          #expect(lines.count <= rows)
          #expect(lines.allSatisfy { $0.count <= columns || String($0).displayWidth <= columns })
          #expect(
            !dashboard.text().unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
        }
      }
    }
  }

  @Test("The selected one is always to be seen") func scrolling() {
    var dashboard = Dashboard(size: Screen.Size(rows: 12, columns: 60))
    dashboard.update(Self.status())
    for uid in 1...100 { dashboard.add(Self.notification(UInt32(uid), "T\(uid)", message: "m")) }
    for _ in 0..<100 {
      let lines = dashboard.text().split(separator: "\n")
      #expect(lines.count { $0.hasPrefix("> ") } == 1)
      dashboard.press(.down, at: Self.start)
    }
    #expect(dashboard.text().contains("> 07:01 Messages T1 #1"))
    dashboard.press(.home, at: Self.start)
    #expect(dashboard.text().contains("> 07:00 Messages T100 #100"))
    dashboard.press(.end, at: Self.start)
    #expect(dashboard.text().contains("> 07:01 Messages T1 #1"))
  }

  // MARK: Keys

  @Test("+ and - act on the selected one, if it has the action") func actions() {
    var dashboard = Self.dashboard()
    let later = Self.start + .seconds(10)
    #expect(dashboard.press(.character("+"), at: later) == nil)
    #expect(dashboard.note?.text == "#3 has no positive action")
    dashboard.press(.down, at: later)
    #expect(
      dashboard.press(.character("+"), at: later)
        == .request(.act(.positive, Dashboard.ID(phone: Self.phone, uid: 2))))
    #expect(dashboard.note?.text == "#2: Reply…")
    dashboard.failed(
      .act(.positive, Dashboard.ID(phone: Self.phone, uid: 2)),
      Failure(.refused, "act #2 positive", "the phone refused"))
    #expect(dashboard.text().contains("act #2 positive: the phone refused"))
  }

  @Test("A key just after the list has moved by itself acts on nothing") func caution() {
    var dashboard = Self.dashboard()
    let later = Self.start + .seconds(10)
    dashboard.add(Self.notification(4, "Somebody", category: .incomingCall), at: later)
    #expect(dashboard.press(.character("-"), at: later + .milliseconds(300)) == nil)
    #expect(dashboard.note?.text == "the list has just moved: press it again")
    #expect(
      dashboard.press(.character("-"), at: later + .seconds(1))
        == .request(.act(.negative, Dashboard.ID(phone: Self.phone, uid: 4))))
    // That it goes then is what the key was for: the next one can be cleared at once.
    dashboard.add(Self.notification(4, "", change: .removed), at: later + .seconds(2))
    #expect(
      dashboard.press(.character("-"), at: later + .seconds(2))
        == .request(.act(.negative, Dashboard.ID(phone: Self.phone, uid: 3))))
  }

  @Test("The selection stays with its notification; where that goes, the next is selected")
  func selection() {
    var dashboard = Self.dashboard()
    dashboard.press(.down, at: Self.start)
    dashboard.add(Self.notification(4, "New"))
    #expect(dashboard.text().contains("> 07:02 Messages Ben"))
    dashboard.add(Self.notification(2, "", change: .removed))
    #expect(dashboard.text().contains("> 07:01 Messages Anna"))
    dashboard.add(Self.notification(1, "", change: .removed))
    #expect(dashboard.text().contains("> 07:03 Messages Mum"))
    dashboard.replace([], at: Self.start)
    #expect(dashboard.text().contains("── 0 notifications"))
  }

  @Test("A notification is opened in full, scrolled, and told when it is gone") func opening() {
    var dashboard = Self.dashboard(rows: 12)
    let id = Dashboard.ID(phone: Self.phone, uid: 3)
    #expect(dashboard.press(.enter, at: Self.start) == .request(.show(id)))
    let message = (1...30).map { "line \($0)" }.joined(separator: "\n")
    let whole = Self.notification(3, "Mum", message: message)
    dashboard.answered(
      .show(id), with: ActiveNotification(whole, adapter: "hci0", phone: Self.phone))
    #expect(!dashboard.text().contains("line 30"))
    for _ in 0..<50 { dashboard.press(.pageDown, at: Self.start) }
    #expect(dashboard.text().contains("line 30"))
    dashboard.press(.pageUp, at: Self.start)
    #expect(!dashboard.text().contains("line 30"))
    dashboard.press(.home, at: Self.start)
    dashboard.add(Self.notification(3, "", change: .removed))
    #expect(dashboard.text().contains("the phone has removed it"))
    #expect(dashboard.press(.character("-"), at: Self.start + .seconds(5)) == nil)
    dashboard.press(.escape, at: Self.start)
    #expect(dashboard.text().contains("── 2 notifications"))
  }

  @Test("A search shows what contains the text, and Escape ends it") func search() {
    var dashboard = Self.dashboard()
    dashboard.type("/SUNDAY")
    #expect(dashboard.text().contains("── 1 of 3 notifications with “SUNDAY”"))
    #expect(dashboard.view().hasCursor)
    dashboard.press(.backspace, at: Self.start)
    dashboard.press(.enter, at: Self.start)
    #expect(dashboard.search == .set("SUNDA"))
    dashboard.type("/zzz")
    #expect(dashboard.text().contains("nothing contains this"))
    dashboard.press(.escape, at: Self.start)
    #expect(dashboard.search == .set("SUNDA"))
    dashboard.press(.escape, at: Self.start)
    #expect(dashboard.text().contains("── 3 notifications"))
  }

  @Test("Each key of the player sends its command, and no two keys are the same") func player() {
    var dashboard = Self.dashboard()
    dashboard.receive(.media(Self.playing(.playing), changed: []), at: Self.start)
    for binding in KeyBinding.all {
      guard case .media(let command) = binding.command else { continue }
      for key in binding.keys {
        #expect(
          dashboard.press(key, at: Self.start) == .request(.media(command, phone: Self.phone)))
      }
    }
    let keys = KeyBinding.all.flatMap(\.keys)
    #expect(Set(keys).count == keys.count)
    #expect(dashboard.press(.character("q"), at: Self.start) == .quit)
  }

  @Test("Events say what has to be asked again, and what has happened") func events() {
    var dashboard = Self.dashboard()
    #expect(dashboard.receive(.battery(level: 7), at: Self.start) == .status)
    #expect(
      dashboard.receive(.disconnected(reason: "out of range"), at: Self.start)
        == [.status, .notifications])
    #expect(dashboard.text().contains("disconnected: out of range"))
    dashboard.press(.down, at: Self.start)
    #expect(!dashboard.text().contains("out of range"))
    let report = Self.notification(9, "x")
    #expect(dashboard.receive(.notification(report), at: Self.start).isEmpty)
  }
}

extension Dashboard {
  @discardableResult fileprivate mutating func receive(
    _ content: Event.Content, at now: Instant
  ) -> Outdated {
    receive(Event(content, adapter: "hci0", phone: Address(0xC0_11_22_33_44_55)), at: now)
  }

  fileprivate mutating func add(
    _ report: NotificationReport, at now: Instant = Instant(nanoseconds: 0)
  ) { _ = receive(.notification(report), at: now) }

  fileprivate mutating func type(_ text: String) {
    for character in text { _ = press(.character(character), at: .zero) }
  }

  /// The picture, without colours, at 07:30 of the notifications' day.
  fileprivate mutating func view(at now: Instant = Instant(nanoseconds: 1_000_000_000_000))
    -> DashboardView
  {
    let time = CivilTime("2026-11-22T07:30:00").map { WallTime(seconds: $0.secondsSince1970) }
    let view = DashboardView(self, TextStyle(), now: now, time: time ?? WallTime(seconds: 0))
    extent = view.picture.extent
    return view
  }

  fileprivate mutating func text(at now: Instant = Instant(nanoseconds: 1_000_000_000_000))
    -> String
  {
    view(at: now).picture.rows.map { $0.text(TextStyle()) }.joined(separator: "\n")
  }
}
