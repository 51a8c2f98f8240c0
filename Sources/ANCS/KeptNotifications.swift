// SPDX-License-Identifier: GPL-3.0-or-later

/// The notifications of a session that has ended, until the next one has told which of them are still on
/// the phone.
///
/// A UID is valid within one session only (ANCS specification, Notification Source), so what is told again is
/// recognised by its contents; by its UID where the contents identify nothing.
public struct KeptNotifications: Sendable {
  /// One of them, with the place that it had.
  public struct Entry: Hashable, Sendable {
    /// Counts the sessions.
    public let session: Int
    /// Counts the notifications of a session.
    public let number: UInt64
    public var report: NotificationReport

    /// That it is gone.
    fileprivate var removal: NotificationReport {
      var event = report.event
      event.change = .removed
      var removal = NotificationReport(event)
      removal.isStale = true
      removal.recall(report)
      return removal
    }
  }

  /// By what identifies them; the same may be there twice.
  private var groups: [Identity: [Entry]] = [:]
  /// What identifies the latest with a UID.
  private var identities: [NotificationUID: Identity] = [:]

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

  public init() {}

  public var isEmpty: Bool { groups.isEmpty }

  /// All of them, in the order of arrival.
  public var entries: [Entry] {
    groups.values.joined().sorted { ($0.session, $0.number) < ($1.session, $1.number) }
  }

  /// Adds what a session leaves behind. Beyond the limits of a session the oldest are forgotten.
  ///
  /// - Parameter session: its number, which is greater than those before.
  public mutating func add(_ active: ActiveNotifications, of session: Int) {
    var all = entries
    for (number, report) in active.reported {
      var report = report
      report.isStale = true
      all.append(Entry(session: session, number: number, report: report))
    }
    (groups, identities) = ([:], [:])
    var (count, size) = (0, 0)
    for entry in all.reversed() {
      count += 1
      size += entry.report.size
      guard count <= NotificationLimits.notifications, size <= NotificationLimits.bytes else {
        break
      }
      let identity = Identity(entry.report)
      groups[identity, default: []].append(entry)
      if identities[entry.report.event.uid] == nil { identities[entry.report.event.uid] = identity }
    }
  }

  /// What a notification that a new session tells of makes of these.
  public struct Confirmation: Hashable, Sendable {
    /// Another notification had the same UID: it is gone, which has to be said first.
    public var removedBefore: NotificationReport?
    /// The same notification had another UID, under which it is gone now.
    public var removedAfter: NotificationReport?
  }

  /// A new session has told of a notification: those of these that it is, or whose UID it has, are no longer
  /// needed.
  public mutating func confirm(_ report: NotificationReport) -> Confirmation {
    var confirmation = Confirmation()
    let uid = report.event.uid
    if let same = take(Identity(report), preferring: uid), same.report.event.uid != uid {
      confirmation.removedAfter = same.removal
    }
    // With the same app and category it has only changed meanwhile.
    if let other = take(uid), !other.report.resembles(report) {
      confirmation.removedBefore = other.removal
    }
    return confirmation
  }

  private mutating func take(_ identity: Identity, preferring uid: NotificationUID) -> Entry? {
    guard var group = groups[identity], !group.isEmpty else { return nil }
    let entry = group.remove(at: group.firstIndex { $0.report.event.uid == uid } ?? 0)
    groups[identity] = group.isEmpty ? nil : group
    identities[entry.report.event.uid] = nil
    return entry
  }

  private mutating func take(_ uid: NotificationUID) -> Entry? {
    identities[uid].flatMap { take($0, preferring: uid) }
  }

  /// Forgets all of them, and returns them as removed.
  public mutating func removeAll() -> [NotificationReport] {
    defer { (groups, identities) = ([:], [:]) }
    return entries.map(\.removal)
  }
}

extension NotificationReport {
  /// Whether it is from the same app and of the same kind.
  fileprivate func resembles(_ other: NotificationReport) -> Bool {
    attributes.appIdentifier == other.attributes.appIdentifier
      && event.category == other.event.category
  }
}
