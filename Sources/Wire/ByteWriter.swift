// SPDX-License-Identifier: GPL-3.0-or-later

/// Bytes to send, put together field by field; everything is little endian, as `ByteReader` reads it.
public struct ByteWriter: Sendable {
  /// What was written so far.
  public private(set) var bytes: [UInt8] = []

  /// Nothing yet, with room for `capacity` bytes.
  public init(capacity: Int = 32) { bytes.reserveCapacity(capacity) }

  /// One byte.
  public mutating func u8(_ value: UInt8) { bytes.append(value) }

  /// Two bytes, little endian.
  public mutating func u16(_ value: UInt16) {
    bytes.append(UInt8(truncatingIfNeeded: value))
    bytes.append(UInt8(truncatingIfNeeded: value >> 8))
  }

  /// Four bytes, little endian.
  public mutating func u32(_ value: UInt32) {
    u16(UInt16(truncatingIfNeeded: value))
    u16(UInt16(truncatingIfNeeded: value >> 16))
  }

  /// Eight bytes, little endian.
  public mutating func u64(_ value: UInt64) {
    u32(UInt32(truncatingIfNeeded: value))
    u32(UInt32(truncatingIfNeeded: value >> 32))
  }

  /// Bytes as they are.
  public mutating func bytes(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

  /// A UUID, two or sixteen bytes, little endian as on the air.
  public mutating func uuid(_ uuid: UUID) { bytes.append(contentsOf: uuid.littleEndian) }

  /// A device address, six bytes, little endian as on the air.
  public mutating func address(_ address: Address) {
    bytes.append(contentsOf: address.littleEndian)
  }
}

extension Sequence<UInt8> {
  /// The bytes as lower-case hexadecimal digits, for logs.
  @inlinable public var hex: String {
    func digit(_ value: UInt8) -> UInt8 {
      value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
    var text: [UInt8] = []
    text.reserveCapacity(underestimatedCount * 2)
    for byte in self {
      text.append(digit(byte >> 4))
      text.append(digit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension [UInt8] {
  /// The bytes of a text of hexadecimal digits (white space is allowed); nil if it is not one.
  public init?(hex text: String) {
    var bytes: [UInt8] = []
    var high: UInt8?
    for character in text where !character.isWhitespace {
      guard let digit = character.hexDigitValue, character.isASCII else { return nil }
      if let first = high {
        bytes.append(first << 4 | UInt8(digit))
        high = nil
      } else {
        high = UInt8(digit)
      }
    }
    guard high == nil else { return nil }
    self = bytes
  }
}
