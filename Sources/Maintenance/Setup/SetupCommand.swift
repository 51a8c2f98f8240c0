// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Bluetooth
import Control
import ControlClients
import EventLoop
import System
import Wire

/// The options of `setup`. It asks for those that are not given.
struct SetupOptions: Sendable {
  var socket: String?
  var name: String?
  var users: [String]?
  /// The program to run for each notification; empty: none.
  var program: String?
  var config = SettingsFolder.usualPath
  /// Whether to stop bluetoothd without asking.
  var stopsBluetoothd = false
  /// Whether to ask nothing.
  var isSilent = false
  /// Whether it is only a rehearsal.
  var rehearses = false
  /// How long to wait for a phone, and then for a notification.
  var patience = Duration.seconds(600)
}

extension Command {
  /// `ancsd setup`: from an installed program to the first notification.
  package static let setup = Command(
    "setup", "sets up this board: its name, its users, the service, the phone",
    grammar: SetUp.grammar, defaults: SetupOptions(),
    notes: [
      "It asks for missing options, writes \(SettingsFolder.usualPath), starts the service, helps you pair the phone, "
        + "and ends with the first notification. You can stop it at any time and run it again: finished steps stay, "
        + "and other settings in the file are left alone."
    ],
    examples: [
      "",
      "--name 'Kitchen board' --user anna",
      "--yes --stop-bluetoothd",
      "--virtual-phone",
    ]
  ) { options throws(Failure) in
    let console = Console()
    return console.onLoop { () async throws(Failure) in
      var options = options
      // Programs run in the root directory.
      options.config = Files.absolute(options.config)
      let rehearsal = options.rehearses ? try Rehearsal() : nil
      if let rehearsal {
        (options.socket, options.config) = (rehearsal.socket, SettingsFolder.usualPath)
      }
      let client = ControlClient(console, toFirstOf: DefaultPaths.sockets(options.socket))
      defer { client.close() }
      let inbox = client.inbox
      let reader = client.readTyped()
      defer { reader.close() }
      try? Loop.shared.onSignal([.interrupt, .terminate]) { inbox.post(.signal($0)) }
      var setUp = SetUp(options, client, rehearsal?.board ?? .real(socket: options.socket))
      let result: Result<ExitStatus, Failure>
      do throws(Failure) {
        if let rehearsal { try console.print(line: rehearsal.introduction) }
        result = .success(try await setUp.run())
      } catch { result = .failure(error) }
      await rehearsal?.remove()
      return try result.get()
    }
  }
}

/// The work of `setup`: a dialogue with the board's user, which ends with the first notification.
struct SetUp {
  static let grammar = Grammar<SetupOptions>([
    .text("--name", value: "NAME", expects: "a name", help: "the name that the phone shows", set: { $0.name = $1 }),
    .value(
      "--user", value: "USER,...", expects: "a user, or several with commas",
      help: "who may use the daemon, besides root (none: nobody)", read: { users(typed: $0) }, set: { $0.users = $1 }),
    .text(
      "--run", value: "PROGRAM", kind: .file, expects: "a program's path, or none",
      help: "a program to run for each notification (none: no program)",
      set: { $0.program = $1 == "none" ? "" : $1 }),
    .flag(
      "--stop-bluetoothd", help: "stop bluetoothd without asking, if it is running", set: { $0.stopsBluetoothd = true }),
    .flag(
      "--virtual-phone", help: "rehearse it with a virtual phone and a temporary folder, also without root",
      set: { $0.rehearses = true }),
    .flag("--yes", help: "ask nothing, and keep the current values", set: { $0.isSilent = true }),
    .file("--config", help: "the file of settings (default: \(SettingsFolder.usualPath))", set: { $0.config = $1 }),
    .pairingTime(
      help: "how long to wait for the phone, and then for a notification (default: 10m)", set: { $0.patience = $1 }),
    .socket(set: { $0.socket = $1 }),
  ])

  private let options: SetupOptions
  private let client: ControlClient
  private let board: SetupEnvironment
  /// Whether nobody answers.
  private var isAlone: Bool

  init(_ options: SetupOptions, _ client: ControlClient, _ board: SetupEnvironment) {
    self.options = options
    self.client = client
    self.board = board
    isAlone = options.isSilent
  }

