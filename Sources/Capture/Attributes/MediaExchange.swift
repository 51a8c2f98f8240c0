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
      let names = registration.attributes.map { "\(MediaAttribute(registration.entity, $0))" }
      return Self.detail("AMS Registration", registration.entity, [.list("Attributes", names)])
    case .entityAttribute:
      selected = try? MediaAttribute(decoding: value)
      guard let selected else { return .text("AMS Selection", "not two bytes") }
      return Self.detail("AMS Selection", selected.entity, [.text("Attribute", "\(selected)")])
    default: return nil
    }
  }

  /// Decodes a notified value.
  func notified(_ value: [UInt8], by uuid: UUID) -> Detail? {
    switch uuid {
    case .remoteCommand: return .list("AMS Commands", RemoteCommand.list(decoding: value))
    case .entityUpdate:
      guard let update = try? EntityUpdate(decoding: value) else {
        return .text("AMS Update", "\(value.count) bytes, three needed")
      }
      let rest = update.isTruncated ? [Detail.flag("Truncated", true)] : []
      let value = Self.value(of: update.attribute, update.value)
      return Self.detail("AMS Update", update.attribute.entity, value + rest)
    default: return nil
    }
  }

  /// Decodes a value that was read from Entity Attribute: that of the selected attribute.
  func read(_ value: [UInt8]) -> Detail {
    guard let selected else { return .text("AMS Value", String(cutUTF8: value)) }
    return Self.detail("AMS Value", selected.entity, Self.value(of: selected, value))
  }

  private static func detail(_ label: String, _ entity: Entity, _ below: [Detail]) -> Detail {
    Detail(label, .text("\(entity)"), valueKey: "entity", below)
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
      if let rate = info.rate { details.append(.measure("Rate", rate, "")) }
      if let elapsed = info.elapsed { details.append(.measure("Elapsed", elapsed, "s")) }
    case .shuffleMode, .repeatMode:
      if let mode = MediaNumber.count(value).flatMap(UInt8.init(exactly:)) {
        details.append(.text("Mode", "\(QueueMode(rawValue: mode))"))
      }
    default: break
    }
    return details
  }
}
