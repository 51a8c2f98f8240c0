// SPDX-License-Identifier: GPL-3.0-or-later
public import Control

/// One option of a command: how it is written, what it means, and what it sets.
public struct CommandOption<Options>: Sendable {
  /// Puts a value that was read among the options.
  public typealias Setter<Value> = @Sendable (inout Options, Value) -> Void

  /// Whether a value comes with it, and what the help calls it.
  enum Value: Sendable {
    case none
    /// `--name VALUE`, `--name=VALUE`, `-nVALUE`.
    case required(String)
    /// Only `--name=VALUE`, so that `--name` can stand alone.
    case optional(String)

    init<Other>(_ other: CommandOption<Other>.Value) {
      switch other {
      case .none: self = .none
      case .required(let kind): self = .required(kind)
      case .optional(let kind): self = .optional(kind)
      }
    }
  }

  /// Its names: `-v`, `--verbose`.
  let names: [String]
  let value: Value
  /// One sentence for the help, without a full stop; if it is empty, the help does not list the
  /// option.
  let help: String
  /// Extracts the value from a name that carries it, as in `--hci0`; nil for other names.
  let pattern: (@Sendable (String) -> String?)?
  let apply: @Sendable (inout Options, String?) throws(Failure) -> Void

  private init(
    _ names: [String], _ value: Value = .none, help: String = "",
    pattern: (@Sendable (String) -> String?)? = nil,
    apply: @escaping @Sendable (inout Options, String?) throws(Failure) -> Void
  ) {
    self.names = names
    self.value = value
    self.help = help
    self.pattern = pattern
    self.apply = apply
  }

  /// An option whose value `read` reads; without a value it sets `absent`.
  private init<Read: Sendable>(
    _ names: [String], _ value: Value, expects: String, help: String, absent: Read? = nil,
    read: @escaping @Sendable (String) -> Read?, set: @escaping Setter<Read>
  ) {
    self.init(names, value, help: help) { options, text throws(Failure) in
      guard let read = text.map(read) ?? absent else {
        throw Failure(.usage, "\(names.last ?? "") \(text ?? "")", "not \(expects)")
      }
      set(&options, read)
    }
  }
}

extension CommandOption {
  /// The same option, among others. `change` sets it by what it is given last.
  func mapped<Other>(
    _ change:
      @escaping @Sendable (
        inout Other, String?, @Sendable (inout Options, String?) throws(Failure) -> Void
      ) throws(Failure) -> Void
  ) -> CommandOption<Other> {
    CommandOption<Other>(names, CommandOption<Other>.Value(value), help: help, pattern: pattern) {
      [apply] options, value throws(Failure) in
      try change(&options, value, apply)
    }
  }

  /// An option without a value.
  public static func flag(
    _ names: String..., help: String, set: @escaping @Sendable (inout Options) -> Void
  ) -> CommandOption {
    CommandOption(names, help: help) { options, _ throws(Failure) in set(&options) }
  }

  /// An option of another program: recognised and refused, with its name here.
  public static func renamed(_ names: String..., now: String) -> CommandOption {
    let name = names.joined(separator: ", ")
    return CommandOption(names, .optional("")) { _, _ throws(Failure) in
      throw Failure(.usage, name, "there is no such option", remedy: "it is \(now) here")
    }
  }

  /// An option with a value.
  ///
  /// - Parameters:
  ///   - expects: describes a valid value, for the error.
  ///   - read: reads a value; nil if it is not valid.
  public static func value<Read: Sendable>(
    _ names: String..., value: String, expects: String, help: String,
    read: @escaping @Sendable (String) -> Read?, set: @escaping Setter<Read>
  ) -> CommandOption {
    CommandOption(names, .required(value), expects: expects, help: help, read: read, set: set)
  }

