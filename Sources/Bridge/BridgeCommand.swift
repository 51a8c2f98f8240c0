// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Control
import EventLoop
import System
import Wire

/// The options of ancsd-mqtt.
struct BridgeOptions: Sendable {
  /// The settings file; nil: the default ones.
  var config: String?
  var socket: String?
  /// The directory for the names of phones and the retained topics; nil: the default.
  var stateDirectory: String?
  /// Only whether it could start.
  var checks = false
}

extension Command {
  /// `ancsd-mqtt`: the bridge to a broker.
  public static let bridge = Command(
    "mqtt", "connects the board to an MQTT broker: publishes events, accepts requests",
    usage: ["ancsd-mqtt [OPTIONS]"], grammar: .bridge, defaults: BridgeOptions(),
    notes: [
      "Its settings are in [mqtt] of the settings files, which “ancsd config check” checks. On SIGHUP it reads "
        + "them again.",
      "Exit status: 130 (SIGINT), 143 (SIGTERM), 78 for wrong settings, 66 if a file can't be read, 77 if others can read a secret.",
    ]
  ) { options throws(Failure) in
    guard !options.checks else {
      _ = try BridgePlan(file: options.config)
      return .done
    }
    return Console().onLoop { () async throws(Failure) in try await run(options) }
  }

  /// Runs one bridge after another: SIGHUP starts the next one with the reloaded settings.
  @LoopActor private static func run(_ options: BridgeOptions) async throws(Failure) -> ExitStatus {
    let named = options.stateDirectory
    let state =
      named ?? Host.variable("STATE_DIRECTORY") ?? DefaultPaths.stateDirectory(of: "ancsd-mqtt")
    let lock = try attempt(try PrivateDirectory(state)) {
      Failure(keeping: "the names of phones", in: state, $0)
    }
    defer { withExtendedLifetime(lock) {} }
    // State that need not outlive the daemon is in systemd's runtime directory, if there is one.
    let runtime = named == nil ? Host.variable("RUNTIME_DIRECTORY") ?? state : state
    let memory = BridgeMemory(folder: state, runtimeFolder: runtime)
    memory.files.onFailure = { say("can't save its state: \($0)", .warning) }
    var plan = try BridgePlan(file: options.config)
    let gone = Mailbox<Void>()
    func begin() -> Bridge {
      let bridge = Bridge(plan, memory, paths: DefaultPaths.sockets(options.socket)) {
        gone.post(())
      }
      bridge.start()
      return bridge
    }
    var bridge = begin()
    let signals = ServiceSignals(
      reload: {
        do throws(Failure) {
          plan = try BridgePlan(file: options.config)
          bridge.leave(for: plan)
        } catch { say("\(error.sentence); keeping the old settings", .error) }
      }, leave: { _, _ in bridge.leave() })
    // If signals can't be caught, they end the process, and the broker publishes the will.
    try? signals.watch(continued: { bridge.wasStopped() })
    while true {
      _ = await gone.next()
      if let status = signals.leaving { return status }
      bridge = begin()
    }
  }
}

/// Logs what the bridge does.
func say(_ text: String, _ level: LogLevel = .notice) {
  Standard.report("ancsd-mqtt: \(text.printable)", level)
}

extension Grammar<BridgeOptions> {
  fileprivate static let bridge = Grammar([
    .config(of: "the settings file", set: { $0.config = $1 }),
    .flag("--check", help: "check the settings and the files that they name, and exit", set: { $0.checks = true }),
    .socket(set: { $0.socket = $1 }),
    .stateDirectory(
      for: "the phones' names and the retained topics", default: "STATE_DIRECTORY, else /var/lib/ancsd-mqtt for root",
      set: { $0.stateDirectory = $1 }),
  ])
}
