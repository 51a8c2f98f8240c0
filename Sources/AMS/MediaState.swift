// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The phone's media state, as far as it is known. A value that the phone did not send, or sent as unknown, is nil; a
/// text that it left empty is empty.
public struct MediaState: Hashable, Sendable {
  /// The app that plays.
  public struct Player: Hashable, Sendable {
    public var name: String?
    public var state: PlaybackState?
    /// The playback rate; 1 is normal.
    public var rate: Double?
    /// 0 to 1.
    public var volume: Double?
    /// The position that the phone sent last; `elapsed(at:)` is the current one.
    public var position: Position?

    public init() {}
  }

  /// A position in the track at a point in time.
  public struct Position: Hashable, Sendable {
    /// Seconds from the start of the track.
    public var seconds: Double
    public var instant: Instant

    public init(seconds: Double, instant: Instant) {
      self.seconds = seconds
      self.instant = instant
    }
  }

  /// The queue of tracks.
  public struct Queue: Hashable, Sendable {
    /// The index of the current track, from 0.
    public var index: Int?
    public var count: Int?
    public var shuffleMode: QueueMode?
    public var repeatMode: QueueMode?

    public init() {}
  }

  /// The current track.
  public struct Track: Hashable, Sendable {
    public var artist: String?
    public var album: String?
    public var title: String?
    /// In seconds.
    public var duration: Double?

    public init() {}

    public init(artist: String? = nil, album: String? = nil, title: String? = nil, duration: Double? = nil) {
      self.artist = artist
      self.album = album
      self.title = title
      self.duration = duration
    }
  }

  public var player = Player()
  public var queue = Queue()
  public var track = Track()
  /// The commands that the player supports; nil until the phone has sent them.
  public var commands: [RemoteCommand]?

  public init() {}

  /// The position in seconds at `now`: extrapolated by the rate while something plays, and clamped to
  /// the track (AMS specification, PlayerAttributeIDPlaybackInfo).
  public func elapsed(at now: Instant) -> Double? {
    guard let position = player.position else { return nil }
    var seconds = position.seconds
    if let state = player.state, state != .paused {
      seconds += (now - position.instant).inSeconds * (player.rate ?? 1)
    }
    return min(max(0, seconds), track.duration ?? .infinity)
  }

  /// Applies what the phone sent at `instant`; returns what has changed. Values that cannot be decoded
  /// and unknown attributes change nothing.
  public mutating func apply(_ update: EntityUpdate, at instant: Instant) -> [MediaField] {
    let before = self
    let value = update.value
    switch update.attribute {
    case .playerName: player.name = update.text
    case .playbackInfo: apply(PlaybackInfo(decoding: value), at: instant)
    case .volume: set(\.player.volume, MediaNumber.double(value).map { min(max(0, $0), 1) }, value)
    case .queueIndex: set(\.queue.index, MediaNumber.count(value), value)
    case .queueCount: set(\.queue.count, MediaNumber.count(value), value)
    case .shuffleMode: set(\.queue.shuffleMode, Self.mode(value), value)
    case .repeatMode: set(\.queue.repeatMode, Self.mode(value), value)
    case .artist: track.artist = update.text
    case .album: track.album = update.text
    case .title: apply(title: update.text, at: instant)
    case .duration: set(\.track.duration, MediaNumber.double(value).map { max(0, $0) }, value)
    default: break
    }
    return changes(since: before, at: instant)
  }

  /// Applies a new list of commands; returns what has changed.
  public mutating func apply(commands list: [RemoteCommand]) -> [MediaField] {
    guard commands != list else { return [] }
    commands = list
    return [.commands]
  }

  private static func mode(_ value: [UInt8]) -> QueueMode? {
    MediaNumber.count(value).flatMap(UInt8.init(exactly:)).map(QueueMode.init(rawValue:))
  }

  /// Sets a value that could be decoded; an empty one means unknown.
  private mutating func set<Value>(
    _ field: WritableKeyPath<MediaState, Value?>, _ read: Value?, _ value: [UInt8]
  ) { if read != nil || value.isEmpty { self[keyPath: field] = read } }

  private mutating func apply(_ info: PlaybackInfo?, at instant: Instant) {
    guard let info else { return }
    player.state = info.state
    player.rate = info.rate
    // Right after connecting, phones have been seen to send negative positions.
    player.position = info.elapsed.map { Position(seconds: max(0, $0), instant: instant) }
  }

  /// How long before a new title a position may have arrived that belongs to it.
  static let burst: Duration = .seconds(1)

  /// A new title starts at 0, which not every phone sends; the first title of a session may be anywhere. A position
  /// that the phone sent after the title, or just before it, is kept.
  private mutating func apply(title: String, at instant: Instant) {
    defer { track.title = title }
    guard let earlier = track.title, earlier != title,
      let position = player.position, position.instant + Self.burst <= instant
    else { return }
    player.position = Position(seconds: 0, instant: instant)
  }

  /// How many seconds the position may differ from the extrapolated one without being a change.
  static let tolerance = 0.25

  private func changes(since before: MediaState, at instant: Instant) -> [MediaField] {
    var changed: [MediaField] = []
    func add(_ field: MediaField, if differs: Bool) { if differs { changed.append(field) } }
    add(.playerName, if: player.name != before.player.name)
    add(.playerState, if: player.state != before.player.state)
    add(.playerRate, if: player.rate != before.player.rate)
    // A new title implies a new position.
    add(
      .playerElapsed,
      if: track.title == before.track.title && isElsewhere(than: before, at: instant))
    add(.playerVolume, if: player.volume != before.player.volume)
    add(.queueIndex, if: queue.index != before.queue.index)
    add(.queueCount, if: queue.count != before.queue.count)
    add(.queueShuffle, if: queue.shuffleMode != before.queue.shuffleMode)
    add(.queueRepeat, if: queue.repeatMode != before.queue.repeatMode)
    add(.trackArtist, if: track.artist != before.track.artist)
    add(.trackAlbum, if: track.album != before.track.album)
    add(.trackTitle, if: track.title != before.track.title)
    add(.trackDuration, if: track.duration != before.track.duration)
    return changed
  }

  private func isElsewhere(than before: MediaState, at instant: Instant) -> Bool {
    guard player.position != before.player.position else { return false }
    guard let here = elapsed(at: instant), let expected = before.elapsed(at: instant) else {
      return true
    }
    return (here - expected).magnitude > Self.tolerance
  }
}

/// A part of the media state, with its name in events.
public enum MediaField: String, CaseIterable, Hashable, Sendable, CustomStringConvertible {
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

  /// The name in events, such as `track.title`.
  public var description: String { rawValue }
}

extension Sequence<MediaField> {
  /// The fields in the order of their declaration.
  public var inOrder: [MediaField] {
    let set = Set(self)
    return MediaField.allCases.filter(set.contains)
  }
}

/// Whether the queue is shuffled or repeated (ShuffleMode, RepeatMode). Reserved numbers are kept.
public struct QueueMode: NamedNumber {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let off = QueueMode(rawValue: 0)
  public static let one = QueueMode(rawValue: 1)
  public static let all = QueueMode(rawValue: 2)

  public static let names = ["off", "one", "all"]
}
