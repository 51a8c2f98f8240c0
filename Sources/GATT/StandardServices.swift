// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

/// Definitions of the services that the daemon offers to a phone.
///
/// Their handles are fixed, with room to grow after each: phones remember handles as long as they are bonded, across
/// versions of the program.
public enum StandardServices {
  /// Generic Access (Vol 3 Part C, 12), at 0x0001.
  ///
  /// - Parameters:
  ///   - name: called at each read; UTF-8, at most 248 octets.
  ///   - appearance: Assigned Numbers, 2.6; 0 is unknown.
  public static func genericAccess(
    name: @escaping () -> String, appearance: UInt16 = 0,
    preferred parameters: ConnectionParameters? = nil
  ) -> ServiceDefinition {
    var service = ServiceDefinition(
      .genericAccess, at: 0x0001,
      characteristics: [
        .init(
          .deviceName, [.read],
          value: .handled(read: { _ in Array(name().utf8.prefix(248)) }), at: 0x0002),
        .init(
          .appearance, [.read],
          value: .stored([UInt8(truncatingIfNeeded: appearance), UInt8(appearance >> 8)]),
          at: 0x0004),
      ])
    if let parameters {
      service.characteristics.append(
        CharacteristicDefinition(
          .preferredConnectionParameters, [.read], value: .stored(parameters.encoded),
          at: 0x0006))
    }
    // The controller resolves private addresses, in directed advertising too (12.4).
    service.characteristics.append(
      CharacteristicDefinition(.centralAddressResolution, [.read], value: .stored([1]), at: 0x0008))
    return service
  }

  /// Generic Attribute (Vol 3 Part G, 7), at 0x0010.
  public static func genericAttribute() -> ServiceDefinition {
    ServiceDefinition(
      .genericAttribute, at: 0x0010,
      characteristics: [
        .init(.serviceChanged, [.indicate], at: 0x0011),
        .init(
          .clientSupportedFeatures, [.read, .write],
          value: .handled(
            read: { server in [server.client.features.rawValue] },
            write: { (server, value) throws(ErrorCode) in try server.setFeatures(value) }),
          at: 0x0014),
        .init(
          .databaseHash, [.read],
          value: .handled(read: { server in server.database.hash }), at: 0x0016),
      ])
  }

  /// The values of Device Information; nil ones are omitted.
  public struct DeviceInformation: Hashable, Sendable {
    public var manufacturer: String?
    public var model: String?
    public var firmware: String?
    public var software: String?

    public init(
      manufacturer: String? = nil, model: String? = nil, firmware: String? = nil,
      software: String? = nil
    ) {
      self.manufacturer = manufacturer
      self.model = model
      self.firmware = firmware
      self.software = software
    }
  }

  /// Device Information (DIS 1.2), at 0x0020.
  public static func deviceInformation(_ device: DeviceInformation) -> ServiceDefinition {
    let strings: [(UUID, String?, Handle)] = [
      (.manufacturerName, device.manufacturer, 0x0021), (.modelNumber, device.model, 0x0023),
      (.firmwareRevision, device.firmware, 0x0025), (.softwareRevision, device.software, 0x0027),
    ]
    return ServiceDefinition(
      .deviceInformation, at: 0x0020,
      characteristics: strings.compactMap { uuid, text, handle in
        text.map {
          CharacteristicDefinition(uuid, [.read], value: .stored(Array($0.utf8)), at: handle)
        }
      })
  }

  /// The UUID of the `bonding` service.
  public static let bondingService = UUID(high: 0x6C8A_0001_52C4_4F7B, low: 0x9D3E_A17C_5E20_B64D)
  /// The UUID of its one characteristic.
  public static let bondingValue = UUID(high: 0x6C8A_0002_52C4_4F7B, low: 0x9D3E_A17C_5E20_B64D)

  /// The daemon's own service, at 0x0030, with one characteristic that requires encryption: an unbonded phone that
  /// reads it is refused with Insufficient Authentication (0x05), and asks its user whether to pair.
  ///
  /// - Parameter value: the value on an encrypted link.
  public static func bonding(value: @escaping () -> [UInt8] = { [1] }) -> ServiceDefinition {
    ServiceDefinition(
      bondingService, at: 0x0030,
      characteristics: [
        .init(
          bondingValue, [.read], permissions: Permissions(read: .encrypted),
          value: .handled(read: { _ in value() }), at: 0x0031)
      ])
  }
}
