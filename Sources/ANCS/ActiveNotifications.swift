// SPDX-License-Identifier: GPL-3.0-or-later

/// The notifications on the phone, as far as this session knows, in the order of arrival.
public struct ActiveNotifications: Sendable {
  /// The most notifications; beyond it, the oldest are forgotten.
  public static let capacity = 16_384
  /// How many are forgotten together, so that it is not done for each one.
  private static let surplus = capacity / 16

  private struct Entry: Sendable {
    let number: UInt64
    var report: NotificationReport
  }

  private var entries: [NotificationUID: Entry] = [:]
  private var lastNumber: UInt64 = 0

  public init() {}

  public var count: Int { entries.count }

  public subscript(uid: NotificationUID) -> NotificationReport? { entries[uid]?.report }

  /// All notifications, in the order of arrival.
  public var all: [NotificationReport] {
    entries.values.sorted { $0.number < $1.number }.map(\.report)
  }

  /// Applies an event of the Notification Source.
  mutating func update(_ event: NotificationEvent) {
    guard event.change != .removed else {
      entries[event.uid] = nil
      return
    }
    lastNumber += 1
    entries[event.uid, default: Entry(number: lastNumber, report: NotificationReport(event))]
      .report.event = event
    if entries.count > Self.capacity { forgetOldest() }
  }

  /// Applies what was fetched, unless the notification is gone.
  mutating func update(_ report: NotificationReport) {
    guard let event = entries[report.event.uid]?.report.event else { return }
    entries[report.event.uid]?.report = report
    entries[report.event.uid]?.report.event = event
  }

  /// Adds attributes that were fetched later.
  mutating func merge(_ attributes: NotificationAttributes, of uid: NotificationUID) {
    entries[uid]?.report.attributes.merge(attributes)
    entries[uid]?.report.failure = nil
  }

  private mutating func forgetOldest() {
    let numbers = entries.values.map(\.number).sorted()
    let first = numbers[Self.surplus]
    entries = entries.filter { $0.value.number >= first }
  }
}

/// A notification as it is told to the owner: what has happened, and what was fetched about it.
public struct NotificationReport: Hashable, Sendable {
  /// What has happened: with the flags, category and count that the phone said last.
  public var event: NotificationEvent
  /// What was fetched; nothing for one that was removed.
  public var attributes: NotificationAttributes
  /// The app's name as the phone's user knows it; its id where the phone has no name for it. Nil where
  /// the app was not asked for.
  public var app: String?
  /// Whether an earlier session of this phone already brought it.
  public var isRepeat = false
  /// Why nothing, or not everything, was fetched.
  public var failure: String?

  public init(
    _ event: NotificationEvent, attributes: NotificationAttributes = .init(), app: String? = nil,
    failure: FetchFailure? = nil
  ) {
    self.event = event
    self.attributes = attributes
    self.app = app
    self.failure = failure?.description
  }
}
