// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import JSON

/// Counts since the daemon started: part of the result of `status`.
public struct Totals: JSONObjectCodable, Hashable, Sendable {
  /// Links that came up, including strangers'.
  public var links = 0
  /// Links on which the phone's services were subscribed to.
  public var sessions = 0
  /// Links of phones that had connected before.
  public var reconnections = 0
  /// Links in a bonded phone's name that were refused or ended without encryption with its key.
  public var unproven = 0
  /// ATT requests.
  public var requests = 0
  /// Links that ended because a request was not answered within 30 s.
  public var timeouts = 0
  /// In the order of the categories' numbers.
  public var notifications: [OfCategory] = []

  public init() {}

  /// The notifications of one category.
  public struct OfCategory: JSONObjectCodable, Hashable, Sendable {
    public var category = Category.other
    public var added = 0
    public var modified = 0
    public var removed = 0

    public init() {}

    public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.required("category", &category)
      try json.required("added", &added)
      try json.required("modified", &modified)
      try json.required("removed", &removed)
    }
  }

  /// Counts a notification that was published.
  public mutating func count(_ report: NotificationReport) {
    let number = report.event.category.rawValue
    let place =
      notifications.firstIndex { $0.category.rawValue >= number } ?? notifications.endIndex
    if place == notifications.endIndex || notifications[place].category.rawValue != number {
      var new = OfCategory()
      new.category = report.event.category
      notifications.insert(new, at: place)
    }
    switch report.event.change {
    case .added: notifications[place].added += 1
    case .modified: notifications[place].modified += 1
    case .removed: notifications[place].removed += 1
    default: break
    }
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("links", &links)
    try json.required("sessions", &sessions)
    try json.required("reconnections", &reconnections)
    try json.required("unproven", &unproven)
    try json.required("requests", &requests)
    try json.required("timeouts", &timeouts)
    try json.list("notifications", &notifications)
  }
}
