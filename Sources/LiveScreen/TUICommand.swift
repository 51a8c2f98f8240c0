// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import Arguments
import Control
import ControlClients
import EventLoop
import System
import TerminalScreen
import Wire

/// The options of `tui`.
struct TUIOptions: PrintingOptions {
  var output = OutputOptions()
  var socket: String?
  /// What rings the bell.
  var bell = Dashboard.Bell.calls
  /// Whether the mouse's wheel is read.
  var mouse = true
}

extension Command {
  /// `ancsd tui`: a live screen.
  package static let tui = Command(
    "tui", "shows a live screen: notifications, the player, and what the daemon waits for",
    grammar: Grammar<TUIOptions>([
      .choice("--bell", help: "what rings the terminal's bell (default: calls)", set: { $0.bell = $1 }),
      .flag(
        "--no-mouse", help: "leave the mouse to the terminal, to select text without Shift", set: { $0.mouse = false }),
      .color, .socket(set: { $0.socket = $1 }),
    ]),
    defaults: TUIOptions(),
    notes: [
      "Keys: arrows select, Enter opens, + and - act, u undoes - within 2 seconds, Space marks, / searches, m has the "
        + "player's keys, ? shows all keys, q quits."
    ],
    examples: [
      "",
      "--bell never",
      "--no-mouse --color never",
    ]
  ) { options throws(Failure) in
    let console = try Console(options.output)
    return console.onLoop { () async throws(Failure) in
      let screen = try Screen(colour: console.style.colour, mouse: options.mouse)
      defer { screen.close() }
      let sockets = DefaultPaths.sockets(options.socket)
      return try await TUI(console, screen, sockets: sockets, bell: options.bell).run()
    }
  }
}

/// The work of `tui`: passes events, responses and keys to the dashboard, sends its requests, and
/// draws it.
@LoopActor final class TUI {
  private let console: Console
  /// The connection for events. Requests to the phone use others, so that nothing waits for the
  /// phone.
  private let client: ControlClient
  private let screen: Screen
  private let sockets: [String]
  private var dashboard: Dashboard
  private let requests = Mailbox<Dashboard.Request>()
  private let end = Mailbox<Result<ExitStatus, Failure>>()
  /// The exit status when the user quits.
  private var status = ExitStatus.done
  private var willDraw = false
  /// For the dashboard's deadlines, and for the playback position, which moves by itself.
  private lazy var alarm = Deadline(Loop.shared) { [weak self] in
    guard let self else { return }
    perform(dashboard.pass(to: Loop.shared.now))
  }

  /// The pause between attempts to reach the daemon.
  private static let pause = Duration.seconds(1)
  /// How long the daemon may take to respond.
  private static let patience = Duration.seconds(5)

  /// - Parameter sockets: the possible control sockets.
  init(_ console: Console, _ screen: Screen, sockets: [String], bell: Dashboard.Bell) {
    self.console = console
    client = ControlClient(console, toFirstOf: sockets)
    self.screen = screen
    self.sockets = sockets
    dashboard = Dashboard(size: screen.size, bell: bell, now: Loop.shared.now)
    if let other = screen.substitute {
      dashboard.say("unknown terminal type in TERM: using \(other)", .attention)
    }
  }

  /// Shows the dashboard until the user quits.
  func run() async throws(Failure) -> ExitStatus {
    defer { client.close() }
    screen.onKey = { [weak self] in self?.press($0) }
    screen.onEnd = { [weak self] in self?.leave(.done, isAgain: false) }
    // If signals can't be caught, they end the process.
    try? Loop.shared.onSignal([.interrupt, .terminate, .hangUp, .windowChange]) {
      [weak self] in self?.handle($0)
    }
    draw()
    Loop.start { [self] in await sendRequests() }
    Loop.start { [self] in
      do throws(Failure) {
        try await follow()
      } catch { end.post(.failure(error)) }
    }
    guard let result = await end.next() else { return .done }
    return try result.get()
  }

  private func handle(_ signal: Signal) {
    switch signal {
    case .windowChange:
      screen.resize()
      dashboard.size = screen.size
      needsDrawing()
    // Of a terminal that is gone, its end tells too.
    default: leave(ExitStatus(signal: signal.rawValue), isAgain: signal != .hangUp)
    }
  }

  /// Ends it as the key `q` does; at once if that is asked for again.
  private func leave(_ status: ExitStatus, isAgain: Bool) {
    guard isAgain || dashboard.quits == 0 else { return }
    self.status = status
    perform(dashboard.interrupt())
  }

