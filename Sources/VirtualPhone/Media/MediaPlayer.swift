// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import Wire

/// The phone's player, which carries out all remote commands.
public struct MediaPlayer: Hashable, Sendable {
  /// The change of volume at a press of a button: phones have sixteen steps.
  public static let volumeStep = 0.0625
  /// The distance of a skip in seconds.
  public static let skip = 15.0

  public var name: String? = "Music"
  public var playlist: [MediaState.Track] = []
  /// The index of the current track.
  public private(set) var index = 0
  /// The length that the queue claims instead of the playlist's.
  public var count: Int?
  public private(set) var state = PlaybackState.paused
  /// The playback rate.
  public private(set) var rate = 1.0
  public var volume: Double? = 0.5
  public var shuffleMode = QueueMode.off
  public var repeatMode = QueueMode.off
  /// The supported commands; none while there is no player.
  public var commands: [RemoteCommand] = Self.allCommands
  private var position = MediaState.Position(seconds: 0, instant: .zero)

  /// All fourteen.
  public static let allCommands = (UInt8(0)..<14).map(RemoteCommand.init(rawValue:))

  public init(playlist: [MediaState.Track] = []) { self.playlist = playlist }

  /// The current track; nil if the playlist is empty.
  public var track: MediaState.Track? { playlist.indices.contains(index) ? playlist[index] : nil }

  /// The position in seconds at `now`.
  public func elapsed(at now: Instant) -> Double {
    var seconds = position.seconds
    if state != .paused { seconds += (now - position.instant).inSeconds * speed }
    return min(max(0, seconds), track?.duration ?? .infinity)
  }

  private var speed: Double {
    switch state {
    case .paused: 0
    case .rewinding: -rate
    default: rate
    }
  }

  // MARK: Commands and changes

  /// Performs a remote command.
  public mutating func perform(_ command: RemoteCommand, at now: Instant) {
    switch command {
    case .play: change(state: .playing, at: now)
    case .pause: change(state: .paused, at: now)
    case .togglePlayPause: change(state: state == .paused ? .playing : .paused, at: now)
    case .nextTrack: select(index + 1, at: now)
    case .previousTrack: selectPrevious(at: now)
    case .volumeUp: changeVolume(by: Self.volumeStep)
    case .volumeDown: changeVolume(by: -Self.volumeStep)
    case .advanceRepeatMode: repeatMode = Self.following(repeatMode)
    case .advanceShuffleMode: shuffleMode = Self.following(shuffleMode)
    case .skipForward: seek(to: elapsed(at: now) + Self.skip, at: now)
    case .skipBackward: seek(to: elapsed(at: now) - Self.skip, at: now)
    default: break
    }
  }

  /// Plays, pauses, or winds.
  public mutating func change(state: PlaybackState, rate: Double? = nil, at now: Instant) {
    let here = elapsed(at: now)
    guard state != self.state || rate ?? self.rate != self.rate else { return }
    self.state = state
    self.rate = rate ?? self.rate
    position = .init(seconds: here, instant: now)
  }

  /// Seeks to a position in the track; beyond its end, to the next track.
  public mutating func seek(to seconds: Double, at now: Instant) {
    if let duration = track?.duration, seconds >= duration {
      select(index + 1, at: now)
    } else {
      position = .init(seconds: max(0, seconds), instant: now)
    }
  }

  /// Selects a track and plays it from its start. After the last one the playlist starts again, and
  /// pauses unless it is repeated.
  public mutating func select(_ wanted: Int, at now: Instant) {
    guard !playlist.isEmpty else { return }
    if !playlist.indices.contains(wanted) {
      if wanted > index, repeatMode == .off { state = .paused }
      index = wanted < 0 ? playlist.count - 1 : 0
    } else {
      index = wanted
    }
    position = .init(seconds: 0, instant: now)
  }

  /// Changes the current track; nil values stay.
  public mutating func change(track change: MediaState.Track) {
    if playlist.isEmpty { playlist = [MediaState.Track()] }
    guard playlist.indices.contains(index) else { return }
    playlist[index].artist = change.artist ?? playlist[index].artist
    playlist[index].album = change.album ?? playlist[index].album
    playlist[index].title = change.title ?? playlist[index].title
    playlist[index].duration = change.duration ?? playlist[index].duration
  }

  /// Back to the start of the track or, within its first three seconds, to the previous one.
  private mutating func selectPrevious(at now: Instant) {
    select(elapsed(at: now) < 3 ? max(0, index - 1) : index, at: now)
  }

  private mutating func changeVolume(by step: Double) {
    volume = volume.map { min(max(0, $0 + step), 1) }
  }

  /// Off, all, one, off: the order on the phone.
  private static func following(_ mode: QueueMode) -> QueueMode {
    switch mode {
    case .off: .all
    case .all: .one
    default: .off
    }
  }

  // MARK: Attributes

  /// The value of an attribute at `now`, empty if there is none.
  public func text(of attribute: MediaAttribute, at now: Instant) -> String {
    switch attribute {
    case .playerName: name ?? ""
    case .playbackInfo: playbackInfo(at: now)
    case .volume: volume?.description ?? ""
    case .queueIndex: playlist.isEmpty ? "" : String(index)
    case .queueCount: String(count ?? playlist.count)
    case .shuffleMode: String(shuffleMode.rawValue)
    case .repeatMode: String(repeatMode.rawValue)
    case .artist: track?.artist ?? ""
    case .album: track?.album ?? ""
    case .title: track?.title ?? ""
    case .duration: track?.duration.map(MediaNumber.text) ?? ""
    default: ""
    }
  }

  private func playbackInfo(at now: Instant) -> String {
    guard track != nil else { return "" }
    return PlaybackInfo(state: state, rate: speed, elapsed: elapsed(at: now)).encoded
  }

  /// The attributes whose values differ from those of `before`. A position that only advances is no
  /// change.
  func changes(since before: MediaPlayer) -> [MediaAttribute] {
    let moved =
      (state, rate, position, track == nil) != (before.state, before.rate, before.position, before.track == nil)
    return Entity.all.flatMap(\.attributes).filter {
      $0 == .playbackInfo ? moved : text(of: $0, at: position.instant) != before.text(of: $0, at: position.instant)
    }
  }
}
