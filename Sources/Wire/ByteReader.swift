// SPDX-License-Identifier: GPL-3.0-or-later

/// A cursor over received bytes that cannot run past their end.
///
/// Everything in Bluetooth's ATT, ANCS, AMS and the kernel's mgmt protocol is little endian
/// (Core Specification Vol 3 Part F, 3.2.5; Vol 1 Part E, 2.9), so there is one reading of each width.
public struct ByteReader: Sendable {
  private let bytes: ArraySlice<UInt8>
  private var index: Int

  /// Reads `bytes` from their first.
  public init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    index = bytes.startIndex
  }

  /// Reads `bytes` from their first.
  public init(_ bytes: [UInt8]) { self.init(bytes[...]) }

  /// How many bytes were read so far.
  public var offset: Int { index - bytes.startIndex }

  /// How many bytes are left.
  public var remaining: Int { bytes.endIndex - index }

  /// Whether nothing is left.
  public var isAtEnd: Bool { index == bytes.endIndex }

  /// The next byte.
  public mutating func u8() throws(DecodeError) -> UInt8 {
    try need(1)
    defer { index += 1 }
    return bytes[index]
  }

  /// The next two bytes, little endian.
  public mutating func u16() throws(DecodeError) -> UInt16 {
    try need(2)
    defer { index += 2 }
    return UInt16(bytes[index]) | UInt16(bytes[index + 1]) << 8
  }

  /// The next four bytes, little endian.
  public mutating func u32() throws(DecodeError) -> UInt32 {
    UInt32(try u16()) | UInt32(try u16()) << 16
  }

  /// The next eight bytes, little endian.
  public mutating func u64() throws(DecodeError) -> UInt64 {
    UInt64(try u32()) | UInt64(try u32()) << 32
  }

  /// The next byte, signed.
  public mutating func i8() throws(DecodeError) -> Int8 { Int8(bitPattern: try u8()) }

  /// The next `count` bytes, as a slice of the packet (no copy).
  public mutating func bytes(_ count: Int) throws(DecodeError) -> ArraySlice<UInt8> {
    try need(count)
    defer { index += count }
    return bytes[index..<index + count]
  }

  /// Everything that is left, as a slice of the packet (no copy).
  public mutating func rest() -> ArraySlice<UInt8> {
    defer { index = bytes.endIndex }
    return bytes[index...]
  }

  /// A UUID of `width` bytes (2, 4 or 16), little endian as on the air.
  public mutating func uuid(width: Int) throws(DecodeError) -> UUID {
    let start = offset
    guard let uuid = UUID(littleEndian: try bytes(width)) else {
      throw DecodeError(offset: start, .invalid("a UUID of \(width) bytes"))
    }
    return uuid
  }

  /// A device address, little endian as on the air.
  public mutating func address() throws(DecodeError) -> Address {
    var value: UInt64 = 0
    for (position, byte) in try bytes(6).enumerated() { value |= UInt64(byte) << (8 * position) }
    return Address(value)
  }

  /// An error unless every byte was read.
  public func end() throws(DecodeError) {
    guard isAtEnd else { throw DecodeError(offset: offset, .trailing(remaining)) }
  }

  /// An error at the cursor, for a field whose value is not allowed.
  public func invalid(_ what: String) -> DecodeError { DecodeError(offset: offset, .invalid(what)) }

  private func need(_ count: Int) throws(DecodeError) {
    guard count >= 0, remaining >= count else {
      throw DecodeError(offset: offset, .truncated(needed: count, available: remaining))
    }
  }
}
