// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import System

/// Why the kernel's Bluetooth could not be used, and what to do about it.
public struct BluetoothError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds that callers distinguish.
  public enum Kind: Hashable, Sendable {
    /// The kernel has no Bluetooth, or lacks a part of it.
    case unsupported
    /// The process lacks the privilege.
    case notPermitted
    /// There is no such adapter, or it is powered off.
    case noAdapter
    /// The link could not be established, or was lost.
    case link
    /// Anything else.
    case other
  }

  public let kind: Kind
  /// The call that failed.
  public let cause: SystemError

  init(_ cause: SystemError) {
    self.cause = cause
    kind =
      switch cause.errno {
      case .addressFamilyNotSupported, .protocolNotSupported: .unsupported
      case .notPermitted, .permissionDenied: .notPermitted
      case .noSuchDevice, .noRoute, .networkDown: .noAdapter
      case .timedOut, .hostDown, .connectionRefused, .connectionReset, .connectionAborted,
        .notImplemented:
        .link
      default: .other
      }
  }

  public var description: String {
    switch (kind, cause.errno) {
    case (.unsupported, .addressFamilyNotSupported):
      "this kernel has no Bluetooth (AF_BLUETOOTH); try `modprobe bluetooth`, or use a kernel with CONFIG_BT"
    case (.unsupported, _):
      "this kernel's Bluetooth is incomplete (\(cause)); use a kernel with CONFIG_BT_LE"
    case (.notPermitted, _):
      "\(cause); run it as root, or with the capabilities CAP_NET_ADMIN and CAP_NET_RAW"
    case (.noAdapter, _):
      "\(cause); is the adapter plugged in, powered and not blocked? See `rfkill list bluetooth`"
    case (.link, .timedOut), (.link, .hostDown):
      "\(cause); is the device in range, awake and advertising?"
    case (.link, _) where ChannelEnd(cause.errno) == .keysDiffer:
      "\(cause): the two sides' keys differ; forget the device on both and pair again"
    default: "\(cause)"
    }
  }
}

/// Runs `body`, and turns its error into a `BluetoothError`, about `subject` if there is one.
func bluetooth<Value: ~Copyable>(
  _ subject: String? = nil, _ body: () throws(SystemError) -> Value
) throws(BluetoothError) -> Value {
  do throws(SystemError) {
    return try body()
  } catch {
    throw BluetoothError(subject.map { error.on($0) } ?? error)
  }
}
