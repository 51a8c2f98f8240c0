// SPDX-License-Identifier: GPL-3.0-or-later
public import Bluetooth
public import Control
public import Mgmt
public import System

extension ExitStatus {
  /// The exit status for a failed system call: `noPermission` for missing permissions, otherwise
  /// `status`.
  public init(_ errno: Errno, otherwise status: ExitStatus) {
    self = errno == .permissionDenied || errno == .notPermitted ? .noPermission : status
  }
}

extension Failure {
  /// Connecting to a UNIX socket failed; `ifAbsent` is the reason if nobody listens.
  public init(_ what: String, connecting errno: Errno, ifAbsent: String) {
    switch errno {
    case .noSuchFile, .connectionRefused: self.init(.unavailable, what, ifAbsent)
    case .wouldBlock: self.init(.tryAgain, what, "it is too busy to respond")
    default: self.init(ExitStatus(errno, otherwise: .unavailable), what, errno.text)
    }
  }

  /// Writing a file failed; the error may have a more precise path.
  public init(writing path: String, _ error: SystemError) {
    let what = "writing \(error.subject ?? path)"
    guard error.errno != .fileExists else {
      self.init(
        .cannotCreate, what, "it exists, and ancsd did not write it, so it stays unchanged",
        remedy: "name another file, or replace this one with --force")
      return
    }
    self.init(ExitStatus(error.errno, otherwise: .cannotCreate), what, error.errno.text)
  }

  /// The state directory can't be used.
  ///
  /// - Parameter things: its intended contents.
  public init(keeping things: String = "bonds", in path: String, _ fault: PrivateDirectory.Fault) {
    let what = "keeping \(things) in \(path)"
    let other = "name another with --state-dir"
    switch fault {
    case .failed(let error):
      let status = ExitStatus(error.errno, otherwise: .cannotCreate)
      self.init(status, what, "\(error)", remedy: (status == .noPermission ? "run as root, or " : "") + other)
    case .isAnothers(let user):
      self.init(
        .noPermission, what, "it belongs to user \(user), who could read and replace the keys",
        remedy: "chown it to the daemon's user, or \(other)")
    case .isBehindLink(let user):
      self.init(
        .noPermission, what, "a symbolic link in the path belongs to user \(user), who can redirect it",
        remedy: "name the directory itself with --state-dir")
    case .isOpen(let mode):
      self.init(
        .noPermission, what, "others could have put keys there (its mode is 0\(String(mode, radix: 8)))",
        remedy: "check its contents, then chmod 700 \(path), or \(other)")
    case .isTaken:
      self.init(
        .unavailable, what, "another ancsd is using it, and each would overwrite the other's files",
        remedy: "stop that one, or \(other); one daemon can serve several adapters")
    }
  }

  /// The kernel's Bluetooth could not be used.
  public init(_ what: String, _ error: BluetoothError) {
    self.init(
      error.isNotPermitted ? .noPermission : .unavailable, what, "\(error)",
      remedy: "“ancsd doctor” says what is missing"
        + (error.isUnsupported ? ", and “ancsd --virtual-phone” needs no Bluetooth" : ""))
  }

  /// A management command failed.
  public init(_ what: String, _ error: MgmtError) {
    switch error.status {
    case .permissionDenied?:
      self.init(
        .noPermission, what, "\(error)",
        remedy: "run it as root, or with CAP_NET_ADMIN and CAP_NET_RAW")
    case .busy?: self.init(.tryAgain, what, "\(error)")
    default: self.init(.unavailable, what, "\(error)")
    }
  }
}

/// Sends a management command; `what` describes its purpose in a failure.
public func attempt<Value>(
  _ what: String, _ request: @autoclosure () async throws(MgmtError) -> Value
) async throws(Failure) -> Value {
  do throws(MgmtError) {
    return try await request()
  } catch { throw Failure(what, error) }
}
