// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Board
import Control
import Patterns
import Wire

// Hooks and rules in the form of a settings file.

extension Hook {
  /// Its table.
  var table: String {
    SettingsTable("hook") { entries in
      entries.add("event", .text(event.rawValue))
      entries.add("run", .program(program))
      if includesPreExisting { entries.add("preexisting", .truth(true)) }
    }.text
  }
}

extension Rule {
  /// Its table.
  var table: String {
    SettingsTable("rule") { entries in
      entries.add("name", .text(name))
      entries.add("app", .some(conditions.apps.map(\.description)))
      entries.add("category", .some(conditions.categories.map(\.description).sorted()))
      entries.add("flag", .some(conditions.flags.names))
      entries.add("phone", conditions.phone.map { .text($0.description) })
      entries.add("title", conditions.title.map { .text($0.source) })
      entries.add("message", conditions.message.map { .text($0.source) })
      entries.add("time", conditions.time.map { .text($0.description) })
      switch outcome.standing {
      case .usual: break
      case .urgent: entries.add("urgent", .truth(true))
      case .hidden: entries.add("show", .truth(false))
      }
      let fetched = outcome.fetch.map { wanted in
        NotificationAttributeID.all.filter(wanted.contains).compactMap(\.name)
      }
      entries.add("fetch", fetched.map { $0.isEmpty ? .text("none") : .list($0) })
      entries.add("run", .some(outcome.program))
      if outcome.includesPreExisting { entries.add("preexisting", .truth(true)) }
      entries.add("act", outcome.action.map { .text("\($0)") })
    }.text
  }
}

/// An element of an array of tables.
private struct SettingsTable {
  private(set) var text: String

  init(_ name: String, _ fill: (inout SettingsTable) -> Void) {
    text = "[[\(name)]]"
    fill(&self)
  }

  /// Adds a key if it has a value.
  mutating func add(_ key: String, _ value: SettingValue?) {
    if let value { text += "\n\(key) = \(value)" }
  }
}

extension SettingValue {
  /// Nil if there are none.
  fileprivate static func some(_ texts: [String]) -> SettingValue? {
    texts.isEmpty ? nil : .list(texts)
  }

  /// A path alone, or with its arguments.
  fileprivate static func program(_ words: [String]) -> SettingValue {
    words.count == 1 ? .text(words[0]) : .list(words)
  }
}

extension TimeOfDay.Span: CustomStringConvertible {
  /// As in `22:00-07:00`.
  var description: String { "\(start)-\(end)" }
}

extension TimeOfDay: CustomStringConvertible {
  var description: String {
    "\(String(minutes / 60, digits: 2)):\(String(minutes % 60, digits: 2))"
  }
}
