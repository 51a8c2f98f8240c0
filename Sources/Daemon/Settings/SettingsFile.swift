// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Board
import Control
import System
import TOML
import Wire

/// What a file of settings says, or several that are read one after the other: options of `run` by their names, quirks,
/// hooks and rules.
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
/// What a file sets takes the place of what one before it has set; hooks and rules are added to those before.
package struct SettingsFile: Sendable {
  /// The options that can be set in it: not those with a table of their own, and not those about typing.
  static let names = Grammar.run.settingNames.filter {
    !["exec", "quirk", "config", "verbose", "quiet", "json", "text"].contains($0)
  }

  /// An option that is set, to what, and where.
  package struct Entry: Hashable, Sendable {
    package let name: String
    let setting: SettingValue
    let place: SettingsPlace
    /// As it is written in a file.
    package var value: String { setting.description }
  }

  /// The options that are set, in their order.
  package private(set) var entries: [Entry] = []
  /// What is wrong, in its order.
  package private(set) var faults: [SettingsFault] = []
  /// The programs that hooks and rules run, and where that is said.
  private(set) var programs: [(path: String, place: SettingsPlace)] = []
  /// The files that were read.
  private(set) var paths: [String] = []
  private var hooks: [Hook] = []
  private var rules: [Rule] = []

  init() {}

  /// Reads a file's text.
  package init(_ text: [UInt8], path: String = "") { add(text, path: path) }

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

  /// Keeps off a file that anybody could have written.
  mutating func refuse(_ path: String) {
    paths.append(path)
    fail(
      TOMLValue.Position(line: 1, column: 1),
      "others can write to it, and it names programs to run: chown root \(path) && chmod go-w \(path)"
    )
  }

  /// The options of a daemon that is told nothing else.
  var options: RunOptions {
    var options = RunOptions()
    for entry in entries {
      // Whether it can be set was seen when it was read.
      if let quirk = entry.quirk {
        _ = options.quirks.set(quirk)
      } else {
        try? Grammar.run.set(entry.name, to: entry.setting, in: &options)
      }
    }
    (options.live.hooks, options.live.rules) = (hooks, rules)
    return options
  }

  /// Sets an option, in the place of what a file before has set.
  private mutating func set(_ name: String, _ value: SettingValue, _ position: TOMLValue.Position) {
    entries.removeAll { $0.name == name }
    entries.append(Entry(name: name, setting: value, place: place(position)))
  }

  /// A place in the file that is read now.
  private func place(_ position: TOMLValue.Position) -> SettingsPlace {
    SettingsPlace(file: paths.last ?? "", line: position.line, column: position.column)
  }

  private mutating func read(_ entry: TOMLValue.Entry) {
    switch entry.key {
    case "hook": hooks += tables(entry.value, "hook") { Hook(reading: &$0) }
    case "rule":
      var number = rules.count
      rules += tables(entry.value, "rule") { table in
        number += 1
        return Rule(reading: &table, number: number)
      }
    case "quirks": readQuirks(entry.value)
    default: readOption(entry)
    }
  }

  /// Reads an array of tables; elements with faults are left out.
  private mutating func tables<Value>(
    _ value: TOMLValue, _ name: String, _ read: (inout TableReader) -> Value?
  ) -> [Value] {
    guard let elements = value.content.array else {
      fail(value.position, "\(name) is written as [[\(name)]]")
      return []
    }
    return elements.compactMap { element in
      var table = TableReader(element)
      let value = read(&table)
      for program in table.programs {
        programs.append((program.path, place(program.position)))
      }
      return finish(table) ? value : nil
    }
  }

  /// Takes over what is wrong with a table; whether nothing is.
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
      if quirks.set("\(quirk.name)=\(text)") {
        set(Entry.quirkPrefix + quirk.name, .text(text), table.position(of: quirk.name))
      } else {
        table.fail(
          of: quirk.name, "\(quirk.name): “\(text)” is none of its values: \(quirk.summary)")
      }
    }
    _ = finish(table)
  }

  private mutating func readOption(_ entry: TOMLValue.Entry) {
    let grammar = Grammar.run
    guard Self.names.contains(entry.key) else {
      let names = Self.names + ["hook", "rule", "quirks"]
      let hint = nearest(to: entry.key, among: names).map { "; did you mean \($0)?" } ?? ""
      return fail(entry.keyPosition, "there is no setting “\(entry.key)”\(hint)")
    }
    guard let value = SettingValue(entry.value.content) else {
      return fail(
        entry.value.position,
        "\(entry.key) must be \(grammar.settingKind(entry.key)), not \(entry.value.content.shown)")
    }
    do throws(Failure) {
      var options = RunOptions()
      try grammar.set(entry.key, to: value, in: &options)
      set(entry.key, value, entry.keyPosition)
    } catch {
      fail(entry.value.position, "\(error.what.isEmpty ? "" : error.what + ": ")\(error.why)")
    }
  }

  private mutating func fail(_ position: TOMLValue.Position, _ message: String) {
    faults.append(SettingsFault(place: place(position), message: message))
  }
}

extension SettingsFile.Entry {
  fileprivate static let quirkPrefix = "quirks."

  /// As `--quirk` takes it; nil for what is no quirk.
  fileprivate var quirk: String? {
    guard name.hasPrefix(Self.quirkPrefix), case .text(let value) = setting else { return nil }
    return "\(name.dropFirst(Self.quirkPrefix.count))=\(value)"
  }
}

extension SettingValue {
  /// Nil for what no option can be.
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
    self.init(event: "\(event.rawValue)\(includesPreExisting ? "+" : "")", program: program)
  }
}

extension Rule {
  fileprivate init?(reading table: inout TableReader, number: Int) {
    self.init(name: table.text("name") ?? "\(number)")
    conditions = Conditions(reading: &table)
    outcome = Outcome(reading: &table)
  }
}

extension Rule.Conditions {
  fileprivate init(reading table: inout TableReader) {
    apps =
      table.list("app", expected: "a pattern of an app's identifier, or an array of them") {
        Glob($0)
      } ?? []
    categories = Set(
      table.list(
        "category",
        expected: "a category (\(Category.names.joined(separator: ", "))), or an array of them"
      ) {
        Category($0)
      } ?? [])
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
    time = table.value("time", expected: "a span such as \"22:00-07:00\"") { content in
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
        of: "urgent", "what is not shown can't be urgent: leave out one of show and urgent")
    }
    standing = isShown == false ? .hidden : isUrgent ? .urgent : .usual
    fetch = table.value(
      "fetch",
      expected:
        "all, none, or an array of attributes (\(NotificationAttributeID.names.joined(separator: ", ")))"
    ) {
      $0.texts.flatMap { AttributeSelection($0.joined(separator: ","))?.attributes }
    }
    program = table.program("run") ?? []
    includesPreExisting = table.truth("preexisting") ?? false
    action = table.value("act", expected: "positive or negative") { content in
      content.text.flatMap { NotificationAction(name: $0) }
    }
  }
}
