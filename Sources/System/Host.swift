// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// The machine, the process and its environment.
public enum Host {
  /// The host's name, or `localhost`.
  public static var name: String {
    guard let name = try? Syscall.systemName().host, !name.isEmpty else { return "localhost" }
    return name
  }

  /// The kernel's release, as in `6.1.0-56-amd64`.
  public static var kernelRelease: String { (try? Syscall.systemName().release) ?? "" }

  /// The value of an environment variable.
  public static func variable(_ name: String) -> String? { Syscall.variable(name) }

  /// The effective user ID; 0 is root.
  public static var userID: UInt32 { Syscall.userID() }

  /// The ID of a group in /etc/group (group(5)); nil if it is not there.
  ///
  /// The C library is not used: a static program cannot load its name services.
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

  public static let interrupt = Signal(rawValue: SIGINT)
  public static let terminate = Signal(rawValue: SIGTERM)
  public static let user1 = Signal(rawValue: SIGUSR1)
  public static let user2 = Signal(rawValue: SIGUSR2)
  public static let windowChange = Signal(rawValue: SIGWINCH)
  public static let continued = Signal(rawValue: SIGCONT)
  public static let pipe = Signal(rawValue: SIGPIPE)
  public static let terminalInput = Signal(rawValue: SIGTTIN)

  /// Ignores the signal in the whole process.
  public func ignore() { Syscall.ignoreSignal(rawValue) }
}

/// Terminals.
public enum Terminal {
  /// Whether the descriptor with this number is a terminal.
  public static func isTerminal(_ number: Int32) -> Bool { Syscall.isTerminal(number) }

  /// Columns and rows; nil if the descriptor is no terminal or its size is unknown.
  public static func size(_ number: Int32 = Standard.output) -> (columns: Int, rows: Int)? {
    guard let size = try? Syscall.terminalSize(number), size.ws_col > 0, size.ws_row > 0 else {
      return nil
    }
    return (Int(size.ws_col), Int(size.ws_row))
  }
}
