// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

/// The definition of a service, which `AttributeDatabase.add` turns into attributes.
///
///     ServiceDefinition(.batteryService, characteristics: [
///       CharacteristicDefinition(.batteryLevel, [.read, .notify], value: .stored([100]))
///     ])
///
/// Handles that are not given follow one another. Clients remember handles, so give the first one of a
/// service that must keep its place in later versions of a program.
public struct ServiceDefinition {
  public var uuid: UUID
  /// Whether it is a primary service; secondary ones are useful only if another includes them.
  public var isPrimary: Bool
  /// The handle of its declaration; nil: the next free one.
  public var handle: Handle?
  /// Its last handle; nil: that of its last attribute.
  public var end: Handle?
  /// Other services of the same database (Vol 3 Part G, 3.2).
  public var includes: [Service]
  public var characteristics: [CharacteristicDefinition]

  public init(
    _ uuid: UUID, isPrimary: Bool = true, at handle: Handle? = nil, end: Handle? = nil,
    includes: [Service] = [], characteristics: [CharacteristicDefinition] = []
  ) {
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.handle = handle
    self.end = end
    self.includes = includes
    self.characteristics = characteristics
  }
}

/// The definition of a characteristic (Vol 3 Part G, 3.3).
///
/// If it notifies or indicates, its first descriptor is a Client Characteristic Configuration, unless
/// `descriptors` has one.
public struct CharacteristicDefinition {
  public var uuid: UUID
  public var properties: Characteristic.Properties
  public var permissions: Permissions
  public var value: Attribute.Content
  public var maximumLength: Int
  /// The handle of its declaration; the value is at the next one unless `valueHandle` is given.
  public var handle: Handle?
  public var valueHandle: Handle?
  public var descriptors: [DescriptorDefinition]

  /// - Parameters:
  ///   - permissions: nil: every client may use what `properties` offer.
  ///   - value: an empty stored value by default.
  public init(
    _ uuid: UUID, _ properties: Characteristic.Properties, permissions: Permissions? = nil,
    value: Attribute.Content = .stored([]), maximumLength: Int = Client.longestValue,
    at handle: Handle? = nil, valueHandle: Handle? = nil, descriptors: [DescriptorDefinition] = []
  ) {
    self.uuid = uuid
    self.properties = properties
    self.permissions = permissions ?? properties.permissions
    self.value = value
    self.maximumLength = maximumLength
    self.handle = handle
    self.valueHandle = valueHandle
    self.descriptors = descriptors
  }
}

/// The definition of a descriptor (Vol 3 Part G, 3.3.3).
public struct DescriptorDefinition {
  public var type: UUID
  public var permissions: Permissions
  public var value: Attribute.Content
  public var handle: Handle?

  public init(_ type: UUID, permissions: Permissions = .readable, value: Attribute.Content, at handle: Handle? = nil) {
    self.type = type
    self.permissions = permissions
    self.value = value
    self.handle = handle
  }

  /// A Client Characteristic Configuration, which every client may read; `write` is what writing it
  /// requires (Vol 3 Part G, 3.3.3.3).
  public static func clientConfiguration(write: Access = .open, at handle: Handle? = nil) -> DescriptorDefinition {
    DescriptorDefinition(
      .clientConfiguration, permissions: Permissions(read: .open, write: write),
      value: .clientConfiguration, at: handle)
  }
}

extension Characteristic.Properties {
  /// The permissions of a characteristic that gives none.
  var permissions: Permissions {
    Permissions(
      read: contains(.read) ? .open : nil,
      write: isDisjoint(with: [.write, .writeWithoutResponse, .signedWrite]) ? nil : .open)
  }
}

extension ServiceDefinition {
  /// The attributes of this definition, from handle `first` on if it gives none.
  func attributes(from first: Handle) throws(AttributeDatabase.Failure) -> [Attribute] {
    var layout = Layout(next: Int(handle ?? first))
    try layout.add(isPrimary ? .primaryService : .secondaryService, .stored(uuid.littleEndian))
    for service in includes {
      try layout.add(.include, .stored(IncludeDeclaration(service).encoded))
    }
    for characteristic in characteristics { try layout.add(characteristic) }
    return layout.attributes
  }
}

/// Assigns handles to attributes in order, with the gaps that given handles leave.
private struct Layout {
  var next: Int
  var attributes: [Attribute] = []

  private func place(_ handle: Handle?, _ next: Int) throws(AttributeDatabase.Failure) -> Handle {
    guard let place = handle ?? Handle(exactly: next), place != 0,
      place >= next || attributes.isEmpty
    else { throw .handleTaken(handle ?? Handle(clamping: next)) }
    return place
  }

  mutating func add(
    _ type: UUID, _ content: Attribute.Content, _ permissions: Permissions = .readable,
    maximumLength: Int = Client.longestValue, at handle: Handle? = nil
  ) throws(AttributeDatabase.Failure) {
    let handle = try place(handle, next)
    next = Int(handle) + 1
    attributes.append(
      Attribute(handle: handle, type: type, permissions: permissions, content: content, maximumLength: maximumLength))
  }

  mutating func add(_ characteristic: CharacteristicDefinition) throws(AttributeDatabase.Failure) {
    let declaration = try place(characteristic.handle, next)
    let declared = CharacteristicDeclaration(
      properties: characteristic.properties,
      value: try place(characteristic.valueHandle, Int(declaration) + 1), uuid: characteristic.uuid)
    try add(.characteristic, .stored(declared.encoded), at: declaration)
    try add(
      characteristic.uuid, characteristic.value, characteristic.permissions,
      maximumLength: characteristic.maximumLength, at: declared.value)
    var descriptors = characteristic.descriptors
    if characteristic.properties.isSubscribable,
      !descriptors.contains(where: { $0.type == .clientConfiguration })
    {
      descriptors.insert(.clientConfiguration(), at: 0)
    }
    for descriptor in descriptors {
      try add(descriptor.type, descriptor.value, descriptor.permissions, at: descriptor.handle)
    }
  }
}
