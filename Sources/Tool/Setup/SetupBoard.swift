// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import System
import Wire

/// The board's init system.
enum InitSystem: Hashable, Sendable {
  case systemd, openRC
  /// An unknown one: the user starts the daemon by hand.
  case unknown

  /// The running one, recognised by directories that only it creates (sd_booted(3); OpenRC's
  /// librc).
  init(_ exists: (String) -> Bool) {
    self =
      exists("/run/systemd/system") ? .systemd : exists("/run/openrc") ? .openRC : .unknown
  }

  /// The commands that start the daemon now, with new settings, and at every boot.
  var startingDaemon: [[String]] {
    switch self {
    case .systemd: [["systemctl", "enable", "ancsd"], ["systemctl", "restart", "ancsd"]]
    case .openRC: [["rc-update", "add", "ancsd", "default"], ["rc-service", "ancsd", "restart"]]
    case .unknown: []
    }
  }

  /// The commands that stop bluetoothd, now and at every boot.
  var stoppingBluetoothd: [[String]] {
    switch self {
    case .systemd: [["systemctl", "disable", "--now", "bluetooth"]]
    case .openRC: [["rc-service", "bluetooth", "stop"], ["rc-update", "del", "bluetooth"]]
    case .unknown: []
    }
  }

  /// The command that shows why the daemon does not start.
  var log: String? {
    switch self {
    case .systemd: "journalctl -u ancsd -n 20"
    case .openRC: "rc-service ancsd status"
    case .unknown: nil
    }
  }
}

/// The board as `setup` sees and changes it.
struct SetupBoard {
  var isRoot: Bool
  /// The host name.
  var hostName: String
  /// The user who ran sudo; nil if there is none.
  var user: String?
  var initSystem: InitSystem
  /// The facts for the doctor's checks.
  var facts: () async -> BoardFacts
  /// The content of a file; nil if there is none.
  var read: (_ path: String) throws(SystemError) -> String?
  /// Replaces a file that everybody may read.
  var save: (_ text: String, _ path: String) throws(SystemError) -> Void
  /// Runs a program, by name or path, until it exits; returns its output.
  var run: (_ command: [String]) async throws(SystemError) -> (end: ProcessEnd, lines: [String])
}

extension SetupBoard {
  /// This one.
  @LoopActor static func real(socket: String?) -> SetupBoard {
    SetupBoard(
      isRoot: Host.userID == 0, hostName: Host.name,
      user: Host.variable("SUDO_USER").flatMap { $0 == "root" ? nil : $0 },
      initSystem: InitSystem { (try? Files.kind(of: $0)) ?? nil != nil },
      facts: { await BoardFacts.gather(stateDirectory: nil, socket: socket) },
      read: { path throws(SystemError) in
        guard try Files.kind(of: path) != nil else { return nil }
        return String(decoding: try Files.read(path), as: UTF8.self)
      },
      save: { text, path throws(SystemError) in
        if let folder = Files.parent(of: path) { try Files.makeDirectory(folder) }
        try AtomicFile.save(Array(text.utf8), to: path, mode: 0o644)
      },
      run: { command throws(SystemError) in
        let end = Mailbox<ProcessEnd>()
        var lines: [String] = []
        let isPath = command.first?.hasPrefix("/") ?? false
        let child = try ChildProcess(
          (isPath ? [] : ["/usr/bin/env"]) + command, environment: Host.environment, input: [])
        child.onLine = { lines.append(String(decoding: $0, as: UTF8.self)) }
        child.onEnd = { end.post($0) }
        defer { withExtendedLifetime(child) {} }
        return (await end.next() ?? .unknown, lines)
      })
  }

  /// Whether the user is a member of the group whose members may use the control socket; nil: there is no such group.
  func isMember(_ user: String) -> Bool? {
    let groups = (try? read("/etc/group")) ?? ""
    let fields = groups.split(separator: "\n").lazy
      .map { $0.split(separator: ":", omittingEmptySubsequences: false) }
      .first { $0.first ?? "" == DefaultPaths.group }
    return fields.map { $0.last?.split(separator: ",").contains { $0 == user } ?? false }
  }

  /// Runs a program that has to succeed.
  func perform(_ command: [String], _ what: String, remedy: String?) async throws(Failure) {
    let end: ProcessEnd
    let lines: [String]
    do throws(SystemError) { (end, lines) = try await run(command) } catch {
      throw Failure(.unavailable, what, "\(error)", remedy: remedy)
    }
    guard end != .exit(0) else { return }
    let reason = lines.last.map { ": \($0)" } ?? ""
    throw Failure(
      .unavailable, what, "“\(command.joined(separator: " "))” \(end)\(reason)", remedy: remedy)
  }
}
