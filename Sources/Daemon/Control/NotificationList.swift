// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Board
import Control
import EventLoop
import Wire

/// The notifications of some phones as clients see them: phone by phone, each in the order of arrival.
@LoopActor struct NotificationList {
  fileprivate let phones: [Phone]

  /// The position of a notification: the numbers of phone and notification. It stays the same until the notification
  /// is removed, even across a break, so a page that continues after it neither omits nor repeats another.
  private typealias Place = (phone: Int, number: UInt64)

  /// The published notifications after a position.
  private func published(after start: Place = (0, 0)) -> [(place: Place, phone: Phone, report: NotificationReport)] {
    phones.filter { $0.number >= start.phone }.flatMap { phone in
      let first = phone.number == start.phone ? start.number : 0
      return phone.notifications.ledger.published(after: first).map { number, report in
        ((phone.number, number), phone, report)
      }
    }
  }

  /// A page of the matching ones.
  func page(matching query: NotificationQuery) throws(RPCError) -> Page<ActiveNotification> {
    let numbers = (query.after ?? "0.0").split(separator: ".")
    guard numbers.count == 2, let phone = Int(numbers[0]), let number = UInt64(numbers[1]) else {
      throw .invalidParams("after is not a “next” of this list")
    }
    var page = Page<ActiveNotification>()
    for (place, phone, report) in published(after: (phone, number)) where query.matches(report) {
      let position = "\(place.phone).\(place.number)"
      guard page.add(phone.active(report), at: position, within: ControlLimits.page) else { break }
    }
    return page
  }

  /// A page of the apps that have any, ordered by identifier, after a given one.
  func apps(after: String?) -> Page<AppReport> {
    var reports: [String: AppReport] = [:]
    for (_, _, report) in published() {
      guard let id = report.attributes.appIdentifier, !id.isEmpty else { continue }
      reports[id, default: AppReport(appID: id, name: id, count: 0)].add(report)
    }
    var page = Page<AppReport>()
    for (id, report) in reports.sorted(by: { $0.key < $1.key }) where id > after ?? "" {
      guard page.add(report, at: id, within: ControlLimits.page) else { break }
    }
    return page
  }

  /// The one with this UID; nil if there is none, or several phones have one.
  func only(_ uid: NotificationUID) -> (phone: Phone, report: NotificationReport)? {
    let found = published().filter { $0.report.event.uid == uid }
    return found.count == 1 ? (found[0].phone, found[0].report) : nil
  }

  /// All of them, as events for a client that knows none.
  var events: [Event] {
    published().map { _, phone, report in
      var report = report
      report.event.change = .added
      return phone.event(.notification(report))
    }
  }
}

extension Supervisor {
  /// The notifications of the selected phone, or of all.
  func notifications(of selector: PhoneSelector?) -> NotificationList {
    NotificationList(phones: phoneBook.phones.filter { selector?.matches($0) ?? true })
  }
}

extension PhoneSelector {
  @LoopActor func matches(_ phone: Phone) -> Bool {
    matches(phone.identity?.address, name: phone.cache.name)
  }
}

extension Phone {
  /// A notification with its phone.
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
