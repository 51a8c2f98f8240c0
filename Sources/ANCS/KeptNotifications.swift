// SPDX-License-Identifier: GPL-3.0-or-later

/// The stale notifications of a phone's ended sessions, by what identifies them.
struct KeptNotifications {
  /// How a notification is recognised in another session.
  private enum Identity: Hashable {
    case contents(ContentSignature)
    case uid(NotificationUID, Category, title: String?)

    init(_ report: NotificationReport) {
      self =
        ContentSignature(report.attributes).map(Self.contents)
        ?? .uid(report.event.uid, report.event.category, title: report.attributes.title)
    }
  }

  /// Those of the last session, unsorted. They are indexed when the next session first looks one up.
  private var last: [NotificationUID: NotificationLedger.Entry] = [:]
  /// The others, by their numbers.
  private(set) var entries: [UInt64: NotificationLedger.Entry] = [:]
  /// Their numbers, oldest first, by identity, which may occur twice.
  private var groups: [Identity: [UInt64]] = [:]
  /// The latest one with each UID.
  private var latest: [NotificationUID: UInt64] = [:]

  @inline(__always) var count: Int { last.count + entries.count }

  subscript(place: NotificationLedger.Place) -> NotificationLedger.Entry? {
    if let entry = last[place.uid], entry.number == place.number { return entry.stale }
    return entries[place.number]
  }

  /// Adds the notifications of a session that has ended.
  mutating func add(_ session: [NotificationUID: NotificationLedger.Entry]) {
    sort()
    last = session
  }

  /// Indexes those of the last session.
  mutating func sort() {
    for entry in last.values.sorted(by: { $0.number < $1.number }) {
      guard let report = entry.known else { continue }
      entries[entry.number] = entry.stale
      groups[Identity(report), default: []].append(entry.number)
      latest[report.event.uid] = entry.number
    }
    last = [:]
  }

  mutating func change(_ number: UInt64, to state: NotificationLedger.State) {
    entries[number]?.state = state
  }

  /// Removes and returns the matching one; of several, the one with the same UID.
  mutating func take(like report: NotificationReport) -> NotificationLedger.Entry? {
    sort()
    guard let group = groups[Identity(report)] else { return nil }
    let same = group.first { entries[$0]?.event.uid == report.event.uid }
    return (same ?? group.first).flatMap { remove($0) }
  }

  mutating func take(_ uid: NotificationUID) -> NotificationLedger.Entry? {
    sort()
    return latest[uid].flatMap { remove($0) }
  }

  mutating func remove(_ place: NotificationLedger.Place) {
    if last[place.uid]?.number == place.number {
      last[place.uid] = nil
    } else {
      remove(place.number)
    }
  }

  @discardableResult private mutating func remove(_ number: UInt64) -> NotificationLedger.Entry? {
    guard let entry = entries.removeValue(forKey: number), let report = entry.known else {
      return nil
    }
    let identity = Identity(report)
    groups[identity]?.removeAll { $0 == number }
    if groups[identity]?.isEmpty == true { groups[identity] = nil }
    if latest[report.event.uid] == number { latest[report.event.uid] = nil }
    return entry
  }
}
