// SPDX-License-Identifier: GPL-3.0-or-later

/// The notifications that are on the phone now, as far as this session knows, in the order they came.
public struct ActiveNotifications: Sendable {
  /// The greatest number; beyond it those that came first are forgotten.
  public static let capacity = 16_384
  /// How many are forgotten at once, so that it is not done for each.
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

  /// All of them, in the order they came.
  public var all: [NotificationReport] {
    entries.values.sorted { $0.number < $1.number }.map(\.report)
  }

  /// Takes what the Notification Source says, before anything is fetched.
  mutating func update(_ event: NotificationEvent) {
    guard event.change != .removed else {
      entries[event.uid] = nil
      return
    }
    lastNumber += 1
    entries[event.uid, default: Entry(number: lastNumber, report: NotificationReport(event))]
      .report.event = event
    if entries.count > Self.capacity { forgetFirst() }
  }

  /// Takes what was fetched; nothing for one that is gone meanwhile.
  mutating func update(_ report: NotificationReport) {
    guard let event = entries[report.event.uid]?.report.event else { return }
    entries[report.event.uid]?.report = report
    entries[report.event.uid]?.report.event = event
  }

  /// Adds what was fetched later to what is known.
  mutating func merge(_ attributes: NotificationAttributes, of uid: NotificationUID) {
    entries[uid]?.report.attributes.merge(attributes)
    entries[uid]?.report.failure = nil
  }

  private mutating func forgetFirst() {
    let numbers = entries.values.map(\.number).sorted()
    let first = numbers[Self.surplus]
    entries = entries.filter { $0.value.number >= first }
  }
}
