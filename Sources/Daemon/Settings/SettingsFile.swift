// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Board
import Control
import Fleet
import Patterns
import System
import TOML
import Wire

/// The content of one or several settings files: options of `run` by their names, quirks, hooks and rules.
///
///     name = "kitchen"
///     [quirks]
///     handles = "discover"
///     [[hook]]
///     event = "notification"
///     run = "/usr/local/bin/lamp"
///     [[rule]]
///     app = "com.example.*"
///     show = false
///
/// A later file overrides the settings of earlier ones, and appends its hooks and rules.
package struct SettingsFile: Sendable {
  /// The options that a file can set: not those with a separate table, and not those about the command line itself.
  static let names = Grammar.run.settingNames.filter {
    !["exec", "quirk", "config", "verbose", "quiet", "json", "text"].contains($0)
  }

  /// An option with its value and place.
  package struct Entry: Sendable {
    package let name: String
    let setting: SettingValue
    let place: SettingsPlace
    /// Sets it, which can't fail: it was validated when it was read.
    fileprivate let apply: @Sendable (inout RunOptions) -> Void
    /// As it is written in a file.
    package var value: String { setting.description }
    /// Whether it is not switched off.
    fileprivate var isOn: Bool { setting != .truth(false) }
  }

  /// The options that are set, in order.
  package private(set) var entries: [Entry] = []
  /// The errors, in order.
  package private(set) var faults: [SettingsFault] = []
  /// The programs that hooks and rules run, and where the file names them.
  private(set) var programs: [(path: String, place: SettingsPlace)] = []
  /// The files that were read.
  private(set) var paths: [String] = []
  /// The table [mqtt], which is for ancsd-mqtt and only checked here.
  private var bridge: (settings: BridgeSettings, place: SettingsPlace)?
  private var hooks: [Hook] = []
  private var rules: [(value: Rule, place: SettingsPlace)] = []
  /// The tables [[forward]], which are for “ancsd forward” and only checked here, and where each is.
  private(set) var forwards: [(value: ForwardTarget, place: SettingsPlace)] = []

  init() {}

  /// Reads a file's text.
  package init(_ text: [UInt8], path: String = "") {
    add(text, path: path)
    finish()
  }

  /// Called after the last file: checks the combination of settings.
  mutating func finish() {
    let sources = entries.filter { ["att", "virtual-phone"].contains($0.name) && $0.isOn }
    if sources.count > 1, let second = sources.last {
      fault(
        second.place,
        "\(sources[0].name) and \(second.name) are both set: remove one"
      )
    }
    if let source = sources.first, let adapter = entry("adapter") {
      fault(
        adapter.place,
        "adapter and \(source.name) are both set, but \(source.name) needs no adapter: remove one")
    }
    if entry("require-mitm")?.isOn == true, let io = entry("io"), io.setting == .text("none") {
      fault(io.place, "io must not be \"none\" with require-mitm, which needs numbers to compare")
    }
    // What has a fault may be missing only therefore.
    if faults.isEmpty, let bridge, let conflict = bridge.settings.conflict {
      fault(bridge.place, conflict)
    }
  }

  private func entry(_ name: String) -> Entry? { entries.first { $0.name == name } }

  private mutating func fault(_ place: SettingsPlace, _ message: String) {
    faults.append(SettingsFault(place: place, message: message))
  }

  /// Warnings about what is allowed but perhaps unintended.
  ///
  /// - Parameter isService: whether programs must be visible from the unit's sandbox.
  func remarks(isService: Bool) -> [SettingsFault] {
    var remarks: [SettingsFault] = []
    func remark(_ place: SettingsPlace, _ message: String?) {
      if let message { remarks.append(SettingsFault(place: place, message: message)) }
    }
    for program in programs {
      remark(program.place, Hook.hindrance(to: program.path, isService: isService))
    }
    if let all = rules.firstIndex(where: { $0.value.conditions == Rule.Conditions() }),
      let lost = rules[all...].dropFirst().first(where: { !$0.value.hidesByApp })
    {
      remark(
        lost.place,
        "this rule is never reached: “\(rules[all].value.name)” (line \(rules[all].place.line)) has no "
          + "condition, so every notification matches it; put that one last")
    }
    if let bridge {
      for (key, path, isSecret) in bridge.settings.files {
        let hindrance = Self.hindrance(to: path, isSecret: isSecret)
        remark(bridge.place, hindrance.map { "\(key): \($0)" })
      }
    }
    for (target, place) in forwards {
      switch target.destination {
      case .file(let path):
        remark(place, Self.hindrance(to: path, isSecret: true).map { "to-file: \($0)" })
      case .url: remark(place, target.hindrance(in: place.file))
      }
    }
    if let wanted = entry("require-mitm"), wanted.isOn, entry("io") == nil {
      remark(
        wanted.place,
        "without io, the daemon starts with this only on a terminal: a service also needs io")
    }
    return remarks
  }

  /// Why the bridge can't use a file; nil if it can, or this user can't tell.
  private static func hindrance(to path: String, isSecret: Bool) -> String? {
    do throws(SystemError) {
      let isShared = try Files.isShared(path)
      return isSecret && isShared ? "others can read \(path): chmod 600 \(path)" : nil
    } catch {
      return error.errno == .permissionDenied ? nil : "\(error)"
    }
  }

  /// Reads the text of one more file.
  mutating func add(_ text: [UInt8], path: String) {
    paths.append(path)
    let before = faults.count
    do throws(TOMLValue.SyntaxError) {
      let document = try TOMLValue(parsing: text)
      guard case .table(let entries) = document.content else { return }
      for entry in entries { read(entry) }
    } catch {
      fail(error.position, error.reason)
    }
    faults[before...].sort { ($0.place.line, $0.place.column) < ($1.place.line, $1.place.column) }
  }

  /// Refuses a file that others can write to.
  mutating func refuse(_ path: String) {
    paths.append(path)
    fail(
      TOMLValue.Position(line: 1, column: 1),
      "others can write to it, and it names programs to run: chown root \(path) && chmod go-w \(path)"
    )
  }

  /// The options of a daemon with no other settings.
  var options: RunOptions {
    var options = RunOptions()
    for entry in entries { entry.apply(&options) }
    if entry("log.on")?.isOn == false { options.start.history = nil }
    (options.live.hooks, options.live.rules) = (hooks, rules.map(\.value))
    options.live.forwards = forwards.map(\.value)
    return options
  }

  /// Sets an option, overriding an earlier file.
  private mutating func set(
    _ name: String, _ value: SettingValue, _ position: TOMLValue.Position,
    _ apply: @escaping @Sendable (inout RunOptions) -> Void
  ) {
    entries.removeAll { $0.name == name }
    entries.append(Entry(name: name, setting: value, place: place(position), apply: apply))
  }

  /// A place in the current file.
  private func place(_ position: TOMLValue.Position) -> SettingsPlace {
    SettingsPlace(file: paths.last ?? "", line: position.line, column: position.column)
  }

  private mutating func read(_ entry: TOMLValue.Entry) {
    switch entry.key {
    case "hook": hooks += tables(entry) { table, _ in Hook(reading: &table) }.map(\.value)
    case "rule": rules += tables(entry, after: rules.count) { Rule(reading: &$0, number: $1) }
    case "forward":
      forwards += tables(entry, after: forwards.count) { ForwardTarget(reading: &$0, number: $1) }
    case "quirks": readQuirks(entry.value)
    case "log": readLog(entry.value)
    case BridgeSettings.table:
      var settings = bridge?.settings ?? BridgeSettings()
      var table = TableReader(entry.value)
      settings.read(&table)
      bridge = (settings, place(entry.keyPosition))
      _ = finish(table)
    default: readOption(entry)
    }
  }

  /// Reads an array of tables, leaving out those with errors.
  ///
  /// - Parameter count: how many there are in earlier files, to count on from.
  private mutating func tables<Value>(
    _ entry: TOMLValue.Entry, after count: Int = 0,
    _ read: (inout TableReader, _ number: Int) -> Value?
  ) -> [(value: Value, place: SettingsPlace)] {
    guard let elements = entry.value.content.array else {
      fail(entry.value.position, "write \(entry.key) as [[\(entry.key)]]")
      return []
    }
    return elements.enumerated().compactMap { index, element in
      var table = TableReader(element)
      let value = read(&table, count + index + 1)
      for program in table.noted {
        programs.append((program.text, place(program.position)))
      }
      guard finish(table), let value else { return nil }
      return (value, place(element.position))
    }
  }

  /// Collects a table's errors; returns whether there are none.
  private mutating func finish(_ table: TableReader) -> Bool {
    let faults = table.finish()
    for fault in faults { fail(fault.position, fault.message) }
    return faults.isEmpty
  }

  private mutating func readQuirks(_ value: TOMLValue) {
    var table = TableReader(value)
    for quirk in Quirks.entries {
      guard let text = table.text(quirk.name) else { continue }
      var quirks = Quirks()
      if quirk.set(&quirks, text) {
        set("quirks.\(quirk.name)", .text(text), table.position(of: quirk.name)) {
          _ = quirk.set(&$0.quirks, text)
        }
      } else {
        table.fail(
          of: quirk.name, "\(quirk.name) must be \(quirk.values()), not “\(text)”")
      }
    }
    _ = finish(table)
  }

  /// The history. An empty table is enough to turn it on.
  private mutating func readLog(_ value: TOMLValue) {
    var table = TableReader(value)
    let isOn = table.truth("on") ?? true
    set("log.on", .truth(isOn), table.position(of: "on")) {
      $0.start.history = $0.start.history ?? HistoryReport()
    }
    for key in Grammar.history.settingNames {
      guard let entry = table.entry(key) else { continue }
      if let value = valid(entry, for: Grammar.history, HistoryReport()) {
        set("log.\(key)", value, entry.keyPosition) {
          var history = $0.start.history ?? HistoryReport()
          try? Grammar.history.set(key, to: value, in: &history)
          $0.start.history = history
        }
      }
    }
    _ = finish(table)
  }

  private mutating func readOption(_ entry: TOMLValue.Entry) {
    guard Self.names.contains(entry.key) else {
      let names = Self.names + ["hook", "rule", "forward", "quirks", "log", BridgeSettings.table]
      let hint =
        entry.key == "exec"
        ? "; a program to run is a table [[hook]] with event and run"
        : nearest(to: entry.key, among: names).map { "; did you mean \($0)?" } ?? ""
      return fail(entry.keyPosition, "there is no setting “\(entry.key)”\(hint)")
    }
    if let value = valid(entry, for: Grammar.run, RunOptions()) {
      set(entry.key, value, entry.keyPosition) { [key = entry.key] in
        try? Grammar.run.set(key, to: value, in: &$0)
      }
    }
  }

  /// The value of an option, if the option accepts it; otherwise a fault is recorded.
  private mutating func valid<Options>(
    _ entry: TOMLValue.Entry, for grammar: Grammar<Options>, _ options: Options
  ) -> SettingValue? {
    guard let value = SettingValue(entry.value.content) else {
      fail(
        entry.value.position,
        "\(entry.key) must be \(grammar.settingKind(entry.key)), not \(entry.value.content.shown)")
      return nil
    }
    do throws(Failure) {
      var options = options
      if entry.key == "socket", case .text(let path) = value, !["/", "@"].contains(path.first) {
        throw Failure(
          .badSettings, "", "socket must be an absolute path, or @NAME, not “\(path)”")
      }
      try grammar.set(entry.key, to: value, in: &options)
      return value
    } catch {
      fail(entry.value.position, "\(error.what.isEmpty ? "" : error.what + ": ")\(error.why)")
      return nil
    }
  }

  private mutating func fail(_ position: TOMLValue.Position, _ message: String) {
    faults.append(SettingsFault(place: place(position), message: message))
  }
}

