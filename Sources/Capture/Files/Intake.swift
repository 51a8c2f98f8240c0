// SPDX-License-Identifier: GPL-3.0-or-later

/// The bytes of a file as they come in, taken off in whole pieces.
struct Intake {
  private var bytes: [UInt8] = []
  private var start = 0
  /// How many bytes of the file were taken off.
  private(set) var offset: Int64 = 0

  var count: Int { bytes.count - start }

  mutating func append(_ more: some Collection<UInt8>) {
    // What was taken is cleared away only when it is most of the array, so that the cost stays linear.
    if start > 1 << 16, start > bytes.count / 2 {
      bytes.removeFirst(start)
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  /// The first `count` bytes, which stay; nil as long as there are fewer.
  func peek(_ count: Int) -> FileBytes? {
    guard count >= 0, self.count >= count else { return nil }
    return FileBytes(bytes[start..<start + count])
  }

  /// Takes off bytes that are there.
  mutating func drop(_ count: Int) {
    let count = min(count, self.count)
    start += count
    offset += Int64(count)
  }

  func error(_ reason: CaptureFileError.Reason) -> CaptureFileError {
    CaptureFileError(offset: offset, reason)
  }
}

/// Which byte of a number a file has first.
enum ByteOrder: Hashable, Sendable {
  case bigEndian, littleEndian
}

/// A piece of a file whose length was checked; what is read beyond it is zero.
struct FileBytes {
  private let bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  var count: Int { bytes.count }
  var array: [UInt8] { Array(bytes) }

  /// The bytes from `offset` on, at most `count`.
  func slice(_ offset: Int, _ count: Int = .max) -> ArraySlice<UInt8> {
    bytes.dropFirst(max(0, offset)).prefix(max(0, count))
  }

  func u8(_ offset: Int) -> UInt8 {
    offset >= 0 && offset < bytes.count ? bytes[bytes.startIndex + offset] : 0
  }

  func u16(_ offset: Int, _ order: ByteOrder) -> UInt16 {
    let (one, other) = (UInt16(u8(offset)), UInt16(u8(offset + 1)))
    return order == .bigEndian ? one << 8 | other : other << 8 | one
  }

  func u32(_ offset: Int, _ order: ByteOrder) -> UInt32 {
    let (one, other) = (UInt32(u16(offset, order)), UInt32(u16(offset + 2, order)))
    return order == .bigEndian ? one << 16 | other : other << 16 | one
  }

  func u64(_ offset: Int, _ order: ByteOrder) -> UInt64 {
    let (one, other) = (UInt64(u32(offset, order)), UInt64(u32(offset + 4, order)))
    return order == .bigEndian ? one << 32 | other : other << 32 | one
  }
}
