// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import ANCS

@Suite("ANCS: what is kept of a session that has ended")
struct KeptTests {
  private static func report(
    _ uid: UInt32, _ title: String, app: String = "a.b", date: String? = "20261121T070000"
  ) -> NotificationReport {
    var attributes = NotificationAttributes()
    attributes[.appIdentifier] = app
    attributes[.title] = title
    if let date { attributes.fetchedDate = CivilTime(notificationDate: Array(date.utf8)) }
    return NotificationReport(
      NotificationEvent(.added, .init(rawValue: uid)), attributes: attributes)
  }

  private static func tell(_ report: NotificationReport, _ active: inout ActiveNotifications) {
    active.update(report.event)
    active.update(report)
  }

  /// What is kept of a session that has told of these.
  private static func kept(_ reports: NotificationReport...) -> KeptNotifications {
    var active = ActiveNotifications()
    for report in reports { tell(report, &active) }
    var kept = KeptNotifications()
    kept.add(active, of: 1)
    return kept
  }

  private static func words(_ report: NotificationReport?) -> String? {
    report.map { "\($0.event.change) \($0.event.uid) \($0.attributes.title ?? "-")" }
  }

  @Test("The same contents are the same notification; another UID is said to be gone afterwards")
  func sameContents() {
    var kept = Self.kept(Self.report(1, "Mum"), Self.report(2, "Dad"))
    var confirmation = kept.confirm(Self.report(1, "Mum"))
    #expect(confirmation == KeptNotifications.Confirmation())
    confirmation = kept.confirm(Self.report(7, "Dad"))
    #expect(Self.words(confirmation.removedAfter) == "removed 2 Dad")
    #expect(confirmation.removedBefore == nil)
    #expect(kept.isEmpty)
  }

  @Test("The UID of another app's notification is freed before it is used again")
  func sameUID() {
    var kept = Self.kept(Self.report(1, "Mum"))
    let confirmation = kept.confirm(Self.report(1, "News", app: "c.d"))
    #expect(Self.words(confirmation.removedBefore) == "removed 1 Mum")
    #expect(kept.isEmpty)
  }

  @Test("What changed while the phone was away is no removal")
  func changed() {
    var kept = Self.kept(Self.report(1, "Mum"))
    #expect(kept.confirm(Self.report(1, "Mum (2)")) == KeptNotifications.Confirmation())
    #expect(kept.isEmpty)
  }

  @Test("UIDs that were exchanged are told in an order that one can follow")
  func exchanged() {
    var kept = Self.kept(Self.report(1, "Mum"), Self.report(2, "News", app: "c.d"))
    let first = kept.confirm(Self.report(1, "News", app: "c.d"))
    #expect(Self.words(first.removedBefore) == "removed 1 Mum")
    #expect(Self.words(first.removedAfter) == "removed 2 News")
    #expect(kept.confirm(Self.report(2, "Mum")) == KeptNotifications.Confirmation())
  }

  @Test("Without a date, the UID, the category and the title tell")
  func withoutDate() {
    var kept = Self.kept(Self.report(1, "Mum", date: nil), Self.report(2, "Mum", date: nil))
    #expect(kept.confirm(Self.report(2, "Mum", date: nil)) == KeptNotifications.Confirmation())
    #expect(kept.removeAll().map { Self.words($0) } == ["removed 1 Mum"])
  }

  @Test("What nobody was told of is not kept, and the rest is in its order, stale")
  func order() {
    var active = ActiveNotifications()
    for uid in [3, 1, 2] as [UInt32] { Self.tell(Self.report(uid, "n \(uid)"), &active) }
    active.update(NotificationEvent(.added, 9))
    var kept = KeptNotifications()
    kept.add(active, of: 1)
    #expect(kept.entries.map(\.report.event.uid) == [3, 1, 2])
    #expect(kept.entries.allSatisfy { $0.report.isStale })
  }
}
