// SPDX-License-Identifier: GPL-3.0-or-later

/// The notifications that are on the phone now, as far as this session knows, in the order they came.
public struct ActiveNotifications: Sendable {
  /// The greatest number; beyond it the one that came first is forgotten.
  public static let capacity = 16_384

  private var entries: [NotificationUID: (number: UInt64, report: NotificationReport)] = [:]
  private var lastNumber: UInt64 = 0
  private var oldest: UInt64 = 1
  private var order: [UInt64: NotificationUID] = [:]

  public init() {}

  public var count: Int { entries.count }

  public subscript(uid: NotificationUID) -> NotificationReport? { entries[uid]?.report }

  /// All of them, in the order they came.
  public var all: [NotificationReport] {
    entries.values.sorted { $0.number < $1.number }.map(\.report)
  }

  /// Takes what the Notification Source says, before anything is fetched.
  mutating func update(_ event: NotificationEvent) {
    guard event.change != .removed else { return remove(event.uid) }
    if entries[event.uid] != nil {
      entries[event.uid]?.report.event = event
    } else {
      insert(NotificationReport(event))
    }
  }

  /// Takes what was fetched; nothing for one that is gone meanwhile.
  mutating func update(_ report: NotificationReport) {
    guard let known = entries[report.event.uid] else { return }
    var latest = report
    latest.event = known.report.event
    entries[report.event.uid]?.report = latest
  }

  /// Adds what was fetched later to what is known.
  mutating func merge(_ attributes: NotificationAttributes, of uid: NotificationUID) {
    entries[uid]?.report.attributes.merge(attributes)
    entries[uid]?.report.failure = nil
  }

  private mutating func insert(_ report: NotificationReport) {
    lastNumber += 1
    entries[report.event.uid] = (lastNumber, report)
    order[lastNumber] = report.event.uid
    while entries.count > Self.capacity {
      if let uid = order[oldest] { remove(uid) }
      oldest += 1
    }
  }

  private mutating func remove(_ uid: NotificationUID) {
    if let entry = entries.removeValue(forKey: uid) { order[entry.number] = nil }
  }
}
