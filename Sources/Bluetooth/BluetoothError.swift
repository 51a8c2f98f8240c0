// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Why the kernel's Bluetooth could not be used, in a sentence that says what to do about it.
public struct BluetoothError: Error, Hashable, Sendable {
  /// The kinds that are dealt with differently.
  public enum Kind: Hashable, Sendable {
    /// The kernel has no Bluetooth at all, or not this part of it.
    case unsupported
    /// The process may not do that.
    case notPermitted
    /// The adapter is not there.
    case noAdapter
    /// The link could not be made, or was lost while it was.
    case link
    /// Anything else.
    case other
  }

  public let kind: Kind
  /// The call that failed, on what, and its error number.
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
}

extension BluetoothError: CustomStringConvertible {
  public var description: String {
    switch (kind, cause.errno) {
    case (.unsupported, .addressFamilyNotSupported):
      "this kernel has no Bluetooth (AF_BLUETOOTH); try `modprobe bluetooth`, or use a kernel with CONFIG_BT"
    case (.unsupported, _):
      "this kernel's Bluetooth lacks a part (\(cause)); use a kernel with CONFIG_BT_LE"
    case (.notPermitted, _):
      "\(cause); run it as root, or with the capabilities CAP_NET_ADMIN and CAP_NET_RAW"
    case (.noAdapter, _):
      "\(cause); is the adapter plugged in, powered and not blocked? `rfkill list bluetooth` tells"
    case (.link, .timedOut), (.link, .hostDown):
      "\(cause); is the device in range, awake and advertising?"
    case (.link, .notImplemented):
      // The kernel's name for HCI error 0x3D, as kernel.md found.
      "\(cause): the two sides' keys differ; forget the device on both and pair anew"
    default: "\(cause)"
    }
  }
}

/// Runs `body`; what it throws becomes a `BluetoothError`.
func bluetooth<Value: ~Copyable>(
  _ subject: String? = nil, _ body: () throws(SystemError) -> Value
) throws(BluetoothError) -> Value {
  do throws(SystemError) {
    return try body()
  } catch {
    throw BluetoothError(subject.map { error.on($0) } ?? error)
  }
}
