// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import Wire

/// What `list` and `count` are told.
struct ListOptions: Sendable {
  var client = ClientOptions()
  var filter = NotificationFilter()
}

/// What `show` and `act` are told.
struct UIDOptions: Sendable {
  var client = ClientOptions()
  var uid = NotificationUID(0)
  var action = NotificationAction.positive
}

extension Clients {
  /// `ancsd list`: what is active now.
  static let list = ClientCommand(
    "list", "the notifications that are active now",
    grammar: Grammar(
      Grammar.filterOptions(\ListOptions.filter) + Grammar.clientOptions(\ListOptions.client)),
    defaults: ListOptions(), client: \.client,
    notes: ["JSON is one object a line. The status is 1 where nothing matches, as with grep."]
  ) { options, client throws(Failure) in
    let found = try await matching(options, client)
    for notification in found {
      try client.console.show(notification) { notification.report.listing($0) }
    }
    return found.isEmpty ? .refused : .done
  }

  /// `ancsd count`: how many are active now.
  static let count = ClientCommand(
    "count", "how many notifications are active now",
    grammar: Grammar(
      Grammar.filterOptions(\ListOptions.filter) + Grammar.clientOptions(\ListOptions.client)),
    defaults: ListOptions(), client: \.client,
    notes: ["The status is 1 where nothing matches, as with grep."]
  ) { options, client throws(Failure) in
    let count = try await matching(options, client).count
    try client.console.print(line: String(count))
    return count == 0 ? .refused : .done
  }

  private static func matching(
    _ options: ListOptions, _ client: ControlClient
  ) async throws(Failure) -> [ActiveNotification] {
    // One app or category the daemon looks for itself; the rest is looked through here.
    let filter = options.filter
    let query = NotificationQuery(
      phone: options.client.phone, app: filter.apps.count == 1 ? filter.apps[0] : nil,
      category: filter.categories.count == 1 ? filter.categories[0] : nil)
    return try await client.call(
      ControlMethods.listNotifications, query, "listing notifications"
    ).filter { filter.matches($0.report) }
  }

  /// `ancsd show`: all about one notification.
  static let show = ClientCommand(
    "show", "all about one notification, its message in full",
    grammar: Grammar(Grammar.clientOptions(\UIDOptions.client), operands: "UID") {
      options, operands throws(Failure) in
      options.uid = try uid(operands, count: 1)
    }, defaults: UIDOptions(), client: \.client
  ) { options, client throws(Failure) in
    let notification = try await client.call(
      ControlMethods.getNotification,
      NotificationParameters(options.uid, phone: options.client.phone), "show \(options.uid)")
    try client.console.show(notification) { notification.report.details($0) }
    return .done
  }

  /// `ancsd act`: performs an action.
  static let act = ClientCommand(
    "act", "acts on a notification: answers a call, clears a message",
    grammar: Grammar(
      Grammar.clientOptions(\UIDOptions.client), operands: "UID positive|negative"
    ) { options, operands throws(Failure) in
      options.uid = try uid(operands, count: 2)
      guard let action = NotificationAction(operands[1]) else {
        throw Failure(.usage, operands[1], "the action is positive or negative")
      }
      options.action = action
    }, defaults: UIDOptions(), client: \.client,
    notes: ["What the actions do, “ancsd show UID” tells: their labels are the phone's."]
  ) { options, client throws(Failure) in
    try await client.call(
      ControlMethods.act,
      ActionParameters(options.uid, options.action, phone: options.client.phone),
      "act \(options.uid) \(options.action)")
    return .done
  }

  private static func uid(_ operands: [String], count: Int) throws(Failure) -> NotificationUID {
    guard let first = operands.first else {
      throw Failure(.usage, "UID", "the notification's number is missing")
    }
    guard let number = UInt32(first) else {
      throw Failure(.usage, first, "not the number of a notification")
    }
    guard operands.count >= count else {
      throw Failure(.usage, first, "the action, positive or negative, is missing behind it")
    }
    guard operands.count == count else {
      throw Failure(.usage, operands[count], "nothing is expected there")
    }
    return NotificationUID(rawValue: number)
  }

  /// `ancsd apps`: the apps that were seen.
  static let apps = ClientCommand(
    "apps", "the apps that have notified, with their identifiers and counts",
    grammar: Grammar(Grammar.clientOptions(\ListOptions.client)), defaults: ListOptions(),
    client: \.client, notes: ["The identifiers are what --app takes. JSON is one object a line."]
  ) { options, client throws(Failure) in
    let apps = try await client.call(
      ControlMethods.listApps, PhoneParameters(phone: options.client.phone), "listing apps")
    switch client.console.usualFormat {
    case .json: for app in apps { try client.console.show(app) { _ in "" } }
    case .text: try client.console.print(line: AppReport.table(apps, client.console.style))
    }
    return .done
  }
}
