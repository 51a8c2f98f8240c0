// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Bluetooth
import Board
import Control

/// The options of `run`, in parts by when a change takes effect.
struct RunOptions: Hashable, Sendable {
  var start = StartSettings()
  var radio = RadioSettings()
  /// Assumptions about iOS: a link keeps those that it has begun with.
  var quirks = Quirks()
  var live = LiveSettings()
}

/// What counts from the start of the daemon to its end; nil where nothing sets it.
struct StartSettings: PrintingOptions, Hashable {
  /// Where the phones come from.
  var source = Source.radio
  /// Whether to exit after the first disconnect (with the virtual phone: when its script ends).
  var once = false
  /// The name that the phone shows; nil: the host's.
  var name: String?
  /// What standard output carries.
  var output = OutputOptions()
  /// The file of settings; nil: the usual one, if it is there.
  var config: String?
  /// The path of the control socket; nil: this user's default.
  var socket: String?
  /// The directory for bonds and caches; nil: the default.
  var stateDirectory: String?
  /// Where the ATT traffic is captured to.
  var btsnoop: String?
  /// The most bytes that the capture may have.
  var captureLimit = CaptureFile.usualLimit
  /// What is kept of the events for later (`[log]`); nil: nothing.
  var history: HistorySettings?
  /// How many files the capture may have, the older ones numbered.
  var captureFiles = 1

  /// Where the phones come from.
  enum Source: Hashable, Sendable {
    /// The adapters.
    case radio
    /// A UNIX socket that a phone listens on.
    case att(path: String)
    /// The built-in phone.
    case virtualPhone
  }
}

/// What a reload changes at once.
struct LiveSettings: Hashable, Sendable {
  /// The attributes that are fetched of every notification; none is lazy fetching.
  var fetch = AttributeSelection.all
  /// How long a phone's notifications are kept when its link is lost.
  var grace = Duration.seconds(120)
  /// Whether standard output carries the `incoming` events too.
  var early = false
  /// What is made of notifications.
  var rules: [Rule] = []
  /// The programs that are run for events.
  var hooks: [Hook] = []
  var hookLimits = HookRunner.Limits()
  /// Whether every change of a wait is printed on standard error.
  var printsWhy = false
  var logLevel = LogLevel.notice
}

/// Which settings hold, and which wait. What needs one is handed it at its construction, or told by an explicit call
/// when the settings are read again; nothing else looks here while it works.
///
///     started ─── its `start` and `radio` hold to the end of the daemon
///     links   ─── each holds the `quirks` that it has begun with
///     latest  ─── its `live` holds; a link that begins takes its `quirks`
struct SettingsInForce: Sendable {
  private let started: Settings
  private var links: [Int: Settings] = [:]
  private var latest: Settings

  /// The settings of a daemon that starts.
  init(_ settings: Settings) { (started, latest) = (settings, settings) }

  var start: StartSettings { started.options.start }
  var radio: RadioSettings { started.options.radio }
  var live: LiveSettings { latest.options.live }
  /// Those of a link that begins now.
  var quirks: Quirks { latest.options.quirks }

  /// The settings were read again, and are good.
  mutating func replace(with settings: Settings) { latest = settings }

  /// A link begins, with the `quirks` of now.
  mutating func linkBegan(_ number: Int) { links[number] = latest }

  mutating func linkEnded(_ number: Int) { links[number] = nil }

  /// What was read last and is not in force yet, or not on every link: as it will be, or without a value where
  /// that is by default.
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
