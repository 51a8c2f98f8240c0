// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import TerminalScreen
import Testing
import Wire

@testable import LiveScreen

/// The screen of `tui`, without a screen: what is drawn, and what keys do.
@Suite("The screen of tui") struct DashboardTests {
  static let phone = Address(0xC0_11_22_33_44_55)
  static let start = Instant(nanoseconds: 1_000_000_000_000)
  /// When the list has not moved for a while, so that keys act.
  private let later = Self.start + .seconds(10)

  static func notification(
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

  private static func status(wait: Wait? = nil, backlog: Int = 0) -> StatusReport {
    var link = LinkReport()
    (link.adapter, link.phone, link.name) = ("hci0", phone, "iPhone")
    (link.isEncrypted, link.isBonded, link.services) = (true, true, [.ancs])
    (link.battery, link.backlog) = (80, backlog)
    link.waiting = WaitReport(wait, name: "board")
    var status = StatusReport()
    status.links = [link]
    return status
  }

  /// A dashboard with three notifications, of which the last is the newest.
  static func dashboard(rows: Int = 16, columns: Int = 60) -> Dashboard {
    var dashboard = Dashboard(size: Screen.Size(rows: rows, columns: columns))
    dashboard.update(status(wait: .news), at: start)
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
    dashboard.receive(.media(Self.playing(.playing), changed: []))
    #expect(
      dashboard.text() == """
        iPhone battery 80 % on hci0 encrypted bonded
        ── 1/3 notifications ───────────────────────────────────────
        > 07:03 Messages Mum #3 social [-Clear]
                Are you coming on Sunday?
          07:02 Messages Ben #2 social [+Reply -Clear]
          07:01 Messages Anna #1 social [-Clear]
                Dinner tonight?



        ────────────────────────────────────────────────────────────
        playing Lovers Dream · Anna Ternheim (Music)
        1:07 █████████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░ 4:12
        ↑↓ select Enter open + - act Space mark ? keys q quit
        """)
  }

  @Test("A long title is cut, not left out; the bar moves by itself while something plays")
  func movingBar() {
    var dashboard = Self.dashboard()
    var media = Self.playing(.playing)
    media.track.title = String(repeating: "x", count: 200)
    dashboard.receive(.media(media, changed: []))
    #expect(dashboard.text().contains("playing xxxxxxxx"))
    #expect(dashboard.isMoving)
    #expect(dashboard.text(at: Self.start + .seconds(60)).contains("2:07 "))
    dashboard.receive(.media(Self.playing(.paused), changed: []))
    #expect(!dashboard.isMoving)
    #expect(dashboard.text(at: Self.start + .seconds(60)).contains("1:07 "))
  }

  @Test("The reason for missing notifications is shown; “all is well” only if there is none")
  func reason() {
    var dashboard = Dashboard(size: Screen.Size(rows: 16, columns: 60))
    // Before the first connection to the daemon nothing is wrong.
    #expect(dashboard.text().hasPrefix("ancsd connecting…\n"))
    dashboard.update(Self.status(wait: .forbidden))
    #expect(dashboard.text().contains("the phone does not allow access to its"))
    #expect(dashboard.text().contains("System Notifications"))
    dashboard.update(Self.status(wait: .news))
    let rest = "waiting for"
    #expect(dashboard.text().contains(rest))
    dashboard.add(Self.notification(1, "Anna"))
    #expect(!dashboard.text().contains(rest))
    dashboard.lose("the daemon has exited")
    #expect(dashboard.text().contains("no daemon"))
    #expect(dashboard.text().contains("the daemon has exited"))
    #expect(!dashboard.text().contains("Anna"))
  }

