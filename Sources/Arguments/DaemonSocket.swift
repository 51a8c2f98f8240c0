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
        // The last one is the system's, which the remedy starts; but “permission denied” explains more than “not running”.
        if failure?.status != .noPermission { failure = reason }
      }
    }
    throw failure ?? Failure(.unavailable, "reaching the daemon", "no socket path to try")
  }

  /// A connection to the daemon's control socket.
  public static func connect(daemon path: String) throws(SystemError) -> LineSocket {
    try connect(unix: path, lineLimit: 1 << 24)
  }
}

extension Failure {
  /// Why the daemon's socket can't be reached.
  public init(connecting path: String, _ errno: Errno) {
    self.init(
      "reaching the daemon at \(path)", connecting: errno, ifAbsent: "no daemon is running there")
    switch errno {
    case .noSuchFile, .connectionRefused:
      let host = ServiceHost.here
      let start = host.daemon.flatMap { host.commands(to: .start, $0).line }
      remedy =
        "start it with “\(start ?? "ancsd --hci0")”"
        + (start == nil ? ", or “ancsd --virtual-phone” to try it without a phone" : "")
        + ", or name its socket with --socket or ANCSD_SOCKET; “ancsd doctor” finds what keeps it from running"
    case .permissionDenied, .notPermitted:
      remedy = "run as root, or join the group: \(ServiceHost.here.admitting()), then log in again"
    default: break
    }
  }
}
