// SPDX-License-Identifier: GPL-3.0-or-later

/// Bytes put together field by field, the counterpart of `ByteReader`.
public struct ByteWriter: Sendable {
  /// The bytes written so far.
  public private(set) var bytes: [UInt8] = []
  /// The byte order of the numbers written next; UUIDs and addresses are always little endian.
  public var order: ByteOrder

  /// An empty writer with room for `capacity` bytes.
  public init(capacity: Int = 32, order: ByteOrder = .littleEndian) {
    self.order = order
    bytes.reserveCapacity(capacity)
  }

  /// One byte.
  public mutating func u8(_ value: UInt8) { bytes.append(value) }

  /// A number of two bytes.
  public mutating func u16(_ value: UInt16) { number(value) }

  /// A number of four bytes.
  public mutating func u32(_ value: UInt32) { number(value) }

  /// A number of eight bytes.
  public mutating func u64(_ value: UInt64) { number(value) }

  @inline(__always) private mutating func number<Number: FixedWidthInteger>(_ value: Number) {
    let size = Number.bitWidth / 8
    let ordered = order == .littleEndian ? value : value.byteSwapped
    bytes.append(upTo: size) { out in
      for index in 0..<size { out.append(UInt8(truncatingIfNeeded: ordered >> (8 * index))) }
    }
  }

  /// Bytes, unchanged.
  public mutating func bytes(_ more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

  /// A UUID of two or sixteen bytes, little endian.
  public mutating func uuid(_ uuid: UUID) { bytes.append(contentsOf: uuid.littleEndian) }

  /// A device address, six bytes, little endian.
  public mutating func address(_ address: Address) {
    bytes.append(contentsOf: address.littleEndian)
  }
}

extension Sequence<UInt8> {
  /// The bytes as lower-case hexadecimal digits.
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
  /// Appends the lowest `digits` hexadecimal digits of a number, in upper case, as text.
  mutating func appendHex(_ value: UInt64, digits: Int) {
    append(upTo: digits) { out in
      for place in (0..<digits).reversed() {
        let digit = UInt8(truncatingIfNeeded: value >> (4 * place)) & 15
        out.append((digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "A") - 10) + digit)
      }
    }
  }

  /// The bytes of hexadecimal digits, between which white space is ignored; nil for any other text.
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
