// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import ANCS
import Bluetooth
import Control
import EventLoop
import System
import Wire

/// The options of `setup`. It asks for those that are not given.
struct SetupOptions: ClientCommandOptions {
  var client = ClientOptions()
  var name: String?
  var users: [String]?
  /// The program to run for each notification; empty: none.
  var program: String?
  var config = SetUp.usualSettings
  /// Whether to stop bluetoothd without asking.
  var stopsBluetoothd = false
  /// Whether to ask nothing.
  var isSilent = false
  /// How long to wait for a phone, and then for a notification.
  var patience = Duration.seconds(600)
}

extension Command {
  /// `ancsd setup`: from an installed program to the first notification.
  public static let setup = Command(
    "setup", "sets up this board: its name, its users, the service, the phone",
    grammar: SetUp.grammar, defaults: SetupOptions(),
    notes: [
      "It asks for missing options, writes \(SetUp.usualSettings), starts the service, helps you pair the phone, "
        + "and ends with the first notification. You can stop it at any time and run it again: finished steps stay, "
        + "and other settings in the file are left alone."
    ]
  ) { options throws(Failure) in
    let console = Console()
    return console.onLoop { () async throws(Failure) in
      let client = ControlClient(console, toFirstOf: DefaultPaths.sockets(options.client.socket))
      defer { client.close() }
      let inbox = client.inbox
      let reader = client.readTyped()
      defer { reader.close() }
      try? Loop.shared.onSignal([.interrupt, .terminate]) { inbox.post(.signal($0)) }
      var setUp = SetUp(options, client, .real(socket: options.client.socket))
      return try await setUp.run()
    }
  }
}

/// The work of `setup`: a dialogue with the board's user, which ends with the first notification.
struct SetUp {
  static let usualSettings = "/etc/ancsd/ancsd.toml"

  static let grammar = Grammar<SetupOptions>([
    .text(
      "--name", value: "NAME", expects: "a name", help: "the name that the phone shows",
      set: { $0.name = $1 }),
    .value(
      "--user", value: "USER,...", expects: "a user, or several with commas",
      help: "who may use the daemon, besides root (none: nobody)",
      read: { $0 == "none" ? [] : $0.split(separator: ",").map(String.init) },
      set: { $0.users = $1 }),
    .text(
      "--run", value: "PROGRAM", kind: .file, expects: "a program's path, or none",
      help: "a program to run for each notification (none: no program)",
      set: { $0.program = $1 == "none" ? "" : $1 }),
    .flag(
      "--stop-bluetoothd", help: "stop bluetoothd without asking, if it is running",
      set: { $0.stopsBluetoothd = true }),
    .flag(
      "--yes", help: "ask nothing, and keep the current values", set: { $0.isSilent = true }),
    .file(
      "--config",
      help: "the file of settings (default: \(usualSettings))", set: { $0.config = $1 }),
    .timeout(
      help: "how long to wait for the phone, and then for a notification (default: 10m)",
      set: { $0.patience = $1 }),
    .socket(set: { $0.client.socket = $1 }),
  ])

  private let options: SetupOptions
  private let client: ControlClient
  private let board: SetupBoard
  /// Whether nobody answers.
  private var isAlone: Bool

  init(_ options: SetupOptions, _ client: ControlClient, _ board: SetupBoard) {
    self.options = options
    self.client = client
    self.board = board
    isAlone = options.isSilent
  }

  mutating func run() async throws(Failure) -> ExitStatus {
    guard board.isRoot else {
      throw Failure(
        .noPermission, "setup", "only root may change this board's settings and services",
        remedy: "sudo ancsd setup")
    }
    try await examine()
    let isChanged = try await settle()
    try await admit()
    try await start(afresh: isChanged)
    try await meet()
    return try await waitForNotification()
  }

  // MARK: The board

  /// Checks the adapter and bluetoothd.
  private mutating func examine() async throws(Failure) {
    var facts = await board.facts()
    if facts.bluetoothd == .running {
      try await endBluetoothd()
      facts = await board.facts()
    }
    // The waits of a running daemon are queried below.
    for finding in facts.findings where finding.verdict != .ok && finding.check != "daemon" {
      try client.console.show(finding) { finding.text($0) }
    }
    let status = facts.findings.status
    guard status == .done else {
      throw Failure(
        status, "setup", "this keeps the board from working",
        remedy: "fix it as described above, and run “ancsd setup” again")
    }
    for adapter in facts.adapters {
      try say("The adapter \(adapter.index) (\(adapter.address)) will do.")
    }
  }

  /// Stops bluetoothd if the user agrees: devices connected through it, such as a keyboard,
  /// disconnect.
  private mutating func endBluetoothd() async throws(Failure) {
    var agrees = options.stopsBluetoothd
    if !agrees {
      let answer = try await ask(
        "bluetoothd is running, and would take the phone's connection. Stop it, and everything connected through it, now and "
          + "permanently? (yes or no)", usually: "no")
      agrees = ["y", "yes"].contains(answer.lowercased())
    }
    guard agrees, !board.initSystem.stoppingBluetoothd.isEmpty else {
      throw Failure(
        .unavailable, "setup", "bluetoothd is running, and takes every phone's connection",
        remedy: agrees
          ? BluetoothDaemon.remedy : "stop it (\(BluetoothDaemon.remedy)), or agree to that")
    }
    for command in board.initSystem.stoppingBluetoothd {
      try await board.perform(command, "stopping bluetoothd", remedy: nil)
    }
    try say("bluetoothd is stopped and disabled. (To undo: systemctl enable --now bluetooth)")
  }

  // MARK: Settings