extension SettingValue {
  /// Nil for a value that no option accepts.
  fileprivate init?(_ content: TOMLValue.Content) {
    switch content {
    case .boolean(let value): self = .truth(value)
    case .integer(let value): self = .number(value)
    case .string(let value): self = .text(value)
    default:
      guard let texts = content.texts else { return nil }
      self = .list(texts)
    }
  }
}

extension Grammar<HistoryReport> {
  /// The keys of `[log]`, besides `on`.
  fileprivate static let history = Grammar([
    .value(
      "--file", value: "FILE", kind: .file, expects: "an absolute path", help: "the file",
      read: { $0.first == "/" ? $0 : nil }, set: { $0.file = $1 }),
    .time(
      "--age", within: .seconds(3_600) ... .seconds(99 * 86_400), help: "remove older events",
      set: { $0.age = $1.components.seconds }),
    .number(
      "--size", value: "MIB", of: "MiB", within: 1...1_024, help: "the maximum size of the file",
      set: { $0.size = $1 }),
    .flag("--texts", help: "keep titles and messages, too", set: { $0.hasTexts = true }),
  ])
}

// MARK: - Hooks and rules

extension Hook {
  fileprivate init?(reading table: inout TableReader) {
    let names = EventName.allCases.map(\.rawValue).joined(separator: ", ")
    let event = table.value("event", expected: "the name of an event: \(names)") {
      $0.text.flatMap { EventName(rawValue: $0) }
    }
    let program = table.program("run")
    let includesPreExisting = table.truth("preexisting") ?? false
    for key in ["event", "run"] where !table.has(key) {
      table.fail(of: key, "this hook has no \(key)")
    }
    guard let event, let program else { return nil }
    self.init(event: event, includesPreExisting: includesPreExisting, program: program)
  }
}

