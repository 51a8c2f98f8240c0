// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Bluetooth
import Board
import Control
import System
import TOML

/// The options of `run`, in parts by when a change takes effect.
struct RunOptions: PrintingOptions, Hashable {
  var start = StartSettings()
  var radio = RadioSettings()
  /// Assumptions about iOS: a link keeps those that it started with.
  var quirks = Quirks()
  var live = LiveSettings()

  var output: OutputOptions {
    get { start.output }
    set { start.output = newValue }
  }
}

/// Settings that are fixed while the daemon runs; nil if not set.
struct StartSettings: Hashable, Sendable {
  /// Where the phones come from.
  var source = Source.radio
  /// Whether to exit after the first disconnect (with the virtual phone: when its script ends).
  var once = false
  /// The name that the phone shows; nil: the host's.
  var name: String?
  /// The form of standard output.
  var output = OutputOptions()
  /// The settings file; nil: the default one, if it exists.
  var config: String?
  /// The path of the control socket; nil: this user's default.
  var socket: String?
  /// The directory for bonds and caches; nil: the default.
  var stateDirectory: String?
  /// The file to capture the ATT traffic to.
  var btsnoop: String?
  /// The maximum size of the capture in bytes.
  var captureLimit = CaptureFile.usualLimit
  /// The history of events (`[log]`); nil: none.
  var history: HistoryReport?
  /// The maximum number of capture files; older ones are numbered.
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

/// Settings that a reload changes immediately.
struct LiveSettings: Hashable, Sendable {
  /// The attributes to fetch for every notification; none means lazy fetching.
  var fetch = AttributeSelection.all
  /// How long to keep a phone's notifications after its link is lost.
  var grace = Duration.seconds(120)
  /// Whether to print the `incoming` events too.
  var early = false
  /// The rules for notifications.
  var rules: [Rule] = []
  /// The programs to run for events.
  var hooks: [Hook] = []
  var hookLimits = HookRunner.Limits()
  /// Rules and hooks as tables of a settings file, for `config show`.
  var tables: [String] = []
  /// The destinations of `ancsd forward`, for the status.
  var forwards: [ForwardTarget] = []
  /// Whether to print every change of a wait on standard error.
  var printsWhy = false
  var logLevel = LogLevel.notice
}

/// The daemon's settings, from the files and the command line, which takes precedence: a value that is replaced as a
/// whole when the files are read again.
struct Settings: Sendable {
  let options: RunOptions
  /// The file that was read, if any.
  private(set) var file: String?
  /// The options that were set, and their sources.
  private(set) var given: [SettingsReport.Setting] = []

  /// Settings without a file, for tests.
  package init(_ options: RunOptions) { self.options = options }

  /// Parses a command line, and reads the files, for tests.
  init(
    _ arguments: [String], find: (String?) throws(Failure) -> SettingsFile? = SettingsFile.find,
    variable: (String) -> String? = Host.variable
  ) throws(Failure) {
    var options = RunOptions()
    let typed = try Grammar.run.parse(arguments, into: &options)
    try self.init(options, typed, find: find, variable: variable)
  }

  /// Reads the file that a command line names, or the default files if they exist.
  ///
  /// - Parameters:
  ///   - line: the options of the command line alone.
  ///   - typed: the same as they were typed.
  ///   - find: finds the file by its path; nil stands for the default files.
  ///   - variable: an environment variable.
  init(
    _ line: RunOptions, _ typed: [Grammar<RunOptions>.Given],
    find: (String?) throws(Failure) -> SettingsFile? = SettingsFile.find,
    variable: (String) -> String? = Host.variable
  ) throws(Failure) {
    var options = line
    let settings = Self.settings(typed)
    var overridden = Set(settings.map { $0.name })
    if overridden.isSuperset(of: ["att", "virtual-phone"]) {
      throw Failure(
        usage: "--att and --virtual-phone can't be combined",
        remedy: "remove one of them")
    }
    if let file = try find(options.start.config) {
      if let failure = file.failure(named: options.start.config) { throw failure }
      self.file = file.paths.first
      // The command line overrides the file. Where the phones come from has three names.
      let sources: Set = ["adapter", "att", "virtual-phone"]
      if !overridden.isDisjoint(with: sources) { overridden.formUnion(sources) }
      options = file.options(without: overridden)
      for option in typed { try option.apply(to: &options) }
      given = file.entries.filter { !overridden.contains($0.name) }.map(\.report)
    }
    self.options = options
    given += settings
    for (name, source) in [("socket", "ANCSD_SOCKET"), ("format", "ANCSD_FORMAT")] {
      guard let text = variable(source), !text.isEmpty, !given.contains(where: { $0.name == name })
      else { continue }
      given.append(.init(name, SettingValue.text(text).description, file: source, .nextStart))
    }
  }