  /// Writes the settings file.
  ///
  /// - Returns: whether it has changed.
  private mutating func settle() async throws(Failure) -> Bool {
    let path = options.config
    let old: String?
    do { old = try board.read(path) } catch { throw Failure(.noInput, path, "\(error)") }
    var settings = SettingsText(old ?? "")
    if let name = try await answer(
      options.name, "The board's name, as the phone shows it", usually: board.hostName)
    {
      settings.set("name", to: name)
    }
    if let program = try await answer(
      options.program, "A program to run for each notification, by its path", usually: "none"),
      !program.isEmpty
    {
      settings.run(program, onEach: "notification")
    }
    guard settings.text != old ?? "" else { return false }
    do {
      try board.save(settings.text, path)
    } catch { throw Failure(.cannotCreate, path, "\(error)") }
    do {
      try await board.perform(
        ["/proc/self/exe", "config", "check", path], "checking \(path)",
        remedy: "the file is unchanged; see “ancsd setup --help”")
    } catch {
      try? board.save(old ?? "", path)
      throw error
    }
    try say("Wrote \(path).")
    return true
  }

  /// The answer from the command line or from the user; nil: the default.
  private mutating func answer(
    _ given: String?, _ question: String, usually usual: String
  ) async throws(Failure) -> String? {
    if let given { return given }
    let typed = try await ask(question, usually: usual)
    return typed == usual ? nil : typed
  }

  /// Lets users use the control socket.
  private mutating func admit() async throws(Failure) {
    let typed = try await answer(
      options.users?.joined(separator: ","),
      "Who may use the daemon, besides root", usually: board.user ?? "nobody")
    let users = typed.map { $0.split(separator: ",").map { $0.filter { $0 != " " } } }
    for user in users ?? [board.user].compactMap({ $0 }) {
      switch board.isMember(user) {
      case true?: continue
      case nil:
        return try say(
          "There is no group \(DefaultPaths.group), so only root may use the daemon. (groupadd ancsd)"
        )
      case false?:
        try await board.perform(
          ["usermod", "-aG", DefaultPaths.group, user], "letting \(user) use the daemon",
          remedy: "add \(user) to the group \(DefaultPaths.group)")
        try say("\(user) may use the daemon from the next login on.")
      }
    }
  }

  // MARK: The service

  /// Starts the daemon with the new settings.
  private mutating func start(afresh: Bool) async throws(Failure) {
    let isRunning = (try? client.connect()) != nil
    if isRunning, !afresh { return }
    client.close()
    let commands = board.initSystem.startingDaemon
    for command in commands {
      try await board.perform(
        command, "starting the service", remedy: board.initSystem.log.map { "see \($0)" })
    }
    if commands.isEmpty {
      try say(
        "Found neither systemd nor OpenRC. Start the daemon in another terminal, or restart it: ancsd "
          + "--config \(options.config)")
    } else {
      try say("The service is running, and starts at every boot.")
    }
    try await client.connect(patiently: true)
  }

  // MARK: The phone

  /// Pairs a phone, unless one is bonded.
  private mutating func meet() async throws(Failure) {
    var status = try await client.call(ControlMethods.status, "setup")
    // The adapter takes a moment.
    for _ in 0..<20 where !status.adapters.contains(where: \.isPowered) && !status.isLinked {
      try await client.sleep(.milliseconds(500))
      status = try await client.call(ControlMethods.status, "setup")
    }
    guard status.phones.isEmpty, !status.isLinked else {
      let names = status.phones.map { $0.name ?? "\($0.phone)" }.joined(separator: ", ")
      return try say("Paired already: \(names.isEmpty ? "a phone" : names).")
    }
    var pairing = Pairing(client)
    guard
      try await pairing.run(seconds: Int(clamping: options.patience.components.seconds)) == .done
    else {
      throw Failure(.refused, "setup", "the phone has not paired")
    }
  }

  /// Waits for a notification, and prints the current waits meanwhile.
  private func waitForNotification() async throws(Failure) -> ExitStatus {
    try say("Now send yourself a message, or wait for a notification.")
    try await client.call(
      ControlMethods.subscribe, Subscription(events: [.notification, .why], replay: true), "setup")
    let timer = client.startTimer(options.patience)
    var said = Set<String>()
    while true {
      switch try await client.next() {
      case .line(let line):
        guard let event = NumberedEvent(line: line) else { break }
        switch event.event.content {
        case .why(_, let why): if said.insert(why).inserted { try say("(\(why))") }
        case .notification(let report) where report.event.change != .removed:
          try client.console.show(event, on: line, client.console.style)
          try say(
            "Done. “ancsd watch” prints notifications as they arrive, “ancsd tui” shows a live screen."
          )
          return .done
        default: break
        }
      case .timeUp(timer):
        throw Failure(
          .tryAgain, "setup", "no notification arrived",
          remedy: "“ancsd status” says what the daemon waits for; then run “ancsd setup” again")
      case .timeUp, .typed, .closed, .signal, .readerGone: break
      }
    }
  }

  // MARK: The conversation

  private func say(_ text: String) throws(Failure) {
    try client.console.print(line: text.printable)
  }

  /// Asks, and returns the typed answer, or the default if it is empty or nobody is there.
  private mutating func ask(
    _ question: String, usually usual: String
  ) async throws(Failure) -> String {
    if isAlone { return usual }
    try client.console.print("\(question) [\(usual)]: ".printable.utf8)
    while true {
      guard case .typed(let typed) = try await client.next() else { continue }
      isAlone = typed == nil
      let text = (typed ?? "").filter { $0 != "\r" }
      return text.allSatisfy(\.isWhitespace) ? usual : text
    }
  }
}

extension StatusReport {
  /// Whether a phone is connected, over whatever carries the link.
  fileprivate var isLinked: Bool { !links.isEmpty }
}
