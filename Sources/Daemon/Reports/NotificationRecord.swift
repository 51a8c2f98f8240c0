// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import JSON
public import Wire

/// A notification as far as it is known: what the Notification Source said, and what was fetched.
///
/// A text that the phone left empty is an empty string; one that was not fetched is nil.
public struct NotificationRecord: Hashable, Sendable {
  public var uid: NotificationUID
  public var category: Category
  public var categoryCount: UInt8
  public var flags: EventFlags

  /// The app's bundle identifier.
  public var appID: String?
  /// The app's name as the phone shows it; its identifier where the phone knows none.
  public var app: String?
  public var title: String?
  public var subtitle: String?
  public var message: String?
  /// The length in bytes of the whole message on the phone.
  public var messageSize: Int?
  public var date: Fetched<CivilTime> = .not
  /// The labels of the two actions.
  public var positive: String?
  public var negative: String?
  /// What the phone cut to the maximum length.
  public var truncated: [NotificationAttributeID] = []
  /// Whether an earlier session of this phone already brought it.
  public var isRepeat = false
  /// Why nothing, or not everything, was fetched.
  public var error: String?

  /// A notification of which nothing is fetched yet.
  public init(_ event: NotificationEvent) {
    uid = event.uid
    category = event.category
    categoryCount = event.categoryCount
    flags = event.flags
  }

  /// A notification as the consumer tells it.
  public init(_ report: NotificationReport) {
    self.init(report.event)
    let attributes = report.attributes
    appID = attributes.appIdentifier
    app = report.app
    title = attributes.title
    subtitle = attributes.subtitle
    message = attributes.message
    messageSize = attributes.messageSize
    if attributes.has(.date) {
      date = attributes.date.map { .value($0) } ?? .empty
    }
    positive = attributes.positiveActionLabel
    negative = attributes.negativeActionLabel
    truncated = attributes.truncated
    isRepeat = report.isRepeat
    error = report.failure?.description
  }
}

/// An attribute that may not have been asked for, and may have come without a value.
public enum Fetched<Value: Hashable & Sendable>: Hashable, Sendable {
  /// It was not fetched: absent in JSON.
  case not
  /// It was fetched and there is no usable value in it: null in JSON.
  case empty
  case value(Value)

  /// The value, where there is one.
  public var value: Value? { if case .value(let value) = self { value } else { nil } }
}

extension NotificationRecord {
  /// Adds its members, in their documented order.
  func add(to object: inout JSONObject) {
    Self.add(uid, category, categoryCount, flags, to: &object)
    object.add("app_id", appID)
    object.add("app", app)
    object.add("title", title)
    object.add("subtitle", subtitle)
    object.add("message", message)
    object.add("message_size", messageSize)
    switch date {
    case .not: break
    case .empty: object.add("date", .null)
    case .value(let date): object.add("date", date.description)
    }
    object.add("positive", positive)
    object.add("negative", negative)
    if !truncated.isEmpty { object.add("truncated", .strings(truncated.map(\.jsonName))) }
    if isRepeat { object.add("repeat", true) }
    object.add("error", error)
  }

  /// Adds what the Notification Source says about a notification.
  static func add(
    _ uid: NotificationUID, _ category: Category, _ count: UInt8, _ flags: EventFlags,
    to object: inout JSONObject
  ) {
    object.add("uid", uid.rawValue)
    object.add("category", category.json)
    object.add("category_count", count)
    object.add("flags", .strings(flags.names))
  }

  /// Reads what `add(to:)` writes.
  init(_ fields: Fields) throws(ShapeError) {
    self.init(try NotificationEvent(.added, fields))
    appID = try fields.optionalString("app_id")
    app = try fields.optionalString("app")
    title = try fields.optionalString("title")
    subtitle = try fields.optionalString("subtitle")
    message = try fields.optionalString("message")
    messageSize = try fields.optionalInteger("message_size")
    if fields.object["date"] != nil {
      let date: CivilTime? = try fields.optionalText("date", "a date")
      self.date = date.map { .value($0) } ?? .empty
    }
    positive = try fields.optionalString("positive")
    negative = try fields.optionalString("negative")
    truncated = try fields.strings("truncated").compactMap { name in
      NotificationAttributeID.all.first { $0.jsonName == name }
    }
    isRepeat = try fields.optionalBool("repeat") ?? false
    error = try fields.optionalString("error")
  }
}

extension NotificationEvent {
  /// Reads the members that `NotificationRecord.add` writes for every notification.
  init(_ change: Change, _ fields: Fields) throws(ShapeError) {
    self.init(
      change, NotificationUID(rawValue: try fields.integer("uid")),
      category: try fields.required("category", "a category", Category.init(json:)),
      categoryCount: try fields.optionalInteger("category_count") ?? 0,
      flags: try fields.list("flags", "flags") { $0.string.flatMap(EventFlags.init(name:)) }
        .reduce(into: []) { $0.formUnion($1) })
  }
}

extension Category {
  /// The name, or the number of one that has none.
  var json: JSONValue { name.map { .string($0) } ?? .number(rawValue) }

  init?(json: JSONValue) {
    if let name = json.string {
      self.init(name)
    } else if let number = json.int.flatMap(UInt8.init(exactly:)) {
      self.init(rawValue: number)
    } else {
      return nil
    }
  }
}

extension NotificationAttributeID {
  /// The name of the event's member that holds the attribute.
  var jsonName: String {
    switch self {
    case .appIdentifier: "app_id"
    case .messageSize: "message_size"
    default: name ?? String(rawValue)
    }
  }
}

/// A notification that is active, and whose it is: the result of `notifications.get`, and an element
/// of `notifications.list`.
public struct ActiveNotification: Hashable, Sendable {
  public var adapter: String?
  /// The identity address of the phone.
  public var phone: Address?
  public var record: NotificationRecord

  public init(_ record: NotificationRecord, adapter: String? = nil, phone: Address? = nil) {
    self.record = record
    self.adapter = adapter
    self.phone = phone
  }

  public var json: JSONValue {
    var object = JSONObject()
    object.add("adapter", adapter)
    object.add("phone", phone?.description)
    record.add(to: &object)
    return .object(object)
  }

  /// Reads what `json` writes.
  public init(json: JSONValue) throws(ShapeError) {
    let fields = try Fields(json)
    self.init(
      try NotificationRecord(fields), adapter: try fields.optionalString("adapter"),
      phone: try fields.optionalText("phone", "an address"))
  }
}
