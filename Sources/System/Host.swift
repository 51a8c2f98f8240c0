// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// The machine, the process and its surroundings.
public enum Host {
  /// The host's name; `localhost` where it has none.
  public static var name: String {
    guard let name = try? Syscall.systemName().host, !name.isEmpty else { return "localhost" }
    return name
  }

  /// The kernel's release, as in `6.1.0-56-amd64`.
  public static var kernelRelease: String { (try? Syscall.systemName().release) ?? "" }

  /// The value of an environment variable.
  public static func variable(_ name: String) -> String? { Syscall.variable(name) }

  /// The process's number.
  public static var processID: Int32 { Syscall.processID() }

  /// The effective user's number; 0 is root.
  public static var userID: UInt32 { Syscall.userID() }

  /// The effective group's number.
  public static var groupID: UInt32 { Syscall.groupID() }

  /// The number of a group by its name in /etc/group (group(5)); nil where it is not there.
  ///
  /// Read here and not by the C library, whose name services a static program cannot load.
  public static func groupID(named name: String, in path: String = "/etc/group") -> UInt32? {
    guard let bytes = try? Files.read(path) else { return nil }
    for line in bytes.split(separator: UInt8(ascii: "\n")) {
      let fields = line.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      if fields.count >= 3, fields[0].elementsEqual(name.utf8) {
        return UInt32(String(decoding: fields[2], as: UTF8.self))
      }
    }
    return nil
  }

  /// Ends the process.
  public static func exit(_ status: Int32) -> Never { Syscall.exit(status) }
}

/// A signal, by its number (signal(7)).
public struct Signal: RawRepresentable, Hashable, Sendable {
  public let rawValue: Int32
  public init(rawValue: Int32) { self.rawValue = rawValue }

  public static let hangUp = Signal(rawValue: SIGHUP)
  public static let interrupt = Signal(rawValue: SIGINT)
  public static let terminate = Signal(rawValue: SIGTERM)
  public static let user1 = Signal(rawValue: SIGUSR1)
  public static let user2 = Signal(rawValue: SIGUSR2)
  public static let child = Signal(rawValue: SIGCHLD)
  public static let windowChange = Signal(rawValue: SIGWINCH)
  public static let continued = Signal(rawValue: SIGCONT)
  public static let pipe = Signal(rawValue: SIGPIPE)
  public static let terminalInput = Signal(rawValue: SIGTTIN)

  /// The exit status of a program that leaves because of it, by the shell's convention: 130 for
  /// SIGINT, 143 for SIGTERM.
  public var exitStatus: Int32 { 128 + rawValue }

  /// Has the kernel drop it for the whole process.
  public func ignore() { Syscall.ignoreSignal(rawValue) }
}
