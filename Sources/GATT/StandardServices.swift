// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// The services that the daemon offers to a phone, as building blocks.
///
/// Their handles are fixed, with room to grow behind each: phones remember handles for as long as
/// they are bonded, over every new version of the program.
public enum StandardServices {
  /// The connection parameters that a peripheral would like (Vol 3 Part C, 12.3).
  public struct ConnectionParameters: Hashable, Sendable {
    /// In units of 1.25 ms.
    public var minimumInterval: UInt16
    /// In units of 1.25 ms.
    public var maximumInterval: UInt16
    /// How many connection events may be left out.
    public var latency: UInt16
    /// In units of 10 ms.
    public var timeout: UInt16

    public init(
      minimumInterval: UInt16, maximumInterval: UInt16, latency: UInt16, timeout: UInt16
    ) {
      self.minimumInterval = minimumInterval
      self.maximumInterval = maximumInterval
      self.latency = latency
      self.timeout = timeout
    }

    var bytes: [UInt8] {
      var writer = ByteWriter()
      for field in [minimumInterval, maximumInterval, latency, timeout] { writer.u16(field) }
      return writer.bytes
    }
  }

  /// Generic Access (Vol 3 Part C, 12), at 0x0001.
  ///
  /// - Parameters:
  ///   - name: asked for at each read; UTF-8, at most 248 octets.
  ///   - appearance: Assigned Numbers, 2.6; 0 is unknown.
  public static func genericAccess(
    name: @escaping () -> String, appearance: UInt16 = 0,
    preferred parameters: ConnectionParameters? = nil
  ) -> ServiceDefinition {
    var service = ServiceDefinition(
      GATTType.genericAccess, at: 0x0001,
      characteristics: [
        CharacteristicDefinition(
          GATTType.deviceName, [.read],
          value: .handled(read: { _ in Array(name().utf8.prefix(248)) }), at: 0x0002),
        CharacteristicDefinition(
          GATTType.appearance, [.read],
          value: .stored([UInt8(truncatingIfNeeded: appearance), UInt8(appearance >> 8)]),
          at: 0x0004),
      ])
    if let parameters {
      service.characteristics.append(
        CharacteristicDefinition(
          GATTType.preferredConnectionParameters, [.read], value: .stored(parameters.bytes),
          at: 0x0006))
    }
    // The controller resolves private addresses by the bond's keys, also those in directed
    // advertising (12.4).
    service.characteristics.append(
      CharacteristicDefinition(
        GATTType.centralAddressResolution, [.read], value: .stored([1]), at: 0x0008))
    return service
  }

  /// Generic Attribute (Vol 3 Part G, 7), at 0x0010.
  public static func genericAttribute() -> ServiceDefinition {
    ServiceDefinition(
      GATTType.genericAttribute, at: 0x0010,
      characteristics: [
        CharacteristicDefinition(GATTType.serviceChanged, [.indicate], at: 0x0011),
        CharacteristicDefinition(
          GATTType.clientSupportedFeatures, [.read, .write],
          value: .handled(
            read: { server in [server.client.features.rawValue] },
            write: { (server, value) throws(ErrorCode) in try server.setFeatures(value) }),
          at: 0x0014),
        CharacteristicDefinition(
          GATTType.databaseHash, [.read],
          value: .handled(read: { server in server.database.hash }), at: 0x0016),
      ])
  }

  /// What Device Information says; what is nil is left out.
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
      (GATTType.manufacturerName, device.manufacturer, 0x0021),
      (GATTType.modelNumber, device.model, 0x0023),
      (GATTType.firmwareRevision, device.firmware, 0x0025),
      (GATTType.softwareRevision, device.software, 0x0027),
    ]
    return ServiceDefinition(
      GATTType.deviceInformation, at: 0x0020,
      characteristics: strings.compactMap { uuid, text, handle in
        text.map {
          CharacteristicDefinition(uuid, [.read], value: .stored(Array($0.utf8)), at: handle)
        }
      })
  }

  /// The type of `bonding`.
  public static let bondingService = UUID(high: 0x6C8A_0001_52C4_4F7B, low: 0x9D3E_A17C_5E20_B64D)
  /// The type of its one characteristic.
  public static let bondingValue = UUID(high: 0x6C8A_0002_52C4_4F7B, low: 0x9D3E_A17C_5E20_B64D)

  /// A service of the daemon's own, at 0x0030, whose one characteristic wants an encrypted link:
  /// a phone without a bond that reads it is refused with Insufficient Authentication (0x05), and
  /// asks its user whether to pair.
  ///
  /// - Parameter value: what is read on an encrypted link.
  public static func bonding(value: @escaping () -> [UInt8] = { [1] }) -> ServiceDefinition {
    ServiceDefinition(
      bondingService, at: 0x0030,
      characteristics: [
        CharacteristicDefinition(
          bondingValue, [.read], permissions: Permissions(read: .encrypted),
          value: .handled(read: { _ in value() }), at: 0x0031)
      ])
  }
}
