// SPDX-License-Identifier: GPL-3.0-or-later

/// Which byte of a number comes first.
public enum ByteOrder: Hashable, Sendable {
  /// Least significant byte first, as everywhere in Bluetooth from HCI up.
  case littleEndian
  /// Most significant byte first: network order, as in btsnoop files and HCI monitor headers.
  case bigEndian
}

/// A cursor over received bytes that cannot run past their end.
///
/// ATT, ANCS, AMS and the kernel's mgmt protocol are little endian (Core Specification Vol 3 Part F,
/// 3.2.5; Vol 1 Part E, 2.9), so that is the default. Capture files and HCI monitor headers are read
/// with `order: .bigEndian`. UUIDs and addresses are little endian in either case.
public struct ByteReader: Sendable {
  /// The byte order of the numbers read next.
  public var order: ByteOrder

  private let bytes: ArraySlice<UInt8>
  private var index: Int

  /// A cursor at the first of `bytes`.
  public init(_ bytes: ArraySlice<UInt8>, order: ByteOrder = .littleEndian) {
    self.bytes = bytes
    self.order = order
    index = bytes.startIndex
  }

  /// A cursor at the first of `bytes`.
  public init(_ bytes: [UInt8], order: ByteOrder = .littleEndian) {
    self.init(bytes[...], order: order)
  }

  /// The number of bytes read so far.
  public var offset: Int { index - bytes.startIndex }

  /// The number of bytes left.
  public var remaining: Int { bytes.endIndex - index }

  /// Whether no bytes are left.
  public var isAtEnd: Bool { index == bytes.endIndex }

  /// The next byte.
  public mutating func u8() throws(DecodeError) -> UInt8 {
    try need(1)
    defer { index += 1 }
    return bytes[index]
  }

  /// The next two bytes as a number.
  public mutating func u16() throws(DecodeError) -> UInt16 {
    try need(2)
    defer { index += 2 }
    let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
    return order == .littleEndian ? first | second << 8 : first << 8 | second
  }

  /// The next four bytes as a number.
  public mutating func u32() throws(DecodeError) -> UInt32 {
    try need(4)
    let (first, second) = (UInt32(try u16()), UInt32(try u16()))
    return order == .littleEndian ? first | second << 16 : first << 16 | second
  }

  /// The next eight bytes as a number.
  public mutating func u64() throws(DecodeError) -> UInt64 {
    try need(8)
    let (first, second) = (UInt64(try u32()), UInt64(try u32()))
    return order == .littleEndian ? first | second << 32 : first << 32 | second
  }

  /// The next byte, signed.
  public mutating func i8() throws(DecodeError) -> Int8 { Int8(bitPattern: try u8()) }

  /// The next `count` bytes, as a slice without a copy.
  public mutating func bytes(_ count: Int) throws(DecodeError) -> ArraySlice<UInt8> {
    try need(count)
    defer { index += count }
    return bytes[index..<index + count]
  }

  /// Moves past the next `count` bytes.
  public mutating func skip(_ count: Int) throws(DecodeError) { _ = try bytes(count) }

  /// All bytes left, as a slice without a copy.
  public mutating func rest() -> ArraySlice<UInt8> {
    defer { index = bytes.endIndex }
    return bytes[index...]
  }

  /// A UUID of `width` bytes (2, 4 or 16), little endian.
  public mutating func uuid(width: Int) throws(DecodeError) -> UUID {
    let start = offset
    guard let uuid = UUID(littleEndian: try bytes(width)) else {
      throw DecodeError(offset: start, .invalid("a UUID of \(width) bytes"))
    }
    return uuid
  }

  /// A device address, six bytes, little endian.
  public mutating func address() throws(DecodeError) -> Address {
    var value: UInt64 = 0
    for (position, byte) in try bytes(6).enumerated() { value |= UInt64(byte) << (8 * position) }
    return Address(value)
  }

  /// Throws unless all bytes were read.
  public func end() throws(DecodeError) {
    guard isAtEnd else { throw DecodeError(offset: offset, .trailing(remaining)) }
  }

  /// An error at the cursor, for a field with an invalid value.
  public func invalid(_ what: String) -> DecodeError { DecodeError(offset: offset, .invalid(what)) }

  private func need(_ count: Int) throws(DecodeError) {
    guard count >= 0, remaining >= count else {
      throw DecodeError(offset: offset, .truncated(needed: count, available: remaining))
    }
  }
}

/// Why received bytes could not be decoded, and where.
public struct DecodeError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The offset of the first byte in error from the start of the packet.
  public let offset: Int
  /// What is wrong there.
  public let reason: Reason

  /// What is wrong with the bytes.
  public enum Reason: Hashable, Sendable {
    /// Fewer bytes are left (`available`) than the field needs (`needed`).
    case truncated(needed: Int, available: Int)
    /// Bytes are left over after the last field.
    case trailing(Int)
    /// A field has an invalid value; the text names the field and the rule.
    case invalid(String)
  }

  /// An error at `offset`.
  public init(offset: Int, _ reason: Reason) {
    self.offset = offset
    self.reason = reason
  }

  public var description: String {
    switch reason {
    case .truncated(let needed, let available):
      "truncated at byte \(offset): \(needed) bytes needed, \(available) left"
    case .trailing(let count): "\(count) extra bytes from byte \(offset)"
    case .invalid(let what): "\(what) at byte \(offset)"
    }
  }
}