  @Test("No size of the window breaks the picture or hides the help, whatever there is to show")
  func everySize() {
    let hostile = "\u{1B}[2J日本語テキスト🏳️‍🌈 \u{202E}gnirts\u{7} " + String(repeating: "x", count: 130)
    for columns in [1, 19, 20, 33, 59, 60, 121] {
      for rows in [1, 4, 5, 9, 10, 16, 40] {
        var dashboard = Self.dashboard(rows: rows, columns: columns)
        dashboard.receive(.media(Self.playing(.playing), changed: []))
        dashboard.add(Self.notification(4, hostile, message: hostile, flags: [.positiveAction]))
        for (page, scroll) in [
          (.list, 0), (.help, 3), (.player, 1),
          (.opened(Dashboard.Opened(notification: dashboard.notifications[3])), 2),
        ] as [(Dashboard.Page, Int)] {
          (dashboard.page, dashboard.scroll) = (page, scroll)
          let lines = dashboard.text().split(separator: "\n", omittingEmptySubsequences: false)
          #expect(lines.count <= rows)
          let isTooSmall = columns < 20 || rows < 5
          #expect(isTooSmall || lines.last?.hasSuffix("? keys q quit") == true)
          #expect(lines.allSatisfy { $0.count <= columns || String($0).displayWidth <= columns })
          #expect(!dashboard.text().unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
        }
      }
    }
  }

  @Test(
    "All columns remain, whatever the phone's labels, app names and titles are",
    arguments: [
      String(repeating: "R", count: 60), String(repeating: "日本", count: 30), String(repeating: "👨‍👩‍👧‍👦", count: 20),
      "\u{1B}[2J\u{202E}] #99 [+x", "\u{200B}\u{202E}", "\n\n", "e",
    ]) func columns(text: String)
  {
    for columns in 30...120 {
      var dashboard = Dashboard(size: Screen.Size(rows: 16, columns: columns))
      var report = Self.notification(7, text, flags: [.positiveAction, .negativeAction, .important])
      report.app = text
      report.attributes[.positiveActionLabel] = text
      report.attributes[.negativeActionLabel] = text
      dashboard.add(report)
      let row = dashboard.text().split(separator: "\n").first { $0.hasPrefix("> ") } ?? ""
      #expect(String(row).displayWidth <= columns)
      #expect(row.hasPrefix("> 07:07 "))
      #expect(row.hasSuffix("]") && row.contains("[+") && row.contains(" -"), "\(columns): \(row)")
      #expect(columns < 40 || row.contains(" #7 "), "\(columns): \(row)")
      dashboard.press("-", at: later)
      #expect(columns < 80 || dashboard.text().hasSuffix("; u undoes it"))
      #expect(!dashboard.text().contains("\n:"))
    }
  }

  @Test("Neither long names of the app or its actions nor an invisible title hide what it is")
  func subjects() {
    var dashboard = Dashboard(size: Screen.Size(rows: 16, columns: 60))
    var call = Self.notification(7, "Grace Hopper", flags: [.positiveAction, .negativeAction, .important])
    call.attributes[.positiveActionLabel] = "Answer it now"
    call.attributes[.negativeActionLabel] = "Decline it now"
    dashboard.add(call)
    #expect(dashboard.text().contains("> 07:07 Messages Grace"))
    var long = Self.notification(1, "Mum")
    long.app = String(repeating: "x", count: 200)
    dashboard.add(long)
    dashboard.add(Self.notification(2, "\u{200B}\u{2060}"))
    #expect(dashboard.text().contains("x… Mum"))
    dashboard.size.columns = 34
    #expect(dashboard.text().contains("07:02 Messages [-Clear]"))
  }

  @Test("The selected notification is always visible, by lines, pages and half pages")
  func scrolling() {
    var dashboard = Dashboard(size: Screen.Size(rows: 21, columns: 60))
    dashboard.update(Self.status())
    for uid in 1...100 { dashboard.add(Self.notification(UInt32(uid), "T\(uid)", message: "m")) }
    #expect(dashboard.text().contains("── 1/100 notifications"))
    for (letter, place) in [("f", 9), ("d", 13), ("u", 9), ("b", 1)] as [(Character, Int)] {
      dashboard.press(.control(letter))
      #expect(dashboard.text().contains("── \(place)/100 notifications"))
    }
    for _ in 0..<100 {
      let lines = dashboard.text().split(separator: "\n")
      #expect(lines.count { $0.hasPrefix(">") } == 1)
      dashboard.press(.down)
    }
    #expect(dashboard.text().contains("> 07:01 Messages T1 #1"))
    dashboard.press(.home)
    #expect(dashboard.text().contains("> 07:00 Messages T100 #100"))
    dashboard.press(.end)
    #expect(dashboard.text().contains("> 07:01 Messages T1 #1"))
  }

