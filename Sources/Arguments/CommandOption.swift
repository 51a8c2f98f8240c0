// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import Wire

/// A text that is built only when it is read, so help and error texts do not delay the start.
public typealias LazyText = @Sendable () -> String
/// Words of which the same is true.
public typealias LazyWords = @Sendable () -> [String]

/// The kind of a value, for settings files, the manual and the completions.
public struct ValueKind: Equatable, Sendable {
  let name: String
  /// The words that it may be; none: any text.
  var words: LazyWords = { [] }

  public static let text = ValueKind(name: "text")
  public static let number = ValueKind(name: "number")
  /// A number of seconds, or one with a unit.
  public static let time = ValueKind(name: "time")
  public static let file = ValueKind(name: "file")
  /// A file of settings.
  public static let settings = ValueKind(name: "settings")
  public static let directory = ValueKind(name: "directory")
  /// What is active, or known to the daemon.
  public static let notification = ValueKind(name: "notification")
  public static let app = ValueKind(name: "app")
  public static let phone = ValueKind(name: "phone")

  /// One of these words.
  public static func word(_ words: @autoclosure @escaping LazyWords) -> ValueKind {
    ValueKind(name: "word", words: words)
  }

  /// Several of these words, separated by commas.
  static func words(_ words: [String]) -> ValueKind { ValueKind(name: "words", words: { words }) }

  public static func == (one: ValueKind, other: ValueKind) -> Bool { one.name == other.name }
}

/// The form and the meaning of an option, independent of what it sets.
package struct OptionForm: Sendable {
  /// Its names: `-v`, `--verbose`.
  let names: [String]
  /// The name of its value in the help: `--name VALUE`, `--name=VALUE`, `-nVALUE`; nil: it has none.
  var valueName: LazyText?
  /// Whether it is not valid without one. Otherwise only `--name=VALUE` has a value.
  var needsValue = false
  /// The kind of its value.
  var kind = ValueKind.text
  /// Whether it may be repeated, each time adding a value.
  package fileprivate(set) var repeats = false
  /// Whether it is for the command line only, and no key of a settings file.
  package fileprivate(set) var isOnlyTyped = false
  /// When a change takes effect, if the command reloads its settings.
  package fileprivate(set) var effect: SettingEffect?
  /// One sentence for the help, without a full stop, built only when it is read. The help omits options without one.
  package var help: LazyText?
  /// Extracts the value from a name that carries it, as in `--hci0`; nil for other names.
  var pattern: (@Sendable (String) -> String?)?
  /// Whether the help lists it.
  var isListed: Bool { help != nil }

  /// Its names, its value and its help, as the help has them; nil if the help omits it.
  var entry: Help.Entry? {
    guard let help else { return nil }
    let value = valueName.map { needsValue ? " \($0())" : "[=\($0())]" }
    return (names.joined(separator: ", ") + (value ?? ""), help() + (repeats ? "; may repeat" : ""))
  }

  /// Whether this name, as typed, means this option.
  func isNamed(_ name: String) -> Bool { pattern.map { $0(name) != nil } ?? names.contains(name) }
}

/// One option of a command: its form, and what it sets. It is an object, which a search does not copy.
public final class CommandOption<Options>: Sendable {
  /// Stores a parsed value in the options.
  public typealias Setter<Value> = @Sendable (inout Options, Value) -> Void
  /// Parses the value, if any, and sets it. `name` is the name as typed.
  typealias Apply = @Sendable (_ options: inout Options, _ name: String, _ value: String?) throws(Failure) -> Void

  package let form: OptionForm
  let apply: Apply

  fileprivate init(_ form: OptionForm, apply: @escaping Apply) {
    self.form = form
    self.apply = apply
  }

  /// The same option, which may be given several times.
  public var repeated: CommandOption { changed { $0.repeats = true } }

  /// The same option, of which a change takes effect then.
  public func effective(_ effect: SettingEffect) -> CommandOption { changed { $0.effect = effect } }

  /// The same option, which no settings file can set.
  public var onlyTyped: CommandOption { changed { $0.isOnlyTyped = true } }

  private func changed(_ change: (inout OptionForm) -> Void) -> CommandOption {
    var form = form
    change(&form)
    return CommandOption(form, apply: apply)
  }

  /// An option without a value.
  public static func flag(
    _ names: String..., help: @autoclosure @escaping LazyText, set: @escaping @Sendable (inout Options) -> Void
  ) -> CommandOption {
    CommandOption(OptionForm(names: names, help: help)) { options, _, _ throws(Failure) in
      set(&options)
    }
  }

  /// An option of another program: recognised, and refused with the name used here.
  public static func renamed(_ names: String..., now: String) -> CommandOption {
    CommandOption(OptionForm(names: names, valueName: { "" })) { _, name, _ throws(Failure) in
      throw Failure(usage: "unknown option “\(name)”", remedy: "it is \(now) here")
    }
  }

  /// An option with a value.
  ///
  /// - Parameters:
  ///   - short: its other name, of one letter.
  ///   - expects: the description of a valid value, for the error: `a number of seconds`.
  ///   - absent: what it sets without a value; nil: it needs one.
  ///   - near: suggests a valid value for an invalid one.
  ///   - read: parses a value; nil if it is invalid.
  public static func value<Read: Sendable>(
    _ name: String, short: String? = nil, value: @autoclosure @escaping LazyText, kind: ValueKind = .text,
    expects: @autoclosure @escaping LazyText, help: @autoclosure @escaping LazyText, absent: Read? = nil,
    near: @escaping @Sendable (String) -> String? = { _ in nil }, read: @escaping @Sendable (String) -> Read?,
    set: @escaping Setter<Read>
  ) -> CommandOption {
    let form = OptionForm(
      names: [short, name].compactMap { $0 }, valueName: value, needsValue: absent == nil, kind: kind, help: help)
    return CommandOption(form) { options, name, text throws(Failure) in
      guard let read = text.map(read) ?? absent else {
        let text = text ?? ""
        throw Failure(
          usage: "\(name) must be \(expects()), not “\(text)”",
          remedy: near(text).map { "did you mean \(name) \($0)?" })
      }
      set(&options, read)
    }
  }

