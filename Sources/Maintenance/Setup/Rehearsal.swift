// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Mgmt
import System
import Wire

/// A set-up without consequences (`setup --virtual-phone`): the same dialogue, on a board that is a temporary folder, with a
/// daemon that serves a virtual phone. The daemon ends with this object; `remove` removes the folder.
@LoopActor final class Rehearsal {
  private let folder: String
  private let real: SetupEnvironment
  private var daemon: ChildProcess?

  /// The daemon's control socket.
  var socket: String { "\(folder)/control.sock" }

  init() throws(Failure) {
    do throws(SystemError) {
      folder = try Files.makeTemporaryDirectory(named: "ancsd-setup")
      try Files.makeDirectory(folder + SettingsFolder.path)
      for (path, text) in [
        ("/etc/passwd", DoctorFacts.text("/etc/passwd") ?? ""),
        ("/etc/group", "\(DefaultPaths.group):x:999:\n"),
        // Without one, the daemon would read the board's own.
        (SetUp.usualSettings, ""),
      ] { try AtomicFile.save(Array(text.utf8), to: folder + path, mode: 0o600) }
    } catch { throw Failure(.cannotCreate, "rehearsing the set-up", "\(error)") }
    real = .real(socket: "\(folder)/control.sock")
  }

  /// The sentence to begin with.
  var introduction: String {
    "This is a rehearsal: the phone is virtual, and the board is the folder \(folder), which is removed at the end."
  }

  /// Its files are in the folder, its adapter does not exist, and starting its service starts the daemon.
  var board: SetupEnvironment {
    var board = real
    (board.isRoot, board.root) = (true, folder)
    board.facts = {
      var facts = DoctorFacts()
      facts.adapters = [
        DoctorFacts.AdapterFacts(
          index: ControllerIndex(0), address: Address(0x0200_0000_0001),
          supported: [.lowEnergy, .secureConnections], current: [.powered])
      ]
      facts.host = ServiceHost(
        .systemd, daemon: .init("ancsd", isEnabled: false, isStarted: false))
      facts.clock = WallTime.now.seconds
      return facts
    }
    board.run = { [self] command throws(SystemError) in
      if command.first == "/proc/self/exe", command.last != "check" {
        return try await real.run(command)
      }
      if command.first == "systemctl", daemon == nil { daemon = try start() }
      return (.exit(0), [])
    }
    return board
  }

  private func start() throws(SystemError) -> ChildProcess {
    try ChildProcess(
      [
        "/proc/self/exe", "run", "--virtual-phone", "--config", folder + SetUp.usualSettings,
        "--socket", socket, "--state-dir", "\(folder)/state",
      ], environment: Host.environment, input: [])
  }

  func remove() async {
    daemon = nil
    _ = try? await real.run(["rm", "-rf", "--", folder])
  }
}
