// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// The value of the Service Changed characteristic: the handles that are not what they were
/// (Vol 3 Part G, 7.1). Four octets, two handles little endian.
public struct ServiceChanged: Hashable, Sendable {
  public var range: HandleRange

  public init(range: HandleRange) { self.range = range }

  /// Reads the value that was indicated.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    range = HandleRange(try reader.u16(), try reader.u16())
    try reader.end()
    guard range.isValid else {
      throw DecodeError(offset: 0, .invalid("handles \(range), which are none"))
    }
  }

  /// The value to indicate.
  public var encoded: [UInt8] {
    var writer = ByteWriter()
    writer.u16(range.start)
    writer.u16(range.end)
    return writer.bytes
  }
}
