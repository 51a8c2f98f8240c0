// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Why the kernel's Bluetooth could not be used, and what to do about it.
public struct BluetoothError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The call that failed.
  public let cause: SystemError

  init(_ cause: SystemError) { self.cause = cause }

  /// Whether the kernel has no Bluetooth, or lacks a part of it.
  public var isUnsupported: Bool {
    [.addressFamilyNotSupported, .protocolNotSupported].contains(cause.errno)
  }

  /// Whether the process lacks the privilege.
  public var isNotPermitted: Bool { [.notPermitted, .permissionDenied].contains(cause.errno) }

  /// Whether the link could not be established, or was lost.
  public var isAboutLink: Bool {
    [
      .timedOut, .hostDown, .connectionRefused, .connectionReset, .connectionAborted,
      .notImplemented,
    ].contains(cause.errno)
  }

  public var description: String {
    switch cause.errno {
    case .addressFamilyNotSupported:
      "this kernel has no Bluetooth (AF_BLUETOOTH); try `modprobe bluetooth`, or use a kernel with CONFIG_BT"
    case .protocolNotSupported:
      "this kernel's Bluetooth is incomplete (\(cause)); use a kernel with CONFIG_BT_LE"
    case .notPermitted, .permissionDenied:
      "\(cause); run it as root, or with the capabilities CAP_NET_ADMIN and CAP_NET_RAW"
    case .noSuchDevice, .noRoute, .networkDown:
      "\(cause); is the adapter plugged in, powered and not blocked? See `rfkill list bluetooth`"
    case .timedOut, .hostDown: "\(cause); is the device in range, awake and advertising?"
    // A MIC failure (docs/kernel.md, “Read errors”).
    case .notImplemented:
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
  } catch { throw BluetoothError(subject.map { error.on($0) } ?? error) }
}