  mutating func run() async throws(Failure) -> ExitStatus {
    guard board.isRoot else {
      throw Failure(
        .noPermission, "setup", "only root may change this board's settings and services", remedy: "sudo ancsd setup")
    }
    // Up to here, and up to the last answer, nothing is changed.
    let host = try await examine()
    let (old, new, users) = try await ask(host)
    try await carryOut(old, new, host)
    try await admit(users, host)
    try await meet()
    return try await waitForNotification()
  }

  // MARK: The board

  /// Checks the adapter and whatever else the daemon needs. Whether bluetoothd may be stopped is asked later.
  private func examine() async throws(Failure) -> ServiceHost {
    let facts = await board.facts()
    let findings = facts.findings.filter {
      // The waits of a running daemon are queried below.
      $0.verdict != .ok && $0.check != "daemon"
        && !(facts.bluetoothd != nil && $0.check == "bluetoothd")
    }
    for finding in findings { try client.console.show(finding) { finding.text($0) } }
    guard findings.status == .done else {
      throw Failure(
        findings.status, "setup", "this keeps the board from working",
        remedy: "fix it as described above, and run “ancsd setup” again")
    }
    if let process = facts.bluetoothd, facts.host.bluetooth?.isStarted != true {
      throw Failure(
        .unavailable, "setup", "bluetoothd is running, and takes every phone's connection; no service has started it",
        remedy: "end it (kill \(process)), and run “ancsd setup” again")
    }
    for adapter in facts.adapters {
      try say("The adapter \(adapter.index) (\(adapter.address)) will do.")
    }
    var host = facts.host
    if facts.bluetoothd == nil { host.bluetooth = nil }  // nothing to stop
    return host
  }

  // MARK: The questions

  /// Asks the user. Nothing is changed yet.
  ///
  /// - Returns: the settings file's old text, if it exists, the new one, and the users to admit.
  private mutating func ask(_ host: ServiceHost) async throws(Failure) -> (old: String?, new: String, users: [String]) {
    if host.bluetooth != nil { try await agreeToEndBluetoothd(host) }
    let isUsual = options.config == SettingsFolder.usualPath
    try await board.perform(
      ["/proc/self/exe", "config", "check"] + (isUsual ? [] : [options.config]), "checking the settings")
    let old = try board.settings(options.config)
    var settings = SettingsText(old ?? "")
    if let name = try await wantedName() { settings.set("name", to: name) }
    if let program = try await answer(
      options.program, "A program to run for each notification, by its path", usually: "none"), !program.isEmpty
    {
      settings.run(program, onEach: "notification")
    }
    return (old, settings.text, try await wantedUsers(host))
  }

  /// Asks whether bluetoothd may be stopped: devices connected through it, such as a keyboard, disconnect.
  private mutating func agreeToEndBluetoothd(_ host: ServiceHost) async throws(Failure) {
    if options.stopsBluetoothd { return }
    let answer = try await ask(
      "bluetoothd is running, and would take the phone's connection. Stop it, and everything connected through it, now and "
        + "permanently? (yes or no)", usually: "no")
    guard let answer, ["y", "yes"].contains(answer.lowercased()) else {
      let stop = host.bluetooth.flatMap { host.commands(to: .stop, $0).line }
      throw Failure(
        .unavailable, "setup", "bluetoothd is running, and takes every phone's connection",
        remedy: "stop it\(stop.map { " (\($0))" } ?? ""), or agree to that")
    }
  }

  /// The new name; nil: it stays as it is.
  private mutating func wantedName() async throws(Failure) -> String? {
    let current = try board.name(in: options.config)
    if let current, current.path != options.config {
      // That file overrides this one.
      if options.name ?? current.name == current.name {
        try say("The board's name is “\(current.name)”, as \(current.path) says.")
        return nil
      }
      throw Failure(
        .usage, "setup", "\(current.path) names the board “\(current.name)”", remedy: "change the name there")
    }
    return try await answer(
      options.name, "The board's name, as the phone shows it", usually: current?.name ?? board.hostName)
  }

