// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Daemon
import JSON
import VirtualPhone
import Wire

// What notifications and media say, as the virtual phone is told it.

extension Fields {
  /// Bytes in hexadecimal digits.
  func octets(_ name: String) throws(ShapeError) -> [UInt8] {
    try required(name, "bytes in hexadecimal digits") { $0.string.flatMap([UInt8].init(hex:)) }
  }

  /// A text, or `{"hex":"…"}` where it is to be none; nil where it is absent.
  func octetsOrText(_ name: String) throws(ShapeError) -> [UInt8]? {
    try optional(name, "a text, nor an object with hex") { value in
      if let text = value.string { return Array(text.utf8) }
      return value["hex"]?.string.flatMap([UInt8].init(hex:))
    }
  }

  private static let texts: [(String, NotificationAttributeID)] = [
    ("app_id", .appIdentifier), ("title", .title), ("subtitle", .subtitle), ("message", .message),
    ("positive", .positiveActionLabel), ("negative", .negativeActionLabel),
  ]

  /// What a notification says. A new one is a message that can be cleared, where nothing else is
  /// said.
  func contents(isNew: Bool = true) throws(ShapeError) -> NotificationContents {
    var contents = NotificationContents(
      category: try optional("category", "a category") { value in
        value.string.flatMap { ANCS.Category($0) }
          ?? value.int.flatMap(UInt8.init(exactly:)).map(ANCS.Category.init(rawValue:))
      },
      flags: try flags())
    for (name, id) in Self.texts { contents.attributes[id] = try octetsOrText(name) }
    contents.attributes[.date] = try date()
    contents.attributes[.messageSize] = try optional("message_size", "a number nor a text") {
      ($0.int.map(String.init) ?? $0.string).map { Array($0.utf8) }
    }
    if isNew {
      contents.category = contents.category ?? .social
      contents[.appIdentifier] = contents[.appIdentifier] ?? "com.apple.MobileSMS"
      contents[.negativeActionLabel] = contents[.negativeActionLabel] ?? "Clear"
    }
    return contents
  }

  /// Names of flags, or bits that have none.
  private func flags() throws(ShapeError) -> EventFlags? {
    guard object["flags"] != nil else { return nil }
    return try list("flags", "flags") { value in
      value.string.flatMap(EventFlags.init(name:))
        ?? value.int.flatMap(UInt8.init(exactly:)).map(EventFlags.init(rawValue:))
    }.reduce(into: []) { $0.formUnion($1) }
  }

  /// A date as in the daemon's events, or whatever is to be sent for one.
  private func date() throws(ShapeError) -> [UInt8]? {
    guard let value = try octetsOrText("date") else { return nil }
    let text = String(decoding: value, as: UTF8.self)
    return CivilTime(text) == nil ? value : Array(text.filter { $0 != "-" && $0 != ":" }.utf8)
  }

  // MARK: Media

  /// What changes about the media, in the form of the daemon's event.
  func media() throws(ShapeError) -> MediaChange {
    var change = MediaChange()
    if let player = try part("player") {
      change.playerName = try player.optionalString("name")
      change.state = try player.optional("state", "a state") { value in
        value.string.flatMap(Self.state)
          ?? value.int.flatMap(UInt8.init(exactly:)).map(
            PlaybackState.init(rawValue:))
      }
      change.rate = try player.optionalNumber("rate")
      change.elapsed = try player.optionalNumber("elapsed")
      change.volume = try player.optionalNumber("volume")
    }
    if let queue = try part("queue") {
      change.index = try queue.optionalInteger("index")
      change.count = try queue.optionalInteger("count")
      change.shuffleMode = try queue.mode("shuffle")
      change.repeatMode = try queue.mode("repeat")
    }
    change.track = try part("track").map { fields throws(ShapeError) in try fields.track() }
    if object["playlist"] != nil {
      change.playlist = try reports("playlist") { value throws(ShapeError) in
        try Fields(value).track()
      }
    }
    if object["commands"] != nil {
      change.commands = try list("commands", "remote commands") {
        $0.string.flatMap(RemoteCommand.init(name:))
      }
    }
    return change
  }

  private func part(_ name: String) throws(ShapeError) -> Fields? {
    guard let value = object[name], !value.isNull else { return nil }
    return try Fields(value)
  }

  private static func state(_ name: String) -> PlaybackState? {
    [.paused, .playing, .rewinding, .fastForwarding].first { $0.description == name }
  }

  private func mode(_ name: String) throws(ShapeError) -> QueueMode? {
    try optional(name, "off, one nor all") { value in
      [.off, .one, .all].first { $0.description == value.string }
    }
  }

  private func track() throws(ShapeError) -> PhoneTrack {
    PhoneTrack(
      artist: try optionalString("artist"), album: try optionalString("album"),
      title: try optionalString("title"), duration: try optionalNumber("duration"))
  }

  /// `entity` and `attribute`, by the numbers or the names that AMS gives them.
  func mediaAttribute() throws(ShapeError) -> MediaAttribute {
    let entity = try required("entity", "player, queue, track nor a number") { value in
      value.int.flatMap(UInt8.init(exactly:)).map(Entity.init(rawValue:))
        ?? Entity.all.first { $0.description == value.string }
    }
    return try required("attribute", "an attribute of the \(entity)") { value in
      value.int.flatMap(UInt8.init(exactly:)).map { MediaAttribute(entity, $0) }
        ?? entity.attributes.first { $0.description.lowercased() == value.string?.lowercased() }
    }
  }
}
