// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Companion
import GAP
import GATT
import Wire

/// The phone's attribute database: the services of its profile, at the handles that captures of
/// phones show. Services can be published and removed, and may return at other handles.
final class PhoneDatabase {
  let attributes = AttributeDatabase()
  var batteryLevel: UInt8 = 80
  var clock: PhoneClock

  private let provider: NotificationProvider
  private let media: MediaSource
  private let scheduler: any Scheduler
  /// Where the services were published last.
  private var handles: [PublishedService: Handle] = [:]
  /// The highest handle used so far.
  private var highest: Handle = 0

  init(
    _ configuration: VirtualPhone.Configuration, _ provider: NotificationProvider,
    _ media: MediaSource, _ scheduler: any Scheduler
  ) {
    self.provider = provider
    self.media = media
    self.scheduler = scheduler
    clock = PhoneClock(start: configuration.time, zone: configuration.zone, set: scheduler.now)
    for (service, handle) in configuration.profile.layout {
      var definition = definition(of: service, configuration)
      definition.handle = handle
      add(definition)
      if case .published(let service) = service { handles[service] = handle }
    }
  }

  // MARK: Services that come and go

  func publish(_ service: PublishedService, freshHandles: Bool) throws(PhoneRefusal) {
    guard range(of: service) == nil else {
      throw PhoneRefusal("\(service.rawValue) already exists")
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
    handles[service] = located.service.range.start
  }

  func unpublish(_ service: PublishedService) throws(PhoneRefusal) {
    guard let range = range(of: service) else {
      throw PhoneRefusal("\(service.rawValue) does not exist")
    }
    attributes.remove(at: range.start)
  }

  @discardableResult private func add(_ definition: ServiceDefinition) -> LocatedService? {
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
    attributes.services.lazy.flatMap(\.characteristics).first { $0.value == handle }?.properties
  }

  /// The handles of a service; nil while it is not published.
  func range(of service: PublishedService) -> HandleRange? {
    attributes[service.uuid]?.service.range
  }

  // MARK: Definitions of the services

  private func definition(
    of service: PhoneProfile.Resident, _ configuration: VirtualPhone.Configuration
  ) -> ServiceDefinition {
    switch service {
    case .genericAccess: Self.genericAccess(name: configuration.name)
    case .genericAttribute: Self.genericAttribute(configuration.profile)
    case .deviceInformation:
      ServiceDefinition(
        .deviceInformation,
        characteristics: [
          .init(.manufacturerName, [.read], value: .stored(Array("Apple Inc.".utf8))),
          .init(.modelNumber, [.read], value: .stored(Array("iPhone15,2".utf8))),
        ])
    case .continuity: Self.vendorService(.continuityService, .continuity, .write)
    case .nearby: Self.vendorService(.nearbyService, .nearby, .write)
    case .unnamed:
      Self.vendorService(
        UUID(high: 0x410C_D5ED_2F82_4F77, low: 0x8916_AB5F_5010_368F),
        UUID(high: 0xF7DA_4085_BBE7_42F4, low: 0x9727_6CA6_0FE3_A1A5), .writeWithoutResponse)
    case .published(let service): definition(of: service)
    }
  }

  private static func genericAccess(name: String) -> ServiceDefinition {
    ServiceDefinition(
      .genericAccess,
      characteristics: [
        .init(.deviceName, [.read], value: .stored(Array(name.utf8.prefix(248)))),
        // 64: a phone (Assigned Numbers, 2.6).
        .init(.appearance, [.read], value: .stored([64, 0])),
      ])
  }

  private static func genericAttribute(_ profile: PhoneProfile) -> ServiceDefinition {
    var service = StandardServices.genericAttribute()
    if !profile.hasRobustCaching {
      service.characteristics.removeAll { $0.uuid != .serviceChanged }
    }
    for index in service.characteristics.indices { service.characteristics[index].handle = nil }
    return service
  }

  private static func vendorService(
    _ service: UUID, _ characteristic: UUID, _ write: Characteristic.Properties
  ) -> ServiceDefinition {
    ServiceDefinition(
      service,
      characteristics: [
        .init(
          characteristic, [write, .notify, .extended], permissions: Permissions(write: .encrypted),
          descriptors: [extendedProperties, .clientConfiguration(write: .encrypted)])
      ])
  }

  /// Phones have this descriptor on every writable characteristic, with no bit set.
  private static var extendedProperties: DescriptorDefinition {
    DescriptorDefinition(.extendedProperties, value: .stored([0, 0]))
  }

  private static var configuration: DescriptorDefinition { .clientConfiguration(write: .encrypted) }

  // ANCS, AMS, battery and time require an encrypted link.

  private func definition(of service: PublishedService) -> ServiceDefinition {
    let characteristics: [CharacteristicDefinition] =
      switch service {
      case .ancs: notificationCenter
      case .ams: mediaService
      case .battery:
        [
          .init(
            .batteryLevel, [.read, .notify], permissions: Permissions(read: .encrypted),
            value: .handled(read: { [weak self] _ in [self?.batteryLevel ?? 0] }),
            descriptors: [Self.configuration])
        ]
      case .time: time
      }
    return ServiceDefinition(service.uuid, characteristics: characteristics)
  }

  private var time: [CharacteristicDefinition] {
    [
      .init(
        .currentTime, [.read, .notify], permissions: Permissions(read: .encrypted),
        value: .handled(read: { [weak self] _ in self.map { $0.clock.value(at: $0.scheduler.now) } ?? [] }),
        descriptors: [Self.configuration]),
      .init(
        .localTimeInformation, [.read], permissions: Permissions(read: .encrypted),
        value: .handled(read: { [weak self] _ in self?.clock.zone.encoded ?? [] })),
    ]
  }

  private var notificationCenter: [CharacteristicDefinition] {
    let provider = provider
    return [
      writable(.controlPoint, [.write, .extended]) { value throws(ErrorCode) in
        try provider.handleCommand(value)
      },
      .init(
        .notificationSource, [.notify], permissions: Permissions(),
        descriptors: [Self.configuration]),
      .init(.dataSource, [.notify], permissions: Permissions(), descriptors: [Self.configuration]),
    ]
  }

  private var mediaService: [CharacteristicDefinition] {
    let media = media
    return [
      writable(.remoteCommand, [.write, .notify, .extended]) { value throws(ErrorCode) in
        try media.handleRemoteCommand(value)
      },
      writable(.entityUpdate, [.write, .notify, .extended]) { value throws(ErrorCode) in
        try media.handleRegistration(value)
      },
      .init(
        .entityAttribute, [.read, .write, .extended], permissions: Permissions(read: .encrypted, write: .encrypted),
        value: .handled(
          read: { _ throws(ErrorCode) in try media.readSelection() },
          write: { _, value throws(ErrorCode) in try media.handleSelection(value) }),
        descriptors: [Self.extendedProperties]),
    ]
  }

  private func writable(
    _ uuid: UUID, _ properties: Characteristic.Properties, _ write: @escaping ([UInt8]) throws(ErrorCode) -> Void
  ) -> CharacteristicDefinition {
    CharacteristicDefinition(
      uuid, properties, permissions: Permissions(write: .encrypted),
      value: .handled(write: { _, value throws(ErrorCode) in try write(value) }),
      descriptors: [Self.extendedProperties]
        + (properties.contains(.notify) ? [Self.configuration] : []))
  }
}

/// The services that a phone can publish and remove.
public enum PublishedService: String, CaseIterable, Hashable, Sendable {
  case ancs, ams, battery, time

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

/// The phone's characteristics that notify or indicate.
public enum PhoneCharacteristic: String, CaseIterable, Hashable, Sendable {
  case serviceChanged = "service-changed"
  case notificationSource = "notification-source"
  case dataSource = "data-source"
  case remoteCommand = "remote-command"
  case entityUpdate = "entity-update"
  case batteryLevel = "battery-level"
  case currentTime = "current-time"

  /// Whether a subscription to it tells the phone that the accessory is of use (`PhoneRules.strikes`).
  var countsAsSubscription: Bool {
    [.notificationSource, .remoteCommand, .entityUpdate].contains(self)
  }

  /// The characteristic's type.
  public var uuid: UUID { types.characteristic }

  /// The type of its service.
  var service: UUID { types.service }

  private var types: (service: UUID, characteristic: UUID) {
    switch self {
    case .serviceChanged: (.genericAttribute, .serviceChanged)
    case .notificationSource: (.notificationCenter, .notificationSource)
    case .dataSource: (.notificationCenter, .dataSource)
    case .remoteCommand: (.mediaService, .remoteCommand)
    case .entityUpdate: (.mediaService, .entityUpdate)
    case .batteryLevel: (.batteryService, .batteryLevel)
    case .currentTime: (.currentTimeService, .currentTime)
    }
  }
}