  // MARK: Keys

  private static func id(_ uid: UInt32) -> Dashboard.ID {
    Dashboard.ID(phone: phone, uid: NotificationUID(rawValue: uid))
  }

  static func act(_ action: NotificationAction, _ uid: UInt32) -> Dashboard.Request {
    .act(action, id(uid))
  }

  @Test(
    "What keys do is said at the bottom, until the next one",
    arguments: [
      (["x"], "this key does nothing; ? shows those that do"), (["+"], "#3 has no positive action"),
      (["u"], "there is nothing to undo"), (["A"], "no call is ringing"), (["n"], "no search is active: press /"),
      ([" ", .down, " ", "+"], "none of these has a positive action"),
      ([" ", .down, " ", "-"], "Clear: 2 notifications; u undoes it"), ([.delete], "Clear: #3 “Mum”; u undoes it"),
      (["-", "u"], "undone: Clear: #3 “Mum”"),
    ] as [([Key], String)])
  func notes(keys: [Key], note: String) {
    var dashboard = Self.dashboard()
    for key in keys { #expect(dashboard.press(key, at: later).isEmpty) }
    #expect(dashboard.text().hasSuffix("\n" + note))
    dashboard.press(.down)
    #expect(dashboard.note == nil)
  }

  @Test("+ acts on the selected one at once, and shows the result")
  func actions() {
    var dashboard = Self.dashboard()
    let request = Self.act(.positive, 2)
    #expect(dashboard.press(.down, "+", at: later) == [request])
    #expect(dashboard.note?.text == "Reply: #2 “Ben”…")
    dashboard.answered(request, at: later)
    #expect(dashboard.note?.text == "Reply: #2 “Ben”, done")
    let failure = Failure(.refused, "act #2 positive", "the phone refused")
    dashboard.answered(request, .failure(failure), at: later)
    #expect(dashboard.text().contains("act #2 positive: the phone refused"))
    #expect(dashboard.pass(to: later + .seconds(60)).isEmpty)
    #expect(dashboard.note == nil)
  }

  @Test("- is done after two seconds, in which it can be undone; the next is selected meanwhile")
  func undoing() {
    var dashboard = Self.dashboard()
    #expect(dashboard.press("-", at: later).isEmpty)
    #expect(dashboard.text().contains("> 07:02 Messages Ben"))
    #expect(dashboard.text().contains(" -07:03 Messages Mum"))
    #expect(dashboard.nextDeadline == later + .seconds(2))
    #expect(dashboard.pass(to: later + .milliseconds(1_900)).isEmpty)
    dashboard.press("u", at: later + .milliseconds(1_900))
    #expect(dashboard.text().contains("> 07:03 Messages Mum"))
    #expect(dashboard.pass(to: later + .seconds(5)).isEmpty)

    #expect(dashboard.press("-", at: later + .seconds(6)).isEmpty)
    #expect(dashboard.press("-", at: later + .seconds(7)).isEmpty)
    #expect(dashboard.pass(to: later + .seconds(8)) == [Self.act(.negative, 3)])
    // Quitting meanwhile does not undo it.
    #expect(dashboard.press("q", at: later + .seconds(8)) == [Self.act(.negative, 2)])
  }

  @Test("Quitting waits until what was begun has its response, unless it is repeated")
  func quitting() {
    let now = later + .seconds(3)
    var busy = Self.dashboard()
    busy.press(" ", " ", " ", "-", at: later)
    #expect(busy.pass(to: later + .seconds(2)).count == 3)
    var dashboard = busy
    #expect(dashboard.press("q", at: now).isEmpty && !dashboard.isOver)
    #expect(dashboard.note?.text == "waiting for the phone; q again quits at once")
    #expect(dashboard.interrupt().isEmpty && dashboard.isOver)
    // With all responses there is nothing to wait for, unless something else was begun meanwhile.
    dashboard = busy
    #expect(dashboard.interrupt().isEmpty)
    for uid in [1, 2] as [UInt32] { dashboard.answered(Self.act(.negative, uid), at: now) }
    #expect(!dashboard.isOver)
    dashboard.add(Self.notification(4, "Eve"), at: later)
    dashboard.press("-", at: now)
    let failure = Failure(.refused, "act", "gone")
    dashboard.answered(Self.act(.negative, 3), .failure(failure), at: now)
    #expect(!dashboard.isOver)
    dashboard.press("u", at: now)
    #expect(dashboard.isOver)
    // What is pending is done, whichever way it ends.
    dashboard = Self.dashboard()
    dashboard.press("-", at: now)
    #expect(dashboard.interrupt() == [Self.act(.negative, 3)] && !dashboard.isOver)
  }

  @Test("u restores the marks with which - was pressed, of the notifications that are still there")
  func undoingOfMarked() {
    var dashboard = Self.dashboard()
    dashboard.press(" ", " ", "-", at: later)
    #expect(dashboard.marked.isEmpty)
    dashboard.press("u", at: later + .seconds(1))
    #expect(dashboard.text().contains("1/3 notifications, 2 marked"))
    #expect(dashboard.pass(to: later + .seconds(4)).isEmpty)

    #expect(dashboard.press("-", at: later + .seconds(4)).isEmpty)
    dashboard.add(Self.notification(3, "", change: .removed), at: later + .seconds(4))
    dashboard.press("u", at: later + .seconds(5))
    #expect(dashboard.text().contains("1/2 notifications, 1 marked"))
    #expect(dashboard.press("-", at: later + .seconds(6)).isEmpty)
    #expect(dashboard.pass(to: later + .seconds(8)) == [Self.act(.negative, 2)])
  }

  @Test("A key has no effect just after the list has moved by itself") func caution() {
    var dashboard = Self.dashboard()
    dashboard.add(Self.notification(4, "Somebody", category: .incomingCall), at: later)
    #expect(dashboard.press("-", at: later + .milliseconds(300)).isEmpty)
    #expect(dashboard.note?.text == "the list has just moved: press it again")
    #expect(dashboard.press("-", at: later + .seconds(1)).isEmpty)
    #expect(dashboard.pass(to: later + .seconds(3)) == [Self.act(.negative, 4)])
    // Its removal was expected, so the next one can be cleared at once.
    dashboard.add(Self.notification(4, "", change: .removed), at: later + .seconds(3))
    #expect(dashboard.press("-", at: later + .seconds(3)).isEmpty)
    #expect(dashboard.pass(to: later + .seconds(5)) == [Self.act(.negative, 3)])
    // The removal of another one with its number is not.
    dashboard.press("+", .down, at: later + .seconds(5))
    dashboard.add(Self.notification(2, "", change: .removed), at: later + .seconds(6))
    dashboard.press(.home)
    dashboard.add(Self.notification(2, "Eve"), at: later + .seconds(7))
    dashboard.add(Self.notification(2, "", change: .removed), at: later + .seconds(9))
    #expect(dashboard.press("-", at: later + .seconds(9)).isEmpty && dashboard.pending.isEmpty)
  }

  @Test("A call stays at the top, and rings the bell") func calls() {
    var dashboard = Self.dashboard()
    let call = Self.notification(4, "Somebody", category: .incomingCall)
    let late = Self.notification(6, "Late", category: .incomingCall, flags: .preExisting)
    for (news, rings, top) in [
      (call, true, "Somebody"), (Self.notification(5, "Eve"), false, "Somebody"), (late, false, "Late"),
    ] {
      dashboard.add(news)
      #expect(dashboard.takeBell() == rings)
      #expect(dashboard.takeBell() == false)
      #expect(dashboard.target?.report.attributes.title == top)
    }
    var silent = Dashboard(size: Screen.Size(rows: 9, columns: 60), bell: .never)
    silent.add(call)
    #expect(silent.takeBell() == false)
  }

  @Test("A daemon that returns with other UIDs does not change the selection")
  func otherNumbers() {
    var dashboard = Self.dashboard()
    dashboard.press(.down, at: later)
    dashboard.receive(.disconnected(reason: "the daemon is exiting"), at: later)
    dashboard.lose("the daemon has exited")
    #expect(!dashboard.text().contains("the daemon is exiting"))
    dashboard.update(Self.status(backlog: 2), at: later)
    #expect(dashboard.isFetching)
    dashboard.replace([], at: later)
    dashboard.add(Self.notification(1, "Anna", message: "Dinner tonight?"), at: later)
    // The selected number now belongs to another one, and the selected one is not back yet.
    dashboard.add(Self.renumbered(Self.notification(3, "Mum"), 2), at: later)
    #expect(!dashboard.text().contains("> "))
    #expect(dashboard.press("-", at: later + .seconds(5)).isEmpty)
    #expect(dashboard.note?.text == "the list is not complete yet: wait until everything is fetched again")
    #expect(dashboard.text().contains("the list is not complete yet"))
    dashboard.update(Self.status(backlog: 0), at: later + .seconds(5))
    #expect(dashboard.text().contains("the list is not complete yet"))
    dashboard.update(Self.status(backlog: 0), at: later + .seconds(6))
    #expect(!dashboard.isFetching)
    #expect(!dashboard.text().contains("the list is not complete yet"))
    #expect(dashboard.press("-", at: later + .seconds(6)).isEmpty)
    #expect(dashboard.text().contains("the selected notification is gone: select another"))
    dashboard.add(
      Self.renumbered(Self.notification(2, "Ben", flags: [.positiveAction, .negativeAction]), 9),
      at: later + .seconds(7))
    #expect(dashboard.text().contains("> 07:02 Messages Ben #9"))
    #expect(!dashboard.text().contains("the selected notification is gone"))
    #expect(dashboard.press("+", at: later + .seconds(8)) == [Self.act(.positive, 9)])
  }

  /// The same under another number.
  private static func renumbered(_ report: NotificationReport, _ uid: UInt32) -> NotificationReport {
    var other = report
    other.event.uid = NotificationUID(rawValue: uid)
    return other
  }

  @Test("An opened notification is acted on only under its current number") func openedElsewhere() {
    var dashboard = Self.dashboard()
    dashboard.press(.enter, at: later)
    dashboard.lose("the daemon has exited")
    #expect(dashboard.text().contains("its phone is away"))
    dashboard.update(Self.status(), at: later)
    dashboard.update(Self.status(), at: later + .seconds(2))
    dashboard.add(Self.renumbered(Self.notification(1, "Anna"), 3), at: later)
    #expect(dashboard.press("-", at: later + .seconds(3)).isEmpty)
    #expect(dashboard.pending.isEmpty)
    dashboard.add(Self.renumbered(Self.notification(3, "Mum"), 8), at: later)
    #expect(dashboard.press("-", at: later + .seconds(3)).isEmpty)
    #expect(dashboard.pass(to: later + .seconds(5)) == [Self.act(.negative, 8)])
  }

  @Test("The selection stays with its notification; if that is removed, the next is selected")
  func selection() {
    var dashboard = Self.dashboard()
    dashboard.press(.down)
    dashboard.add(Self.notification(4, "New"))
    #expect(dashboard.text().contains("> 07:02 Messages Ben"))
    dashboard.add(Self.notification(2, "", change: .removed))
    #expect(dashboard.text().contains("> 07:01 Messages Anna"))
    dashboard.add(Self.notification(1, "", change: .removed))
    #expect(dashboard.text().contains("> 07:03 Messages Mum"))
    dashboard.replace([], at: Self.start)
    #expect(dashboard.text().contains("── 0 notifications"))
  }

  @Test("A notification is opened in full, scrolled, and marked when it is removed") func opening() {
    var dashboard = Self.dashboard(rows: 12)
    let id = Self.id(3)
    #expect(dashboard.press(.enter) == [.show(id)])
    let message = (1...30).map { "line \($0)" }.joined(separator: "\n")
    let whole = Self.notification(3, "Mum", message: message)
    dashboard.answered(
      .show(id), with: ActiveNotification(whole, adapter: "hci0", phone: Self.phone),
      at: Self.start)
    #expect(!dashboard.text().contains("line 30"))
    for _ in 0..<50 { dashboard.press(.pageDown) }
    #expect(dashboard.text().contains("line 30"))
    dashboard.press(.pageUp)
    #expect(!dashboard.text().contains("line 30"))
    dashboard.press(.home)
    dashboard.add(Self.notification(3, "", change: .removed))
    #expect(dashboard.text().contains("the phone has removed it"))
    #expect(dashboard.press("-", at: Self.start + .seconds(5)).isEmpty)
    #expect(dashboard.pending.isEmpty)
    dashboard.press(.escape)
    #expect(dashboard.text().contains("/2 notifications"))
  }

  @Test("J and K show the next and the previous notification in full, as far as there is one")
  func neighbours() {
    var dashboard = Self.dashboard()
    #expect(dashboard.press(.enter, "J") == [.show(Self.id(2))])
    #expect(dashboard.press("J") == [.show(Self.id(1))])
    #expect(dashboard.press("J") == [])
    #expect(dashboard.text().contains("Dinner tonight?"))
    #expect(dashboard.press("K") == [.show(Self.id(2))])
    dashboard.press(.escape)
    #expect(dashboard.text().contains("── 2/3 notifications"))
  }

  @Test("n and N go to the next and previous match, and wrap around") func matches() {
    var dashboard = Self.dashboard()
    dashboard.type("/messages")
    dashboard.press(.enter)
    for title in ["Ben", "Anna", "Mum"] {
      dashboard.press("n")
      #expect(dashboard.target?.report.attributes.title == title)
    }
    dashboard.press("N")
    #expect(dashboard.target?.report.attributes.title == "Anna")
  }

  @Test("Each key of the player sends its command on its page only, and no two keys are the same")
  func player() {
    var dashboard = Self.dashboard(rows: 30)
    dashboard.receive(.media(Self.playing(.playing), changed: []))
    for key in ["d", "s", "r", "l", "b", "p", ".", "]"] as [Key] {
      #expect(dashboard.press(key).isEmpty)
    }
    dashboard.press("m")
    #expect(dashboard.text().contains("dislike the track"))
    for binding in KeyBinding.player {
      guard let command = binding.media else { continue }
      let request = Dashboard.Request.media(command, phone: Self.phone)
      #expect(dashboard.press(binding.keys[0]) == [request])
      dashboard.answered(request)
      #expect(dashboard.note?.text.hasPrefix(binding.title) == true)
    }
    var media = Self.playing(.playing)
    media.commands = [.play]
    dashboard.receive(.media(media, changed: []))
    dashboard.press("d")
    dashboard.answered(.media(.dislikeTrack, phone: Self.phone))
    #expect(dashboard.note?.text == "dislike the track (“Lovers Dream”): done, but the phone does not offer it now")
    #expect(dashboard.press("m", "d").isEmpty)
    for table in [KeyBinding.all, KeyBinding.player] {
      let keys = table.flatMap(\.keys)
      #expect(Set(keys).count == keys.count)
    }
    #expect(dashboard.press("q").isEmpty && dashboard.isOver)
  }

  @Test("Events determine what has to be requested again, and what is shown") func events() {
    var dashboard = Self.dashboard()
    #expect(dashboard.receive(.battery(level: 7)) == .status)
    #expect(dashboard.receive(.disconnected(reason: "out of range")) == .everything)
    #expect(dashboard.text().contains("disconnected: out of range"))
    dashboard.press(.down)
    #expect(!dashboard.text().contains("out of range"))
    let report = Self.notification(9, "x")
    #expect(dashboard.receive(.notification(report)) == .nothing)
  }

  // MARK: Calls

  private static func ringing(rows: Int = 16, columns: Int = 60) -> Dashboard {
    var dashboard = dashboard(rows: rows, columns: columns)
    var call = notification(4, "Grace Hopper", category: .incomingCall, flags: [.positiveAction, .negativeAction])
    call.attributes[.positiveActionLabel] = "Answer"
    call.attributes[.negativeActionLabel] = "Decline"
    dashboard.add(call)
    dashboard.add(notification(5, "Eve"))
    return dashboard
  }

  @Test(
    "A ringing call is on the first row wherever the user is, with the keys for it",
    arguments: [
      [], [.end], [.down, .enter], ["?"], ["m"], ["/", "E", .enter],
    ] as [[Key]])
  func callAnywhere(keys: [Key]) {
    var dashboard = Self.ringing()
    for key in keys { dashboard.press(key) }
    #expect(dashboard.text().hasPrefix("☎ Grace Hopper · A Answer · D Decline · g shows it\n"))
    let id = Self.id(4)
    #expect(dashboard.press("A") == [.act(.positive, id)])
    #expect(dashboard.press("D") == [.act(.negative, id)])
    dashboard.answered(.act(.negative, id))
    #expect(dashboard.note?.text == "declined #4 “Grace Hopper”")
    dashboard.press("g")
    #expect(dashboard.text().contains("── 1/5 notifications ──"))
    #expect(dashboard.target?.id == id)
    dashboard.add(Self.notification(4, "", category: .incomingCall, change: .removed))
    #expect(!dashboard.text().contains("☎"))
  }

  @Test("In a small window the call keeps its row and its keys; while the user types, letters are text")
  func callInSmallWindow() {
    var dashboard = Self.ringing(rows: 5, columns: 40)
    #expect(dashboard.text().hasPrefix("☎ Grace Hopper · A Answer · D Decline\n"))
    #expect(dashboard.text().split(separator: "\n").count == 5)
    dashboard.type("/A")
    #expect(dashboard.search.text == "A")
    #expect(dashboard.text().hasPrefix("☎ Grace Hopper · Esc ends the search\n"))
  }

  @Test("An action on marked notifications of two kinds names both labels") func twoLabels() {
    var dashboard = Self.ringing()
    dashboard.press("g", " ", " ", "-")
    #expect(dashboard.note?.text == "Decline, Clear: 2 notifications; u undoes it")
  }
}

extension Dashboard {
  /// Presses keys one after the other; returns what the last one requests.
  @discardableResult mutating func press(
    _ keys: Key..., at now: Instant = DashboardTests.start
  ) -> [Request] { keys.reduce([]) { press($1, at: now) } }

