// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Mgmt
import System
import TOML
import Wire

/// The board as `setup` sees and changes it.
struct SetupEnvironment {
  var isRoot: Bool
  /// The host name.
  var hostName: String
  /// The user who ran sudo; nil if there is none.
  var user: String?
  /// The directory above all files.
  var root = ""
  /// The facts for the doctor's checks.
  var facts: () async -> DoctorFacts
  /// Runs a program, by name or path, until it exits; returns its output.
  var run: (_ command: [String]) async throws(SystemError) -> (end: ProcessEnd, lines: [String])

  /// This one.
  @LoopActor static func real(socket: String?) -> SetupEnvironment {
    SetupEnvironment(
      isRoot: Host.userID == 0, hostName: Host.name,
      user: Host.variable("SUDO_USER").flatMap { $0 == "root" ? nil : $0 },
      facts: { await DoctorFacts.gather(stateDirectory: nil, socket: socket) },
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

  /// Runs a program that has to succeed.
  func perform(_ command: [String], _ what: String, remedy: String? = nil) async throws(Failure) {
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

  // MARK: Users

  /// Whether there is a user of this name.
  func hasUser(_ name: String) -> Bool { Host.userID(named: name, in: root + "/etc/passwd") != nil }

  /// Whether there is a group whose members may use the control socket.
  var hasGroup: Bool { Host.groupID(named: DefaultPaths.group, in: root + "/etc/group") != nil }

  /// Whether the user is a member of that group.
  func isMember(_ user: String) -> Bool {
    let groups = DoctorFacts.text(root + "/etc/group") ?? ""
    let fields = groups.split(separator: "\n").lazy
      .map { $0.split(separator: ":", omittingEmptySubsequences: false) }
      .first { $0.first ?? "" == DefaultPaths.group }
    return fields?.last?.split(separator: ",").contains { $0 == user } ?? false
  }

  // MARK: Settings

  /// The text of a settings file; nil if there is none.
  func settings(_ path: String) throws(Failure) -> String? {
    do throws(SystemError) {
      guard try Files.kind(of: root + path) != nil else { return nil }
      return String(decoding: try Files.read(root + path, limit: 1 << 20), as: UTF8.self)
    } catch { throw Failure(.noInput, "reading settings", "\(error)") }
  }

  /// The name that the settings give the board, and the file that does; nil if none does.
  ///
  /// - Parameter path: the file that the daemon reads; if it is the usual one, it also reads those in `conf.d`.
  func name(in path: String) throws(Failure) -> (name: String, path: String)? {
    let isUsual = path == SettingsFolder.usualPath
    if !isUsual, try settings(path) == nil { return nil }
    let files = try SettingsFolder.read(isUsual ? nil : root + path, in: root + SettingsFolder.path)
    return files.reversed().lazy.compactMap { file in
      guard let document = try? TOMLValue(parsing: file.text ?? []) else { return nil }
      var table = TableReader(document)
      return table.text("name").map { ($0, String(file.path.dropFirst(root.count))) }
    }.first
  }

  /// Makes a settings file what it was.
  func restore(_ old: String?, _ path: String) throws(Failure) {
    do throws(SystemError) {
      guard let old else { return try AtomicFile.remove(root + path) }
      try NewFile(Array(old.utf8), replacing: root + path, newMode: 0o644).commit()
    } catch { throw Failure(writing: path, error) }
  }

  /// Replaces a settings file, once the program accepts it.
  func save(_ text: String, _ path: String) async throws(Failure) {
    let new: NewFile
    do throws(SystemError) {
      if let folder = Files.parent(of: root + path) { try Files.makeDirectory(folder) }
      new = try NewFile(Array(text.utf8), replacing: root + path, newMode: 0o644)
    } catch { throw Failure(writing: path, error) }
    do throws(Failure) {
      try await perform(
        ["/proc/self/exe", "config", "check", new.path], "checking \(path)",
        remedy: "the file is unchanged; see “ancsd setup --help”")
    } catch {
      new.discard()
      throw error
    }
    try attempt(try new.commit()) { Failure(writing: path, $0) }
  }
}

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
        ("/etc/passwd", DoctorFacts.text("/etc/passwd") ?? ""), ("/etc/group", "\(DefaultPaths.group):x:999:\n"),
        // Without one, the daemon would read the board's own.
        (SettingsFolder.usualPath, ""),
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
        "/proc/self/exe", "run", "--virtual-phone", "--config", folder + SettingsFolder.usualPath,
        "--socket", socket, "--state-dir", "\(folder)/state",
      ], environment: Host.environment, input: [])
  }

  func remove() async {
    daemon = nil
    _ = try? await real.run(["rm", "-rf", "--", folder])
  }
}

/// The text of a settings file. It is edited line by line, so everything else in it stays as its owner wrote it.
struct SettingsText: Hashable, Sendable {
  /// Each with its carriage return, if it has one.
  private var lines: [String]

  init(_ text: String) {
    // A line feed is only a byte here: as a character, CRLF would be another one.
    lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    if lines.last == "" { lines.removeLast() }
  }

  var text: String { lines.map { $0 + "\n" }.joined() }

  /// The end of a new line, besides the line feed: as the file has it.
  private var carriage: String { lines.first?.last == "\r" ? "\r" : "" }

  /// Sets a top-level key to a text: on its line, on the line of its commented-out example, or else on a new line.
  mutating func set(_ key: String, to value: String) {
    let line = "\(key) = \(SettingValue.text(value))\(carriage)"
    let top = lines.firstIndex { $0.trimmed.hasPrefix("[") } ?? lines.endIndex
    func isSet(in line: String, behind mark: String) -> Bool {
      guard line.trimmed.hasPrefix(mark) else { return false }
      let rest = line.trimmed.dropFirst(mark.count).drop { $0 == " " }
      return rest.hasPrefix(key) && rest.dropFirst(key.count).drop { $0 == " " }.hasPrefix("=")
    }
    for mark in ["", "#"] {
      guard let place = lines[..<top].firstIndex(where: { isSet(in: $0, behind: mark) }) else {
        continue
      }
      lines[place] = line
      return
    }
    // After the comment at the top of the file.
    lines.insert(line, at: lines[..<top].firstIndex { !$0.hasPrefix("#") } ?? top)
  }

  /// Adds a program to run for each event of a kind, unless it is already there.
  mutating func run(_ program: String, onEach event: String) {
    let run = "run = \(SettingValue.text(program))"
    guard !lines.contains(where: { $0.trimmed == run }) else { return }
    let carriage = carriage
    if let last = lines.last, !last.trimmed.isEmpty { lines.append(carriage) }
    lines += ["[[hook]]", "event = \(SettingValue.text(event))", run].map { $0 + carriage }
  }
}

extension String {
  /// Without the spaces, tabs and carriage returns at its ends.
  fileprivate var trimmed: Substring {
    let head = drop { $0 == " " || $0 == "\t" }
    let tail = head.reversed().drop { $0 == " " || $0 == "\t" || $0 == "\r" }
    return head[..<tail.startIndex.base]
  }
}
