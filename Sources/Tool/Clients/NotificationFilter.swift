// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control

/// Which notifications somebody wants to see.
struct NotificationFilter: Hashable, Sendable {
  /// Any of these; none: every app.
  var apps: [Glob] = []
  /// Any of these; none: every category.
  var categories: [Category] = []
  /// All of these.
  var flags: EventFlags = []
  /// Whether those that were there before the session are left out.
  var withoutPreExisting = false

  /// Whether it lets everything through.
  var isEmpty: Bool { self == NotificationFilter() }

  func matches(_ notification: NotificationReport) -> Bool {
    matches(notification.event.category, notification.event.flags)
      && (apps.isEmpty
        || apps.contains { NotificationQuery(app: $0).matches(notification) })
  }

  /// Whether it may match, as far as the Notification Source tells: nothing is known of the app.
  func matches(_ category: Category, _ flags: EventFlags) -> Bool {
    (categories.isEmpty || categories.contains(category)) && flags.isSuperset(of: self.flags)
      && !(withoutPreExisting && flags.contains(.preExisting))
  }
}

extension Grammar {
  /// The options of a filter.
  static func filterOptions(
    _ path: any WritableKeyPath<Options, NotificationFilter> & Sendable
  ) -> [CommandOption<Options>] {
    let flags = ["silent", "important", "pre-existing", "positive-action", "negative-action"]
    return [
      .value(
        "--app", value: "GLOB", expects: "a pattern",
        help: "only this app, by identifier or name; * and ? stand for anything; may repeat",
        read: { $0.isEmpty ? nil : Glob($0) }, set: { $0[keyPath: path].apps.append($1) }),
      .value(
        "--category", value: "NAME",
        expects: "a category: \(Category.names.joined(separator: ", "))",
        help: "only this category (\(Category.names.joined(separator: ", ")), or its number); "
          + "may repeat",
        read: { Category($0) }, set: { $0[keyPath: path].categories.append($1) }),
      .value(
        "--flag", value: "NAME", expects: "a flag: \(flags.joined(separator: ", "))",
        help: "only with this flag (\(flags.joined(separator: ", "))); may repeat: all of them",
        read: { EventFlags(name: $0) }, set: { $0[keyPath: path].flags.insert($1) }),
      .flag(
        "--no-preexisting", help: "without what was there before the phone connected",
        set: { $0[keyPath: path].withoutPreExisting = true }),
    ]
  }
}
