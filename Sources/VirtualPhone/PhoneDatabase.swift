// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import GATT
import Wire

/// The phone's attribute database: the services that matter to an accessory, at the handles that
/// phones were seen to have them at.
///
///     0x0001 Generic Access         0x0018 Current Time
///     0x0006 Generic Attribute      0x001E Device Information
///     0x000F a service of Apple's   0x0023 ANCS
///     0x0014 Battery                0x002D AMS
///
/// ANCS and AMS come and go; each time they may come back at other handles.
final class PhoneDatabase {
  let attributes = AttributeDatabase()

  private let values: Values
  private let access: Access
  private var published: [PublishedService: LocatedService] = [:]
  private var handles: [PublishedService: Handle] = [
    .battery: 0x0014, .time: 0x0018, .ancs: 0x0023, .ams: 0x002D,
  ]
  /// The highest handle that was ever used.
  private var highest: Handle = 0

  /// What the values of the characteristics come from and go to.
  struct Values {
    var controlPoint: Attribute.Writing
    var remoteCommand: Attribute.Writing
    var entityUpdate: Attribute.Writing
    var selection: Attribute.Writing
    var selected: Attribute.Reading
    var batteryLevel: Attribute.Reading
    var currentTime: Attribute.Reading
    var localTime: Attribute.Reading
  }

  /// - Parameter access: what it takes to use ANCS, AMS and the small services.
  init(name: String, model: String, access: Access, values: Values) {
    self.values = values
    self.access = access
    put(Self.genericAccess(name: name))
    put(Self.genericAttribute())
    put(Self.vendorService())
    put(Self.deviceInformation(model: model))
    for service in PublishedService.allCases { try? publish(service, freshHandles: false) }
  }

  // MARK: Services that come and go

  func publish(_ service: PublishedService, freshHandles: Bool) throws(PhoneRefusal) {
    guard published[service] == nil else {
      throw PhoneRefusal("\(service.rawValue) is there already")
    }
    var definition = definition(of: service)
    if !freshHandles {
      definition.handle = handles[service]
    } else if highest < .max - 32 {
      definition.handle = highest + 1
    } else {
      throw PhoneRefusal("no handles are left")
    }
    guard let located = put(definition) else {
      throw PhoneRefusal("the handles of \(service.rawValue) are taken")
    }
    published[service] = located
    handles[service] = located.service.range.start
  }

  func unpublish(_ service: PublishedService) throws(PhoneRefusal) {
    guard let located = published.removeValue(forKey: service) else {
      throw PhoneRefusal("\(service.rawValue) is not there")
    }
    attributes.remove(at: located.service.range.start)
  }

  @discardableResult
  private func put(_ definition: ServiceDefinition) -> LocatedService? {
    guard let located = try? attributes.add(definition) else { return nil }
    highest = max(highest, located.service.range.end)
    return located
  }

  // MARK: Finding one's way

  /// The handle of a characteristic's value; nil while its service is not there.
  func handle(of characteristic: PhoneCharacteristic) -> Handle? {
    attributes[characteristic.service]?[characteristic.uuid]?.value
  }

  /// The handle of the Control Point, while it is there.
  var controlPoint: Handle? { attributes[.notificationCenter]?[.controlPoint]?.value }

  /// The characteristic whose value is at `handle`.
  func characteristic(at handle: Handle) -> PhoneCharacteristic? {
    PhoneCharacteristic.allCases.first { self.handle(of: $0) == handle }
  }

  /// What may be done with the characteristic whose value is at `handle`.
  func properties(at handle: Handle) -> Characteristic.Properties? {
    for service in attributes.services where service.service.range.contains(handle) {
      return service.characteristics.first { $0.value == handle }?.properties
    }
    return nil
  }

  /// The handles of a service, while it is there.
  func range(of service: PublishedService) -> HandleRange? { published[service]?.service.range }
}

// MARK: - What the services consist of

extension PhoneDatabase {
  private static func genericAccess(name: String) -> ServiceDefinition {
    ServiceDefinition(
      GATTType.genericAccess, at: 0x0001,
      characteristics: [
        CharacteristicDefinition(
          GATTType.deviceName, [.read], value: .stored(Array(name.utf8.prefix(248)))),
        // 64: a phone (Assigned Numbers, 2.6).
        CharacteristicDefinition(GATTType.appearance, [.read], value: .stored([64, 0])),
      ])
  }

  private static func genericAttribute() -> ServiceDefinition {
    var service = StandardServices.genericAttribute()
    service.handle = 0x0006
    for index in service.characteristics.indices { service.characteristics[index].handle = nil }
    return service
  }

