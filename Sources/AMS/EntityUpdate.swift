// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The value of an attribute, as the phone notifies it (AMS specification, Entity Update).
///
///     ┌──────────┬─────────────┬───────────────────┬────────┐
///     │ EntityID │ AttributeID │ EntityUpdateFlags │ Value… │
///     └──────────┴─────────────┴───────────────────┴────────┘
public struct EntityUpdate: Hashable, Sendable {
  /// EntityUpdateFlags; bits without a name are kept.
  public struct Flags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value did not fit: the whole one can be read through Entity Attribute.
    public static let truncated = Flags(rawValue: 1 << 0)
  }

  public var attribute: MediaAttribute
  public var flags: Flags
  /// The value's bytes: UTF-8, cut anywhere if it is truncated.
  public var value: [UInt8]

  public init(_ attribute: MediaAttribute, _ value: [UInt8], flags: Flags = []) {
    self.attribute = attribute
    self.flags = flags
    self.value = value
  }

  /// The update that says `text`, in at most `length` bytes (the MTU less three): a longer one is cut and
  /// flagged.
  public init(_ attribute: MediaAttribute, _ text: String, fitting length: Int) {
    let bytes = Array(text.utf8)
    let room = max(0, length - 3)
    self.init(
      attribute, Array(bytes.prefix(room)), flags: bytes.count > room ? .truncated : [])
  }

  /// Reads a notified value: three bytes and a text that may be empty.
  public init(decoding bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    let entity = Entity(rawValue: try reader.u8())
    attribute = MediaAttribute(entity, try reader.u8())
    flags = Flags(rawValue: try reader.u8())
    value = Array(reader.rest())
  }

  /// The bytes for the air.
  public var encoded: [UInt8] {
    [attribute.entity.rawValue, attribute.id, flags.rawValue] + value
  }

  /// Whether the value did not fit.
  public var isTruncated: Bool { flags.contains(.truncated) }

  /// The value as a text, without a character that was cut at the end.
  public var text: String { String(cutUTF8: value) }
}

/// What is written to Entity Update to be told about an entity's attributes; none of them ends it.
public struct EntityRegistration: Hashable, Sendable {
  public var entity: Entity
  /// The numbers of the attributes.
  public var attributes: [UInt8]

  public init(_ entity: Entity, _ attributes: [UInt8]) {
    self.entity = entity
    self.attributes = attributes
  }

  /// All attributes of an entity, but for `unwanted`.
  public init(_ entity: Entity, without unwanted: Set<MediaAttribute> = []) {
    self.init(entity, entity.attributes.filter { !unwanted.contains($0) }.map(\.id))
  }

  /// Reads a written value: an entity and any number of attributes.
  public init(decoding bytes: [UInt8]) throws(MediaError) {
    guard let first = bytes.first else { throw .invalidCommand }
    self.init(Entity(rawValue: first), Array(bytes.dropFirst()))
  }

  /// The bytes for the air.
  public var encoded: [UInt8] { [entity.rawValue] + attributes }
}

extension MediaAttribute {
  /// What is written to Entity Attribute so that it can be read there whole: entity and attribute.
  public var selection: [UInt8] { [entity.rawValue, id] }

  /// Reads what was written to Entity Attribute: exactly two bytes.
  public init(decoding bytes: [UInt8]) throws(MediaError) {
    guard bytes.count == 2, let entity = bytes.first, let id = bytes.last else {
      throw .invalidCommand
    }
    self.init(Entity(rawValue: entity), id)
  }
}
