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
  /// An option with its value and place.
  package struct Entry: Sendable {
    package let name: String
    let setting: SettingValue
    let place: SettingsPlace
    fileprivate let option: CommandOption<RunOptions>
    /// As it is written in a file.
    package var value: String { setting.description }
    /// As `config show` has it.
    var report: SettingsReport.Setting {
      .init(name, value, file: place.file, line: place.line, option.form.effect ?? .nextStart)
    }
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
  /// One of an array of tables: what it says, where it is, and the text.
  typealias Table<Value> = (value: Value, place: SettingsPlace, text: String)
  private var hooks: [Table<Hook>] = []
  private var rules: [Table<Rule>] = []
  /// The tables [[forward]], which are for “ancsd forward” and only checked here.
  private(set) var forwards: [Table<ForwardTarget>] = []

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
      fault(adapter.place, "adapter and \(source.name) are both set, but \(source.name) needs no adapter: remove one")
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
    for (target, place, _) in forwards {
      switch target.destination {
      case .file(let path):
        remark(place, Self.hindrance(to: path, isSecret: true).map { "to-file: \($0)" })
      case .url: remark(place, target.hindrance(in: place.file))
      }
    }
    if let wanted = entry("require-mitm"), wanted.isOn, entry("io") == nil {
      remark(wanted.place, "without io, the daemon starts with this only on a terminal: a service also needs io")
    }
    return remarks
  }

  /// Why the bridge can't use a file; nil if it can, or this user can't tell.
  private static func hindrance(to path: String, isSecret: Bool) -> String? {
    do throws(SystemError) {
      let isShared = try Files.isShared(path)
      return isSecret && isShared ? "others can read \(path): chmod 600 \(path)" : nil
    } catch { return error.errno == .permissionDenied ? nil : "\(error)" }
  }

  /// Reads the text of one more file.
  mutating func add(_ text: [UInt8], path: String) {
    paths.append(path)
    let before = faults.count
    do throws(TOMLValue.Fault) {
      let document = try TOMLValue(parsing: text)
      guard case .table(let entries) = document.content else { return }
      for entry in entries { read(entry) }
    } catch { fail(error.position, error.message) }
    faults[before...].sort { ($0.place.line, $0.place.column) < ($1.place.line, $1.place.column) }
  }

  /// Refuses a file that others can write to.
  mutating func refuse(_ path: String) {
    paths.append(path)
    fail(
      TOMLValue.Position(line: 1, column: 1),
      "others can write to it, and it names programs to run: chown root \(path) && chmod go-w \(path)")
  }

  /// The options of a daemon with no other settings.
  var options: RunOptions { options(without: []) }

  /// The same without the settings that have these names.
  func options(without overridden: Set<String>) -> RunOptions {
    var options = RunOptions()
    // They were validated when they were read.
    for entry in entries where !overridden.contains(entry.name) {
      try? entry.option.set(entry.setting, in: &options)
    }
    if entry("log.on")?.isOn == false { options.start.history = nil }
    options.live.hooks = hooks.map { $0.value }
    options.live.rules = rules.map { $0.value }
    options.live.tables = hooks.map { $0.text } + rules.map { $0.text }
    options.live.forwards = forwards.map { $0.value }
    return options
  }

  /// Sets an option, overriding an earlier file.
  private mutating func set(
    _ option: CommandOption<RunOptions>, named name: String, to value: SettingValue, _ position: TOMLValue.Position
  ) {
    entries.removeAll { $0.name == name }
    entries.append(Entry(name: name, setting: value, place: place(position), option: option))
  }

  /// A place in the current file.
  private func place(_ position: TOMLValue.Position) -> SettingsPlace {
    SettingsPlace(file: paths.last ?? "", line: position.line, column: position.column)
  }

  private mutating func read(_ entry: TOMLValue.Entry) {
    switch entry.key {
    case "hook": hooks += tables(entry) { table, _ in Hook(reading: &table) }
    case "rule": rules += tables(entry, after: rules.count) { Rule(reading: &$0, number: $1) }
    case "forward":
      forwards += tables(entry, after: forwards.count) { ForwardTarget(reading: &$0, number: $1) }
    case "quirks": readOptions(entry, .quirks)
    case "log":
      // An empty table is enough to turn it on.
      if let on = Grammar.history.setting("on") {
        set(on, named: "log.on", to: .truth(true), entry.value.position)
      }
      readOptions(entry, .history)
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
    _ entry: TOMLValue.Entry, after count: Int = 0, _ read: (inout TableReader, _ number: Int) -> Value?
  ) -> [Table<Value>] {
    guard let elements = entry.value.content.array else {
      fail(entry.value.position, "write \(entry.key) as [[\(entry.key)]]")
      return []
    }
    return elements.enumerated().compactMap { index, element in
      var table = TableReader(element)
      let number = count + index + 1
      let value = read(&table, number)
      for program in table.noted { programs.append((program.text, place(program.position))) }
      // With the name that a rule has anyway.
      let isUnnamed = entry.key == "rule" && !table.has("name")
      let lines = ["[[\(entry.key)]]"] + (isUnnamed ? ["name = \"\(number)\""] : []) + element.lines
      guard finish(table), let value else { return nil }
      return (value, place(element.position), lines.joined(separator: "\n"))
    }
  }

  /// Collects a table's errors; returns whether there are none.
  private mutating func finish(_ table: TableReader) -> Bool {
    let faults = table.finish()
    for fault in faults { fail(fault.position, fault.message) }
    return faults.isEmpty
  }

  /// Reads a table of options.
  private mutating func readOptions(_ entry: TOMLValue.Entry, _ grammar: Grammar<RunOptions>) {
    var table = TableReader(entry.value)
    for option in grammar.options {
      guard let name = option.form.settingName, let value = table.entry(name) else { continue }
      read(value, as: option, named: "\(entry.key).\(name)")
    }
    _ = finish(table)
  }

  private mutating func readOption(_ entry: TOMLValue.Entry) {
    guard let option = Grammar.run.setting(entry.key), !option.form.isOnlyTyped else {
      let tables = ["hook", "rule", "forward", "quirks", "log", BridgeSettings.table]
      let hint =
        entry.key == "exec"
        ? "; a program to run is a table [[hook]] with event and run"
        : nearest(to: entry.key, among: Grammar.run.settingNames + tables)
          .map { "; did you mean \($0)?" } ?? ""
      return fail(entry.keyPosition, "there is no setting “\(entry.key)”\(hint)")
    }
    read(entry, as: option, named: entry.key)
  }

  /// Sets an option, if it accepts the value; otherwise a fault is recorded.
  private mutating func read(_ entry: TOMLValue.Entry, as option: CommandOption<RunOptions>, named name: String) {
    guard let value = SettingValue(entry.value.content) else {
      return fail(
        entry.value.position, "\(entry.key) must be \(option.form.settingKind), not \(entry.value.content.shown)")
    }
    do throws(Failure) {
      var options = RunOptions()
      if name == "socket", case .text(let path) = value, !["/", "@"].contains(path.first) {
        throw Failure(
          .badSettings, "", "socket must be an absolute path, or @NAME, not “\(path)”")
      }
      try option.set(value, in: &options)
      set(option, named: name, to: value, entry.keyPosition)
    } catch {
      fail(entry.value.position, "\(error.what.isEmpty ? "" : error.what + ": ")\(error.why)")
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

extension TOMLValue {
  /// A table as lines of a file.
  fileprivate var lines: [String] {
    guard case .table(let entries) = content else { return [] }
    return entries.compactMap { entry in
      SettingValue(entry.value.content).map { "\(entry.key) = \($0)" }
    }
  }
}

extension RunOptions {
  /// The history that `[log]` wants.
  fileprivate var log: HistoryReport {
    get { start.history ?? HistoryReport() }
    set { start.history = newValue }
  }
}

extension Grammar<RunOptions> {
  /// The keys of `[log]`.
  fileprivate static let history = Grammar([
    .flag("--on", help: "keep a history", set: { $0.start.history = $0.log }),
    .value(
      "--file", value: "FILE", kind: .file, expects: "an absolute path", help: "the file",
      read: { $0.first == "/" ? $0 : nil }, set: { $0.log.file = $1 }),
    .time(
      "--age", within: .seconds(3_600) ... .seconds(99 * 86_400), help: "remove older events",
      set: { $0.log.age = $1.components.seconds }),
    .number(
      "--size", value: "MIB", of: "MiB", within: 1...1_024, help: "the maximum size of the file",
      set: { $0.log.size = $1 }),
    .flag("--texts", help: "keep titles and messages, too", set: { $0.log.hasTexts = true }),
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
        "flag", expected: "a flag (\(EventFlags(rawValue: 0x1F).names.joined(separator: ", "))), or an array of them"
      ) { EventFlags(name: $0) } ?? [])
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
      table.fail(of: "urgent", "a hidden notification can't be urgent: remove show or urgent")
    }
    display = isShown == false ? .hidden : isUrgent ? .urgent : .usual
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