  /// An option whose value is a time, within these bounds if there are some.
  public static func time(
    _ name: String, within bounds: ClosedRange<Duration>? = nil,
    help: @autoclosure @escaping LazyText, set: @escaping Setter<Duration>
  ) -> CommandOption {
    .value(
      name, value: "TIME", kind: .time, expects: bounds.map(Duration.forms) ?? Duration.forms, help: help(),
      read: { text in
        guard let bounds else { return Duration(typed: text) }
        return Duration(typed: text, within: bounds)
      }, set: set)
  }

  /// An option whose value is any non-empty text.
  public static func text(
    _ name: String, short: String? = nil, value: String, kind: ValueKind = .text,
    expects: @autoclosure @escaping LazyText, help: @autoclosure @escaping LazyText, set: @escaping Setter<String>
  ) -> CommandOption {
    .value(
      name, short: short, value: value, kind: kind, expects: expects(), help: help(),
      read: { $0.isEmpty ? nil : $0 }, set: set)
  }

  /// An option whose value is a path.
  public static func file(
    _ name: String, short: String? = nil, value: String = "FILE", kind: ValueKind = .file,
    help: @autoclosure @escaping LazyText, set: @escaping Setter<String>
  ) -> CommandOption {
    .text(
      name, short: short, value: value, kind: kind,
      expects: value == "FILE" ? "a file" : "a path", help: help(), set: set)
  }

  /// An option whose value is a whole number within these bounds.
  ///
  /// - Parameter things: what it counts, for the error: `bytes`.
  public static func number(
    _ name: String, value: String = "N", of things: String? = nil, within bounds: ClosedRange<Int>,
    help: @autoclosure @escaping LazyText, set: @escaping Setter<Int>
  ) -> CommandOption {
    .value(
      name, value: value, kind: .number,
      expects: "a number\(things.map { " of \($0)" } ?? "") from \(bounds.lowerBound) to \(bounds.upperBound)",
      help: help(), read: { Int($0).flatMap { bounds.contains($0) ? $0 : nil } }, set: set)
  }

  /// An option whose value is one of these names, in upper or lower case.
  ///
  /// - Parameters:
  ///   - expects: other valid values, besides the names.
  ///   - read: parses a name as listed.
  public static func named<Read: Sendable>(
    _ name: String, value: @autoclosure @escaping LazyText, names: @autoclosure @escaping LazyWords,
    expects: @autoclosure @escaping @Sendable () -> String? = nil, help: @autoclosure @escaping LazyText,
    read: @escaping @Sendable (String) -> Read?, set: @escaping Setter<Read>
  ) -> CommandOption {
    .value(
      name, value: value(), kind: .word(names()), expects: expects() ?? alternatives(names()), help: help(),
      near: { nearest(to: $0.lowercased(), among: names()) }, read: { read($0.lowercased()) }, set: set)
  }

  /// An option whose value is one or more of these names, separated by commas, in upper or lower case.
  ///
  /// - Parameters:
  ///   - kind: what the names denote, such as `a category`.
  ///   - read: parses a name as listed.
  public static func list<Read: Sendable>(
    _ name: String, value: String = "NAME,...", of kind: String, names: [String], help: @autoclosure @escaping LazyText,
    read: @escaping @Sendable (String) -> Read?, set: @escaping Setter<[Read]>
  ) -> CommandOption {
    let form = OptionForm(names: [name], valueName: { value }, needsValue: true, kind: .words(names), help: help)
    return CommandOption(form) { options, option, text throws(Failure) in
      var values: [Read] = []
      for typed in (text ?? "").split(separator: ",", omittingEmptySubsequences: false) {
        let word = typed.lowercased().filter { $0 != " " }
        guard let value = read(word) else {
          let near = nearest(to: word, among: names)
          throw Failure(
            usage: "\(option): “\(typed)” is not \(kind)",
            remedy: near.map { "did you mean \($0)?" } ?? "choose from \(names.joined(separator: ", "))")
        }
        values.append(value)
      }
      set(&options, values)
    }
  }

  /// An option whose values are the names of `Choice`.
  public static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
    _ name: String, help: @autoclosure @escaping LazyText, set: @escaping Setter<Choice>
  ) -> CommandOption {
    let names: LazyWords = { Choice.allCases.map { $0.rawValue } }
    return .named(
      name, value: names().joined(separator: "|"), names: names(), help: help(),
      read: { Choice(rawValue: $0) }, set: set)
  }

  /// `--hciN`, an adapter by its number.
  public static func adapterNumber(
    help: @autoclosure @escaping LazyText, set: @escaping Setter<String>
  ) -> CommandOption {
    let form = OptionForm(names: ["--hciN"], help: help) {
      $0.hasPrefix("--hci") ? UInt16(digits: $0.dropFirst(5)).map { "hci\($0)" } : nil
    }
    return CommandOption(form) { options, _, name throws(Failure) in set(&options, name ?? "") }
  }
}

/// The names with commas and an “or”: `text or json`.
func alternatives(_ names: [String]) -> String {
  guard let last = names.last, names.count > 1 else { return names.first ?? "" }
  return "\(names.dropLast().joined(separator: ", ")) or \(last)"
}
