// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
public import EventLoop
public import System

extension DefaultPaths {
  /// The sockets that the daemon may listen on.
  ///
  /// - Parameter named: the socket given on the command line.
  public static func sockets(_ named: String?) -> [String] { named.map { [$0] } ?? sockets }
}

extension LineSocket {
  /// Connects to the daemon at the first path that accepts.
  public static func connect(toFirstOf paths: [String]) throws(Failure) -> LineSocket {
    var failure: Failure?
    for path in paths {
      do throws(SystemError) {
        return try connect(daemon: path)
      } catch {
        let reason = Failure(connecting: path, error.errno)
        // “Permission denied” explains more than “not running”.
        if failure == nil || reason.status == .noPermission { failure = reason }
      }
    }
    throw failure ?? Failure(.unavailable, "reaching the daemon", "no socket path to try")
  }

  /// A connection to the daemon's control socket.
  public static func connect(daemon path: String) throws(SystemError) -> LineSocket {
    try connect(unix: path, lineLimit: 1 << 24)
  }
}

/// How to start the daemon on this board.
enum InstalledService {
  case systemd, openRC, none

  /// The service that the package or install.sh has installed.
  public static var here: InstalledService {
    let units = ["/etc", "/usr/local/lib", "/usr/lib", "/lib"].map {
      "\($0)/systemd/system/ancsd.service"
    }
    if units.contains(where: isThere) { return .systemd }
    return isThere("/etc/init.d/ancsd") ? .openRC : .none
  }

  private static func isThere(_ path: String) -> Bool {
    ((try? Files.kind(of: path)) ?? nil) != nil
  }

  /// The instruction, as the beginning of a sentence.
  public var start: String {
    switch self {
    case .systemd: "start it with “systemctl start ancsd”"
    case .openRC: "start it with “rc-service ancsd start”"
    case .none: "start it with “ancsd --hci0”, or “ancsd --virtual-phone” to try it without a phone"
    }
  }
}

extension Failure {
  /// Why the daemon's socket can't be reached.
  public init(connecting path: String, _ errno: Errno) {
    self.init(
      "reaching the daemon at \(path)", connecting: errno, ifAbsent: "no daemon is running there")
    switch errno {
    case .noSuchFile, .connectionRefused:
      remedy =
        "\(InstalledService.here.start), or name its socket with --socket or ANCSD_SOCKET; “ancsd doctor” finds "
        + "what keeps it from running"
    case .permissionDenied, .notPermitted: remedy = "run as root, or join the group ancsd"
    default: break
    }
  }
}