  /// A service that is none of ours, as phones have: who looks for all finds this one too.
  private static func vendorService() -> ServiceDefinition {
    ServiceDefinition(
      UUID(high: 0x9FA4_80E0_4967_4542, low: 0x9390_D343_DC5D_04AE), at: 0x000F,
      characteristics: [
        CharacteristicDefinition(
          UUID(high: 0xAF0B_ADB1_5B99_43CD, low: 0x917A_A77B_C549_E3CC),
          [.write, .notify, .extended], permissions: Permissions(write: .encrypted),
          descriptors: [extendedProperties, .clientConfiguration(write: .encrypted)])
      ])
  }

  private static func deviceInformation(model: String) -> ServiceDefinition {
    ServiceDefinition(
      GATTType.deviceInformation, at: 0x001E,
      characteristics: [
        CharacteristicDefinition(
          GATTType.manufacturerName, [.read], value: .stored(Array("Apple Inc.".utf8))),
        CharacteristicDefinition(
          GATTType.modelNumber, [.read], value: .stored(Array(model.utf8))),
      ])
  }

  /// What phones have behind every value that can be written: no extended property is set.
  private static var extendedProperties: DescriptorDefinition {
    DescriptorDefinition(GATTType.extendedProperties, value: .stored([0, 0]))
  }

  private var configuration: DescriptorDefinition { .clientConfiguration(write: access) }

  private func definition(of service: PublishedService) -> ServiceDefinition {
    let characteristics =
      switch service {
      case .ancs: notificationCenter
      case .ams: mediaService
      case .battery:
        [
          CharacteristicDefinition(
            .batteryLevel, [.read, .notify], permissions: Permissions(read: access),
            value: .handled(read: values.batteryLevel), descriptors: [configuration])
        ]
      case .time:
        [
          CharacteristicDefinition(
            .currentTime, [.read, .notify], permissions: Permissions(read: access),
            value: .handled(read: values.currentTime), descriptors: [configuration]),
          CharacteristicDefinition(
            .localTimeInformation, [.read], permissions: Permissions(read: access),
            value: .handled(read: values.localTime)),
        ]
      }
    return ServiceDefinition(service.uuid, characteristics: characteristics)
  }

  private var notificationCenter: [CharacteristicDefinition] {
    [
      CharacteristicDefinition(
        .controlPoint, [.write, .extended], permissions: Permissions(write: access),
        value: .handled(write: values.controlPoint), descriptors: [Self.extendedProperties]),
      CharacteristicDefinition(
        .notificationSource, [.notify], permissions: Permissions(),
        descriptors: [configuration]),
      CharacteristicDefinition(
        .dataSource, [.notify], permissions: Permissions(), descriptors: [configuration]),
    ]
  }

  private var mediaService: [CharacteristicDefinition] {
    [
      CharacteristicDefinition(
        .remoteCommand, [.write, .notify, .extended], permissions: Permissions(write: access),
        value: .handled(write: values.remoteCommand),
        descriptors: [Self.extendedProperties, configuration]),
      CharacteristicDefinition(
        .entityUpdate, [.write, .notify, .extended], permissions: Permissions(write: access),
        value: .handled(write: values.entityUpdate),
        descriptors: [Self.extendedProperties, configuration]),
      CharacteristicDefinition(
        .entityAttribute, [.read, .write, .extended],
        permissions: Permissions(read: access, write: access),
        value: .handled(read: values.selected, write: values.selection),
        descriptors: [Self.extendedProperties]),
    ]
  }
}

extension PublishedService {
  /// The service's type.
  public var uuid: UUID {
    switch self {
    case .ancs: .notificationCenter
    case .ams: .mediaService
    case .battery: .batteryService
    case .time: .currentTimeService
    }
  }
}

extension PhoneCharacteristic {
  /// The characteristic's type.
  public var uuid: UUID {
    switch self {
    case .serviceChanged: GATTType.serviceChanged
    case .notificationSource: .notificationSource
    case .dataSource: .dataSource
    case .remoteCommand: .remoteCommand
    case .entityUpdate: .entityUpdate
    case .batteryLevel: .batteryLevel
    case .currentTime: .currentTime
    }
  }

  /// The type of the service that it belongs to.
  var service: UUID {
    switch self {
    case .serviceChanged: GATTType.genericAttribute
    case .notificationSource, .dataSource: .notificationCenter
    case .remoteCommand, .entityUpdate: .mediaService
    case .batteryLevel: .batteryService
    case .currentTime: .currentTimeService
    }
  }
}
