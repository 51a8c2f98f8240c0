// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import System

// The options that several commands have.

/// The options of a command that prints.
public protocol PrintingOptions: Sendable {
  /// The form of standard output.
  var output: OutputOptions { get set }
}

extension CommandOption where Options: PrintingOptions {
  /// `--format`, `--json`, `--text` and `--color`: the form of standard output.
  public static var output: [CommandOption] {
    [
      .choice(
        "--format", help: "the form of standard output (default: ANCSD_FORMAT, else text)",
        set: { $0.output.format = $1 }),
      .flag("--json", help: "same as --format json", set: { $0.output.format = .json }).onlyTyped,
      .flag("--text", help: "same as --format text", set: { $0.output.format = .text }).onlyTyped, color,
    ]
  }

  /// `--template`: the layout of each line.
  public static var template: CommandOption {
    .value(
      "--template", value: "TEXT", expects: Template.forms,
      help: "print each as this text, with members as in JSON: '{app}: {title}', '{track.artist}'",
      read: { Template(typed: $0) }, set: { $0.output.template = $1 })
  }

  /// `--color`: whether text has colours.
  public static var color: CommandOption {
    .choice("--color", help: "whether text has colours (default: auto, on a terminal)", set: { $0.output.color = $1 })
  }
}

extension CommandOption {
  /// `--socket`, of the daemon's clients.
  public static func socket(set: @escaping Setter<String>) -> CommandOption {
    .file(
      "--socket", value: "PATH", help: "the daemon's control socket (default: ANCSD_SOCKET, else the daemon's default)",
      set: { set(&$0, DefaultPaths.socket($1)) })
  }

  /// `--att`, a socket instead of the radio.
  ///
  /// - Parameter listener: what listens on it.
  public static func att(_ listener: String, set: @escaping Setter<String>) -> CommandOption {
    .value(
      "--att", value: "unix:PATH", kind: .file, expects: "unix:PATH",
      help: "no radio: \(listener) that listens on this socket, one ATT PDU per packet",
      read: { String(unixAddress: $0) }, set: set)
  }

  /// `--phone`, by address or name.
  public static func phone(
    help: @autoclosure @escaping LazyText, set: @escaping Setter<PhoneSelector>
  ) -> CommandOption {
    .value(
      "--phone", value: "PHONE", kind: .phone, expects: "a phone", help: help(),
      read: { $0.isEmpty ? nil : PhoneSelector($0) }, set: set)
  }

  /// `--state-dir`.
  ///
  /// - Parameters:
  ///   - things: what is stored there.
  ///   - usual: the default.
  public static func stateDirectory(
    for things: String = "bonds", default usual: @autoclosure @escaping LazyText, set: @escaping Setter<String>
  ) -> CommandOption {
    .text(
      "--state-dir", value: "DIR", kind: .directory, expects: "a directory",
      help: "where \(things) are stored (default: \(usual()))", set: { set(&$0, Files.absolute($1)) })
  }

  /// `--config`, the file to read instead of the default ones.
  ///
  /// - Parameter things: what is in it.
  public static func config(of things: String, set: @escaping Setter<String>) -> CommandOption {
    .file(
      "--config", kind: .settings,
      help: "\(things) (default: \(SettingsFolder.usualPath) and then \(SettingsFolder.morePaths))",
      set: set
    ).onlyTyped
  }

  /// `--timeout`, after which a command leaves.
  public static func timeout(help: String, set: @escaping Setter<Duration>) -> CommandOption {
    .time("--timeout", help: help, set: set)
  }

  /// `-n`, the number of things after which a command leaves.
  public static func count(of things: String, help: String, set: @escaping Setter<Int>) -> CommandOption {
    .value(
      "--count", short: "-n", value: "N", kind: .number, expects: "a number of \(things)", help: help,
      read: { Int($0).flatMap { $0 > 0 ? $0 : nil } }, set: set)
  }

  /// `--capture-limit`, the size at which a capture ends, in bytes.
  public static func captureLimit(help: String, set: @escaping Setter<Int64>) -> CommandOption {
    .number("--capture-limit", value: "MIB", of: "MiB", within: 1...1_048_576, help: help) {
      set(&$0, Int64($1) << 20)
    }
  }
}

/// The options that determine the form of standard output.
public struct OutputOptions: Hashable, Sendable {
  /// nil: the environment decides.
  public var format: OutputFormat?
  public var color = ColorChoice.auto
  /// The layout of each line; nil: the command's.
  public var template: Template?

  public init() {}

  /// The format: that of the command line or of the environment, else text, to a terminal and to a pipe.
  ///
  /// - Parameter variable: the value of `ANCSD_FORMAT`.
  package func format(variable: String?) throws(Failure) -> OutputFormat {
    if template != nil { return .text }
    if let format { return format }
    guard let variable, !variable.isEmpty else { return .text }
    guard let format = OutputFormat(rawValue: variable.lowercased()) else {
      throw Failure(
        usage: "ANCSD_FORMAT must be \(alternatives(OutputFormat.allCases.map(\.rawValue))), "
          + "not “\(variable)”")
    }
    return format
  }

  /// Whether text has colours.
  ///
  /// - Parameters:
  ///   - noColor: the value of `NO_COLOR` (https://no-color.org): any but an empty one means none.
  ///   - terminal: the value of `TERM`.
  package func hasColor(noColor: String?, terminal: String?, isTerminal: Bool) -> Bool {
    switch color {
    case .always: true
    case .never: false
    case .auto: isTerminal && (noColor ?? "").isEmpty && terminal != "dumb"
    }
  }
}

/// The values of `--color`.
public enum ColorChoice: String, CaseIterable, Sendable {
  case auto, always, never
}

extension Duration {
  /// How a time is typed, for errors.
  public static let forms = "a time such as 30, 90s, 10m, 2h or 1d"

  /// The same, with the least and the greatest.
  static func forms(within bounds: ClosedRange<Duration>) -> String {
    "a time from \(bounds.lowerBound.typed) to \(bounds.upperBound.typed), such as 30, 90s, 10m, 2h or 1d"
  }

  /// The time as a user would type it, in the largest unit that gives a whole number.
  private var typed: String {
    let seconds = components.seconds
    let units: [(Int64, String)] = [(86_400, "d"), (3_600, "h"), (60, "m")]
    let unit = units.first { seconds > 0 && seconds % $0.0 == 0 }
    return unit.map { "\(seconds / $0.0)\($0.1)" } ?? "\(seconds)"
  }

  /// Reads a time as people type it, within these bounds.
  public init?(typed text: String, within bounds: ClosedRange<Duration>) {
    let time = text == "0" ? .zero : Duration(typed: text)
    guard let time, bounds.contains(time) else { return nil }
    self = time
  }

  /// Reads a time as people type it, above 0 and below 100 days: a number of seconds, or numbers with one of
  /// the units s, m, h, d and w behind each, as in `1h30m`.
  public init?(typed text: String) {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
    let whole = text.lowercased()
    var rest = whole[...]
    var seconds = 0.0
    repeat {
      let digits = rest.prefix { units[$0] == nil }
      rest = rest.dropFirst(digits.count)
      let unit = rest.popFirst().flatMap { units[$0] }
      // Only a number that stands alone needs no unit.
      guard let number = Double(digits), number > 0, unit != nil || digits == whole else {
        return nil
      }
      seconds += number * (unit ?? 1)
    } while !rest.isEmpty
    guard seconds < 8_640_000 else { return nil }
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
