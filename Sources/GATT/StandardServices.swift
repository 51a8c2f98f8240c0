// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

/// Definitions of the services that the daemon offers to a phone.
///
/// Their handles are fixed, with room to grow after each: phones remember handles as long as they are bonded, across
/// versions of the program.
public enum StandardServices {
  /// Generic Access (Vol 3 Part C, 12), at 0x0001, of an unknown appearance.
  ///
  /// - Parameter name: called at each read; UTF-8, at most 248 octets.
  public static func genericAccess(
    name: @escaping () -> String, preferred parameters: ConnectionParameters? = nil
  ) -> ServiceDefinition {
    let characteristics: [CharacteristicDefinition?] = [
      .init(
        .deviceName, [.read], value: .handled(read: { _ in Array(name().utf8.prefix(248)) }),
        at: 0x0002),
      .init(.appearance, [.read], value: .stored([0, 0]), at: 0x0004),
      parameters.map {
        .init(.preferredConnectionParameters, [.read], value: .stored($0.encoded), at: 0x0006)
      },
      // The controller resolves private addresses, in directed advertising too (12.4).
      .init(.centralAddressResolution, [.read], value: .stored([1]), at: 0x0008),
    ]
    return ServiceDefinition(
      .genericAccess, at: 0x0001, characteristics: characteristics.compactMap(\.self))
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

  /// Device Information (DIS 1.2), at 0x0020.
  public static func deviceInformation(
    manufacturer: String, model: String, firmware: String? = nil, software: String? = nil
  ) -> ServiceDefinition {
    let strings: [(UUID, String?, Handle)] = [
      (.manufacturerName, manufacturer, 0x0021), (.modelNumber, model, 0x0023),
      (.firmwareRevision, firmware, 0x0025), (.softwareRevision, software, 0x0027),
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
  public static func bonding() -> ServiceDefinition {
    ServiceDefinition(
      bondingService, at: 0x0030,
      characteristics: [
        .init(bondingValue, [.read], permissions: Permissions(read: .encrypted), value: .stored([1]), at: 0x0031)
      ])
  }
}
