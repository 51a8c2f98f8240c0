// SPDX-License-Identifier: GPL-3.0-or-later
public import AMS
public import JSON
public import Wire

/// What plays on a phone: all that AMS tells, at one moment. What the phone did not say is nil.
public struct MediaReport: Hashable, Sendable {
  public var player = Player()
  public var queue = Queue()
  public var track = Track()
  /// The commands that the phone takes now, by name.
  public var commands: [String] = []

  public init() {}

  /// What plays at `now`: the position is carried on to it.
  public init(_ state: MediaState, at now: Instant) {
    player.name = state.player.name
    player.state = state.player.state?.description
    player.rate = state.player.rate
    player.elapsed = state.elapsed(at: now)
    player.volume = state.player.volume
    queue.index = state.queue.index
    queue.count = state.queue.count
    queue.shuffle = state.queue.shuffleMode?.description
    queue.repeat = state.queue.repeatMode?.description
    track.artist = state.track.artist
    track.album = state.track.album
    track.title = state.track.title
    track.duration = state.track.duration
    commands = (state.commands ?? []).compactMap(\.name)
  }

  /// The app that plays.
  public struct Player: Hashable, Sendable {
    public var name: String?
    /// `paused`, `playing`, `rewinding`, `fast-forwarding`, or the number of a newer state.
    public var state: String?
    /// 1 is the usual speed.
    public var rate: Double?
    /// Seconds.
    public var elapsed: Double?
    /// 0 to 1.
    public var volume: Double?

    public init() {}
  }

  /// What it plays from.
  public struct Queue: Hashable, Sendable {
    /// The place of the track, from 0 on.
    public var index: Int?
    public var count: Int?
    /// `off`, `one`, `all`, or the number of a newer mode.
    public var shuffle: String?
    /// `off`, `one`, `all`, or the number of a newer mode.
    public var `repeat`: String?

    public init() {}
  }

  /// What it plays.
  public struct Track: Hashable, Sendable {
    public var artist: String?
    public var album: String?
    public var title: String?
    /// Seconds.
    public var duration: Double?

    public init() {}
  }
}

extension MediaReport {
  /// The result of `media.get`.
  public var json: JSONValue {
    var object = JSONObject()
    add(to: &object)
    return .object(object)
  }

  /// Reads the result of `media.get`.
  public init(json: JSONValue) throws(ShapeError) { try self.init(Fields(json)) }

  /// Adds its members, in their documented order; an absent value is null.
  func add(to object: inout JSONObject) {
    object.add(
      "player",
      [
        "name": .nullable(player.name), "state": .nullable(player.state),
        "rate": .nullable(player.rate), "elapsed": .nullable(player.elapsed, scale: 1_000),
        "volume": .nullable(player.volume),
      ])
    object.add(
      "queue",
      [
        "index": .nullable(queue.index), "count": .nullable(queue.count),
        "shuffle": .nullable(queue.shuffle), "repeat": .nullable(queue.repeat),
      ])
    object.add(
      "track",
      [
        "artist": .nullable(track.artist), "album": .nullable(track.album),
        "title": .nullable(track.title), "duration": .nullable(track.duration),
      ])
    object.add("commands", .strings(commands))
  }

  /// Reads what `add(to:)` writes.
  init(_ fields: Fields) throws(ShapeError) {
    self.init()
    let player = try Fields(fields.object["player"])
    self.player.name = try player.optionalString("name")
    self.player.state = try player.optionalString("state")
    self.player.rate = try player.optionalNumber("rate")
    self.player.elapsed = try player.optionalNumber("elapsed")
    self.player.volume = try player.optionalNumber("volume")
    let queue = try Fields(fields.object["queue"])
    self.queue.index = try queue.optionalInteger("index")
    self.queue.count = try queue.optionalInteger("count")
    self.queue.shuffle = try queue.optionalString("shuffle")
    self.queue.repeat = try queue.optionalString("repeat")
    let track = try Fields(fields.object["track"])
    self.track.artist = try track.optionalString("artist")
    self.track.album = try track.optionalString("album")
    self.track.title = try track.optionalString("title")
    self.track.duration = try track.optionalNumber("duration")
    commands = try fields.strings("commands")
  }
}

extension JSONValue {
  static func nullable(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }

  static func nullable(_ number: Int?) -> JSONValue { number.map { .number($0) } ?? .null }

  /// A number with at most six places behind the point: phones' volumes have that many.
  static func nullable(_ number: Double?, scale: Double = 1_000_000) -> JSONValue {
    guard let number else { return .null }
    let scaled = (number * scale).rounded() / scale
    return Int64(exactly: scaled).map { .int($0) } ?? .double(scaled)
  }
}
