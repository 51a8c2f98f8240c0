// SPDX-License-Identifier: GPL-3.0-or-later
public import Bluetooth
public import Control
public import Mgmt
public import System

extension ExitStatus {
  /// The status after a failed system call: `noPermission` if that is why, otherwise `status`.
  public init(_ errno: Errno, otherwise status: ExitStatus) {
    self = errno == .permissionDenied || errno == .notPermitted ? .noPermission : status
  }
}

extension Failure {
  /// The kernel's Bluetooth could not be used.
  public init(_ what: String, _ error: BluetoothError) {
    self.init(error.kind == .notPermitted ? .noPermission : .unavailable, what, "\(error)")
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
