// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import Patterns
import System
import Wire

/// Selects the notifications to show or act on.
struct NotificationFilter: Hashable, Sendable {
  /// Any of these; none: every app.
  var apps: [Glob] = []
  /// None of these.
  var otherApps: [Glob] = []
  /// What the title, the subtitle or the message has to match.
  var pattern: TextPattern?
  /// Any of these; none: every category.
  var categories: [Category] = []
  /// All of these.
  var flags: EventFlags = []
  /// Whether to leave out those from before the session.
  var withoutPreExisting = false
  /// Only those whose date is not before this.
  var since: WallTime?

  /// Whether it matches everything.
  var isEmpty: Bool { self == NotificationFilter() }

  /// - Parameter zone: the board's offset from UTC in seconds, for dates with an unknown zone.
  func matches(_ notification: NotificationReport, zone: Int = 0) -> Bool {
    matches(notification.event.category, notification.event.flags)
      && (apps.isEmpty || apps.contains { NotificationQuery(app: $0).matches(notification) })
      && !otherApps.contains { NotificationQuery(app: $0).matches(notification) }
      && hasText(notification) && isRecent(notification, zone)
  }

  private func hasText(_ notification: NotificationReport) -> Bool {
    guard let pattern else { return true }
    return [.title, .subtitle, .message].contains { (name: NotificationAttributeID) in
      // A search that takes too long hides nothing.
      notification.attributes[name].map { (try? pattern.matches($0)) ?? true } ?? false
    }
  }

  private func isRecent(_ notification: NotificationReport, _ zone: Int) -> Bool {
    guard let since else { return true }
    return notification.time(boardZone: zone).map { $0 >= since } ?? false
  }

  /// Whether it may match, by what the Notification Source has: the app is not known.
  func matches(_ category: Category, _ flags: EventFlags) -> Bool {
    (categories.isEmpty || categories.contains(category)) && flags.isSuperset(of: self.flags)
      && !(withoutPreExisting && flags.contains(.preExisting))
  }

  /// The part that the daemon evaluates: one app and one category. The client filters the rest.
  func query(_ phone: PhoneSelector?) -> NotificationQuery {
    NotificationQuery(
      phone: phone, app: apps.count == 1 ? apps[0] : nil, category: categories.count == 1 ? categories[0] : nil)
  }

  /// Whether the daemon's response to the query needs no further filtering.
  var isOfDaemon: Bool {
    var rest = self
    if apps.count == 1 { rest.apps = [] }
    if categories.count == 1 { rest.categories = [] }
    return rest.isEmpty
  }
}

extension CommandOption<ClientOptions> {
  /// The filter options of commands that show notifications.
  static var filters: [CommandOption] {
    let flags: EventFlags = [
      .silent, .important, .preExisting, .positiveAction, .negativeAction,
    ]
    return [
      .app(set: { $0.filter.apps.append($1) }),
      .app("--not-app", "all but this app", set: { $0.filter.otherApps.append($1) }),
      .value(
        "--grep", value: "PATTERN", expects: "a regular expression (pcre2pattern(3))",
        help: "only those with this in the title, subtitle or message: a regular expression; "
          + "case does not matter",
        read: { try? TextPattern($0) }, set: { $0.filter.pattern = $1 }),
      .list(
        "--category", of: "a category", names: Category.names,
        help: "only these categories (\(Category.names.joined(separator: ", ")), or their numbers)",
        read: { Category($0) }, set: { $0.filter.categories += $1 }
      ).repeated,
      .list(
        "--flag", of: "a flag", names: flags.names,
        help: "only those with all these flags (\(flags.names.joined(separator: ", ")))",
        read: { EventFlags(name: $0) }, set: { $0.filter.flags.formUnion(EventFlags($1)) }
      ).repeated,
      .flag(
        "--no-preexisting", help: "without notifications from before the phone connected",
        set: { $0.filter.withoutPreExisting = true }),
    ]
  }

  /// The filter options for active notifications, including their date.
  static var filtersOfActive: [CommandOption] {
    filters + [.since("those dated", set: { $0.filter.since = $1 })]
  }

