// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import EventLoop
import JSON
import System
import Wire

/// An action as typed: by name, or by the phone's label for it.
struct TypedAction: Hashable, Sendable, CustomStringConvertible {
  let description: String
  /// Nil: it is a label.
  fileprivate let named: NotificationAction?

  init(_ text: String) {
    named = NotificationAction(name: text.lowercased())
    description = named?.description ?? text
  }

  /// The action for a notification; nil if it has none with this name.
  fileprivate func action(of notification: NotificationReport) -> NotificationAction? {
    if let named { return notification.has(named) ? named : nil }
    return [.positive, .negative].first {
      notification.has($0) && notification.label(of: $0)?.lowercased() == description.lowercased()
    }
  }
}

extension Clients {
  /// `ancsd act`: performs an action.
  static let act = ClientCommand(
    "act", "acts on notifications: answers a call, clears a message",
    usage: [
      "ancsd act [OPTIONS] UID... positive|negative|LABEL",
      "ancsd act --all [OPTIONS] positive|negative|LABEL",
    ],
    options: [
      .flag(
        "--all", help: "act on all that have the action and match the filter",
        set: { $0.all = true }),
      .flag(
        "--dry-run", help: "with --all: list what it would act on, and do nothing",
        set: { $0.isDry = true }),
      .flag(
        "-y", "--yes",
        help: "with --all: do not ask first (on a terminal it asks above \(askedFrom))",
        set: { $0.isSure = true }),
    ] + CommandOption.filtersOfActive, operands: "UID... positive|negative|LABEL",
    kinds: [.notification, .word(["positive", "negative"])],
    notes: [
      "You can name an action by its label instead of positive or negative, as “ancsd list” shows it: "
        + "“ancsd act 7 clear”.",
      "ANCS carries no text: “Reply” opens the reply on the phone.",
      "The status is 1 if a notification does not have the action, or the phone refuses it. With several UIDs, each is "
        + "tried, and the status is that of the first failure.",
    ],
    examples: [
      "12 positive",
      "7 8 clear",
      "--all --app Mail --dry-run negative",
    ],
    read: { options, operands throws(Failure) in try options.readAction(operands) }
  ) { options, client throws(Failure) in
    let phone = options.phone
    guard options.all else {
      var listed: [ActiveNotification]?
      let status = try await client.each(options.uids) { uid throws(Failure) in
        if listed == nil {
          listed = try await client.list(
            ControlMethods.listNotifications, NotificationQuery(phone: phone), "act \(uid) \(options.action)")
        }
        try await client.act(options.action, on: uid, of: phone, known: listed ?? [])
      }
      // The user may expect to send a text.
      if status == .done, options.action.description.lowercased() == "reply" {
        client.remark("the phone opens the reply; type it there, because ANCS carries no text")
      }
      return status
    }
    let matching = try await client.notifications(matching: options.filter, on: phone, "act")
    // The number of one that is stale may be another's by now.
    let targets = matching.filter { !$0.report.isStale }.compactMap { target in
      options.action.action(of: target.report).map { (target, $0) }
    }
    guard !targets.isEmpty else {
      let isStale = matching.contains(where: \.report.isStale)
      if isStale { try await client.requireNotifications(of: phone, "act") }
      let which = isStale ? "matching notification that is not stale" : "matching notification"
      throw Failure(.refused, "act", "no \(which) has the action “\(options.action)”")
    }
    if options.isDry {
      for (target, _) in targets {
        try client.console.show(target) { target.report.listing($0, now: .now) }
      }
      client.remark("\(options.action): \(targets.count.counted("notification")); nothing was done")
      return .done
    }
    if !options.isSure {
      guard try await client.agrees(to: options.action, on: targets.count) else {
        client.remark("nothing was done")
        return .refused
      }
    }
    var count = 0
    let status = try await client.each(targets) { (target, action) throws(Failure) in
      let selector = target.phone.map(PhoneSelector.init) ?? phone
      try await client.act(action, on: target.report.event.uid, of: selector)
      count += 1
    }
    let report: JSONValue = [
      "action": .string("\(options.action)"), "done": .number(count), "failed": .number(targets.count - count),
    ]
    try client.console.show(report) { _ in
      // As in `cleared 8`, or `cleared 8 of 9`.
      let done = ActionLabel.past("\(options.action)") ?? "\(options.action): done on"
      return "\(done) \(count)\(count < targets.count ? " of \(targets.count)" : "")".printable
    }
    return status
  }

  /// On a terminal it asks before it acts on more than this number.
  fileprivate static let askedFrom = 3
}

/// What a phone calls an action.
package enum ActionLabel {
  /// Those of iOS in English, and what was done then.
  private static let pasts = [
    "answer": "answered", "clear": "cleared", "decline": "declined", "delete": "deleted",
    "dismiss": "dismissed", "mark as read": "marked as read",
  ]

  /// As in `cleared` for `Clear`; nil for a label in another language or of an app.
  package static func past(_ label: String) -> String? { pasts[label.lowercased()] }
}

