// SPDX-License-Identifier: GPL-3.0-or-later
public import Control

/// One option of a command: how it is written, what it means, and what it sets.
public struct CommandOption<Options>: Sendable {
  /// Whether a value comes with it, and what the help calls it.
  public enum Value: Sendable {
    case none
    /// `--name VALUE`, `--name=VALUE`, `-nVALUE`.
    case required(String)
    /// Only `--name=VALUE`, so that `--name` can stand alone.
    case optional(String)
  }

  /// Its names: `-v`, `--verbose`.
  public let names: [String]
  public let value: Value
  /// One sentence for the help, without a full stop; empty: the help does not list it.
  public let help: String
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

  var isListed: Bool { !help.isEmpty }
}

// MARK: - Options without a value

extension CommandOption {
  /// An option that is there or not.
  public static func flag(
    _ names: String..., help: String, set: @escaping @Sendable (inout Options) -> Void
  ) -> CommandOption {
    CommandOption(names, help: help) { options, _ throws(Failure) in set(&options) }
  }

  /// An option whose name carries its value, as in `--hci0`: `read` takes it out of the name.
  public static func pattern(
    _ shown: String, help: String, read: @escaping @Sendable (String) -> String?,
    set: @escaping @Sendable (inout Options, String) -> Void
  ) -> CommandOption {
    CommandOption([shown], help: help, pattern: read) { options, text throws(Failure) in
      set(&options, text ?? "")
    }
  }

  /// An option that is recognised and refused, because what it asks for does not exist yet.
  public static func later(_ name: String, value: String) -> CommandOption {
    CommandOption([name], .required(value)) { _, _ throws(Failure) in
      throw Failure(.usage, name, "this version of ancsd does not have it yet")
    }
  }

  /// An option of another program: recognised and refused, with its name here.
  public static func renamed(_ names: String..., now: String) -> CommandOption {
    let name = names.joined(separator: ", ")
    return CommandOption(names, .optional("")) { _, _ throws(Failure) in
      throw Failure(.usage, name, "there is no such option", remedy: "it is \(now) here")
    }
  }
}

// MARK: - Options with a value

extension CommandOption {
  /// An option with a value.
  ///
  /// - Parameters:
  ///   - expects: describes a valid value, for the error.
  ///   - read: reads a value; nil where it is not valid.
  ///   - set: puts what was read among the options.
  public static func value<Read>(
    _ names: String..., value: String, expects: String, help: String,
    read: @escaping @Sendable (String) -> Read?,
    set: @escaping @Sendable (inout Options, Read) -> Void
  ) -> CommandOption {
    CommandOption(names, .required(value), help: help) { options, text throws(Failure) in
      guard let read = read(text ?? "") else {
        throw .value(text ?? "", of: names.last ?? "", expects: expects)
      }
      set(&options, read)
    }
  }

  /// An option that may have a value; where there is none, it sets `absent`.
  public static func optional<Read: Sendable>(
    _ name: String, _ place: any WritableKeyPath<Options, Read> & Sendable, value: String,
    expects: String, help: String,
    absent: Read, read: @escaping @Sendable (String) -> Read?
  ) -> CommandOption {
    CommandOption([name], .optional(value), help: help) { options, text throws(Failure) in
      guard let read = text.map(read) ?? absent else {
        throw .value(text ?? "", of: name, expects: expects)
      }
      options[keyPath: place] = read
    }
  }

  /// An option whose value is any text but an empty one.
  public static func text(
    _ names: String..., value: String, expects: String, help: String,
    set: @escaping @Sendable (inout Options, String) -> Void
  ) -> CommandOption {
    CommandOption(names, .required(value), help: help) { options, text throws(Failure) in
      guard let text, !text.isEmpty else {
        throw .value("", of: names.last ?? "", expects: expects)
      }
      set(&options, text)
    }
  }

  /// An option that takes one of the names of `Choice`.
  public static func choice<
    Choice: RawRepresentable<String> & CaseIterable & Sendable & SendableMetatype
  >(
    _ name: String, _ place: any WritableKeyPath<Options, Choice> & Sendable, help: String
  ) -> CommandOption {
    choice(name, help: help) { $0[keyPath: place] = $1 }
  }

  /// An option that takes one of the names of `Choice`.
  public static func choice<
    Choice: RawRepresentable<String> & CaseIterable & Sendable & SendableMetatype
  >(
    _ name: String, _ place: any WritableKeyPath<Options, Choice?> & Sendable, help: String
  ) -> CommandOption {
    choice(name, help: help) { $0[keyPath: place] = $1 }
  }

  private static func choice<Choice: RawRepresentable<String> & CaseIterable & SendableMetatype>(
    _ name: String, help: String, set: @escaping @Sendable (inout Options, Choice) -> Void
  ) -> CommandOption {
    let names = Choice.allCases.map(\.rawValue)
    return .value(
      name, value: names.joined(separator: "|"), expects: "one of \(names.joined(separator: ", "))",
      help: help, read: { Choice(rawValue: $0) }, set: set)
  }
}

extension Failure {
  /// A value that an option does not accept.
  fileprivate static func value(_ text: String, of name: String, expects: String) -> Failure {
    Failure(.usage, "\(name) \(text)", "not \(expects)")
  }
}

// MARK: - Options that several commands have

extension CommandOption {
  /// `--format`, of a command that prints answers.
  public static func format(
    set: @escaping @Sendable (inout Options, OutputFormat) -> Void
  ) -> CommandOption {
    choice(
      "--format", help: "how it is printed (default: text on a terminal, else JSON)", set: set)
  }

  /// `--format`, of a command that prints one line after another.
  public static func lineFormat(
    set: @escaping @Sendable (inout Options, OutputFormat) -> Void
  ) -> CommandOption {
    choice(
      "--format",
      help: "what standard output carries (default: text on a terminal, else JSON Lines)", set: set)
  }

  /// `--socket`, of the daemon's clients.
  public static func socket(
    set: @escaping @Sendable (inout Options, String) -> Void
  ) -> CommandOption {
    .text(
      "--socket", value: "PATH", expects: "a path", help: "the daemon's control socket", set: set)
  }

  /// `--timeout`, after which a command leaves.
  public static func timeout(
    help: String, set: @escaping @Sendable (inout Options, Duration) -> Void
  ) -> CommandOption {
    .value(
      "--timeout", value: "SECONDS", expects: "a number of seconds", help: help,
      read: { Duration(seconds: $0) }, set: set)
  }

  /// `-n`, the number of things after which a command leaves.
  public static func count(
    of things: String, help: String, set: @escaping @Sendable (inout Options, Int) -> Void
  ) -> CommandOption {
    .value(
      "-n", "--count", value: "N", expects: "a number of \(things)", help: help,
      read: { Int($0).flatMap { $0 > 0 ? $0 : nil } }, set: set)
  }

  /// `--hciN`, an adapter by its number.
  public static func adapterNumber(
    help: String, set: @escaping @Sendable (inout Options, String) -> Void
  ) -> CommandOption {
    .pattern(
      "--hciN", help: help,
      read: { $0.hasPrefix("--hci") ? UInt16($0.dropFirst(5)).map { "hci\($0)" } : nil }, set: set)
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
  /// The path in `unix:PATH`; nil in other texts.
  public init?(unixAddress text: String) {
    guard text.hasPrefix("unix:"), text.utf8.count > 5 else { return nil }
    self.init(text.dropFirst(5))
  }
}