  mutating func update(_ status: StatusReport) { update(status, at: DashboardTests.start) }

  mutating func answered(
    _ request: Request, with notification: ActiveNotification? = nil, at now: Instant = DashboardTests.start
  ) { answered(request, .success(notification), at: now) }

  @discardableResult mutating func receive(
    _ content: Event.Content, at now: Instant = DashboardTests.start
  ) -> EventName.Outdated {
    receive(Event(content, adapter: "hci0", phone: Address(0xC0_11_22_33_44_55)), at: now)
  }

  mutating func add(
    _ report: NotificationReport, at now: Instant = Instant(nanoseconds: 0)
  ) { _ = receive(.notification(report), at: now) }

  mutating func type(_ text: String) {
    for character in text { _ = press(.character(character), at: .zero) }
  }

  /// The picture, without colours, at 07:30 of the notifications' day.
  mutating func view(at now: Instant = DashboardTests.start) -> DashboardView {
    let time = CivilTime("2026-11-22T07:30:00").map { WallTime(seconds: $0.secondsSince1970) }
    let view = DashboardView(self, TextStyle(), now: now, time: time ?? WallTime(seconds: 0))
    extent = view.picture.extent
    return view
  }

  mutating func text(at now: Instant = DashboardTests.start) -> String {
    view(at: now).picture.rows.map { $0.text(TextStyle()) }.joined(separator: "\n")
  }
}
