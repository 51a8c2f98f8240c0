// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control

/// Which settings are in force, and which are pending. Code that needs one gets it at construction, or through an
/// explicit call on reload; nothing else reads this type while it works.
///
///     started ─── its `start` and `radio` hold until the daemon exits
///     links   ─── each keeps the `quirks` that it started with
///     latest  ─── its `live` holds; a new link takes its `quirks`
struct SettingsInForce: Sendable {
  private let started: Settings
  private var links: [Int: Settings] = [:]
  private var latest: Settings

  /// The settings of a daemon that starts.
  init(_ settings: Settings) { (started, latest) = (settings, settings) }

  var start: StartSettings { started.options.start }
  var radio: RadioSettings { started.options.radio }
  var live: LiveSettings { latest.options.live }
  /// The quirks for a new link.
  var quirks: Quirks { latest.options.quirks }

  /// The settings were reloaded, and are valid.
  mutating func replace(with settings: Settings) { latest = settings }

  /// A link begins, with the `quirks` of now.
  mutating func linkBegan(_ number: Int) { links[number] = latest }

  mutating func linkEnded(_ number: Int) { links[number] = nil }

  /// The settings that are not in force yet, or not on every link: with their new value, or without one for the
  /// default.
  var waiting: [SettingsReport.Setting] {
    let (old, new) = (started.options, latest.options)
    var waiting =
      (old.start, old.radio) == (new.start, new.radio)
      ? [] : latest.changes(from: started, .nextStart)
    for link in links.values where link.options.quirks != new.quirks {
      for change in latest.changes(from: link, .newLink) where !waiting.contains(change) {
        waiting.append(change)
      }
    }
    return waiting
  }

  /// What `config show` shows.
  var report: SettingsReport {
    var report = SettingsReport()
    report.file = latest.file
    report.waiting = waiting
    let isLate = Set(report.waiting.filter { $0.effect == .newLink }.map(\.name))
    report.settings =
      started.given.filter { $0.effect == .nextStart }
      + latest.given.filter { $0.effect != .nextStart && !isLate.contains($0.name) }
    report.hooks = live.hooks.count
    report.rules = live.rules.count
    report.tables = live.hooks.map(\.table) + live.rules.map(\.table)
    return report
  }
}
