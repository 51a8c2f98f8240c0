// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control

/// The options of `list`, `count` and `apps`.
struct ListOptions: FilterOptions {
  var client = ClientOptions()
  var filter = NotificationFilter()
}

/// The options of `show` and `act`.
struct UIDOptions: ClientCommandOptions {
  var client = ClientOptions()
  var uid = NotificationUID(0)
  var action = NotificationAction.positive

  /// Reads the notification's number out of exactly `count` operands.
  fileprivate mutating func readUID(_ operands: [String], count: Int) throws(Failure) {
    guard let first = operands.first else {
      throw Failure(.usage, "UID", "the notification's number is missing")
    }
    guard let number = UInt32(first) else {
      throw Failure(.usage, first, "not the number of a notification")
    }
    guard operands.count >= count else {
      throw Failure(.usage, first, "the action, positive or negative, is missing behind it")
    }
    try operands.check(atMost: count)
    uid = NotificationUID(rawValue: number)
  }
}

extension Clients {
  /// `ancsd list`: what is active now.
  static let list = ClientCommand<ListOptions>(
    "list", "the notifications that are active now", options: CommandOption.filters,
    notes: ["JSON is one object a line. The status is 1 where nothing matches, as with grep."]
  ) { options, client throws(Failure) in
    let found = try await matching(options, client)
    for notification in found {
      try client.console.show(notification) { notification.report.listing($0) }
    }
    return found.isEmpty ? .refused : .done
  }

  /// `ancsd count`: how many are active now.
  static let count = ClientCommand<ListOptions>(
    "count", "how many notifications are active now", options: CommandOption.filters,
    notes: ["The status is 1 where nothing matches, as with grep."]
  ) { options, client throws(Failure) in
    let count = try await matching(options, client).count
    try client.console.print(line: String(count))
    return count == 0 ? .refused : .done
  }

  private static func matching(
    _ options: ListOptions, _ client: ControlClient
  ) async throws(Failure) -> [ActiveNotification] {
    // The daemon filters by one app and one category; everything else is filtered here.
    let filter = options.filter
    let query = NotificationQuery(
      phone: options.client.phone, app: filter.apps.count == 1 ? filter.apps[0] : nil,
      category: filter.categories.count == 1 ? filter.categories[0] : nil)
    return try await client.list(ControlMethods.listNotifications, query, "listing notifications")
      .filter { filter.matches($0.report) }
  }

  /// `ancsd show`: all about one notification.
  static let show = ClientCommand<UIDOptions>(
    "show", "all about one notification, its message in full", operands: "UID",
    read: { options, operands throws(Failure) in try options.readUID(operands, count: 1) }
  ) { options, client throws(Failure) in
    let wanted = NotificationParameters(options.uid, phone: options.client.phone)
    let notification = try await client.call(
      ControlMethods.getNotification, wanted, "show \(options.uid)")
    try client.console.show(notification) { notification.report.details($0) }
    return .done
  }

  /// `ancsd act`: performs an action.
  static let act = ClientCommand<UIDOptions>(
    "act", "acts on a notification: answers a call, clears a message",
    operands: "UID positive|negative",
    notes: ["What the actions do, “ancsd show UID” tells: their labels are the phone's."],
    read: { options, operands throws(Failure) in
      try options.readUID(operands, count: 2)
      guard let action = NotificationAction(operands[1]) else {
        throw Failure(.usage, operands[1], "the action is positive or negative")
      }
      options.action = action
    }
  ) { options, client throws(Failure) in
    let action = ActionParameters(options.uid, options.action, phone: options.client.phone)
    try await client.call(ControlMethods.act, action, "act \(options.uid) \(options.action)")
    return .done
  }

  /// `ancsd apps`: the apps with active notifications.
  static let apps = ClientCommand<ListOptions>(
    "apps", "the apps with active notifications: how many, name, identifier",
    notes: ["The identifiers are what --app takes. JSON is one object a line."]
  ) { options, client throws(Failure) in
    let apps = try await client.list(
      ControlMethods.listApps, AppQuery(phone: options.client.phone), "listing apps")
    switch client.console.format {
    case .json: for app in apps { try client.console.show(app) { _ in "" } }
    case .text: try client.console.print(line: AppReport.table(apps, client.console.style))
    }
    return .done
  }
}

// MARK: - The filter

/// Which notifications are shown.
struct NotificationFilter: Hashable, Sendable {
  /// Any of these; none: every app.
  var apps: [Glob] = []
  /// Any of these; none: every category.
  var categories: [Category] = []
  /// All of these.
  var flags: EventFlags = []
  /// Whether those from before the session are left out.
  var withoutPreExisting = false

  /// Whether it lets everything through.
  var isEmpty: Bool { self == NotificationFilter() }

  func matches(_ notification: NotificationReport) -> Bool {
    matches(notification.event.category, notification.event.flags)
      && (apps.isEmpty || apps.contains { NotificationQuery(app: $0).matches(notification) })
  }

  /// Whether it may match, as far as the Notification Source tells: the app is not known.
  func matches(_ category: Category, _ flags: EventFlags) -> Bool {
    (categories.isEmpty || categories.contains(category)) && flags.isSuperset(of: self.flags)
      && !(withoutPreExisting && flags.contains(.preExisting))
  }
}

/// The options of a command that filters notifications.
protocol FilterOptions: ClientCommandOptions { var filter: NotificationFilter { get set } }

extension CommandOption where Options: FilterOptions {
  static var filters: [CommandOption] {
    let flags = "silent, important, pre-existing, positive-action, negative-action"
    let categories = Category.names.joined(separator: ", ")
    return [
      .value(
        "--app", value: "GLOB", expects: "a pattern",
        help: "only this app, by identifier or name; * and ? stand for anything; may repeat",
        read: { $0.isEmpty ? nil : Glob($0) }, set: { $0.filter.apps.append($1) }),
      .value(
        "--category", value: "NAME", expects: "a category: \(categories)",
        help: "only this category (\(categories), or its number); may repeat",
        read: { Category($0) }, set: { $0.filter.categories.append($1) }),
      .value(
        "--flag", value: "NAME", expects: "a flag: \(flags)",
        help: "only with this flag (\(flags)); may repeat: all of them",
        read: { EventFlags(name: $0) }, set: { $0.filter.flags.insert($1) }),
      .flag(
        "--no-preexisting", help: "without what was there before the phone connected",
        set: { $0.filter.withoutPreExisting = true }),
    ]
  }
}
