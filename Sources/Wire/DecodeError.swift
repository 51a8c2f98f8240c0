// SPDX-License-Identifier: GPL-3.0-or-later

/// Why bytes from outside could not be read as what they claim to be, and where.
public struct DecodeError: Error, Hashable, Sendable {
  /// Offset of the first byte that could not be read, from the start of the packet.
  public let offset: Int
  /// What was wrong there.
  public let reason: Reason

  /// What was wrong with the bytes.
  public enum Reason: Hashable, Sendable {
    /// Fewer bytes are left (`available`) than the field needs (`needed`).
    case truncated(needed: Int, available: Int)
    /// Bytes are left over after the last field.
    case trailing(Int)
    /// A field holds a value that is not allowed there; the text names field and rule.
    case invalid(String)
  }

  /// An error at `offset`.
  public init(offset: Int, _ reason: Reason) {
    self.offset = offset
    self.reason = reason
  }
}

extension DecodeError: CustomStringConvertible {
  public var description: String {
    switch reason {
    case .truncated(let needed, let available):
      "cut short at byte \(offset): \(needed) bytes needed, \(available) left"
    case .trailing(let count):
      "\(count) bytes too many from byte \(offset) on"
    case .invalid(let what):
      "\(what) at byte \(offset)"
    }
  }
}
