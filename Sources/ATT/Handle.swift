// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Names an attribute on a server: 0x0001–0xFFFF; 0x0000 names none (Vol 3 Part F, 3.2.2).
public typealias Handle = UInt16

/// Handles from `start` to `end`, both included, as requests and services name them.
///
/// It may come from the air, so nothing says that `start` is not above `end`: see `isValid`.
public struct HandleRange: Hashable, Sendable {
  /// The first handle.
  public var start: Handle
  /// The last handle.
  public var end: Handle

  /// The handles from `start` to `end`.
  public init(_ start: Handle, _ end: Handle) {
    self.start = start
    self.end = end
  }

  /// Every handle there is.
  public static let all = HandleRange(0x0001, 0xFFFF)

  /// Whether a server may take it: not from 0, and not backwards (Vol 3 Part F, 3.4.3.1).
  public var isValid: Bool { start != 0 && start <= end }

  /// Whether `handle` lies in it.
  public func contains(_ handle: Handle) -> Bool { start <= handle && handle <= end }

  /// Whether some handle lies in both.
  public func overlaps(_ other: HandleRange) -> Bool { start <= other.end && other.start <= end }
}

extension HandleRange: CustomStringConvertible {
  public var description: String { "\(hexadecimal(start))–\(hexadecimal(end))" }
}

/// A handle as people write it: `0x002A`.
public func hexadecimal(_ handle: Handle) -> String {
  let text = String(handle, radix: 16, uppercase: true)
  return "0x" + String(repeating: "0", count: 4 - text.count) + text
}
