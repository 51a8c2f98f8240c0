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
    guard isSelectionMeant, let selection, selection.id == nil else { return nil }
    return notifications.isEmpty ? nil : .missing
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
    // The number of one that is stale may be another's by now.
    let able = meant.filter { $0.report.has(action) && !$0.report.isStale && !isPending($0.id) }
    guard !able.isEmpty else {
      if let target = meant.first(where: { $0.report.has(action) && $0.report.isStale }) {
        say("#\(target.id.uid) is stale: its phone is away, or has not announced it again", .attention)
      } else if let target = meant.first, !isPending(target.id) {
        let which = meant.count == 1 ? "#\(target.id.uid) has no" : "none of these has a"
        say("\(which) \(action) action", .attention)
      }
      return
    }
    let (ids, words, marks) = (able.map(\.id), Self.words(action, on: able), marked)
    marked = []
    guard action == .negative else { return begin(action, on: ids, words) }
    // The next ones can be acted on meanwhile.
    if case .list = page, let selected = target?.id, ids.contains(selected) {
      selection = successor(of: selected, without: Set(ids))
    }
    pending.append(Pending(targets: ids, due: now + Self.undoTime, marks: marks, words: words))
    say("\(words); u undoes it", .attention, for: Self.undoTime)
  }

  /// Answers or declines the ringing call, wherever it is in the list: at once, because it does not ring for long.
  mutating func actOnCall(_ action: NotificationAction) {
    guard let call else { return say("no call is ringing", .attention) }
    guard call.report.has(action) else {
      return say("the call has no \(action) action", .attention)
    }
    begin(action, on: [call.id], Self.words(action, on: [call]))
  }

  /// What is done, and to which: `Clear: #3 “Mum”`.
  private static func words(_ action: NotificationAction, on targets: [ActiveNotification]) -> String {
    var labels: [String] = []
    for target in targets {
      let label = target.report.label(of: action, columns: labelWidth)
      if !labels.contains(label) { labels.append(label) }
    }
    let what = targets.count == 1 ? targets[0].report.called : "\(targets.count) notifications"
    return "\(labels.joined(separator: ", ")): \(what)"
  }

  /// Sends the requests, and shows what they are until they have responses.
  private mutating func begin(_ action: NotificationAction, on ids: [ID], _ words: String) {
    note = Note(text: "\(words)…", paint: .faint)
    for id in ids { send(.act(action, id)) }
  }

  /// Whether its negative action is pending.
  func isPending(_ id: ID) -> Bool { pending.contains { $0.targets.contains(id) } }

  /// Cancels the last pending action.
  mutating func undo() {
    guard let last = pending.popLast() else { return say("there is nothing to undo", .attention) }
    let there = last.targets.compactMap { id in notifications.first { $0.id == id } }
    if let first = there.first { selection = first.asSelection }
    marked.formUnion(last.marks.intersection(notifications.map(\.id)))
    say("undone: \(last.words)", .good)
  }

  /// Performs due actions, and removes expired notes.
  mutating func pass(to now: Instant) -> [Request] {
    self.now = now
    if let until = note?.until, until <= now { note = nil }
    perform(pending.filter { $0.due <= now })
    pending.removeAll { $0.due <= now }
    return takeRequests()
  }

  /// When `pass` has something to do.
  var nextDeadline: Instant? { (pending.map(\.due) + [note?.until].compactMap { $0 }).min() }

  /// Ctrl-C quits too, wherever it is pressed.
  mutating func interrupt() -> [Request] {
    leave()
    return takeRequests()
  }

  /// The user quits: pending actions are performed first, and what was begun is finished; the second time, it ends at once.
  mutating func leave() {
    perform(pending)
    pending = []
    quits += 1
    if underWay > 0 {
      note = Note(text: "waiting for the phone; q again quits at once", paint: .attention)
    }
  }

  /// Sends a request, whose response is expected from now on.
  mutating func send(_ request: Request) {
    if case .act(_, let id) = request { acted.insert(id) }
    if request.changesPhone { underWay += 1 }
    requests.append(request)
  }

  /// The requests to send now.
  mutating func takeRequests() -> [Request] {
    defer { requests = [] }
    return requests
  }

  private mutating func perform(_ due: [Pending]) {
    for pending in due {
      let there = pending.targets.filter { id in notifications.contains { $0.id == id && !$0.report.isStale } }
      if there.isEmpty {
        say("not done, because its phone is away: \(pending.words)", .bad)
      } else {
        begin(.negative, on: there, pending.words)
      }
    }
  }

  // MARK: Responses

  /// A request has its response; that of `show` is the notification.
  mutating func answered(_ request: Request, _ response: Result<ActiveNotification?, Failure>, at now: Instant) {
    self.now = now
    if request.changesPhone { underWay -= 1 }
    switch (request, response) {
    case (_, .failure(let failure)):
      if case .act(_, let id) = request { acted.remove(id) }
      say(failure.sentence, .bad, for: .seconds(15))
    case (.act(let action, let id), .success):
      let known = notifications.first { $0.id == id }?.report
      let label = known?.label(of: action, columns: Self.labelWidth) ?? "\(action)"
      let called = known?.called ?? "#\(id.uid)"
      say(ActionLabel.past(label).map { "\($0) \(called)" } ?? "\(label): \(called), done", .good)
    case (.media(let command, _), .success):
      let offered = playing?.state.commands ?? [command]
      let remark = offered.contains(command) ? "" : ", but the phone does not offer it now"
      let track = playing?.state.track.title.flatMap { $0.isEmpty ? nil : " (“\($0)”)" }
      say(
        "\(KeyBinding.title(of: command))\(command.isOnTrack ? track ?? "" : ""): done\(remark)",
        remark.isEmpty ? .good : .attention)
    case (.show, .success(let notification)):
      note = nil
      guard let notification, case .opened(var opened) = page,
        opened.notification.id == notification.id
      else { return }
      opened.notification = notification
      page = .opened(opened)
    }
  }

  /// Sends a command to the player.
  mutating func control(_ command: RemoteCommand) {
    note = Note(text: "\(KeyBinding.title(of: command))…", paint: .faint)
    send(.media(command, phone: playing?.phone))
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
