// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// A value of the Battery Level characteristic: 0 to 100 percent in one byte (Battery Service 1.0, 3.1).
public struct BatteryLevel: Hashable, Sendable {
  public let percent: UInt8

  /// Nil above 100.
  public init?(percent: UInt8) {
    guard percent <= 100 else { return nil }
    self.percent = percent
  }

  /// Decodes exactly one byte, at most 100.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    let percent = try reader.u8()
    guard let level = BatteryLevel(percent: percent) else {
      throw DecodeError(offset: 0, .invalid("a battery level of \(percent) percent"))
    }
    try reader.end()
    self = level
  }

  /// The encoded value.
  public var encoded: [UInt8] { [percent] }
}

/// The phone's battery on one link: read once, then subscribed to.
public final class BatteryMonitor {
  /// Called with the level when it has changed.
  public var onLevel: (BatteryLevel) -> Void = { _ in }
  /// Called with bytes that were dropped, and the reason, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }
  /// The phone's last level.
  public private(set) var level: BatteryLevel?

  private let client: Client

  public init(_ client: Client) { self.client = client }

  /// Reads the level in one request, without discovering the service.
  ///
  /// - Returns: whether the phone has one.
  /// - Throws: only if the link has ended.
  @discardableResult public func read() async throws(ATTFailure) -> Bool {
    guard let value = try await client.firstValue(of: .batteryLevel) else { return false }
    apply(value.value)
    return level != nil
  }

  /// Subscribes to the level, if the located service allows that, and reads it again: it may have changed
  /// before the subscription.
  public func follow(_ service: LocatedService) async throws(ATTFailure) {
    guard let source = service[.batteryLevel], let cccd = source.cccd else { return }
    client.setHandler(for: source.value) { [weak self] in self?.apply($0) }
    try await client.configure(cccd, .notifications)
    apply(try await client.read(source.value))
  }

  private func apply(_ value: [UInt8]) {
    do {
      let new = try BatteryLevel(decoding: value)
      guard new != level else { return }
      level = new
      onLevel(new)
    } catch {
      onDropped(value, "no battery level: \(error)")
    }
  }
}

extension Client {
  /// The first attribute of this type, read in one request; nil if the server shows none to this client.
  /// Throws only if the link has ended.
  public func firstValue(of type: UUID) async throws(ATTFailure) -> PDU.AttributeValue? {
    do {
      return try await read(type).first
    } catch {
      if error.isEnd { throw error }
      return nil
    }
  }
}
