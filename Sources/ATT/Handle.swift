// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The number of an attribute on a server, 0x0001 to 0xFFFF; 0x0000 is invalid (Vol 3 Part F, 3.2.2).
public typealias Handle = UInt16

/// The handles from `start` to `end`, both included.
///
/// A range received from a peer may be empty or contain 0: see `isValid`.
public struct HandleRange: Hashable, Sendable, CustomStringConvertible {
  /// The first handle.
  public var start: Handle
  /// The last handle.
  public var end: Handle

  /// The handles from `start` to `end`.
  public init(_ start: Handle, _ end: Handle) {
    self.start = start
    self.end = end
  }

  /// All handles.
  public static let all = HandleRange(0x0001, 0xFFFF)

  /// Whether it is allowed in a request: it neither begins at 0 nor ends before it begins (Vol 3 Part F,
  /// 3.4.3.1).
  public var isValid: Bool { start != 0 && start <= end }

  /// Whether `handle` is in the range.
  public func contains(_ handle: Handle) -> Bool { start <= handle && handle <= end }

  /// Whether all of `other` is in the range.
  public func contains(_ other: HandleRange) -> Bool { start <= other.start && other.end <= end }

  /// The range from the first to the last handle of both.
  public func spanning(_ other: HandleRange) -> HandleRange {
    HandleRange(min(start, other.start), max(end, other.end))
  }

  /// Whether the ranges have a handle in common.
  public func overlaps(_ other: HandleRange) -> Bool { start <= other.end && other.start <= end }

  public var description: String { "\(hexadecimal(start))–\(hexadecimal(end))" }
}

extension ByteReader {
  /// Two handles, the first and the last of a range, little endian.
  public mutating func handleRange() throws(DecodeError) -> HandleRange {
    HandleRange(try u16(), try u16())
  }
}

extension ByteWriter {
  /// Two handles, the first and the last of a range, little endian.
  public mutating func handleRange(_ range: HandleRange) {
    u16(range.start)
    u16(range.end)
  }
}

/// A handle in text: `0x002A`.
public func hexadecimal(_ handle: Handle) -> String {
  "0x" + String(handle, digits: 4, radix: 16, uppercase: true)
}
