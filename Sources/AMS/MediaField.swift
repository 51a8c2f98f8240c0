// SPDX-License-Identifier: GPL-3.0-or-later

/// A part of the media state, by the name that events give it.
public enum MediaField: String, CaseIterable, Hashable, Sendable {
  case playerName = "player.name"
  case playerState = "player.state"
  case playerRate = "player.rate"
  case playerElapsed = "player.elapsed"
  case playerVolume = "player.volume"
  case queueIndex = "queue.index"
  case queueCount = "queue.count"
  case queueShuffle = "queue.shuffle"
  case queueRepeat = "queue.repeat"
  case trackArtist = "track.artist"
  case trackAlbum = "track.album"
  case trackTitle = "track.title"
  case trackDuration = "track.duration"
  case commands
}

extension MediaField: CustomStringConvertible {
  /// The name that events give it, such as `track.title`.
  public var description: String { rawValue }
}

extension Sequence<MediaField> {
  /// The fields in their usual order.
  public var inOrder: [MediaField] {
    let set = Set(self)
    return MediaField.allCases.filter(set.contains)
  }
}

/// How the queue is shuffled or repeated (ShuffleMode, RepeatMode). Reserved numbers are kept.
public struct QueueMode: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let off = QueueMode(rawValue: 0)
  public static let one = QueueMode(rawValue: 1)
  public static let all = QueueMode(rawValue: 2)
}

extension QueueMode: CustomStringConvertible {
  /// `off`, `one`, `all`, or the number of one that is reserved.
  public var description: String {
    switch self {
    case .off: "off"
    case .one: "one"
    case .all: "all"
    default: String(rawValue)
    }
  }
}