extension ClientOptions {
  fileprivate mutating func readAction(_ operands: [String]) throws(Failure) {
    var words = operands
    if !all {
      guard filter.isEmpty, !isDry else {
        throw Failure(
          usage: "\(isDry ? "--dry-run" : "a filter") needs --all",
          remedy: "did you mean “act --all”?")
      }
      (uids, words) = try operands.uids(for: "act")
    }
    guard !words.isEmpty else {
      throw Failure(usage: "act needs an action", remedy: "use positive, negative, or the phone's label for it")
    }
    action = TypedAction(words.joined(separator: " "))
  }
}

extension ControlClient {
  /// Asks on a terminal before acting on many; without a terminal it proceeds.
  fileprivate func agrees(to action: TypedAction, on count: Int) async throws(Failure) -> Bool {
    guard count > Clients.askedFrom, Terminal.isTerminal(Standard.input), Terminal.isTerminal(Standard.error) else {
      return true
    }
    let label = action.description
    let words =
      action.named == nil ? label.prefix(1).uppercased() + label.dropFirst() : "Perform the \(label) action of"
    let question = "\(words) \(count.counted("notification"))? [y/N] ".printable
    try? FileDescriptor.writeAll(Array(question.utf8), to: Standard.error)
    let reader = readTyped()
    defer { reader.close() }
    while true {
      guard case .typed(let line) = try await next() else { continue }
      return ["y", "yes"].contains(line?.lowercased() ?? "")
    }
  }

  /// Performs a typed action. If the notification is known not to have it, this refuses it.
  fileprivate func act(
    _ typed: TypedAction, on uid: NotificationUID, of phone: PhoneSelector?, known: [ActiveNotification]
  ) async throws(Failure) {
    let known = known.filter { $0.report.event.uid == uid }
    // If two phones have the UID, the daemon asks for the phone; if the action is unknown here, the phone refuses it.
    if let action = typed.named, known.count != 1 {
      return try await act(action, on: uid, of: phone)
    }
    if let report = known.first?.report, known.count == 1, typed.named != nil || report.hasLabels {
      return try await act(try typed.resolved(report), on: uid, of: phone)
    }
    let attributes: [NotificationAttributeID] = [.positiveActionLabel, .negativeActionLabel]
    let asked = try await call(
      ControlMethods.getNotification,
      NotificationParameters(uid, attributes: attributes, phone: phone), "act \(uid) \(typed)")
    try await act(try typed.resolved(asked.report), on: uid, of: phone)
  }

  fileprivate func act(
    _ action: NotificationAction, on uid: NotificationUID, of phone: PhoneSelector?
  ) async throws(Failure) {
    try await call(
      ControlMethods.act, ActionParameters(uid, action, phone: phone), "act \(uid) \(action)")
  }
}

extension TypedAction {
  /// The action; throws a failure that names what the notification has instead.
  fileprivate func resolved(_ notification: NotificationReport) throws(Failure) -> NotificationAction {
    if let action = action(of: notification) { return action }
    let number = "#\(notification.event.uid)"
    let has: [String] = [NotificationAction.positive, .negative].filter(notification.has).map {
      action in "\(action)\(notification.label(of: action).map { " (\($0))" } ?? "")"
    }
    let rest = has.isEmpty ? "it has none" : "it has \(has.joined(separator: " and "))"
    if named != nil { throw Failure(.refused, "", "\(number) has no \(self) action", remedy: rest) }
    // “reply See you at eight”
    let first = TypedAction(String(description.prefix { $0 != " " }))
    if first.description != description, let action = first.action(of: notification) {
      let text = description.dropFirst(first.description.count + 1)
      guard notification.label(of: action)?.lowercased() == "reply" else {
        throw Failure(usage: "unexpected “\(text)” after the action “\(first)”")
      }
      throw Failure(
        .refused, "", "“\(text)” can't be sent: ANCS carries no text",
        remedy: "“ancsd act \(notification.event.uid) \(first)” opens the reply on the phone")
    }
    let names =
      ["positive", "negative"]
      + [.positive, .negative].compactMap { notification.label(of: $0)?.lowercased() }
    let near = nearest(to: description.lowercased(), among: names)
    throw Failure(
      .refused, "", "\(number) has no action “\(self)”", remedy: near.map { "did you mean “\($0)”?" } ?? rest)
  }
}

extension NotificationReport {
  /// Whether the labels of all its actions were fetched.
  fileprivate var hasLabels: Bool {
    [NotificationAction.positive, .negative].allSatisfy { !has($0) || label(of: $0) != nil }
  }
}
