// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Control
import EventLoop
import System
import Wire

/// The options of `forward`.
struct ForwardOptions: Sendable {
  /// The settings file; nil: the default ones.
  var config: String?
  var socket: String?
  /// Where it notes what was sent; nil: the service's.
  var stateDirectory: String?
  var program = ForwardOptions.usualProgram
  /// Only a message to each destination.
  var tests = false

  static let usualProgram = "/usr/lib/ancsd-forward/deliver"
}

extension Command {
  /// `ancsd forward`: sends notifications to the services of the settings.
  public static let forward = Command(
    "forward", "forwards notifications to the services in the settings ([[forward]])",
    usage: ["ancsd forward [OPTIONS]"], grammar: .forward, defaults: ForwardOptions(),
    notes: [
      "The package ancsd-forward runs it as a service, and has the program that sends (Apprise). On SIGHUP it reads the "
        + "settings again. With --test, the status is 69 if a message was not delivered."
    ], examples: ["", "--test", "--test --config forward.toml"]
  ) { options throws(Failure) in
    let targets = try ForwardTarget.read(options.config)
    return Console().onLoop { () async throws(Failure) in
      options.tests ? await test(targets, options.program) : await run(targets, options)
    }
  }

  @LoopActor private static func test(
    _ targets: [ForwardTarget], _ program: String
  ) async -> ExitStatus {
    var status = ExitStatus.done
    for target in targets {
      let message = ForwardMessage(title: "ancsd", body: "A test: notifications arrive here.")
      var running: Delivery?
      var refusal: String?
      let why = await withCheckedContinuation { done in
        running = Delivery([message], to: target, by: program, onOutcome: { refusal = $0 }) {
          done.resume(returning: $0 ?? refusal)
        }
      }
      withExtendedLifetime(running) {}
      if why != nil { status = .unavailable }
      say("\(target.shown): \(why ?? "delivered")", .notice)
    }
    return status
  }

  /// Runs until a signal ends it; SIGHUP starts over with the settings as they are then.
  @LoopActor private static func run(
    _ targets: [ForwardTarget], _ options: ForwardOptions
  ) async -> ExitStatus {
    func begin(_ targets: [ForwardTarget], after record: ForwardRecord? = nil) -> Forwarder {
      let forwarder = Forwarder(
        targets, after: record, paths: DefaultPaths.sockets(options.socket), program: options.program,
        directory: options.stateDirectory ?? Host.variable("STATE_DIRECTORY"), say: say)
      say("forwarding to \(targets.map(\.shown).joined(separator: ", "))", .notice)
      forwarder.start()
      return forwarder
    }
    var forwarder = begin(targets)
    let ending = Mailbox<ExitStatus>()
    let signals = ServiceSignals(
      reload: {
        do throws(Failure) {
          let targets = try ForwardTarget.read(options.config)
          forwarder = begin(targets, after: forwarder.stop())
        } catch { say("\(error.sentence); keeping the old settings", .error) }
      }, leave: { status, _ in ending.post(status) })
    try? signals.watch()
    let status = await ending.next() ?? .done
    _ = forwarder.stop()
    return status
  }

  private static func say(_ text: String, _ level: LogLevel) {
    Standard.report("ancsd forward: \(text.printable)", level)
  }
}

extension ForwardTarget {
  /// The destinations of the settings.
  fileprivate static func read(_ path: String?) throws(Failure) -> [ForwardTarget] {
    let file = try SettingsFile.find(path)
    if let failure = file?.failure(named: path) { throw failure }
    guard let targets = file?.forwards.map(\.value), !targets.isEmpty else {
      throw Failure(
        .badSettings, "forwarding", "the settings name no destination",
        remedy: "add [[forward]] with to = \"ntfys://ntfy.sh/my-board\", or another service's URL")
    }
    return targets
  }
}

extension Grammar<ForwardOptions> {
  fileprivate static let forward = Grammar([
    .flag("--test", help: "send one message to each destination, and exit", set: { $0.tests = true }),
    .config(of: "the settings file", set: { $0.config = $1 }),
    .file(
      "--program", help: "what sends a message (default: \(ForwardOptions.usualProgram))", set: { $0.program = $1 }),
    .socket(set: { $0.socket = $1 }),
    .stateDirectory(for: "what was sent", default: "STATE_DIRECTORY, else nowhere", set: { $0.stateDirectory = $1 }),
  ])
}
