// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import ControlClients
import TerminalScreen
import Wire

/// Renders a `Dashboard`, from the top:
///
///     call      while one rings, whatever else is shown, and the keys for it
///     head      each phone, or each adapter while there is none
///     reason    the wait, if the user has to do something
///     ───────   how many there are, and the search
///     body      the notifications, one of them in full, or the keys
///     ───────
///     media     the player
///     foot      the keys, or a message
///
/// In a small window the other parts shrink, so the body keeps at least half.
struct DashboardView {
  private let dashboard: Dashboard
  private var style: TextStyle
  private let now: Instant
  private let time: WallTime

  private var size: Screen.Size { dashboard.size }

  /// - Parameters:
  ///   - style: with the board's zone; the width is the window's.
  ///   - now: the time on the clock of the media positions.
  ///   - time: the time by the board's clock.
  init(_ dashboard: Dashboard, _ style: TextStyle, now: Instant, time: WallTime) {
    self.dashboard = dashboard
    self.style = style
    self.style.width = dashboard.size.columns
    self.now = now
    self.time = time
  }

  /// The rows, at most as many as the window has, and the extent that movement keys need.
  var picture: (rows: [StyledRow], extent: Dashboard.Extent) {
    guard size.columns >= Self.leastColumns, size.rows >= Self.leastRows else {
      let row = [StyledRun("too small".cut(toDisplayWidth: size.columns), .attention)]
      return ([row], Dashboard.Extent())
    }
    let (above, below) = frame
    let room = size.rows - above.count - 1 - below.count
    var extent = Dashboard.Extent(rows: room, top: above.count + 1)
    let whole = body(&extent)
    extent.lastScroll = max(0, whole.count - room)
    let body = Array(whole.dropFirst(min(dashboard.scroll, extent.lastScroll)).prefix(room))
    let blanks = [StyledRow](repeating: [], count: room - body.count)
    return (above + [rule(title(extent))] + body + blanks + below, extent)
  }

  /// Whether the user is typing, so that the last row has the cursor.
  var hasCursor: Bool { dashboard.search.before != nil }

  private static let leastColumns = 20
  private static let leastRows = 5
  /// Below this width, only the most important parts are shown.
  private static let narrow = 40
  /// From this width on, there is room for more than that.
  private static let roomy = 48

  // MARK: The frame

  /// The rows above the title and below the body.
  private var frame: (above: [StyledRow], below: [StyledRow]) {
    let share = size.rows / 4
    let head = Array(self.head.prefix(max(1, share)))
    let reason = Array(self.reason.prefix(max(0, size.rows / 2 - 2 - head.count)))
    var below = [foot]
    if size.rows >= 10 {
      let media = Array(self.media.prefix(share))
      if !media.isEmpty { below = [rule("")] + media + below }
    }
    return (call + head + reason, below)
  }

  /// The ringing call. While the user types, letters are no keys.
  private var call: [StyledRow] {
    guard let report = dashboard.call?.report else { return [] }
    var keys: [(String, String)] = []
    if hasCursor {
      keys = [("Esc", "ends the search")]
    } else {
      for (key, action) in [("A", NotificationAction.positive), ("D", .negative)]
      where report.has(action) { keys.append((key, report.label(of: action, columns: 8))) }
      if size.columns >= Self.roomy { keys.append(("g", "shows it")) }
    }
    let width = keys.reduce(0) { $0 + $1.0.displayWidth + $1.1.displayWidth + 3 }
    let name = report.attributes.title.flatMap { $0.isEmpty ? nil : $0 } ?? report.app ?? "a call"
    let room = max(6, size.columns - width - 2)
    var line = StyledText("☎ \(name.printable.cut(toDisplayWidth: room))", .attention)
    for (key, title) in keys {
      line.add("·", .faint)
      line.add(key, .strong)
      line.add(title)
    }
    return [oneRow(line)]
  }

  /// A line across the window with a title in it.
  private func rule(_ title: String) -> StyledRow {
    let text = (title.isEmpty ? "" : "── \(title) ").cut(toDisplayWidth: size.columns)
    let rest = String(repeating: "─", count: max(0, size.columns - text.displayWidth))
    return [StyledRun(text + rest, .faint)]
  }

  private func title(_ extent: Dashboard.Extent) -> String {
    let things = dashboard.notifications.count.counted("notification")
    let search = dashboard.search.text
    let found = dashboard.found
    let place = dashboard.selected(among: found).map { "\($0 + 1)/" } ?? ""
    var title = place + (dashboard.isNarrowed ? "\(found.count) of \(things)" : things)
    switch dashboard.only {
    case nil: break
    case .app(let app): title += " of \((found.first?.report.app ?? app).printable)"
    case .category(let category): title += " in \(category)"
    }
    if !search.isEmpty { title += " with “\(search.printable)”" }
    if !dashboard.marked.isEmpty { title += ", \(dashboard.marked.count) marked" }
    if !dashboard.fresh.isEmpty, let first = extent.places.first {
      let fresh = found[..<first].count { dashboard.fresh.contains($0.id) }
      if fresh > 0 { title += ", \(fresh) new above" }
    }
    return title
  }

