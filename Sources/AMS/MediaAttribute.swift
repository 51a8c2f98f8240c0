// SPDX-License-Identifier: GPL-3.0-or-later

/// What an attribute is about (EntityID).
public struct Entity: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The app that plays.
  public static let player = Entity(rawValue: 0)
  /// What it plays one after the other.
  public static let queue = Entity(rawValue: 1)
  /// What it plays now.
  public static let track = Entity(rawValue: 2)

  /// The three that the specification names.
  public static let all: [Entity] = [.player, .queue, .track]

  /// The entity's attributes, in the order of their numbers.
  public var attributes: [MediaAttribute] {
    let count: UInt8 =
      switch self {
      case .player: 3
      case .queue, .track: 4
      default: 0
      }
    return (0..<count).map { MediaAttribute(self, $0) }
  }
}

extension Entity: CustomStringConvertible {
  /// `player`, `queue`, `track`, or `reserved(3)`.
  public var description: String {
    switch self {
    case .player: "player"
    case .queue: "queue"
    case .track: "track"
    default: "reserved(\(rawValue))"
    }
  }
}

/// An attribute of an entity: its number is good within the entity only.
public struct MediaAttribute: Hashable, Sendable {
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
}

extension MediaAttribute: CustomStringConvertible {
  /// The attribute's name without its entity, as the specification has it: `PlaybackInfo`, or
  /// `reserved(7)`.
  public var description: String {
    switch self {
    case .playerName: "Name"
    case .playbackInfo: "PlaybackInfo"
    case .volume: "Volume"
    case .queueIndex: "Index"
    case .queueCount: "Count"
    case .shuffleMode: "ShuffleMode"
    case .repeatMode: "RepeatMode"
    case .artist: "Artist"
    case .album: "Album"
    case .title: "Title"
    case .duration: "Duration"
    default: "reserved(\(id))"
    }
  }
}
