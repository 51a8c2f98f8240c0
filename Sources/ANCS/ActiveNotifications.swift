// SPDX-License-Identifier: GPL-3.0-or-later

import Wire

/// The notifications on the phone, as far as this session knows, in the order of arrival.
///
/// There are limits to how many there are and to what they take (`NotificationLimits`). Beyond them the
/// oldest are forgotten. What is counted is counted as it changes, never anew.
public struct ActiveNotifications: Sendable {
  private struct Entry: Sendable {
    /// Counts up with each notification that arrives.
    let number: UInt64
    var report: NotificationReport
    /// What the report takes, as it was counted last.
    private(set) var size = NotificationReport.ownSize
    /// Whether the owner was told of it.
    var isReported = false

    init(number: UInt64, _ event: NotificationEvent) {
      self.number = number
      report = NotificationReport(event)
    }

    /// Changes it; returns by how much it has grown.
    mutating func change(_ change: (inout Entry) -> Void) -> Int {
      let before = size
      change(&self)
      size = report.size
      return size - before
    }
  }

  /// A place in the order of arrival. It stays behind with an invalid number when its notification is
  /// removed, so that a flood of removals costs nothing.
  private struct Place: Sendable {
    let uid: NotificationUID
    let number: UInt64
  }

  private var entries: [NotificationUID: Entry] = [:]
  private var order = FIFO<Place>()
  private var lastNumber: UInt64 = 0
  /// About how many bytes they take in memory.
  public private(set) var size = 0
  /// Whether any was forgotten to keep the limits.
  public private(set) var isIncomplete = false

  public init() {}

  public var count: Int { entries.count }

  public subscript(uid: NotificationUID) -> NotificationReport? { entries[uid]?.report }

  /// All notifications, in the order of arrival.
  public var all: [NotificationReport] { arrived(after: 0).map(\.report) }

  /// The notifications that the owner was told of, in the order of arrival, each with its number.
  public var reported: [(number: UInt64, report: NotificationReport)] {
    arrived(after: 0).filter { entries[$0.report.event.uid]?.isReported == true }
  }

  /// The notifications that arrived after the one of this number, in order, each with its own number;
  /// numbers begin with 1. What was removed meanwhile leaves a gap.
  public func arrived(
    after number: UInt64
  ) -> some Sequence<(number: UInt64, report: NotificationReport)> {
    var (first, end) = (0, order.count)
    while first < end {
      let middle = (first + end) / 2
      if order[middle].number <= number { first = middle + 1 } else { end = middle }
    }
    return order[first...].lazy.compactMap { place in
      guard let entry = entries[place.uid], entry.number == place.number else { return nil }
      return (entry.number, entry.report)
    }
  }

  /// Applies an event of the Notification Source.
  mutating func update(_ event: NotificationEvent) {
    guard event.change != .removed else { return remove(event.uid) }
    let count = entries.count
    let new = lastNumber + 1
    entries[event.uid, default: Entry(number: new, event)].report.event = event
    guard entries.count > count else { return }
    lastNumber = new
    order.append(Place(uid: event.uid, number: new))
    size += NotificationReport.ownSize
    makeRoom()
  }

  /// Applies what was fetched, unless the notification is gone.
  mutating func update(_ report: NotificationReport) {
    change(report.event.uid) { entry in
      let event = entry.report.event
      entry.report = report
      entry.report.event = event
      entry.isReported = true
    }
  }

  /// Adds attributes that were fetched later.
  mutating func merge(_ attributes: NotificationAttributes, of uid: NotificationUID) {
    change(uid) { entry in
      entry.report.attributes.merge(attributes)
      entry.report.failure = nil
    }
  }

  /// Forgets all of them, because the phone is about to announce them again. Numbers are not used again.
  mutating func removeAll() {
    entries = [:]
    order.removeAll()
    size = 0
  }

  private mutating func change(_ uid: NotificationUID, _ change: (inout Entry) -> Void) {
    guard let index = entries.index(forKey: uid) else { return }
    size += entries.values[index].change(change)
    makeRoom()
  }

  private mutating func remove(_ uid: NotificationUID) {
    guard let entry = entries.removeValue(forKey: uid) else { return }
    size -= entry.size
    // The invalid places go once they are the greater part.
    guard order.count > max(64, 2 * entries.count) else { return }
    let entries = entries
    order.removeAll { entries[$0.uid]?.number != $0.number }
  }

  private mutating func makeRoom() {
    while entries.count > NotificationLimits.notifications || size > NotificationLimits.bytes,
      let oldest = order.popFirst()
    {
      guard let entry = entries[oldest.uid], entry.number == oldest.number else { continue }
      entries[oldest.uid] = nil
      size -= entry.size
      isIncomplete = true
    }
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
  /// Its date in UTC; nil where the date, or the phone's time zone, is not known.
  public var sent: WallTime?
  /// Whether an earlier session of this phone already brought it.
  public var isRepeat = false
  /// Whether its phone is away, or has not said yet whether it still has it.
  public var isStale = false
  /// What the owner's rules make of it.
  public var standing = Standing.usual
  /// Why nothing, or not everything, was fetched.
  public var failure: String?

  /// What is made of a notification.
  public enum Standing: Hashable, Sendable {
    case usual
    case urgent
    /// Nobody is told of it.
    case hidden
  }

  public init(
    _ event: NotificationEvent, attributes: NotificationAttributes = .init(), app: String? = nil,
    failure: FetchFailure? = nil
  ) {
    self.event = event
    self.attributes = attributes
    self.app = app
    self.failure = failure?.description
  }
  /// Adds to a removal what was known of the notification: the app, the title, and where it stood.
  mutating func recall(_ known: NotificationReport) {
    attributes[.appIdentifier] = known.attributes.appIdentifier
    attributes[.title] = known.attributes.title
    app = known.app
    standing = known.standing
  }
}