  /// The connected phones, or the adapters if there are none.
  private var head: [StyledRow] {
    var line = StyledText("ancsd", .strong)
    switch dashboard.daemon {
    case .present(let status) where !status.links.isEmpty: return status.links.map(row)
    case .present(let status) where !status.adapters.isEmpty: return status.adapters.map(row)
    case .present: break
    case .away: line.add("no daemon", .bad)
    case .sought: line.add("connecting…", .faint)
    }
    return [oneRow(line)]
  }

  private func row(_ link: LinkReport) -> StyledRow {
    var line = StyledText(link.name ?? link.phone?.description ?? "a phone", .strong)
    if let battery = link.battery {
      line.add("battery \(battery) %", battery <= 20 ? .attention : .plain)
    }
    if let adapter = link.adapter { line.add("on \(adapter)", .faint) }
    line.add(link.isEncrypted ? "encrypted" : "not encrypted", link.isEncrypted ? .good : .attention)
    line.add(link.isBonded ? "bonded" : "not bonded", link.isBonded ? .good : .attention)
    if let rssi = link.rssi { line.add("\(rssi) dBm", .faint) }
    if link.backlog > 0 { line.add("\(link.backlog) to fetch", .faint) }
    return oneRow(line)
  }

  private func row(_ adapter: AdapterReport) -> StyledRow {
    var line = StyledText("ancsd", .strong)
    line.add("no phone", .attention)
    line.add(adapter.adapter)
    if let name = adapter.name { line.add("“\(name)”") }
    line.add(
      adapter.isAdvertising ? "on the air" : "not on the air",
      adapter.isAdvertising ? .good : .attention)
    if adapter.isPairable { line.add("pairable", .attention) }
    return oneRow(line)
  }

  /// The wait. If all is well, it is shown only if there is nothing else to show.
  private var reason: [StyledRow] {
    switch dashboard.daemon {
    case .sought: return []
    case .away(let why): return StyledText(why, .attention).rows(style)
    case .present(let status):
      return status.waits.filter { !isNews($0) }.flatMap { wait in
        StyledText(wait.why, wait.isFine ? .faint : .attention).rows(style)
      }
    }
  }

  private func isNews(_ wait: WaitLine) -> Bool { wait.wait == Wait.Name.news.rawValue }

  /// The player.
  private var media: [StyledRow] {
    guard let playing = dashboard.playing else { return [] }
    return playing.state.carried(to: now).rows(style, isBrief: true)
  }

  /// The input or message; otherwise the most important keys.
  private var foot: StyledRow {
    if hasCursor {
      let text = dashboard.search.text.printable.suffix(size.columns - 10)
      return [StyledRun("search: ", .faint), StyledRun(String(text))]
    }
    if let note = dashboard.currentNote { return oneRow(StyledText(note.text, note.paint)) }
    var keys: [(String, String)] =
      switch dashboard.page {
      case .list:
        [("↑↓", "select"), ("Enter", "open"), ("+ -", "act"), ("Space", "mark"), ("m", "player"), ("/", "search")]
      case .opened: [("Esc", "back"), ("↑↓", "scroll"), ("+ -", "act"), ("J K", "next")]
      case .help, .player: [("Esc", "back"), ("↑↓", "scroll")]
      }
    // These are always visible; the others if there is room.
    let always = [("?", "keys"), ("q", "quit")]
    func line(_ keys: [(String, String)]) -> StyledText {
      keys.reduce(into: StyledText()) { line, key in
        line.add(key.0, .strong)
        line.add(key.1, .faint)
      }
    }
    while !keys.isEmpty, line(keys + always).displayWidth > size.columns { keys.removeLast() }
    return oneRow(line(keys + always))
  }

  private func oneRow(_ line: StyledText) -> StyledRow { line.row(displayWidth: size.columns) }

  // MARK: The body

  /// All rows of the body. The list has no more rows than fit.
  private func body(_ extent: inout Dashboard.Extent) -> [StyledRow] {
    switch dashboard.page {
    case .list: list(&extent)
    case .opened(let opened): text(of: opened)
    case .help: table(KeyBinding.all)
    case .player: table(KeyBinding.player)
    }
  }

