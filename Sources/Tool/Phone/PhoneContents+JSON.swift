// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Arguments
import Control
public import JSON
public import VirtualPhone
import Wire

// What notifications and media say, as the virtual phone is told it.

extension JSONReader {
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

  /// What a notification says. A new one is a message that can be cleared, unless something else is
  /// said.
  func contents(isNew: Bool = true) throws(ShapeError) -> NotificationContents {
    var contents = NotificationContents(
      category: try optional("category"), flags: try optional("flags"))
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
    if let player = try object("player") {
      change.playerName = try player.optional("name")
      change.state = try player.optional("state")
      change.rate = try player.optional("rate")
      change.elapsed = try player.optional("elapsed")
      change.volume = try player.optional("volume")
    }
    if let queue = try object("queue") {
      change.index = try queue.optional("index")
      change.count = try queue.optional("count")
      change.shuffleMode = try queue.optional("shuffle")
      change.repeatMode = try queue.optional("repeat")
    }
    change.track = try optional("track")
    change.playlist = try optional("playlist")
    change.commands = try optional("commands")
    return change
  }

  private func object(_ name: String) throws(ShapeError) -> JSONReader? {
    try optional(name, "an object") { try? JSONReader($0) }
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

extension PhoneTrack: JSONObjectCodable {
  public init() { self.init(artist: nil) }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("artist", &artist)
    try json.optional("album", &album)
    try json.optional("title", &title)
    try json.optional("duration", &duration)
  }
}