  /// Those who are to use the control socket and can't yet.
  private mutating func wantedUsers(_ host: ServiceHost) async throws(Failure) -> [String] {
    guard board.hasGroup else {
      let command = host.makeGroup(DefaultPaths.group).joined(separator: " ")
      try say("There is no group \(DefaultPaths.group), so only root may use the daemon. (\(command))")
      return []
    }
    while true {
      var users = options.users
      if users == nil {
        let typed = try await ask("Who may use the daemon, besides root (none: nobody)", usually: board.user ?? "none")
        // If nobody answers, nobody is let in.
        users = typed.map(Self.users(typed:)) ?? []
      }
      guard let stranger = users?.first(where: { !board.hasUser($0) }) else {
        return users?.filter { !board.isMember($0) } ?? []
      }
      guard options.users == nil else {
        throw Failure(
          .usage, "setup", "there is no user “\(stranger)”", remedy: "create that user, or name others with --user")
      }
      try say("There is no user “\(stranger)”.")
    }
  }

  /// The users in a list with commas. The user “nobody” is for what belongs to none.
  private static func users(typed: String) -> [String] {
    typed.split { $0 == "," || $0 == " " }.map(String.init).filter {
      !["none", "nobody"].contains($0)
    }
  }

  // MARK: The changes

  /// A service as it was, and what was done to it.
  private typealias Changed = (service: ServiceHost.Service, change: ServiceHost.Change)

  /// Writes the settings, stops bluetoothd and starts the daemon. If the daemon does not run in the end, the board has
  /// again what it had before.
  private func carryOut(_ old: String?, _ new: String, _ host: ServiceHost) async throws(Failure) {
    let isChanged = new != old ?? ""
    if isChanged {
      try await board.save(new, options.config)
      try say("Wrote \(options.config).")
    }
    var changed: [Changed] = []
    do throws(Failure) {
      if let bluetooth = host.bluetooth {
        changed.append((bluetooth, .stop))
        try await end(bluetooth, host)
      }
      try await start(host, afresh: isChanged, &changed)
    } catch {
      // A service that ran with the old settings gets them back; otherwise the new ones are a finished step.
      if isChanged, host.daemon?.isStarted == true {
        await undo("restoring \(options.config)", nil) { () throws(Failure) in
          try board.restore(old, options.config)
        }
      }
      for (service, change) in changed.reversed() {
        let commands = host.commands(undoing: change, service)
        await undo("restoring the service \(service.name)", commands.line) { () async throws(Failure) in
          for command in commands { try await board.perform(command, "") }
        }
      }
      throw error
    }
  }

  private func end(_ bluetooth: ServiceHost.Service, _ host: ServiceHost) async throws(Failure) {
    for command in host.commands(to: .stop, bluetooth) {
      try await board.perform(command, "stopping bluetoothd")
    }
    if let process = await board.facts().bluetoothd {
      throw Failure(
        .unavailable, "stopping bluetoothd", "it is still running (process \(process))",
        remedy: "end it, and run “ancsd setup” again")
    }
    let undo = host.commands(undoing: .stop, bluetooth).line
    try say("bluetoothd is stopped and disabled.\(undo.map { " (To undo: \($0))" } ?? "")")
  }

  /// Starts the daemon with the new settings.
  ///
  /// - Parameter afresh: whether a running one has other settings.
  private func start(_ host: ServiceHost, afresh: Bool, _ changed: inout [Changed]) async throws(Failure) {
    let isRunning = (try? client.connect()) != nil
    guard let service = host.daemon else {
      if isRunning, !afresh { return }
      client.close()
      let why =
        host.manager == .none ? "Found neither systemd nor OpenRC." : "The daemon is not installed as a service."
      try say("\(why) Start the daemon in another terminal, or restart it: ancsd --config \(options.config)")
      try await client.connect(until: nil)
      return
    }
    if isRunning, !service.isStarted {
      return try say(
        "A daemon that somebody has started by hand is running, so the service was not started. "
          + "\(afresh ? "Restart it for the new settings, or stop" : "Stop") it and run “ancsd setup” again.")
    }
    if isRunning, !afresh, service.isEnabled { return }
    client.close()
    let change = isRunning && !afresh ? ServiceHost.Change.start : .restart
    changed.append((service, change))
    let remedy = host.log(of: service).map { "see \($0)" }
    for command in host.commands(to: change, service) {
      try await board.perform(command, "starting the service", remedy: remedy)
    }
    for attempt in 1... {
      do throws(Failure) {
        try client.connect()
        break
      } catch {
        guard attempt < 60 else {
          throw Failure(.unavailable, "starting the service", error.why, remedy: remedy)
        }
      }
      try await client.sleep(.milliseconds(500))
    }
    try say("The service is running, and starts at every boot.")
  }

