// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The timing of an LE connection, requested or in force (Core Specification Vol 6 Part B, 4.5).
///
/// Encoded, it is the Peripheral Preferred Connection Parameters characteristic (Vol 3 Part C, 12.3),
/// and the same eight bytes are in the kernel's mgmt protocol and in HCI's LE Connection Update.
public struct ConnectionParameters: Hashable, Sendable {
  /// The shortest interval, in units of 1.25 ms (6 to 3200).
  public var minimumInterval: UInt16
  /// The longest interval, in units of 1.25 ms (6 to 3200).
  public var maximumInterval: UInt16
  /// How many connection events in a row the peripheral may skip (0 to 499).
  public var latency: UInt16
  /// The supervision timeout, in units of 10 ms (10 to 3200).
  public var timeout: UInt16

  public init(minimumInterval: UInt16, maximumInterval: UInt16, latency: UInt16, timeout: UInt16) {
    self.minimumInterval = minimumInterval
    self.maximumInterval = maximumInterval
    self.latency = latency
    self.timeout = timeout
  }

  /// The parameters in force on a connection, which has one interval (in units of 1.25 ms).
  public init(interval: UInt16, latency: UInt16, timeout: UInt16) {
    self.init(minimumInterval: interval, maximumInterval: interval, latency: latency, timeout: timeout)
  }

  /// Reads eight bytes, little endian: minimum and maximum interval, latency, timeout.
  public init(from reader: inout ByteReader) throws(DecodeError) {
    minimumInterval = try reader.u16()
    maximumInterval = try reader.u16()
    latency = try reader.u16()
    timeout = try reader.u16()
  }

  /// Reads a value of exactly eight bytes.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    try self.init(from: &reader)
    try reader.end()
  }

  /// The eight bytes, little endian.
  public var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 8)
    for field in [minimumInterval, maximumInterval, latency, timeout] { writer.u16(field) }
    return writer.bytes
  }

  /// The shortest interval in milliseconds.
  public var minimumMilliseconds: Double { Double(minimumInterval) * 1.25 }
  /// The longest interval in milliseconds.
  public var maximumMilliseconds: Double { Double(maximumInterval) * 1.25 }
  /// The supervision timeout in milliseconds.
  public var timeoutMilliseconds: Int { Int(timeout) * 10 }
}

extension ConnectionParameters: CustomStringConvertible {
  /// `an interval of 15.0 to 30.0 ms, latency 0, lost after 6000 ms`.
  public var description: String {
    let interval =
      minimumInterval == maximumInterval ? "\(minimumMilliseconds)" : "\(minimumMilliseconds) to \(maximumMilliseconds)"
    return "an interval of \(interval) ms, latency \(latency), lost after \(timeoutMilliseconds) ms"
  }
}
