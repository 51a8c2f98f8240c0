// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import GAP
import Wire

/// The traffic with the Apple Media Service.
struct MediaExchange: Sendable {
  /// The attribute that was written to Entity Attribute; a read returns its value.
  private var selected: MediaAttribute?

  /// Decodes a value that is written to one of the service's characteristics.
  mutating func written(_ value: [UInt8], to uuid: UUID) -> Detail? {
    switch uuid {
    case .remoteCommand:
      guard value.count == 1 else { return .text("AMS Command", "not one byte") }
      return .text("AMS Command", "\(RemoteCommand(rawValue: value[0]))")
    case .entityUpdate:
      guard let registration = try? EntityRegistration(decoding: value) else {
        return .text("AMS Registration", "empty")
      }
      let names = registration.attributes.map {
        "\(MediaAttribute(registration.entity, $0))"
      }
      return Detail(
        "AMS Registration", .text("\(registration.entity)"), valueKey: "entity",
        [Detail("Attributes", .list(names))])
    case .entityAttribute:
      selected = try? MediaAttribute(decoding: value)
      guard let selected else { return .text("AMS Selection", "not two bytes") }
      return Detail(
        "AMS Selection", .text("\(selected.entity)"), valueKey: "entity",
        [.text("Attribute", "\(selected)")])
    default: return nil
    }
  }

  /// Decodes a notified value.
  func notified(_ value: [UInt8], by uuid: UUID) -> Detail? {
    switch uuid {
    case .remoteCommand:
      return Detail("AMS Commands", .list(RemoteCommand.list(decoding: value).map { "\($0)" }))
    case .entityUpdate:
      guard let update = try? EntityUpdate(decoding: value) else {
        return .text("AMS Update", "\(value.count) bytes, three needed")
      }
      var children = Self.value(of: update.attribute, update.value)
      if update.isTruncated { children.append(Detail("Truncated", .flag(true))) }
      return Detail(
        "AMS Update", .text("\(update.attribute.entity)"), valueKey: "entity", children)
    default: return nil
    }
  }

  /// Decodes a value that was read from Entity Attribute: that of the selected attribute.
  func read(_ value: [UInt8]) -> Detail {
    guard let selected else { return .text("AMS Value", String(cutUTF8: value)) }
    return Detail(
      "AMS Value", .text("\(selected.entity)"), valueKey: "entity",
      Self.value(of: selected, value))
  }

  /// An attribute's value and its meaning.
  private static func value(of attribute: MediaAttribute, _ value: [UInt8]) -> [Detail] {
    var details: [Detail] = [
      .text("Attribute", "\(attribute)"), .text("Text", String(cutUTF8: value)),
    ]
    switch attribute {
    case .playbackInfo:
      guard let info = PlaybackInfo(decoding: value) else { break }
      if let state = info.state { details.append(.text("State", "\(state)")) }
      if let rate = info.rate { details.append(Detail("Rate", .measure(rate, ""))) }
      if let elapsed = info.elapsed { details.append(Detail("Elapsed", .measure(elapsed, "s"))) }
    case .shuffleMode, .repeatMode:
      if let mode = MediaNumber.count(value).flatMap(UInt8.init(exactly:)) {
        details.append(.text("Mode", "\(QueueMode(rawValue: mode))"))
      }
    default: break
    }
    return details
  }
}
