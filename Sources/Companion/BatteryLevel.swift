// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The phone's battery level in percent, 0 to 100: one byte (Battery Service 1.0, 3.1).
public struct BatteryLevel: Hashable, Sendable {
  public let percent: UInt8

  /// A level; nil above 100.
  public init?(percent: UInt8) {
    guard percent <= 100 else { return nil }
    self.percent = percent
  }

  /// Reads a value of the Battery Level characteristic: exactly one byte, at most 100.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    let percent = try reader.u8()
    guard let level = BatteryLevel(percent: percent) else {
      throw DecodeError(offset: 0, .invalid("a battery level of \(percent) percent"))
    }
    try reader.end()
    self = level
  }

  /// The byte for the air.
  public var encoded: [UInt8] { [percent] }
}
