// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import TerminalScreen
import Wire

extension Dashboard {
  /// A key was pressed; returns what has to be done.
  @discardableResult mutating func press(_ key: Key, at now: Instant) -> [Effect] {
    note = nil
    if case .typing(let text, let before) = search {
      type(key, text, before: before)
      return []
    }
    if case .click(let row) = key {
      click(row)
      return []
    }
    var isPlayer = false
    if case .player = page { isPlayer = true }
    guard let command = KeyBinding.command(of: key, inPlayer: isPlayer) else {
      say("this key does nothing; ? shows those that do", .faint, at: now)
      return []
    }
    switch command {
    case .quit: return leave()
    case .media(let command): return ask(.media(command, phone: playing?.phone), at: now)
    case .act(let action): return act(action, at: now)
    case .call(let action): return actOnCall(action, at: now)
    case .undo: undo(at: now)
    case .mark: toggleMark()
    case .open:
      guard case .list = page, let target else { return [] }
      selection = .chosen(target.id)
      page = .opened(Opened(notification: target))
      return [.request(.show(target.id))]
    case .below: return goTo(1)
    case .above: return goTo(-1)
    case .back: goBack()
    case .help: page = .help(scroll: 0)
    case .player: page = .player(scroll: 0)
    case .search:
      page = .list
      search = .typing("", before: search.text)
    case .onlyApp: show(only: target.map { .app($0.report.appIdentity) })
    case .onlyCategory: show(only: target.map { .category($0.report.event.category) })
    case .nextMatch: goToMatch(1, at: now)
    case .previousMatch: goToMatch(-1, at: now)
    case .up: move(by: -1)
    case .down: move(by: 1)
    case .wheelUp: move(by: -3)
    case .wheelDown: move(by: 3)
    case .pageUp: move(by: -pageSize)
    case .pageDown: move(by: pageSize)
    case .halfUp: move(by: -max(1, pageSize / 2))
    case .halfDown: move(by: max(1, pageSize / 2))
    case .first:
      // From wherever the user is.
      if call != nil { (page, search, only) = (.list, .none, nil) }
      move(by: -Self.anyDistance)
    case .last: move(by: Self.anyDistance)
    }
    return []
  }

  /// Selects what was drawn in this row of the window.
  private mutating func click(_ row: Int) {
    guard case .list = page, extent.places.indices.contains(row - extent.top) else { return }
    let (found, place) = (self.found, extent.places[row - extent.top])
    if found.indices.contains(place) { selection = .chosen(found[place].id) }
  }

  /// Shows only a part of the list, or all again if it shows that part.
  private mutating func show(only part: Part?) {
    guard case .list = page, let part, let target else { return }
    selection = .chosen(target.id)
    only = only == part ? nil : part
  }

  /// Back to the list; in the list, clears the marks first, then the filter and then the search.
  private mutating func goBack() {
    guard case .list = page else { return page = .list }
    guard marked.isEmpty else { return marked = [] }
    // The list grows around the selection.
    if isNarrowed, let target { selection = .chosen(target.id) }
    if only != nil { only = nil } else { search = .none }
  }

  /// Goes to the next or previous notification, and shows it in full if one is.
  private mutating func goTo(_ step: Int) -> [Effect] {
    guard case .opened(let opened) = page else {
      move(by: step)
      return []
    }
    let found = self.found
    let place = found.firstIndex { $0.id == opened.notification.id }.map { $0 + step }
    guard let place, found.indices.contains(place) else { return [] }
    selection = .chosen(found[place].id)
    page = .opened(Opened(notification: found[place]))
    return [.request(.show(found[place].id))]
  }

  /// The size of a page; one line stays visible.
  private var pageSize: Int {
    if case .list = page { return max(1, extent.entries - 1) }
    return max(1, extent.rows - 1)
  }

  /// Farther than any list is long.
  private static let anyDistance = Int.max / 2

  /// Moves the selection, or scrolls the text.
  private mutating func move(by distance: Int) {
    func moved(_ place: Int, to last: Int) -> Int {
      min(max(0, place + distance), max(0, last))
    }
    switch page {
    case .opened(var opened):
      opened.scroll = moved(opened.scroll, to: extent.lastScroll)
      page = .opened(opened)
    case .help(let scroll): page = .help(scroll: moved(scroll, to: extent.lastScroll))
    case .player(let scroll): page = .player(scroll: moved(scroll, to: extent.lastScroll))
    case .list:
      let found = self.found
      guard !found.isEmpty else { return }
      // If the selected notification is gone, the first key selects the top one.
      let next = selected(among: found).map { moved($0, to: found.count - 1) } ?? 0
      selection = distance == -Self.anyDistance ? .newest : .chosen(found[next].id)
      if !fresh.isEmpty { fresh.subtract(found[next...].map(\.id)) }
    }
  }

  /// Goes to the next or previous match, wrapping around.
  private mutating func goToMatch(_ step: Int, at now: Instant) {
    page = .list
    guard !search.text.isEmpty else {
      return say("no search is active: press /", .attention, at: now)
    }
    let found = self.found
    guard !found.isEmpty else { return }
    let next = selected(among: found).map { ($0 + step + found.count) % found.count } ?? 0
    selection = .chosen(found[next].id)
  }

  /// Toggles the mark of the selection, and moves to the next.
  private mutating func toggleMark() {
    guard case .list = page, let target else { return }
    if marked.remove(target.id) == nil { marked.insert(target.id) }
    move(by: 1)
    // At the end of the list there is none to go to.
    if case .newest = selection { selection = .chosen(target.id) }
  }

  /// A key typed into the search, which changes the matches.
  private mutating func type(_ key: Key, _ text: String, before: String) {
    switch key {
    case .character(let character): search = .typing(text + String(character), before: before)
    case .backspace, .delete: search = .typing(String(text.dropLast()), before: before)
    case .control("u"): search = .typing("", before: before)
    case .enter: search = Search(text)
    case .escape: search = Search(before)
    default: break
    }
    // The selection stays if it still matches.
    if selected(among: found) == nil { selection = .newest }
  }
}
