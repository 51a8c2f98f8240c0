// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import ControlClients
import TerminalScreen
import Wire

extension Dashboard {
  /// Negative actions that are performed after a delay, unless they are undone.
  struct Pending {
    var targets: [ID]
    var due: Instant
    /// The marks that it has used up.
    var marks: Set<ID>
    /// What will be done: `Clear “Mum”`.
    var words: String
  }

  /// How long a negative action can be undone.
  static let undoTime = Duration.seconds(2)
  /// The columns that an action's label may take in a message.
  private static let labelWidth = 20
  /// How long keys have no effect after the list has moved by itself: the user may have meant
  /// another notification.
  private static let caution = Duration.milliseconds(700)

  /// The notifications that keys act on: all marked ones, otherwise the selected or open one.
  private var targets: [ActiveNotification] {
    if case .list = page, !marked.isEmpty { return found.filter { marked.contains($0.id) } }
    return target.map { [$0] } ?? []
  }

  /// The notification that is selected or opened.
  var target: ActiveNotification? {
    switch page {
    case .opened(let opened): return opened.presence == .there ? opened.notification : nil
    case .help, .player: return nil
    case .list:
      let found = self.found
      return selected(among: found).map { found[$0] }
    }
  }

  /// The state of the list that keeps keys from having an effect.
  var obstacle: Obstacle? {
    guard isWhole else { return .incomplete }
    guard isSelectionMeant, case .missing = selection, !notifications.isEmpty else { return nil }
    return .missing
  }

  /// Whether keys act on the selected notification, rather than on marked ones or the opened one.
  private var isSelectionMeant: Bool { if case .list = page { marked.isEmpty } else { false } }

  /// Acts on the targets: at once, or after the time for undoing.
  mutating func act(_ action: NotificationAction) {
    if let obstacle {
      say(obstacle.rawValue, .attention)
      note?.obstacle = obstacle
      return
    }
    if isSelectionMeant, let moved, now - moved < Self.caution {
      return say("the list has just moved: press it again", .attention)
    }
    let meant = targets
    let able = meant.filter { $0.report.has(action) && !isPending($0.id) }
    guard let first = able.first else {
      if let target = meant.first, !isPending(target.id) {
        let which = meant.count == 1 ? "#\(target.id.uid) has" : "none of these has a"
        say("\(which) \(meant.count == 1 ? "no " : "")\(action) action", .attention)
      }
      return
    }
    var labels: [String] = []
    for one in able {
      let label = one.report.label(of: action, columns: Self.labelWidth)
      if !labels.contains(label) { labels.append(label) }
    }
    let label = labels.joined(separator: ", ")
    let what = able.count == 1 ? first.report.called : "\(able.count) notifications"
    let marks = marked
    marked = []
    guard action == .negative else {
      acted.formUnion(able.map(\.id))
      note = Note(text: "\(label): \(what)…", paint: .faint)
      return effects += able.map { .act(action, $0.id) }
    }
    // The next ones can be acted on meanwhile.
    if case .list = page, let selected = target?.id, able.contains(where: { $0.id == selected }) {
      selection = successor(of: selected, without: Set(able.map(\.id)))
    }
    pending.append(
      Pending(
        targets: able.map(\.id), due: now + Self.undoTime, marks: marks,
        words: "\(label): \(what)"))
    say("\(label): \(what); u undoes it", .attention, for: Self.undoTime)
  }

  /// Answers or declines the ringing call, wherever it is in the list: at once, because it does not ring for long.
  mutating func actOnCall(_ action: NotificationAction) {
    guard let call else { return say("no call is ringing", .attention) }
    guard call.report.has(action) else {
      return say("the call has no \(action) action", .attention)
    }
    acted.insert(call.id)
    let label = call.report.label(of: action, columns: Self.labelWidth)
    note = Note(text: "\(label): \(call.report.called)…", paint: .faint)
    effects.append(.act(action, call.id))
  }

  /// Whether its negative action is pending.
  func isPending(_ id: ID) -> Bool { pending.contains { $0.targets.contains(id) } }

  /// Cancels the last pending action.
  mutating func undo() {
    guard let last = pending.popLast() else { return say("there is nothing to undo", .attention) }
    let present = Set(notifications.map(\.id))
    if let first = last.targets.first(where: present.contains) { selection = .chosen(first) }
    marked.formUnion(last.marks.intersection(present))
    say("undone: \(last.words)", .good)
  }