  /// Undoes a change, and reports whether that has succeeded.
  private func undo(_ what: String, _ remedy: String?, _ body: () async throws(Failure) -> Void) async {
    do throws(Failure) {
      try await body()
      try say("A step failed; \(what): done.")
    } catch { client.report(Failure(error.status, what, error.why, remedy: remedy)) }
  }

  /// Lets users use the control socket.
  private func admit(_ users: [String], _ host: ServiceHost) async throws(Failure) {
    for user in users {
      try await board.perform(
        host.admit(user, to: DefaultPaths.group), "letting \(user) use the daemon",
        remedy: "add \(user) to the group \(DefaultPaths.group), and run “ancsd setup” again")
      try say("\(user) may use the daemon from the next login on.")
    }
  }

  // MARK: The phone

  /// Pairs a phone, unless one is bonded.
  private mutating func meet() async throws(Failure) {
    var status = try await client.call(ControlMethods.status, "setup")
    // The adapter takes a moment.
    for _ in 0..<20 where !status.adapters.contains(where: \.isPowered) && status.links.isEmpty {
      try await client.sleep(.milliseconds(500))
      status = try await client.call(ControlMethods.status, "setup")
    }
    guard status.phones.isEmpty, status.links.isEmpty else {
      let names = status.phones.map { $0.name ?? "\($0.phone)" }.joined(separator: ", ")
      return try say("Paired already: \(names.isEmpty ? "a phone" : names).")
    }
    var pairing = PairingGuide(client)
    guard try await pairing.run(seconds: Int(clamping: options.patience.components.seconds)) == .done else {
      throw Failure(.refused, "setup", "the phone has not paired")
    }
  }

  /// Waits for a notification, and prints the current waits meanwhile.
  private func waitForNotification() async throws(Failure) -> ExitStatus {
    try say("Now send yourself a message, or wait for a notification.")
    try await client.call(ControlMethods.subscribe, Subscription(events: [.notification, .why], replay: true), "setup")
    let timer = client.startTimer(options.patience)
    var said = Set<String>()
    while let line = try await client.nextLine(until: timer) {
      guard let event = NumberedEvent(line: line) else { continue }
      switch event.event.content {
      case .why(_, let why): if said.insert(why).inserted { try say("(\(why))") }
      case .notification(let report) where report.event.change != .removed:
        try client.console.show(event, on: line)
        try say("Done. “ancsd watch” prints notifications as they arrive, “ancsd tui” shows a live screen.")
        return .done
      default: break
      }
    }
    throw Failure(
      .tryAgain, "setup", "no notification arrived",
      remedy: "“ancsd status” says what the daemon waits for; then run “ancsd setup” again")
  }

  // MARK: The conversation

  private func say(_ text: String) throws(Failure) {
    try client.console.print(line: text.printable)
  }

  /// The answer from the command line or from the user; nil: the default.
  private mutating func answer(
    _ given: String?, _ question: String, usually usual: String
  ) async throws(Failure) -> String? {
    if let given { return given }
    let typed = try await ask(question, usually: usual)
    return typed == usual ? nil : typed
  }

  /// Asks, and returns the typed answer, or the default if it is empty; nil if nobody is there.
  private mutating func ask(_ question: String, usually usual: String) async throws(Failure) -> String? {
    if isAlone { return nil }
    try client.console.print("\(question) [\(usual)]: ".printable.utf8)
    while true {
      guard case .typed(let typed) = try await client.next() else { continue }
      isAlone = typed == nil
      return typed.map { $0.allSatisfy(\.isWhitespace) ? usual : $0.filter { $0 != "\r" } }
    }
  }
}
