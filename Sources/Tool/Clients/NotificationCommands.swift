// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Daemon
import JSON

/// What `list` and `count` are told.
struct ListOptions: Sendable {
  var client = ClientOptions()
  var filter = NotificationFilter()
}

/// What `show` and `act` are told.
struct UIDOptions: Sendable {
  var client = ClientOptions()
  var uid = NotificationUID(rawValue: 0)
  var action = Action.positive
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
      switch client.console.usualFormat {
      case .json: try client.console.print(line: notification.json.text)
      case .text:
        try client.console.print(line: notification.record.listing(client.console.style))
      }
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
    return try await client.fetchAll(
      .listNotifications(query), "listing notifications", ActiveNotification.init(json:)
    ).filter { filter.matches($0.record) }
  }

  /// `ancsd show`: all about one notification.
  static let show = ClientCommand(
    "show", "all about one notification, its message in full",
    grammar: Grammar(Grammar.clientOptions(\UIDOptions.client), operands: "UID") {
      options, operands throws(Failure) in
      options.uid = try uid(operands, count: 1)
    }, defaults: UIDOptions(), client: \.client
  ) { options, client throws(Failure) in
    let request = ControlRequest.getNotification(
      options.uid, attributes: nil, phone: options.client.phone)
    let notification = try await client.fetch(
      request, "show \(options.uid)", ActiveNotification.init(json:))
    switch client.console.usualFormat {
    case .json: try client.console.print(line: notification.json.text)
    case .text: try client.console.print(line: notification.record.details(client.console.style))
    }
    return .done
  }

  /// `ancsd act`: performs an action.
  static let act = ClientCommand(
    "act", "acts on a notification: answers a call, clears a message",
    grammar: Grammar(
      Grammar.clientOptions(\UIDOptions.client), operands: "UID positive|negative"
    ) { options, operands throws(Failure) in
      options.uid = try uid(operands, count: 2)
      guard let action = Action(operands[1]) else {
        throw Failure(.usage, operands[1], "the action is positive or negative")
      }
      options.action = action
    }, defaults: UIDOptions(), client: \.client,
    notes: ["What the actions do, “ancsd show UID” tells: their labels are the phone's."]
  ) { options, client throws(Failure) in
    let request = ControlRequest.act(options.uid, options.action, phone: options.client.phone)
    _ = try await client.call(request, "act \(options.uid) \(options.action)")
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
    let apps = try await client.fetchAll(
      .listApps(phone: options.client.phone), "listing apps", AppReport.init(json:))
    switch client.console.usualFormat {
    case .json: for app in apps { try client.console.print(line: app.json.text) }
    case .text: try client.console.print(line: AppReport.table(apps, client.console.style))
    }
    return .done
  }
}