  /// The options from the command line, each once, by its name in a file.
  private static func settings(_ typed: [Grammar<RunOptions>.Given]) -> [SettingsReport.Setting] {
    var settings: [(name: String, form: OptionForm, values: [SettingValue])] = []
    for option in typed {
      var (name, form) = (option.name, option.form)
      var value = form.value(typed: option.value)
      switch name {
      case "json", "text": (name, value) = ("format", .text(name))
      case "quirk":
        let parts = (option.value ?? "").split(separator: "=", maxSplits: 1).map(String.init)
        (name, value) = ("quirks.\(parts.first ?? "")", .text(parts.last ?? ""))
        form = Grammar.quirks.setting(parts.first ?? "")?.form ?? form
      case _ where name.hasPrefix("--hci"): name = "adapter"
      default: break
      }
      if let place = settings.firstIndex(where: { $0.name == name }) {
        settings[place].values.append(value)
      } else {
        settings.append((name, form, [value]))
      }
    }
    return settings.map { name, form, values in
      let texts = values.compactMap { if case .text(let text) = $0 { text } else { nil } }
      let value = form.repeats ? .list(texts) : values.last ?? .truth(true)
      return .init(name, value.description, form.effect ?? .nextStart)
    }
  }

  /// The differences from `other` among the settings with this effect: with the value here, or without one for the
  /// default.
  func changes(from other: Settings, _ effect: SettingEffect) -> [SettingsReport.Setting] {
    let (mine, others) = (
      given.filter { $0.effect == effect }, other.given.filter { $0.effect == effect }
    )
    let changed = mine.filter { new in
      !others.contains { $0.name == new.name && $0.value == new.value }
    }
    let removed = others.filter { old in !mine.contains { $0.name == old.name } }
    return changed + removed.map { .init($0.name, nil, effect) }
  }
}

extension SettingsFile {
  /// Reads the named file, or the default files that exist.
  static func find(_ path: String?) throws(Failure) -> SettingsFile? {
    try find(path, in: SettingsFolder.path)
  }

  /// Reads the named file, or the default one and then those of `conf.d` in the order of their names; nil if none
  /// exists.
  static func find(_ path: String?, in folder: String) throws(Failure) -> SettingsFile? {
    var file = SettingsFile()
    for (path, text) in try SettingsFolder.read(path, in: folder) {
      if let text { file.add(text, path: path) } else { file.refuse(path) }
    }
    file.finish()
    return file.paths.isEmpty ? nil : file
  }

  /// The errors as one line; nil if there are none.
  ///
  /// - Parameter path: the named file.
  func failure(named path: String?) -> Failure? {
    guard let first = faults.first else { return nil }
    let command = ["ancsd config check", path].compactMap { $0 }.joined(separator: " ")
    let more = faults.count > 1 ? "“\(command)” shows \(faults.count - 1) more" : nil
    return Failure(.badSettings, "\(first.place)", first.message, remedy: more)
  }
}

/// Which settings are in force, and which are pending. The supervisor reads them here; what it makes gets those that it
/// needs at construction, and the live ones again after each reload.
///
///     started ─── its `start` and `radio` hold until the daemon exits
///     latest  ─── its `live` holds; a new link takes its `quirks`, and keeps them
struct SettingsInForce: Sendable {
  private let started: Settings
  private(set) var latest: Settings

  /// The settings of a daemon that starts.
  init(_ settings: Settings) { (started, latest) = (settings, settings) }

  var start: StartSettings { started.options.start }
  var radio: RadioSettings { started.options.radio }
  var live: LiveSettings { latest.options.live }
  /// The quirks for a new link.
  var quirks: Quirks { latest.options.quirks }

  /// The settings were reloaded, and are valid.
  mutating func replace(with settings: Settings) { latest = settings }

  /// The settings that are not in force yet, or not on every link: with their new value, or without one for the
  /// default.
  ///
  /// - Parameter links: the settings that were the latest when each link came up.
  func waiting(on links: [Settings]) -> [SettingsReport.Setting] {
    let (old, new) = (started.options, latest.options)
    var waiting = (old.start, old.radio) == (new.start, new.radio) ? [] : latest.changes(from: started, .nextStart)
    for link in links where link.options.quirks != new.quirks {
      for change in latest.changes(from: link, .newLink) where !waiting.contains(change) {
        waiting.append(change)
      }
    }
    return waiting
  }

  /// What `config show` shows, with these links.
  func report(on links: [Settings]) -> SettingsReport {
    var report = SettingsReport()
    report.file = latest.file
    report.waiting = waiting(on: links)
    let isLate = Set(report.waiting.filter { $0.effect == .newLink }.map(\.name))
    report.settings =
      started.given.filter { $0.effect == .nextStart }
      + latest.given.filter { $0.effect != .nextStart && !isLate.contains($0.name) }
    report.hooks = live.hooks.count
    report.rules = live.rules.count
    report.tables = live.tables
    return report
  }
}
