// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Control
import EventLoop
import System

/// The options of ancsd-mqtt.
struct BridgeOptions: Sendable {
  /// The file of settings; nil: the usual ones.
  var config: String?
  var socket: String?
  /// Where the names of phones are kept; nil: the default.
  var stateDirectory: String?
}

extension Command {
  /// `ancsd-mqtt`: the bridge to a broker.
  public static let bridge = Command(
    "mqtt", "tells a broker of MQTT what the phones say, and takes its requests",
    usage: ["ancsd-mqtt [OPTIONS]"], grammar: .bridge, defaults: BridgeOptions(),
    notes: [
      "What is told and asked is set in [mqtt] of the files of settings, which “ancsd config check” checks. SIGHUP has "
        + "them read again.",
      "It ends with status 130 (SIGINT), 143 (SIGTERM), 78 for wrong settings, 66 where a file can't be read.",
    ]
  ) { options throws(Failure) in
    Console().onLoop { () async throws(Failure) in try await run(options) }
  }

  /// Runs one bridge after another: SIGHUP begins the next, with the settings as they are then.
  @LoopActor private static func run(_ options: BridgeOptions) async throws(Failure) -> ExitStatus {
    let paths = StateFolder.paths(options.stateDirectory)
    let lock = try StateFolder.claim(paths.state)
    defer { withExtendedLifetime(lock) {} }
    let memory = BridgeMemory(folder: paths.state, runtimeFolder: paths.runtime)
    memory.onFailure = { say("what was delivered is not written down: \($0)", .warning) }
    var next = try BridgePlan(file: options.config)
    while true {
      switch await serve(next, memory, options) {
      case .reload(let plan): next = plan
      case .signal(let signal): return ExitStatus(signal: signal.rawValue)
      }
    }
  }

  /// Why a bridge has ended.
  private enum End {
    case reload(BridgePlan)
    case signal(Signal)
  }

  /// Runs a bridge until a signal ends it.
  @LoopActor private static func serve(
    _ plan: BridgePlan, _ memory: BridgeMemory, _ options: BridgeOptions
  ) async -> End {
    var running: Bridge?
    let end = await withCheckedContinuation { done in
      var end = End.signal(.terminate)
      let bridge = Bridge(
        plan, memory, paths: DefaultPaths.sockets(options.socket), say: { say($0, .notice) },
        onGone: { done.resume(returning: end) })
      running = bridge
      // If signals can't be caught, they end the process, and the broker tells the will.
      try? Loop.shared.onSignal([.interrupt, .terminate, .hangUp]) { signal in
        guard signal == .hangUp else {
          end = .signal(signal)
          return bridge.leave()
        }
        do throws(Failure) {
          let next = try BridgePlan(file: options.config)
          end = .reload(next)
          bridge.leave(for: next)
        } catch {
          say("\(error.sentence); the old settings stay", .error)
        }
      }
      bridge.start()
    }
    withExtendedLifetime(running) {}
    return end
  }

  /// Writes a line to standard error, with its priority if the journal reads it (sd-daemon(3)).
  private static func say(_ text: String, _ priority: LogPriority) {
    let mark = Standard.isReadByJournal() ? "<\(priority.rawValue)>" : ""
    try? FileDescriptor.writeAll(
      Array("\(mark)ancsd-mqtt: \(text.printable)\n".utf8), to: Standard.error)
  }
}

/// Of syslog(3).
private enum LogPriority: Int { case error = 3, warning = 4, notice = 5 }

extension Grammar<BridgeOptions> {
  fileprivate static let bridge = Grammar([
    .config(of: "the file of settings", set: { $0.config = $1 }),
    .socket(set: { $0.socket = $1 }),
    .text(
      "--state-dir", value: "DIR", expects: "a directory",
      help:
        "where the names of phones are kept (default: STATE_DIRECTORY, else \(StateFolder.system) for root)",
      set: { $0.stateDirectory = $1 }),
  ])
}

/// The directories of a bridge.
private enum StateFolder {
  static let system = "/var/lib/ancsd-mqtt"

  /// Where the names of phones are kept; and what need not outlive the daemon, in systemd's directory for that if it has
  /// made one.
  static func paths(_ named: String?) -> (state: String, runtime: String) {
    let state = named ?? Host.variable("STATE_DIRECTORY") ?? usual
    return (state, named == nil ? Host.variable("RUNTIME_DIRECTORY") ?? state : state)
  }

  /// Takes a directory for this process alone, for as long as the returned value lives.
  static func claim(_ path: String) throws(Failure) -> PrivateDirectory {
    do throws(PrivateDirectory.Fault) {
      return try PrivateDirectory(path)
    } catch {
      throw Failure(keeping: "the names of phones", in: path, error)
    }
  }

  private static var usual: String {
    DefaultPaths.stateDirectory(
      of: "ancsd-mqtt", userID: Host.userID, ownsSystem: false,
      stateHome: Host.variable("XDG_STATE_HOME"), home: Host.variable("HOME"))
  }
}
