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
  }

  /// By what identifies them; the same may be there twice.
  private var groups: [Identity: [Entry]] = [:]

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
    groups = [:]
    var (count, size) = (0, 0)
    for entry in all.reversed() {
      count += 1
      size += entry.report.size
      guard count <= NotificationLimits.notifications, size <= NotificationLimits.bytes else {
        break
      }
      groups[Identity(entry.report), default: []].append(entry)
    }
  }

  /// A new session has told of a notification: if it is one of these, that one is no longer needed.
  public mutating func confirm(_ report: NotificationReport) {
    let identity = Identity(report)
    groups[identity]?.removeLast()
    if groups[identity]?.isEmpty == true { groups[identity] = nil }
  }

  /// Forgets all of them, and returns them as removed.
  public mutating func removeAll() -> [NotificationReport] {
    defer { groups = [:] }
    return entries.map { entry in
      var event = entry.report.event
      event.change = .removed
      var report = NotificationReport(event)
      report.isStale = true
      report.recall(entry.report)
      return report
    }
  }
}