  /// `--app`: notifications of some apps.
  static func app(
    _ name: String = "--app", _ what: String = "only this app", set: @escaping Setter<Glob>
  ) -> CommandOption {
    .value(
      name, value: "GLOB", kind: .app, expects: "a pattern",
      help: "\(what), by identifier or name; * and ? are wildcards", read: { $0.isEmpty ? nil : Glob($0) }, set: set
    ).repeated
  }

  /// `--since`: a time in the past.
  ///
  /// - Parameters:
  ///   - what: the matching items, such as `events`.
  ///   - name: `--until` for the other side.
  static func since(_ what: String, _ name: String = "--since", set: @escaping Setter<WallTime>) -> CommandOption {
    .value(
      name, value: "TIME", expects: "a time: \(WallTime.forms)",
      help: "only \(what) \(name.dropFirst(2)) then: \(WallTime.forms)", read: { WallTime(typed: $0) }, set: set)
  }

  /// `-n` and `--newest-first`.
  static func latest(of things: String) -> [CommandOption] {
    [
      .count(of: things, help: "only the newest N", set: { $0.count = $1 }),
      .flag("--newest-first", help: "the newest first", set: { $0.newestFirst = true }),
    ]
  }

  /// `--event`, and the filters of notifications.
  static var eventFilters: [CommandOption] {
    [
      .list(
        "--event", of: "an event", names: EventName.allCases.map(\.rawValue), help: "only events of these kinds",
        read: { EventName(rawValue: $0) }, set: { $0.events.formUnion($1) }
      ).repeated
    ] + filters
  }
}

extension ClientOptions {
  /// The part of a list, whose last element is the newest, to print.
  func latest<Element>(of all: [Element]) -> [Element] {
    let latest = all.suffix(count ?? all.count)
    return newestFirst ? latest.reversed() : Array(latest)
  }
}

extension ControlClient {
  /// The active notifications that match. Throws if there is no phone.
  func notifications(
    matching filter: NotificationFilter, on phone: PhoneSelector?, _ what: String
  ) async throws(Failure) -> [ActiveNotification] {
    let all = try await list(ControlMethods.listNotifications, filter.query(phone), what)
    if all.isEmpty { try await requireNotifications(of: phone, what) }
    let zone = console.style.zone
    return all.filter { filter.matches($0.report, zone: zone) }
  }
}

extension WallTime {
  /// The accepted forms of a time in the past.
  static let forms = "how long ago (10m, 1h30m, 1w), 07:00, today, yesterday, or 2026-11-21T07:00, also with a zone"

  /// Parses a time in the past: how long ago, a time of day (its last occurrence), a day, or a date with
  /// or without a time and its zone.
  ///
  /// - Parameter zone: the board's offset from UTC, in seconds.
  init?(typed text: String, now: WallTime = .now, zone: Int = WallTime.now.zoneOffset) {
    let local = CivilTime(secondsSince1970: now.seconds + Int64(zone))
    if let last = text.last, last.isLetter, let ago = Duration(typed: text) {
      self.init(seconds: now.seconds - ago.components.seconds, nanoseconds: now.nanoseconds)
    } else if let days: Int64 = ["today": 0, "yesterday": 1][text.lowercased()] {
      let midnight = (local.secondsSince1970 / 86_400 - days) * 86_400
      self.init(seconds: midnight - Int64(zone))
    } else if let time = CivilTime(completing: text) {
      self.init(seconds: time.secondsSince1970 - Int64(zone))
    } else if let time = CivilTime(completing: "\(local.dateText)T\(text)") {
      let seconds = time.secondsSince1970 - Int64(zone)
      self.init(seconds: seconds <= now.seconds ? seconds : seconds - 86_400)
    } else {
      self.init(rfc3339: text)
    }
  }
}

/// Selects the events to print, and with them the removals of the notifications that it has selected.
struct EventFilter: Sendable {
  /// The wanted kinds; nil: all.
  var names: Set<EventName>?
  let notifications: NotificationFilter
  /// The address of the wanted phone, which may be unknown; nil: any phone.
  var phone: Address??
  let since: WallTime?
  let until: WallTime?
  /// Whether notifications have to be new.
  let isForNews: Bool
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

  init(_ options: ClientOptions, isForNews: Bool = false) {
    notifications = options.filter
    let names = isForNews ? [.notification] : options.events
    self.names = !names.isEmpty ? names : notifications.isEmpty ? nil : [.notification]
    (since, until, self.isForNews) = (options.since, options.until, isForNews)
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
