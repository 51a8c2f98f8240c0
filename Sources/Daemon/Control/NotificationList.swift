// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Board
import Control
import EventLoop
import Wire

/// The notifications of some phones as clients list them: phone by phone, and those of each in the order of arrival.
@LoopActor struct NotificationList {
  fileprivate let phones: [Phone]

  /// Where a notification stands: the numbers of the phone and of the notification. It stays there until it is gone,
  /// also over a break, so that a page that goes on behind it neither leaves out nor repeats another.
  private typealias Place = (phone: Int, number: UInt64)

  /// Goes through what clients were told of and stands behind a place, until `visit` returns false.
  private func visit(after start: Place, _ visit: (Place, Phone, NotificationReport) -> Bool) {
    for phone in phones where phone.number >= start.phone {
      let first = phone.number == start.phone ? start.number : 0
      for (number, report) in phone.notifications.ledger.told(after: first) {
        guard visit((phone.number, number), phone, report) else { return }
      }
    }
  }

  /// A page of those that match.
  func page(matching query: NotificationQuery) throws(RPCError) -> Page<ActiveNotification> {
    let numbers = (query.after ?? "0.0").split(separator: ".").compactMap { Int($0) }
    guard numbers.count == 2 else { throw .invalidParams("after is no “next” of this list") }
    var page = Page<ActiveNotification>()
    visit(after: (numbers[0], UInt64(clamping: numbers[1]))) { place, phone, report in
      !query.matches(report)
        || page.add(
          phone.active(report), at: "\(place.phone).\(place.number)", within: ControlLimits.page)
    }
    return page
  }

  /// A page of the apps that have any, in the order of their identifiers, behind one of them.
  func apps(after: String?) -> Page<AppReport> {
    var reports: [String: AppReport] = [:]
    visit(after: (0, 0)) { _, _, report in
      if let id = report.attributes.appIdentifier, !id.isEmpty {
        reports[id, default: AppReport(appID: id, name: id, count: 0)].add(report)
      }
      return true
    }
    var page = Page<AppReport>()
    for (id, report) in reports.sorted(by: { $0.key < $1.key }) where id > after ?? "" {
      guard page.add(report, at: id, within: ControlLimits.page) else { break }
    }
    return page
  }

  /// All of them as they are told to somebody who knows none.
  var events: [Event] {
    var events: [Event] = []
    visit(after: (0, 0)) { _, phone, report in
      var report = report
      report.event.change = .added
      events.append(phone.event(.notification(report)))
      return true
    }
    return events
  }
}

extension ControlledDaemon {
  /// The notifications of the phone that is meant, or of all.
  func notifications(of selector: PhoneSelector?) -> NotificationList {
    NotificationList(phones: phones.filter { selector?.matches($0) ?? true })
  }
}

extension PhoneSelector {
  @LoopActor func matches(_ phone: Phone) -> Bool {
    matches(phone.identity?.address, name: phone.displayName)
  }
}

extension Phone {
  /// A notification with the phone that it is on.
  func active(_ report: NotificationReport) -> ActiveNotification {
    ActiveNotification(dated(report), adapter: adapter, phone: address)
  }
}

extension AppReport {
  /// Counts another of the app's notifications.
  fileprivate mutating func add(_ notification: NotificationReport) {
    count = (count ?? 0) + 1
    if let app = notification.app { name = app }
  }
}