  private func list(_ extent: inout Dashboard.Extent) -> [StyledRow] {
    let (found, room) = (dashboard.found, extent.rows)
    guard !found.isEmpty else { return nothing }
    let selected = dashboard.selected(among: found)
    // If nothing is selected, show the top.
    let anchor = selected ?? 0
    var rows = entry(found[anchor], isSelected: selected != nil, rows: room)
    var places = rows.map { _ in anchor }
    var (first, last) = (anchor, anchor)
    /// Adds the next entry above or below if there is room.
    func add(_ place: Int, within limit: Int) -> Bool {
      guard found.indices.contains(place) else { return false }
      let entry = entry(found[place], isSelected: false, rows: room)
      guard rows.count + entry.count <= limit else { return false }
      let end = place < first ? 0 : rows.count
      rows.insert(contentsOf: entry, at: end)
      places.insert(contentsOf: entry.map { _ in place }, at: end)
      return true
    }
    while add(first - 1, within: room / 2) { first -= 1 }
    while add(last + 1, within: room) { last += 1 }
    while add(first - 1, within: room) { first -= 1 }
    extent.entries = last - first + 1
    extent.places = places
    return rows
  }

  /// Why the list is empty.
  private var nothing: [StyledRow] {
    if !dashboard.notifications.isEmpty {
      return StyledText("no match; Esc shows all", .faint).rows(style)
    }
    guard case .present(let status) = dashboard.daemon else { return [] }
    return status.waits.filter(isNews).flatMap { StyledText($0.why, .faint).rows(style) }
  }

  /// A notification in the list: its time, app, title, subtitle, number and actions; below them the beginning
  /// of the message, if there is room.
  private func entry(_ notification: ActiveNotification, isSelected: Bool, rows: Int) -> [StyledRow] {
    let report = notification.report
    let isNarrow = size.columns < 60
    let sent = report.time(boardZone: style.zone).map { style.shortDateText($0, now: time) }
    let date = (sent ?? "     ").prefix(isNarrow ? 5 : .max)
    let indent = 3 + date.count
    let room = size.columns - indent - 1
    let least = max(size.columns / 3, isNarrow ? 0 : Self.roomForApp)
    let tail = tail(of: report, columns: room - least)
    let subjectRoom = max(room - tail.displayWidth, size.columns / 3)
    let isPending = dashboard.isPending(notification.id)
    let mark = isPending ? "-" : dashboard.marked.contains(notification.id) ? "*" : " "
    var row: StyledRow = [StyledRun("\(isSelected ? ">" : " ")\(mark)"), StyledRun("\(date)", .faint), StyledRun(" ")]
    let subject = report.subject(isBrief: subjectRoom < Self.roomForApp, appWidth: subjectRoom / 2)
    row += subject.row(displayWidth: subjectRoom) + [StyledRun(" ")]
    row += tail.row(displayWidth: size.columns - row.displayWidth)
    if isSelected { row = [StyledRun(row.map(\.text).joined(), .selected)] }
    if isPending, !isSelected { row = [StyledRun(row.map(\.text).joined(), .faint)] }
    let message = report.message.row(displayWidth: size.columns - indent)
    guard rows >= Self.roomForMessages, !message.isEmpty else { return [row] }
    return [row, [StyledRun(String(repeating: " ", count: indent))] + message]
  }

  /// The fullest form of number, details and actions that fits. All actions are visible, if need be with only the
  /// beginnings of their labels, and so is the number, unless the window is narrow.
  private func tail(of report: NotificationReport, columns: Int) -> StyledText {
    let isNumbered = size.columns >= Self.narrow
    let whole = report.tail(isNumbered: isNumbered)
    if isNumbered, whole.displayWidth <= min(columns, size.columns / 2) { return whole }
    let widths = [Int.max] + (1...size.columns / 4).reversed()
    let forms = widths.lazy.map {
      report.tail(isBrief: true, isNumbered: isNumbered, labelWidth: $0)
    }
    return forms.first { $0.displayWidth <= columns }
      ?? report.tail(isBrief: true, isNumbered: isNumbered, labelWidth: 1)
  }

  /// The minimum width for showing the app's name.
  private static let roomForApp = 24
  /// The minimum number of rows for showing the beginnings of messages.
  private static let roomForMessages = 8

  private func text(of opened: Dashboard.Opened) -> [StyledRow] {
    let rows = opened.notification.report.detailRows(style, now: time)
    switch opened.presence {
    case .there: return rows
    case .removed: return [[StyledRun("the phone has removed it", .attention)]] + rows
    case .away: return [[StyledRun("its phone is away", .attention)]] + rows
    }
  }

  /// Keys, and what they do.
  private func table(_ bindings: [KeyBinding]) -> [StyledRow] {
    bindings.flatMap { binding in
      var line = StyledText()
      let blanks = String(repeating: " ", count: max(0, 7 - binding.name.displayWidth))
      line.addWhole(binding.name + blanks, .strong)
      line.add(binding.title)
      return line.rows(style, indent: 8)
    }
  }
}
