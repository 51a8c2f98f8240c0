// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Board
import Control
import System
import TOML
import Wire

/// What a file of settings says: options of `run` by their names, quirks, hooks and rules.
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
package struct SettingsFile: Sendable {
  /// The file that is read if no other is named; it need not exist.
  static let usualPath = "/etc/ancsd/ancsd.toml"

  /// The options that can be set in it: not those with a table of their own, and not those about typing.
  static let names = Grammar.run.settingNames.filter {
    !["exec", "quirk", "config", "verbose", "quiet", "json", "text"].contains($0)
  }

  /// An option that is set, where, and to what.
  package struct Entry: Hashable, Sendable {
    package let name: String
    package let value: String
    let position: TOMLValue.Position
  }

  /// The options that it sets, in their order.
  package private(set) var entries: [Entry] = []
  private(set) var options = RunOptions()
  /// What is wrong with it, in its order.
  package private(set) var faults: [SettingsFault] = []

  /// Reads a file's text.
  package init(_ text: [UInt8]) {
    do throws(TOMLValue.SyntaxError) {
      let document = try TOMLValue(parsing: text)
      guard case .table(let entries) = document.content else { return }
      for entry in entries { read(entry) }
    } catch {
      faults.append(SettingsFault(position: error.position, message: error.reason))
    }
    faults.sort {
      ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
    }
  }

  private mutating func read(_ entry: TOMLValue.Entry) {
    switch entry.key {
    case "hook": options.live.hooks += tables(entry.value, "hook") { Hook(reading: &$0) }
    case "rule":
      var place = 0
      options.live.rules += tables(entry.value, "rule") { table in
        place += 1
        return Rule(reading: &table, place: place)
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
      let faults = table.finish()
      self.faults += faults
      return faults.isEmpty ? value : nil
    }
  }

  private mutating func readQuirks(_ value: TOMLValue) {
    var table = TableReader(value)
    for quirk in Quirks.entries {
      guard let text = table.text(quirk.name) else { continue }
      if options.quirks.set("\(quirk.name)=\(text)") {
        let position = table.position(of: quirk.name)
        let value = SettingValue.text(text).description
        entries.append(Entry(name: "quirks.\(quirk.name)", value: value, position: position))
      } else {
        table.fail(
          of: quirk.name, "\(quirk.name): “\(text)” is none of its values: \(quirk.summary)")
      }
    }
    faults += table.finish()
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
      try grammar.set(entry.key, to: value, in: &options)
      entries.append(
        Entry(name: entry.key, value: value.description, position: entry.keyPosition))
    } catch {
      fail(entry.value.position, "\(error.what.isEmpty ? "" : error.what + ": ")\(error.why)")
    }
  }

  private mutating func fail(_ position: TOMLValue.Position, _ message: String) {
    faults.append(SettingsFault(position: position, message: message))
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
  fileprivate init?(reading table: inout TableReader, place: Int) {
    self.init(name: table.text("name") ?? "\(place)")
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

extension TableReader {
  /// A program's absolute path, or an array of it and its arguments.
  fileprivate mutating func program(_ key: String) -> [String]? {
    value(key, expected: "a program's absolute path, or an array of it and its arguments") {
      content in
      content.texts.flatMap { Hook.isProgram($0) ? $0 : nil }
    }
  }
}