  /// Performs due actions, and removes expired notes.
  mutating func pass(to now: Instant) -> [Effect] {
    self.now = now
    if let until = note?.until, until <= now { note = nil }
    effects = []
    perform(pending.filter { $0.due <= now })
    pending.removeAll { $0.due <= now }
    return begun()
  }

  /// When `pass` has something to do.
  var nextDeadline: Instant? { (pending.map(\.due) + [note?.until].compactMap { $0 }).min() }

  /// Ctrl-C quits too, wherever it is pressed.
  mutating func interrupt() -> [Effect] {
    effects = []
    leave()
    return begun()
  }

  /// The user quits: pending actions are performed first, and what was begun is finished; the second time, it ends at once.
  mutating func leave() {
    perform(pending)
    pending = []
    let isBusy = underWay > 0 || effects.contains(where: \.changesPhone)
    effects.append(isBusy && !isLeaving ? .finish : .quit)
    if isBusy {
      note = Note(text: "waiting for the phone; q again quits at once", paint: .attention)
    }
    isLeaving = true
  }

  /// The effects, whose responses are expected from now on.
  mutating func begun() -> [Effect] {
    underWay += effects.count(where: \.changesPhone)
    return effects
  }

  private mutating func perform(_ due: [Pending]) {
    for pending in due {
      let there = pending.targets.filter { id in notifications.contains { $0.id == id } }
      acted.formUnion(there)
      if !there.isEmpty { note = Note(text: "\(pending.words)…", paint: .faint) }
      effects += there.map { .act(.negative, $0) }
    }
  }

  // MARK: Responses

  /// A request succeeded; for `show`, with its result.
  mutating func answered(
    _ request: Effect, with notification: ActiveNotification? = nil, at now: Instant
  ) {
    self.now = now
    if request.changesPhone { underWay -= 1 }
    switch request {
    case .act(let action, let id):
      let known = notifications.first { $0.id == id }?.report
      let label = known?.label(of: action, columns: Self.labelWidth) ?? "\(action)"
      let called = known?.called ?? "#\(id.uid)"
      say(ActionLabel.past(label).map { "\($0) \(called)" } ?? "\(label): \(called), done", .good)
    case .media(let command, _):
      let offered = playing?.state.commands ?? [command]
      let remark = offered.contains(command) ? "" : ", but the phone does not offer it now"
      let track = playing?.state.track.title.flatMap { $0.isEmpty ? nil : " (“\($0)”)" }
      say(
        "\(KeyBinding.title(of: command))\(command.isOnTrack ? track ?? "" : ""): done\(remark)",
        remark.isEmpty ? .good : .attention)
    case .show:
      note = nil
      guard let notification, case .opened(var opened) = page,
        opened.notification.id == notification.id
      else { return }
      opened.notification = notification
      page = .opened(opened)
    case .finish, .quit: break
    }
  }

  /// A request failed.
  mutating func failed(_ request: Effect, _ failure: Failure, at now: Instant) {
    self.now = now
    if request.changesPhone { underWay -= 1 }
    if case .act(_, let id) = request { acted.remove(id) }
    say(failure.sentence, .bad, for: .seconds(15))
  }

  /// Sends a command to the player.
  mutating func control(_ command: RemoteCommand) {
    note = Note(text: "\(KeyBinding.title(of: command))…", paint: .faint)
    effects.append(.media(command, phone: playing?.phone))
  }

  /// Shows a message at the bottom for a while.
  mutating func say(_ text: String, _ paint: Paint, for time: Duration = .seconds(8)) {
    note = Note(text: text, paint: paint, until: now + time)
  }
}

extension RemoteCommand {
  /// Whether it concerns the current track.
  fileprivate var isOnTrack: Bool { [.likeTrack, .dislikeTrack, .bookmarkTrack].contains(self) }
}

extension NotificationReport {
  /// Its description in a sentence: number and title.
  fileprivate var called: String {
    let title = attributes.title.flatMap { $0.isEmpty ? nil : $0 } ?? app
    return "#\(event.uid)"
      + (title.map { " “\($0.printable.cut(toDisplayWidth: 30))”" } ?? "")
  }
}
