// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What was fetched about a notification. Nil is what was not asked for; what the phone left empty is an
/// empty text.
public struct NotificationAttributes: Hashable, Sendable {
  /// The texts by attribute, as sent but for a character that was cut at the end.
  public private(set) var texts: [NotificationAttributeID: String] = [:]
  /// Which texts the phone cut to the maximum length: title, subtitle, message.
  public private(set) var truncated: [NotificationAttributeID] = []

  /// Nothing yet.
  public init() {}

  /// What an answer holds; `requests` are the attributes that were asked for, with their maximum lengths.
  public init(
    _ response: DataSourceResponse, requested requests: [ControlPointCommand.AttributeRequest]
  ) {
    var lengths: [NotificationAttributeID: Int] = [:]
    for attribute in response.attributes {
      let id = NotificationAttributeID(rawValue: attribute.id)
      texts[id] = String(cutUTF8: attribute.value)
      lengths[id] = attribute.value.count
    }
    for request in requests {
      guard let maximum = request.maximumLength, let length = lengths[request.id],
        isCut(request.id, length: length, maximum: Int(maximum))
      else { continue }
      truncated.append(request.id)
    }
  }

  /// A text that fills its maximum was cut there, unless the message's size says that this is all of it.
  ///
  /// The size is larger than what came when the phone has more. It counts bytes; should a phone count
  /// characters, the size of a text in several bytes a character is below its length.
  private func isCut(_ id: NotificationAttributeID, length: Int, maximum: Int) -> Bool {
    guard length > 0 else { return false }
    guard id == .message, let size = messageSize else { return length >= maximum }
    if size >= length { return size > length }
    return length >= maximum && size > (message?.unicodeScalars.count ?? 0)
  }

  /// Adds what `other` has; its values win.
  public mutating func merge(_ other: NotificationAttributes) {
    texts.merge(other.texts) { _, new in new }
    truncated = truncated.filter { other.texts[$0] == nil } + other.truncated
    truncated.sort { $0.rawValue < $1.rawValue }
  }

  /// Whether the attribute was asked for and answered.
  public func has(_ id: NotificationAttributeID) -> Bool { texts[id] != nil }

  public var appIdentifier: String? { texts[.appIdentifier] }
  public var title: String? { texts[.title] }
  public var subtitle: String? { texts[.subtitle] }
  public var message: String? { texts[.message] }
  public var positiveActionLabel: String? { texts[.positiveActionLabel] }
  public var negativeActionLabel: String? { texts[.negativeActionLabel] }

  /// The full length of the message in bytes: decimal digits on the air. Nil too where it is no number.
  public var messageSize: Int? {
    guard let text = texts[.messageSize] else { return nil }
    let digits = text.utf8.drop { $0 == 0x20 }.prefix { (0x30...0x39).contains($0) }
    return Int(String(decoding: digits, as: UTF8.self))
  }

  /// When the notification came. Nil too where the phone sent none (calls have none) or a broken one.
  public var date: CivilTime? {
    texts[.date].flatMap { CivilTime(notificationDate: Array($0.utf8)) }
  }
}