  /// An option that may have a value; without one it sets `absent`.
  public static func optional<Read: Sendable>(
    _ name: String, value: String, expects: String, help: String, absent: Read,
    read: @escaping @Sendable (String) -> Read?, set: @escaping Setter<Read>
  ) -> CommandOption {
    CommandOption(
      [name], .optional(value), expects: expects, help: help, absent: absent, read: read, set: set)
  }

  /// An option whose value is any text but an empty one.
  public static func text(
    _ names: String..., value: String, expects: String, help: String, set: @escaping Setter<String>
  ) -> CommandOption {
    CommandOption(
      names, .required(value), expects: expects, help: help, read: { $0.isEmpty ? nil : $0 },
      set: set)
  }

  /// An option whose values are the names of `Choice`.
  public static func choice<Choice: RawRepresentable<String> & CaseIterable & Sendable>(
    _ name: String, help: String, set: @escaping Setter<Choice>
  ) -> CommandOption {
    let names = Choice.allCases.map(\.rawValue)
    return .value(
      name, value: names.joined(separator: "|"), expects: "one of \(names.joined(separator: ", "))",
      help: help, read: { Choice(rawValue: $0) }, set: set)
  }
}

// MARK: - Options that several commands have

extension CommandOption {
  /// `--format`, of a command that prints answers.
  public static func format(set: @escaping Setter<OutputFormat>) -> CommandOption {
    .choice(
      "--format", help: "how it is printed (default: text on a terminal, else JSON)", set: set)
  }

  /// `--format`, of a command that prints one line after another.
  public static func lineFormat(set: @escaping Setter<OutputFormat>) -> CommandOption {
    .choice(
      "--format",
      help: "what standard output carries (default: text on a terminal, else JSON Lines)", set: set)
  }

  /// `--socket`, of the daemon's clients.
  public static func socket(set: @escaping Setter<String>) -> CommandOption {
    .text(
      "--socket", value: "PATH", expects: "a path", help: "the daemon's control socket", set: set)
  }

  /// `--timeout`, after which a command leaves.
  public static func timeout(help: String, set: @escaping Setter<Duration>) -> CommandOption {
    .value(
      "--timeout", value: "SECONDS", expects: "a number of seconds", help: help,
      read: { Duration(seconds: $0) }, set: set)
  }

  /// `-n`, the number of things after which a command leaves.
  public static func count(
    of things: String, help: String, set: @escaping Setter<Int>
  ) -> CommandOption {
    .value(
      "-n", "--count", value: "N", expects: "a number of \(things)", help: help,
      read: { Int($0).flatMap { $0 > 0 ? $0 : nil } }, set: set)
  }

  /// `--capture-limit`, the size at which a capture ends, in bytes.
  public static func captureLimit(set: @escaping Setter<Int>) -> CommandOption {
    .value(
      "--capture-limit", value: "MIB", expects: "a number of MiB from 1 to 1048576",
      help: "the capture ends when the file has so many MiB (default: 256)",
      read: { Int($0).flatMap { (1...1_048_576).contains($0) ? $0 << 20 : nil } }, set: set)
  }

  /// `--hciN`, an adapter by its number.
  public static func adapterNumber(help: String, set: @escaping Setter<String>) -> CommandOption {
    CommandOption(
      ["--hciN"], help: help,
      pattern: { $0.hasPrefix("--hci") ? UInt16($0.dropFirst(5)).map { "hci\($0)" } : nil }
    ) { options, name throws(Failure) in set(&options, name ?? "") }
  }
}

extension Duration {
  /// A number of seconds as people write it, above 0 and below 100 days.
  public init?(seconds text: String) {
    guard let seconds = Double(text), seconds > 0, seconds < 8_640_000 else { return nil }
    self = .milliseconds(max(1, Int64(seconds * 1_000)))
  }
}

extension String {
  /// The path in `unix:PATH`; nil for other texts.
  public init?(unixAddress text: String) {
    guard text.hasPrefix("unix:"), text.utf8.count > 5 else { return nil }
    self.init(text.dropFirst(5))
  }
}
