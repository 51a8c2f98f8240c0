// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import Arguments
import Control
import EventLoop
import System
import TerminalScreen
import Wire

/// The options of `tui`.
struct TUIOptions: PrintingOptions {
  var output = OutputOptions()
  var socket: String?
}

extension Clients {
  /// `ancsd tui`: a live screen.
  static let tui = Command(
    "tui", "a live screen: notifications, what plays, and what is waited for",
    grammar: Grammar<TUIOptions>([.color, .socket(set: { $0.socket = $1 })]),
    defaults: TUIOptions(),
    notes: [
      "Keys: arrows choose, Enter opens, + and - act, / searches, Space plays and pauses, n and p are the "
        + "next and the previous track, ? shows all keys, q leaves."
    ]
  ) { options throws(Failure) in
    let console = try Console(options.output, inPipe: .text)
    return console.onLoop { () async throws(Failure) in
      let screen = try Screen(colour: console.style.colour)
      defer { screen.close() }
      return try await TUI(console, screen, sockets: DefaultPaths.sockets(options.socket)).run()
    }
  }
}

/// The work of `tui`: it passes events, answers and keys to the dashboard, performs what that asks for, and
/// draws it.
@LoopActor final class TUI {
  private let console: Console
  /// Where events come from. Requests for the phone do not go there, so that nothing waits for it.
  private let client: ControlClient
  private let screen: Screen
  private let sockets: [String]
  private var dashboard: Dashboard
  private let requests = Mailbox<Dashboard.Request>()
  private let end = Mailbox<Result<ExitStatus, Failure>>()
  private var willDraw = false
  private var clock: TimerID?

  /// How long after one attempt to reach the daemon the next is.
  private static let pause = Duration.seconds(1)
  /// How long the daemon may take to say what it knows.
  private static let patience = Duration.seconds(5)

  /// - Parameter sockets: where the daemon is looked for.
  init(_ console: Console, _ screen: Screen, sockets: [String]) {
    self.console = console
    client = ControlClient(console, toFirstOf: sockets)
    self.screen = screen
    self.sockets = sockets
    dashboard = Dashboard(size: screen.size)
  }

  /// Shows the dashboard until the user leaves.
  func run() async throws(Failure) -> ExitStatus {
    defer { client.close() }
    screen.onKey = { [unowned self] in press($0) }
    screen.onEnd = { [end] in end.post(.success(.done)) }
    // If signals can't be caught, they end the process.
    try? Loop.shared.onSignal([.interrupt, .terminate, .hangUp, .windowChange]) {
      [unowned self] in handle($0)
    }
    draw()
    Loop.start { [self] in await perform() }
    Loop.start { [self] in
      do throws(Failure) {
        try await follow()
      } catch {
        end.post(.failure(error))
      }
    }
    guard let result = await end.next() else { return .done }
    return try result.get()
  }

  private func handle(_ signal: Signal) {
    guard signal == .windowChange else {
      return end.post(.success(ExitStatus(signal: signal.rawValue)))
    }
    screen.resize()
    dashboard.size = screen.size
    needsDrawing()
  }

  // MARK: Drawing

  /// Draws once what has come together is handled.
  private func needsDrawing() {
    guard !willDraw else { return }
    willDraw = true
    Loop.shared.later { [weak self] in self?.draw() }
  }

  private func draw() {
    willDraw = false
    let view = DashboardView(dashboard, console.style, now: Loop.shared.now, time: .now)
    let (rows, extent) = view.picture
    dashboard.extent = extent
    screen.draw(rows, hasCursor: view.hasCursor)
    // The position of what plays moves by itself.
    guard clock == nil, dashboard.isMoving else { return }
    clock = Loop.shared.schedule(after: .seconds(1)) { [weak self] in
      self?.clock = nil
      self?.draw()
    }
  }

  // MARK: The daemon

  /// Follows the daemon, and its next life when it leaves.
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
    let names = Set(EventName.allCases).subtracting([.incoming])
    try await client.call(
      ControlMethods.subscribe, Subscription(events: names, replay: true), "tui",
      within: Self.patience)
    try await refresh([.status, .notifications])
    while true {
      guard case .line(let line) = try await client.next(),
        let event = NumberedEvent(line: line)?.event
      else { continue }
      let outdated = dashboard.receive(event, at: Loop.shared.now)
      needsDrawing()
      try await refresh(outdated)
    }
  }

  /// Asks the daemon again for what is out of date.
  private func refresh(_ outdated: Dashboard.Outdated) async throws(Failure) {
    if outdated.contains(.status) {
      let status = try await client.call(
        ControlMethods.status, NoParameters(), "status", within: Self.patience)
      dashboard.update(status)
    }
    if outdated.contains(.notifications) {
      let all = try await client.list(ControlMethods.listNotifications, NotificationQuery(), "list")
      dashboard.replace(all, at: Loop.shared.now)
    }
    needsDrawing()
  }

  // MARK: The user

  private func press(_ key: Key) {
    switch dashboard.press(key, at: Loop.shared.now) {
    case .quit?: end.post(.success(.done))
    case .request(let request)?: requests.post(request)
    case nil: break
    }
    needsDrawing()
  }

  /// Asks the phone for one thing after another, each over a connection of its own.
  private func perform() async {
    while let request = await requests.next() {
      do throws(Failure) {
        let socket = try LineSocket.connect(toFirstOf: sockets)
        defer { socket.close() }
        let client = ControlClient(console, over: socket)
        client.remark = { [weak self] text in
          self?.dashboard.note = Dashboard.Note(text: text, paint: .attention)
          self?.needsDrawing()
        }
        dashboard.answered(request, with: try await client.perform(request))
      } catch {
        dashboard.failed(request, error)
      }
      needsDrawing()
    }
  }
}

extension ControlClient {
  /// Asks the phone; returns the notification if that is what was asked for.
  fileprivate func perform(
    _ request: Dashboard.Request
  ) async throws(Failure) -> ActiveNotification? {
    func selector(_ phone: Address?) -> PhoneSelector? {
      phone.map { PhoneSelector($0.description) }
    }
    switch request {
    case .act(let action, let id):
      let parameters = ActionParameters(id.uid, action, phone: selector(id.phone))
      try await call(ControlMethods.act, parameters, "act #\(id.uid) \(action)")
    case .media(let command, let phone):
      let parameters = MediaParameters(command, phone: selector(phone))
      try await call(ControlMethods.sendMediaCommand, parameters, "media \(command.name ?? "")")
    case .show(let id):
      return try await call(
        ControlMethods.getNotification, NotificationParameters(id.uid, phone: selector(id.phone)),
        "show #\(id.uid)")
    }
    return nil
  }
}