extension Rule {
  fileprivate init(reading table: inout TableReader, number: Int) {
    self.init(name: table.text("name") ?? "\(number)")
    conditions = Conditions(reading: &table)
    outcome = Outcome(reading: &table)
  }
}

extension Rule.Conditions {
  init(reading table: inout TableReader) {
    (apps, categories) = (table.apps(), table.categories())
    flags = EventFlags(
      table.list(
        "flag",
        expected:
          "a flag (\(EventFlags(rawValue: 0x1F).names.joined(separator: ", "))), or an array of them"
      ) {
        EventFlags(name: $0)
      } ?? [])
    phone = table.text("phone").map { PhoneSelector($0) }
    title = table.pattern("title")
    message = table.pattern("message")
    time = table.value("time", expected: TimeOfDay.Span.form) { content in
      content.text.flatMap { TimeOfDay.Span($0) }
    }
  }
}

extension Rule.Outcome {
  fileprivate init(reading table: inout TableReader) {
    let isShown = table.truth("show")
    let isUrgent = table.truth("urgent") ?? false
    if isShown == false, isUrgent {
      table.fail(
        of: "urgent", "a hidden notification can't be urgent: remove show or urgent")
    }
    standing = isShown == false ? .hidden : isUrgent ? .urgent : .usual
    let attributes = NotificationAttributeID.names.joined(separator: ", ")
    let expected = "all, none, or an array of attributes (\(attributes))"
    let names = table.list("fetch", expected: expected) { name in
      AttributeSelection(name) == nil ? nil : name
    }
    if let names {
      fetch = AttributeSelection(names.joined(separator: ","))?.attributes
      if fetch == nil { table.fail(of: "fetch", "fetch must be \(expected)") }
    }
    program = table.program("run") ?? []
    includesPreExisting = table.truth("preexisting") ?? false
    action = table.value("act", expected: "positive or negative") { content in
      content.text.flatMap { NotificationAction(name: $0) }
    }
  }
}

extension TableReader {
  /// A program's absolute path, or an array of it and its arguments.
  fileprivate mutating func program(_ key: String) -> [String]? {
    let program = value(
      key, expected: "a program's absolute path, or an array of it and its arguments"
    ) { content in content.texts.flatMap { Hook.isProgram($0) ? $0 : nil } }
    if let path = program?.first { noted.append((path, position(of: key))) }
    return program
  }

  /// A regular expression.
  fileprivate mutating func pattern(_ key: String) -> TextPattern? {
    guard let text = text(key) else { return nil }
    do throws(TextPattern.SyntaxError) {
      return try TextPattern(text)
    } catch {
      fail(of: key, "\(key): \(error)")
      return nil
    }
  }
}
