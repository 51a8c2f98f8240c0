// SPDX-License-Identifier: GPL-3.0-or-later

/// A Bluetooth UUID: 128 bits, of which those on the Bluetooth Base UUID have a 16-bit (or 32-bit)
/// short form (Core Specification Vol 3 Part B, 2.5.1).
///
/// UUIDs are equal if their 128 bits are, whatever form they were received in.
public struct UUID: Hashable, Sendable {
  /// The upper 64 bits, which are written first.
  public let high: UInt64
  /// The lower 64 bits.
  public let low: UInt64

  private static let baseHigh: UInt64 = 0x0000_0000_0000_1000
  private static let baseLow: UInt64 = 0x8000_0080_5F9B_34FB

  /// The UUID of these 128 bits.
  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The UUID of a 16-bit assigned number.
  public init(_ short: UInt16) { self.init(wide: UInt32(short)) }

  /// The UUID of a 32-bit assigned number.
  public init(wide: UInt32) {
    self.init(high: UInt64(wide) << 32 | Self.baseHigh, low: Self.baseLow)
  }

  /// The 16-bit form, if there is one.
  public var short: UInt16? {
    guard low == Self.baseLow, high & 0xFFFF_FFFF == Self.baseHigh, high >> 48 == 0 else {
      return nil
    }
    return UInt16(truncatingIfNeeded: high >> 32)
  }

  /// Reads two, four or sixteen bytes, least significant first; nil for other lengths.
  public init?(littleEndian bytes: some Collection<UInt8>) {
    var high: UInt64 = 0
    var low: UInt64 = 0
    for (position, byte) in bytes.enumerated() {
      if position < 8 {
        low |= UInt64(byte) << (8 * position)
      } else if position < 16 {
        high |= UInt64(byte) << (8 * (position - 8))
      }
    }
    switch bytes.count {
    case 2, 4: self.init(wide: UInt32(truncatingIfNeeded: low))
    case 16: self.init(high: high, low: low)
    default: return nil
    }
  }

  /// The bytes, least significant first: two if there is a 16-bit form, otherwise sixteen. ATT has only
  /// these two widths (Vol 3 Part F, 3.2.1).
  public var littleEndian: [UInt8] {
    if let short {
      return [UInt8(truncatingIfNeeded: short), UInt8(truncatingIfNeeded: short >> 8)]
    }
    return littleEndian128
  }

  /// All sixteen bytes, least significant first.
  public var littleEndian128: [UInt8] {
    (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? low : high) >> (8 * ($0 % 8))) }
  }
}

extension UUID: LosslessStringConvertible {
  /// Reads `180D`, `0x180D` or `7905F431-B5CE-4E99-A40F-4B1E122D00D0` (case and hyphens do not matter).
  public init?(_ description: String) {
    var digits = description.utf8.filter { $0 != UInt8(ascii: "-") }[...]
    if digits.starts(with: "0x".utf8) { digits = digits.dropFirst(2) }
    guard let bytes = [UInt8](hex: String(decoding: digits, as: UTF8.self)) else { return nil }
    self.init(littleEndian: bytes.reversed())
  }

  /// Four hexadecimal digits if there is a 16-bit form, otherwise the long form; upper case.
  public var description: String {
    var text: [UInt8] = []
    if let short {
      text.appendHex(UInt64(short), digits: 4)
    } else {
      text.reserveCapacity(36)
      text.appendHex(high >> 32, digits: 8)
      for (field, digits) in [(high >> 16, 4), (high, 4), (low >> 48, 4), (low, 12)] {
        text.append(UInt8(ascii: "-"))
        text.appendHex(field, digits: digits)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension UUID: ExpressibleByIntegerLiteral {
  /// A 16-bit assigned number, as in `let service: UUID = 0x1801`.
  public init(integerLiteral value: UInt16) { self.init(value) }
}
