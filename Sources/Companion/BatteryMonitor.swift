// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// A value of the Battery Level characteristic: 0 to 100 percent in one byte (Battery Service 1.0, 3.1).
public struct BatteryLevel: Hashable, Sendable {
  public let percent: UInt8

  /// Decodes exactly one byte, at most 100.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    percent = try reader.u8()
    guard percent <= 100 else {
      throw DecodeError(offset: 0, .invalid("a battery level of \(percent) percent"))
    }
    try reader.end()
  }
}

/// The phone's battery on one link: subscribed to, and read once.
public final class BatteryMonitor {
  /// Called with the level when it has changed.
  public var onLevel: (BatteryLevel) -> Void = { _ in }
  /// Called with bytes that were dropped, and the reason, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }
  /// The phone's last level.
  public private(set) var level: BatteryLevel?

  private let client: Client

  public init(_ client: Client) { self.client = client }

  /// Subscribes to the level, if the located service allows that, and reads it, in this order: no change is
  /// missed.
  ///
  /// - Returns: why the phone has refused the subscription; nil: it has not. It is read anyway.
  /// - Throws: why the level cannot be read, or why the link has ended.
  @discardableResult public func follow(_ service: LocatedService) async throws(ATTFailure) -> ATTFailure? {
    guard let source = service[.batteryLevel] else { return nil }
    return try await client.follow(source) { [weak self] in self?.apply($0) }
  }

  private func apply(_ value: [UInt8]) {
    do {
      let new = try BatteryLevel(decoding: value)
      guard new != level else { return }
      level = new
      onLevel(new)
    } catch { onDropped(value, "an invalid battery level: \(error)") }
  }
}
