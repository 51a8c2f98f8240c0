// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS

/// The contents of a notification on the phone, or changes to them: nil or absent values stay as they are, or get a
/// default in a new notification.
public struct NotificationContents: Hashable, Sendable {
  public var category: ANCS.Category?
  /// Silent, important and unknown bits. The flag of an action follows from its label; the phone itself sets
  /// pre-existing.
  public var flags: EventFlags?
  /// The attributes as they are sent, UTF-8 or not. The message size defaults to that of the message.
  public var attributes: [NotificationAttributeID: [UInt8]]

  public init(
    category: ANCS.Category? = nil, flags: EventFlags? = nil, attributes: [NotificationAttributeID: [UInt8]] = [:]
  ) {
    self.category = category
    self.flags = flags
    self.attributes = attributes
  }

  /// Contents as text; `date` in ANCS's format, `20261121T070000`.
  public init(
    _ category: ANCS.Category, app: String, title: String? = nil, subtitle: String? = nil, message: String? = nil,
    date: String? = nil, positive: String? = nil, negative: String? = nil, flags: EventFlags? = nil
  ) {
    self.init(category: category, flags: flags)
    let texts: [(NotificationAttributeID, String?)] = [
      (.appIdentifier, app), (.title, title), (.subtitle, subtitle), (.message, message),
      (.date, date), (.positiveActionLabel, positive), (.negativeActionLabel, negative),
    ]
    for (id, text) in texts { self[id] = text }
  }

  /// An attribute as text.
  public subscript(id: NotificationAttributeID) -> String? {
    get { attributes[id].map { String(decoding: $0, as: UTF8.self) } }
    set { attributes[id] = newValue.map { Array($0.utf8) } }
  }
}

/// A notification as the phone holds it.
public struct PhoneNotification: Hashable, Sendable {
  public var uid: NotificationUID
  private var contents: NotificationContents

  public var category: ANCS.Category { contents.category ?? .other }

  /// A new notification.
  public init(_ uid: NotificationUID, _ contents: NotificationContents) {
    (self.uid, self.contents) = (uid, contents)
  }

  /// Applies the values given in `change`.
  public mutating func change(_ change: NotificationContents) {
    contents.category = change.category ?? contents.category
    contents.flags = change.flags ?? contents.flags
    if change.attributes[.message] != nil { contents.attributes[.messageSize] = nil }
    contents.attributes.merge(change.attributes) { _, new in new }
  }

  /// The whole value of an attribute, which may be empty; nil for an unknown attribute.
  public func value(of id: NotificationAttributeID) -> [UInt8]? {
    if let value = contents.attributes[id] { return value }
    if id == .messageSize { return Array(String(contents.attributes[.message]?.count ?? 0).utf8) }
    return NotificationAttributeID.all.contains(id) ? [] : nil
  }

  /// The flags. An action is available if it has a label.
  public var flags: EventFlags {
    var flags = contents.flags ?? []
    if contents[.positiveActionLabel]?.isEmpty == false { flags.insert(.positiveAction) }
    if contents[.negativeActionLabel]?.isEmpty == false { flags.insert(.negativeAction) }
    return flags
  }

  /// The missed call that a declined call leaves.
  var asMissedCall: NotificationContents {
    var contents = contents
    (contents.category, contents.flags) = (.missedCall, nil)
    contents[.subtitle] = nil
    contents[.message] = "Missed call"
    contents[.messageSize] = nil
    contents[.positiveActionLabel] = "Dial"
    contents[.negativeActionLabel] = "Clear"
    return contents
  }
}