  // MARK: Drawing

  /// Draws once all pending input is handled.
  private func needsDrawing() {
    guard !willDraw else { return }
    willDraw = true
    Loop.shared.later { [weak self] in self?.draw() }
  }

  /// Draws what has changed, unless the user has quit.
  private func draw() {
    willDraw = false
    if dashboard.isOver { return end.post(.success(status)) }
    let view = DashboardView(dashboard, console.style, now: Loop.shared.now, time: .now)
    let (rows, extent) = view.picture
    dashboard.extent = extent
    screen.draw(rows, hasCursor: view.hasCursor)
    if dashboard.takeBell() { screen.ring() }
    alarm.due = dashboard.nextDeadline
    if dashboard.isMoving { alarm.limit(to: Loop.shared.now + .seconds(1)) }
  }

  // MARK: The daemon

  /// Follows the daemon, and its successor after it exits.
  private func follow() async throws(Failure) {
    while true {
      do throws(Failure) {
        try client.connect()
        try await receive()
      } catch {
        guard error.status == .unavailable || error.status == .tryAgain else { throw error }
        client.close()
        dashboard.lose(error.sentence)
        needsDrawing()
      }
      try await client.sleep(Self.pause)
    }
  }

  private func receive() async throws(Failure) {
    try await client.call(
      ControlMethods.subscribe, Subscription(events: EventName.followed, replay: true), "tui", within: Self.patience)
    try await refresh(.everything)
    var timer: Int?
    while true {
      // No event reports the backlog.
      if timer == nil, dashboard.isFetching { timer = client.startTimer(Self.pause) }
      guard let line = try await client.nextLine(until: timer) else {
        timer = nil
        try await refresh(.status)
        continue
      }
      guard let event = NumberedEvent(line: line)?.event else { continue }
      let outdated = dashboard.receive(event, at: Loop.shared.now)
      needsDrawing()
      try await refresh(outdated)
    }
  }

  /// Asks the daemon again for what is out of date.
  private func refresh(_ outdated: EventName.Outdated) async throws(Failure) {
    if outdated != .nothing {
      let status = try await client.call(ControlMethods.status, NoParameters(), "status", within: Self.patience)
      dashboard.update(status, at: Loop.shared.now)
    }
    if outdated == .everything {
      let all = try await client.list(ControlMethods.listNotifications, NotificationQuery(), "list")
      dashboard.replace(all, at: Loop.shared.now)
    }
    needsDrawing()
  }

  // MARK: The user

  private func press(_ key: Key) { perform(dashboard.press(key, at: Loop.shared.now)) }

  /// Sends the requests of a key, or of time passing.
  private func perform(_ requests: [Dashboard.Request]) {
    for request in requests { self.requests.post(request) }
    needsDrawing()
  }

  /// Sends requests to the phone one after another, each over a separate connection.
  private func sendRequests() async {
    while let request = await requests.next() {
      let client = ControlClient(console, toFirstOf: sockets)
      defer { client.close() }
      client.remark = { [weak self] text in
        self?.dashboard.note = Dashboard.Note(text: text, paint: .attention)
        self?.needsDrawing()
      }
      let response: Result<ActiveNotification?, Failure>
      do throws(Failure) {
        try client.connect()
        response = .success(try await client.perform(request))
      } catch { response = .failure(error) }
      dashboard.answered(request, response, at: Loop.shared.now)
      needsDrawing()
    }
  }
}

extension ControlClient {
  /// Sends a request to the phone; returns the notification if it requested one.
  fileprivate func perform(_ request: Dashboard.Request) async throws(Failure) -> ActiveNotification? {
    switch request {
    case .act(let action, let id):
      let parameters = ActionParameters(id.uid, action, phone: id.phone.map(PhoneSelector.init))
      try await call(ControlMethods.act, parameters, "act #\(id.uid) \(action)")
    case .media(let command, let phone):
      let parameters = MediaParameters(command, phone: phone.map(PhoneSelector.init))
      try await call(ControlMethods.sendMediaCommand, parameters, "media \(command.name ?? "")")
    case .show(let id):
      return try await call(
        ControlMethods.getNotification,
        NotificationParameters(id.uid, phone: id.phone.map(PhoneSelector.init)), "show #\(id.uid)")
    }
    return nil
  }
}
