// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Daemon

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

  func matches(_ notification: NotificationRecord) -> Bool {
    matches(notification.category, notification.flags)
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
  ) -> [Option<Options>] {
    let flags = ["silent", "important", "pre-existing", "positive-action", "negative-action"]
    return [
      .value(
        "--app", value: "GLOB", expects: "a pattern",
        help: "only this app, by identifier or name; * and ? stand for anything; may repeat",
        set: { options, text in
          options[keyPath: path].apps.append(Glob(text))
          return !text.isEmpty
        }),
      .value(
        "--category", value: "NAME",
        expects: "a category: \(Category.names.joined(separator: ", "))",
        help: "only this category (\(Category.names.joined(separator: ", ")), or its number); "
          + "may repeat",
        set: { options, text in
          guard let category = Category(text) else { return false }
          options[keyPath: path].categories.append(category)
          return true
        }),
      .value(
        "--flag", value: "NAME", expects: "a flag: \(flags.joined(separator: ", "))",
        help: "only with this flag (\(flags.joined(separator: ", "))); may repeat: all of them",
        set: { options, text in
          guard let flag = EventFlags(name: text) else { return false }
          options[keyPath: path].flags.insert(flag)
          return true
        }),
      .flag(
        "--no-preexisting", help: "without what was there before the phone connected",
        set: { $0[keyPath: path].withoutPreExisting = true }),
    ]
  }
}
