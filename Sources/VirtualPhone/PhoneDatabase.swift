// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import GAP
import GATT
import Wire

/// The phone's attribute database: the services that matter to an accessory, at the handles that phones
/// were seen to use.
///
///     0x0001 Generic Access         0x0018 Current Time
///     0x0006 Generic Attribute      0x001E Device Information
///     0x000F Apple Nearby           0x0023 ANCS
///     0x0014 Battery                0x002D AMS
///
/// ANCS and AMS come and go, and may return at other handles.
final class PhoneDatabase {
  let attributes = AttributeDatabase()

  private let values: Values
  /// ANCS, AMS, battery and time require an encrypted link.
  private let access = Access.encrypted
  private var published: [PublishedService: LocatedService] = [:]
  private var handles: [PublishedService: Handle] = [
    .battery: 0x0014, .time: 0x0018, .ancs: 0x0023, .ams: 0x002D,
  ]
  /// The highest handle used so far.
  private var highest: Handle = 0

  /// The functions behind the characteristics' values.
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

  init(name: String, model: String, values: Values) {
    self.values = values
    add(Self.genericAccess(name: name))
    add(Self.genericAttribute())
    add(Self.vendorService())
    add(Self.deviceInformation(model: model))
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
    guard let located = add(definition) else {
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
  private func add(_ definition: ServiceDefinition) -> LocatedService? {
    guard let located = try? attributes.add(definition) else { return nil }
    highest = max(highest, located.service.range.end)
    return located
  }

  // MARK: Looking up

  /// The handle of a characteristic's value; nil while its service is not published.
  func handle(of characteristic: PhoneCharacteristic) -> Handle? {
    attributes[characteristic.service]?[characteristic.uuid]?.value
  }

  /// The handle of the Control Point; nil while ANCS is not published.
  var controlPoint: Handle? { attributes[.notificationCenter]?[.controlPoint]?.value }

  /// The characteristic whose value is at `handle`.
  func characteristic(at handle: Handle) -> PhoneCharacteristic? {
    PhoneCharacteristic.allCases.first { self.handle(of: $0) == handle }
  }

  /// The properties of the characteristic whose value is at `handle`.
  func properties(at handle: Handle) -> Characteristic.Properties? {
    for service in attributes.services where service.service.range.contains(handle) {
      return service.characteristics.first { $0.value == handle }?.properties
    }
    return nil
  }

  /// The handles of a service; nil while it is not published.
  func range(of service: PublishedService) -> HandleRange? { published[service]?.service.range }
}

// MARK: - Definitions of the services

extension PhoneDatabase {
  private static func genericAccess(name: String) -> ServiceDefinition {
    ServiceDefinition(
      .genericAccess, at: 0x0001,
      characteristics: [
        CharacteristicDefinition(
          .deviceName, [.read], value: .stored(Array(name.utf8.prefix(248)))),
        // 64: a phone (Assigned Numbers, 2.6).
        CharacteristicDefinition(.appearance, [.read], value: .stored([64, 0])),
      ])
  }

  private static func genericAttribute() -> ServiceDefinition {
    var service = StandardServices.genericAttribute()
    service.handle = 0x0006
    for index in service.characteristics.indices { service.characteristics[index].handle = nil }
    return service
  }

  /// A service of Apple's that the accessory does not use, as phones have.
  private static func vendorService() -> ServiceDefinition {
    ServiceDefinition(
      .nearbyService, at: 0x000F,
      characteristics: [
        CharacteristicDefinition(
          .nearby, [.write, .notify, .extended], permissions: Permissions(write: .encrypted),
          descriptors: [extendedProperties, .clientConfiguration(write: .encrypted)])
      ])
  }

  private static func deviceInformation(model: String) -> ServiceDefinition {
    ServiceDefinition(
      .deviceInformation, at: 0x001E,
      characteristics: [
        CharacteristicDefinition(
          .manufacturerName, [.read], value: .stored(Array("Apple Inc.".utf8))),
        CharacteristicDefinition(
          .modelNumber, [.read], value: .stored(Array(model.utf8))),
      ])
  }

  /// Phones have this descriptor at every writable value, with no bit set.
  private static var extendedProperties: DescriptorDefinition {
    DescriptorDefinition(.extendedProperties, value: .stored([0, 0]))
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
    case .serviceChanged: .serviceChanged
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
    case .serviceChanged: .genericAttribute
    case .notificationSource, .dataSource: .notificationCenter
    case .remoteCommand, .entityUpdate: .mediaService
    case .batteryLevel: .batteryService
    case .currentTime: .currentTimeService
    }
  }
}
