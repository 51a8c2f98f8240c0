// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A notified value of an attribute (AMS specification, Entity Update).
///
///     ┌──────────┬─────────────┬───────────────────┬────────┐
///     │ EntityID │ AttributeID │ EntityUpdateFlags │ Value… │
///     └──────────┴─────────────┴───────────────────┴────────┘
public struct EntityUpdate: Hashable, Sendable {
  /// EntityUpdateFlags. Unknown bits are kept.
  public struct Flags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The value did not fit; the whole one can be read through Entity Attribute.
    public static let truncated = Flags(rawValue: 1 << 0)
  }

  public var attribute: MediaAttribute
  public var flags: Flags
  /// The value as UTF-8, which may be cut inside a character if it is truncated.
  public var value: [UInt8]

  public init(_ attribute: MediaAttribute, _ value: [UInt8], flags: Flags = []) {
    self.attribute = attribute
    self.flags = flags
    self.value = value
  }

  /// An update of at most `length` bytes (MTU − 3); a longer value is cut and flagged as truncated.
  public init(_ attribute: MediaAttribute, _ value: [UInt8], fitting length: Int) {
    let space = max(0, length - 3)
    self.init(attribute, Array(value.prefix(space)), flags: value.count > space ? .truncated : [])
  }

  /// Decodes a notified value: three bytes and a text that may be empty.
  public init(decoding bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    let entity = Entity(rawValue: try reader.u8())
    attribute = MediaAttribute(entity, try reader.u8())
    flags = Flags(rawValue: try reader.u8())
    value = Array(reader.rest())
  }

  /// The encoded value.
  public var encoded: [UInt8] { [attribute.entity.rawValue, attribute.id, flags.rawValue] + value }

  /// Whether the value did not fit.
  public var isTruncated: Bool { flags.contains(.truncated) }

  /// The value as text, without a character that was cut at the end.
  public var text: String { String(cutUTF8: value) }
}

/// A registration for an entity's attributes, written to Entity Update; one without attributes ends it.
public struct EntityRegistration: Hashable, Sendable {
  public var entity: Entity
  /// The numbers of the attributes.
  public var attributes: [UInt8]

  public init(_ entity: Entity, _ attributes: [UInt8]) {
    self.entity = entity
    self.attributes = attributes
  }

  /// All attributes of an entity except `unwanted`.
  public init(_ entity: Entity, without unwanted: Set<MediaAttribute> = []) {
    self.init(entity, entity.attributes.filter { !unwanted.contains($0) }.map(\.id))
  }

  /// Decodes a written value: an entity and any number of attributes.
  public init(decoding bytes: [UInt8]) throws(ErrorCode) {
    guard let first = bytes.first else { throw .invalidCommand }
    self.init(Entity(rawValue: first), Array(bytes.dropFirst()))
  }

  /// The encoded value.
  public var encoded: [UInt8] { [entity.rawValue] + attributes }
}

extension MediaAttribute {
  /// What is written to Entity Attribute to select the attribute for reading: entity and attribute.
  public var selection: [UInt8] { [entity.rawValue, id] }

  /// Decodes what was written to Entity Attribute: exactly two bytes.
  public init(decoding bytes: [UInt8]) throws(ErrorCode) {
    guard bytes.count == 2, let entity = bytes.first, let id = bytes.last else {
      throw .invalidCommand
    }
    self.init(Entity(rawValue: entity), id)
  }
}

/// The entity that an attribute belongs to (EntityID). Reserved numbers are kept.
public struct Entity: NamedNumber {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The app that plays.
  public static let player = Entity(rawValue: 0)
  /// The queue of tracks.
  public static let queue = Entity(rawValue: 1)
  /// The current track.
  public static let track = Entity(rawValue: 2)

  public static let names = ["player", "queue", "track"]

  /// The three that the specification defines.
  public static let all: [Entity] = [.player, .queue, .track]

  /// `player`, `queue`, `track`, or `reserved(3)`.
  public var description: String { name ?? "reserved(\(rawValue))" }

  /// The specification's names of the entity's attributes, in the order of their numbers.
  fileprivate var attributeNames: [String] {
    switch self {
    case .player: ["Name", "PlaybackInfo", "Volume"]
    case .queue: ["Index", "Count", "ShuffleMode", "RepeatMode"]
    case .track: ["Artist", "Album", "Title", "Duration"]
    default: []
    }
  }

  /// The entity's attributes, in the order of their numbers.
  public var attributes: [MediaAttribute] {
    attributeNames.indices.map { MediaAttribute(self, UInt8($0)) }
  }
}

/// An attribute of an entity. Its number is valid within the entity only.
public struct MediaAttribute: Hashable, Sendable, CustomStringConvertible {
  public let entity: Entity
  /// The attribute's number (PlayerAttributeID, QueueAttributeID, TrackAttributeID).
  public let id: UInt8

  public init(_ entity: Entity, _ id: UInt8) {
    self.entity = entity
    self.id = id
  }

  public static let playerName = MediaAttribute(.player, 0)
  public static let playbackInfo = MediaAttribute(.player, 1)
  public static let volume = MediaAttribute(.player, 2)
  public static let queueIndex = MediaAttribute(.queue, 0)
  public static let queueCount = MediaAttribute(.queue, 1)
  public static let shuffleMode = MediaAttribute(.queue, 2)
  public static let repeatMode = MediaAttribute(.queue, 3)
  public static let artist = MediaAttribute(.track, 0)
  public static let album = MediaAttribute(.track, 1)
  public static let title = MediaAttribute(.track, 2)
  public static let duration = MediaAttribute(.track, 3)

  /// The specification's name without the entity: `PlaybackInfo`, or `reserved(7)`.
  public var description: String {
    let names = entity.attributeNames
    return id < names.count ? names[Int(id)] : "reserved(\(id))"
  }
}
