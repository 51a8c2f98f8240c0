// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What was fetched about a notification. Nil is what was not asked for; what the phone left empty is an
/// empty text.
public struct NotificationAttributes: Hashable, Sendable {
  /// A text as sent, but for a character that was cut at the end. There are eight of them at most, so
  /// they are looked for one by one.
  private struct Text: Hashable, Sendable {
    let id: NotificationAttributeID
    var value: String
  }

  private var texts: [Text] = []
  /// Which texts the phone cut to the maximum length: title, subtitle, message.
  public private(set) var truncated: [NotificationAttributeID] = []
  /// When the notification came. Nil too where the phone sent none (calls have none) or a broken one.
  public private(set) var date: CivilTime?

  /// Nothing yet.
  public init() {}

  /// What an answer holds; `requests` are the attributes that were asked for, with their maximum lengths.
  public init(
    _ response: DataSourceResponse, requested requests: [ControlPointCommand.AttributeRequest]
  ) {
    texts.reserveCapacity(response.attributes.count)
    for attribute in response.attributes {
      let id = NotificationAttributeID(rawValue: attribute.id)
      set(id, String(cutUTF8: attribute.value))
      if id == .date { date = CivilTime(notificationDate: attribute.value) }
    }
    for request in requests {
      guard let maximum = request.maximumLength,
        let answer = response.attributes.first(where: { $0.id == request.id.rawValue }),
        isCut(request.id, length: answer.value.count, maximum: Int(maximum))
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

  private mutating func set(_ id: NotificationAttributeID, _ value: String) {
    if let index = texts.firstIndex(where: { $0.id == id }) {
      texts[index].value = value
    } else {
      texts.append(Text(id: id, value: value))
    }
  }

  /// Adds what `other` has; its values win.
  public mutating func merge(_ other: NotificationAttributes) {
    for text in other.texts { set(text.id, text.value) }
    if other.has(.date) { date = other.date }
    truncated = truncated.filter { !other.has($0) } + other.truncated
    truncated.sort { $0.rawValue < $1.rawValue }
  }

  /// The attribute's text; nil where it was not asked for.
  public subscript(id: NotificationAttributeID) -> String? {
    texts.first { $0.id == id }?.value
  }

  /// Whether the attribute was asked for and answered.
  public func has(_ id: NotificationAttributeID) -> Bool { texts.contains { $0.id == id } }

  public var appIdentifier: String? { self[.appIdentifier] }
  public var title: String? { self[.title] }
  public var subtitle: String? { self[.subtitle] }
  public var message: String? { self[.message] }
  public var positiveActionLabel: String? { self[.positiveActionLabel] }
  public var negativeActionLabel: String? { self[.negativeActionLabel] }

  /// The full length of the message in bytes: decimal digits on the air. Nil too where it is no number.
  public var messageSize: Int? {
    guard let text = self[.messageSize] else { return nil }
    var size: Int?
    for byte in text.utf8.drop(while: { $0 == 0x20 }) {
      guard (0x30...0x39).contains(byte) else { break }
      let (tens, overflow) = (size ?? 0).multipliedReportingOverflow(by: 10)
      let (sum, over) = tens.addingReportingOverflow(Int(byte - 0x30))
      guard !overflow, !over else { return nil }
      size = sum
    }
    return size
  }
}
