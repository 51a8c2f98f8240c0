// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// Client Characteristic Configurations, and the values sent to who subscribed (Vol 3 Part G, 3.3.3.3,
/// 4.10 and 4.11).
extension Server {
  /// What the client wants of the characteristic whose value is at `value`.
  public func configuration(of value: Handle) -> ClientConfiguration {
    guard let cccd = database.characteristic(of: value)?.cccd else { return [] }
    return client.configurations[cccd, default: []]
  }

  /// Notifies a value, cut to the MTU, where the client subscribed to that; says whether it was sent.
  @discardableResult
  public func notify(_ handle: Handle, _ value: [UInt8]) throws(ATTFailure) -> Bool {
    guard mayTell, configuration(of: handle).contains(.notifications) else { return false }
    try bearer.notify(handle, value)
    return true
  }

  /// Notifies values in one PDU where the client takes that and they fit, else one by one; only
  /// those that the client subscribed to.
  public func notify(_ values: [PDU.AttributeValue]) throws(ATTFailure) {
    guard mayTell else { return }
    let wanted = values.filter { configuration(of: $0.handle).contains(.notifications) }
    let together = PDU.multipleHandleValueNotification(wanted)
    if wanted.count > 1, client.features.contains(.multipleNotifications),
      together.encoded.count <= bearer.mtu
    {
      return try bearer.command(together)
    }
    for value in wanted { try bearer.notify(value.handle, value.value) }
  }

  /// Indicates a value, cut to the MTU, where the client subscribed to that, and waits until it is
  /// confirmed; says whether it was sent.
  @discardableResult
  public func indicate(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) -> Bool {
    guard mayTell, configuration(of: handle).contains(.indications) else { return false }
    try await bearer.indicate(handle, value)
    return true
  }

  /// Takes a configuration that the client wrote.
  func configure(_ cccd: Handle, _ value: [UInt8]) throws(ErrorCode) {
    guard value.count == 2 else { throw .invalidAttributeValueLength }
    guard let characteristic = database.characteristic(of: cccd) else { return }
    // The other bits are reserved for future use and ignored.
    let wanted = ClientConfiguration(rawValue: UInt16(value[0] & 3))
    let properties = characteristic.properties
    guard properties.contains(.notify) || !wanted.contains(.notifications),
      properties.contains(.indicate) || !wanted.contains(.indications)
    else { throw .cccdImproperlyConfigured }
    client.configurations[cccd] = wanted.isEmpty ? nil : wanted
    onSubscribe(characteristic.value, wanted)
  }

  /// Forgets the configurations whose descriptors are gone.
  func dropLostConfigurations() {
    client.configurations = client.configurations.filter {
      if case .clientConfiguration = database.attribute(at: $0.key)?.content { true } else { false }
    }
  }
}
