// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The control messages that came with a packet (cmsg(3)): each a length that counts its own 16
/// bytes of header, a level, a type and its data, padded to eight bytes. 64-bit and 32-bit kernels
/// differ in the width of the length, which is a `size_t`.
struct ControlMessages {
  private let bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  /// The data of the first message of that level and type; empty where there is none.
  func first(_ level: Int32, _ type: Int32) -> [UInt8] {
    let word = MemoryLayout<Int>.size
    let header = word + 8
    var rest = bytes
    while rest.count >= header {
      var reader = ByteReader(rest)
      guard
        let length = word == 8
          ? (try? reader.u64()).map({ Int(truncatingIfNeeded: $0) })
          : (try? reader.u32()).map({ Int(truncatingIfNeeded: $0) }),
        let foundLevel = try? reader.u32(), let foundType = try? reader.u32(),
        length >= header, length <= rest.count
      else { return [] }
      if foundLevel == UInt32(bitPattern: level), foundType == UInt32(bitPattern: type) {
        return Array(rest.dropFirst(header).prefix(length - header))
      }
      rest = rest.dropFirst((length + word - 1) / word * word)
    }
    return []
  }
}
