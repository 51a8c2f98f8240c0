// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import System
import Wire

/// Selects the events to print, and with them the removals of the notifications that it has selected.
struct EventFilter: Sendable {
  /// The wanted kinds; nil: all.
  var names: Set<EventName>?
  var notifications = NotificationFilter()
  /// The address of the wanted phone, which may be unknown; nil: any phone.
  var phone: Address??
  var since: WallTime?
  var until: WallTime?
  /// Whether notifications have to be new.
  var isForNews = false
  /// The notifications that matched, so that their removal does too: a removal lacks some of the members that a filter
  /// needs.
  private(set) var shown: Set<Shown> = []

  struct Shown: Hashable {
    var phone: Address?
    var uid: NotificationUID
  }

  /// Whether everything matches.
  var isEmpty: Bool {
    names == nil && notifications.isEmpty && phone == nil && since == nil && until == nil
      && !isForNews
  }

  /// - Parameter names: the wanted kinds; if empty, only notifications with a filter, otherwise all.
  init(_ names: Set<EventName>, _ notifications: NotificationFilter) {
    self.names = !names.isEmpty ? names : notifications.isEmpty ? nil : [.notification]
    self.notifications = notifications
  }

  mutating func matches(_ event: NumberedEvent) -> Bool {
    let content = event.event.content
    if let since, event.time < since { return false }
    if let until, event.time > until { return false }
    if let phone, phone != event.event.phone { return false }
    if let names, !names.contains(content.name) { return false }
    switch content {
    case .notification(let report) where isForNews && report.event.change != .added: return false
    case .notification(let report):
      let key = Shown(phone: event.event.phone, uid: report.event.uid)
      if report.event.change == .removed {
        return notifications.isEmpty || shown.remove(key) != nil
      }
      guard notifications.matches(report) else { return false }
      // No phone has more of them; removals are lost if the daemon or its phone never returns.
      if shown.count == NotificationLimits.notifications { shown.removeFirst() }
      if !notifications.isEmpty { shown.insert(key) }
      return true
    case .incoming(let event): return notifications.matches(event.category, event.flags)
    default: return true
    }
  }
}

/// The options of a command that filters events.
protocol EventOptions: FilterOptions {
  /// The kinds of events to print. If empty: only notifications with a filter, otherwise all but those to be asked for.
  var events: Set<EventName> { get set }
}

extension CommandOption where Options: EventOptions {
  /// `--event`, and the filters of notifications.
  static var eventFilters: [CommandOption] {
    [
      .list(
        "--event", of: "an event", names: EventName.allCases.map(\.rawValue),
        help: "only events of these kinds",
        read: { EventName(rawValue: $0) }, set: { $0.events.formUnion($1) }
      ).repeated
    ] + filters
  }
}
