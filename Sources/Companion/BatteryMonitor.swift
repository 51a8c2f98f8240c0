// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The phone's battery on one link: read at first, then followed.
public final class BatteryMonitor {
  /// Takes the level whenever it is another one.
  public var onLevel: (BatteryLevel) -> Void = { _ in }
  /// Takes bytes that make no sense, and why, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }
  /// The level that the phone said last.
  public private(set) var level: BatteryLevel?

  private let client: Client

  public init(_ client: Client) { self.client = client }

  /// Reads the level in one request, without looking for the service first.
  ///
  /// - Returns: whether the phone has one.
  /// - Throws: only where the link is gone.
  @discardableResult
  public func read() async throws(ATTFailure) -> Bool {
    guard let value = try await client.valueIfAny(of: .batteryLevel) else { return false }
    take(value.value)
    return level != nil
  }

  /// Subscribes to the level, where the service that was located lets it be subscribed to, and reads it
  /// again: it may have changed on the way.
  public func follow(_ service: LocatedService) async throws(ATTFailure) {
    guard let source = service[.batteryLevel], let cccd = source.cccd else { return }
    client.take(source.value) { [weak self] in self?.take($0) }
    try await client.configure(cccd, .notifications)
    take(try await client.read(source.value))
  }

  /// The phone's battery is gone, or somewhere else.
  public func forget() { level = nil }

  private func take(_ value: [UInt8]) {
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
  /// The value of an attribute of this type with its handle, in one request; nil where the server shows
  /// none to us. Throws only where the link is gone.
  func valueIfAny(of type: UUID) async throws(ATTFailure) -> PDU.AttributeValue? {
    do {
      return try await read(type).first
    } catch {
      if error.isEnd { throw error }
      return nil
    }
  }
}
