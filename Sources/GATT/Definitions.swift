// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A service as its author writes it down; `AttributeDatabase.add` makes attributes of it.
///
///     ServiceDefinition(0x180F, characteristics: [
///       CharacteristicDefinition(0x2A19, [.read, .notify], value: .stored([100]))
///     ])
///
/// Handles that are not given follow one upon the other. Clients remember handles, so a service
/// that is to outlive a new version of the program names its first one.
public struct ServiceDefinition {
  public var uuid: UUID
  /// Whether it is of use by itself, and not only where another includes it.
  public var isPrimary: Bool
  /// The handle of its declaration; nil: the next free one.
  public var handle: Handle?
  /// The last handle that belongs to it; nil: that of its last attribute.
  public var end: Handle?
  public var includes: [IncludeDefinition]
  public var characteristics: [CharacteristicDefinition]

  public init(
    _ uuid: UUID, isPrimary: Bool = true, at handle: Handle? = nil, end: Handle? = nil,
    includes: [IncludeDefinition] = [], characteristics: [CharacteristicDefinition] = []
  ) {
    self.uuid = uuid
    self.isPrimary = isPrimary
    self.handle = handle
    self.end = end
    self.includes = includes
    self.characteristics = characteristics
  }
}

/// A reference to another service of the same database (Vol 3 Part G, 3.2).
public struct IncludeDefinition {
  public var service: Service
  public var handle: Handle?

  public init(_ service: Service, at handle: Handle? = nil) {
    self.service = service
    self.handle = handle
  }
}

/// A characteristic (Vol 3 Part G, 3.3).
///
/// One that notifies or indicates gets its Client Characteristic Configuration right behind its
/// value, unless its descriptors have one.
public struct CharacteristicDefinition {
  public var uuid: UUID
  public var properties: Characteristic.Properties
  public var permissions: Permissions
  public var value: Attribute.Content
  public var maximumLength: Int
  /// The handle of its declaration; the value is at the next one unless `valueHandle` says else.
  public var handle: Handle?
  public var valueHandle: Handle?
  public var descriptors: [DescriptorDefinition]

  /// - Parameters:
  ///   - permissions: nil: whatever `properties` offer, everybody may.
  ///   - value: nil: an empty one that lies in the database.
  public init(
    _ uuid: UUID, _ properties: Characteristic.Properties, permissions: Permissions? = nil,
    value: Attribute.Content = .stored([]), maximumLength: Int = Client.longestValue,
    at handle: Handle? = nil, valueHandle: Handle? = nil,
    descriptors: [DescriptorDefinition] = []
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

/// A descriptor of a characteristic (Vol 3 Part G, 3.3.3).
public struct DescriptorDefinition {
  public var type: UUID
  public var permissions: Permissions
  public var value: Attribute.Content
  public var handle: Handle?

  public init(
    _ type: UUID, permissions: Permissions = .readable, value: Attribute.Content,
    at handle: Handle? = nil
  ) {
    self.type = type
    self.permissions = permissions
    self.value = value
    self.handle = handle
  }

  /// A Client Characteristic Configuration, which everybody may read; `write` says what writing it
  /// takes (Vol 3 Part G, 3.3.3.3).
  public static func clientConfiguration(
    write: Access = .open, at handle: Handle? = nil
  ) -> DescriptorDefinition {
    DescriptorDefinition(
      GATTType.clientConfiguration, permissions: Permissions(read: .open, write: write),
      value: .clientConfiguration, at: handle)
  }
}

extension Characteristic.Properties {
  /// What everybody may do where nothing else was said.
  var permissions: Permissions {
    Permissions(
      read: contains(.read) ? .open : nil,
      write: isDisjoint(with: [.write, .writeWithoutResponse, .signedWrite]) ? nil : .open)
  }
}

extension ServiceDefinition {
  /// The attributes of this definition, from `first` on where it names no handle itself.
  func attributes(from first: Handle) throws(AttributeDatabase.Failure) -> [Attribute] {
    var layout = Layout(next: Int(handle ?? first))
    try layout.add(
      isPrimary ? GATTType.primaryService : GATTType.secondaryService,
      value: uuid.littleEndian, at: nil)
    for include in includes {
      try layout.add(GATTType.include, value: include.service.declaration, at: include.handle)
    }
    for characteristic in characteristics { try layout.add(characteristic) }
    return layout.attributes
  }
}

extension Service {
  /// The value of an include declaration: a 128-bit type is left out (Vol 3 Part G, 3.2).
  fileprivate var declaration: [UInt8] {
    var writer = ByteWriter()
    writer.u16(range.start)
    writer.u16(range.end)
    if uuid.short != nil { writer.uuid(uuid) }
    return writer.bytes
  }
}

/// Gives handles to attributes, one behind the other, with the holes that explicit handles leave.
private struct Layout {
  var next: Int
  var attributes: [Attribute] = []

  mutating func place(_ handle: Handle?) throws(AttributeDatabase.Failure) -> Handle {
    guard let place = Handle(exactly: handle.map(Int.init) ?? next), place != 0,
      place >= next || attributes.isEmpty
    else { throw .handleTaken(Handle(clamping: handle.map(Int.init) ?? next)) }
    next = Int(place) + 1
    return place
  }

  mutating func add(
    _ declaration: UUID, value: [UInt8], at handle: Handle?
  ) throws(AttributeDatabase.Failure) {
    attributes.append(
      Attribute(
        handle: try place(handle), type: declaration, permissions: .readable,
        content: .stored(value)))
  }

  mutating func add(
    _ characteristic: CharacteristicDefinition
  ) throws(AttributeDatabase.Failure) {
    let declaration = try place(characteristic.handle)
    let value = try place(characteristic.valueHandle)
    var writer = ByteWriter()
    writer.u8(characteristic.properties.rawValue)
    writer.u16(value)
    writer.uuid(characteristic.uuid)
    attributes.append(
      Attribute(
        handle: declaration, type: GATTType.characteristic, permissions: .readable,
        content: .stored(writer.bytes)))
    attributes.append(
      Attribute(
        handle: value, type: characteristic.uuid, permissions: characteristic.permissions,
        content: characteristic.value, maximumLength: characteristic.maximumLength))
    var descriptors = characteristic.descriptors
    let subscribable = !characteristic.properties.isDisjoint(with: [.notify, .indicate])
    if subscribable, !descriptors.contains(where: { $0.type == GATTType.clientConfiguration }) {
      descriptors.insert(.clientConfiguration(), at: 0)
    }
    for descriptor in descriptors {
      attributes.append(
        Attribute(
          handle: try place(descriptor.handle), type: descriptor.type,
          permissions: descriptor.permissions, content: descriptor.value))
    }
  }
}
