// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// All that is known of what plays on the phone. Nil is what the phone did not say, or said to be
/// unknown; an empty text is one that the phone left empty.
public struct MediaState: Hashable, Sendable {
  /// The app that plays.
  public struct Player: Hashable, Sendable {
    public var name: String?
    public var state: PlaybackState?
    /// How fast the position moves; 1 is normal.
    public var rate: Double?
    /// 0 to 1.
    public var volume: Double?
    /// Where it was when the phone last said so; `elapsed(at:)` tells where it is.
    public var position: Position?
  }

  /// A position in the track, and when it was there.
  public struct Position: Hashable, Sendable {
    /// Seconds from the beginning of the track.
    public var seconds: Double
    public var instant: Instant
  }

  /// What plays one after the other.
  public struct Queue: Hashable, Sendable {
    /// Which of them plays, counted from 0.
    public var index: Int?
    public var count: Int?
    public var shuffleMode: QueueMode?
    public var repeatMode: QueueMode?
  }

  /// What plays now.
  public struct Track: Hashable, Sendable {
    public var artist: String?
    public var album: String?
    public var title: String?
    /// Seconds.
    public var duration: Double?
  }

  public var player = Player()
  public var queue = Queue()
  public var track = Track()
  /// The commands that the player takes; nil as long as the phone has not said.
  public var commands: [RemoteCommand]?

  public init() {}

  /// The position in seconds at `now`: carried on by the rate while something plays, and never outside
  /// the track (AMS specification, PlayerAttributeIDPlaybackInfo).
  public func elapsed(at now: Instant) -> Double? {
    guard let position = player.position else { return nil }
    var seconds = position.seconds
    if let state = player.state, state != .paused {
      seconds += (now - position.instant).inSeconds * (player.rate ?? 1)
    }
    return min(max(0, seconds), track.duration ?? .infinity)
  }

  /// Takes what the phone said at `instant`, and tells what is different now. What can't be read, and
  /// what the specification does not name, changes nothing.
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

  /// Takes a new list of commands.
  public mutating func apply(commands list: [RemoteCommand]) -> [MediaField] {
    guard commands != list else { return [] }
    commands = list
    return [.commands]
  }

  private static func mode(_ value: [UInt8]) -> QueueMode? {
    MediaNumber.count(value).flatMap(UInt8.init(exactly:)).map(QueueMode.init(rawValue:))
  }

  /// Sets what could be read; an empty value says that it is unknown.
  private mutating func set<Value>(
    _ field: WritableKeyPath<MediaState, Value?>, _ read: Value?, _ value: [UInt8]
  ) {
    if read != nil || value.isEmpty { self[keyPath: field] = read }
  }

  private mutating func apply(_ info: PlaybackInfo?, at instant: Instant) {
    guard let info else { return }
    player.state = info.state
    player.rate = info.rate
    // Right after a connection phones were seen to send positions below zero.
    player.position = info.elapsed.map { Position(seconds: max(0, $0), instant: instant) }
  }

  /// Another title begins at its beginning, which not every phone says; the first one of a session may
  /// be anywhere. A position that the phone said later than the title stands.
  private mutating func apply(title: String, at instant: Instant) {
    defer { track.title = title }
    guard let earlier = track.title, earlier != title,
      let position = player.position, position.instant <= instant
    else { return }
    player.position = Position(seconds: 0, instant: instant)
  }

  /// The greatest difference, in seconds, between where the position is said to be and where it was
  /// expected, that is no change.
  static let tolerance = 0.25

  private func changes(since before: MediaState, at instant: Instant) -> [MediaField] {
    var changed: [MediaField] = []
    func note(_ field: MediaField, _ differs: Bool) { if differs { changed.append(field) } }
    note(.playerName, player.name != before.player.name)
    note(.playerState, player.state != before.player.state)
    note(.playerRate, player.rate != before.player.rate)
    // That another title begins at its beginning goes without saying.
    note(
      .playerElapsed, track.title == before.track.title && isElsewhere(than: before, at: instant))
    note(.playerVolume, player.volume != before.player.volume)
    note(.queueIndex, queue.index != before.queue.index)
    note(.queueCount, queue.count != before.queue.count)
    note(.queueShuffle, queue.shuffleMode != before.queue.shuffleMode)
    note(.queueRepeat, queue.repeatMode != before.queue.repeatMode)
    note(.trackArtist, track.artist != before.track.artist)
    note(.trackAlbum, track.album != before.track.album)
    note(.trackTitle, track.title != before.track.title)
    note(.trackDuration, track.duration != before.track.duration)
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
