// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon

/// One option of a command: how it is written, what it means, and what it sets.
public struct Option<Options>: Sendable {
  /// Whether a value comes with it, and what the help calls it.
  public enum Value: Sendable {
    case none
    /// `--name VALUE`, `--name=VALUE`, `-nVALUE`.
    case required(String)
    /// Only `--name=VALUE`, so that `--name` can stand alone.
    case optional(String)
  }

  /// All that it is called: `-v`, `--verbose`.
  public let names: [String]
  public let value: Value
  /// One sentence for the help, without a full stop.
  public let help: String
  /// Takes the value out of a name that carries it, as in `--hci0`; nil for other names.
  let pattern: (@Sendable (String) -> String?)?
  let apply: @Sendable (inout Options, String?) throws(Failure) -> Void

  /// An option that is there or not.
  public static func flag(
    _ names: String..., help: String, set: @escaping @Sendable (inout Options) -> Void
  ) -> Option {
    Option(names: names, value: .none, help: help, pattern: nil) {
      options, _ throws(Failure) in set(&options)
    }
  }

  /// An option with a value. `set` answers whether the value is a good one; `expects` says what one
  /// is, for the error.
  public static func value(
    _ names: String..., value: String, expects: String, help: String,
    set: @escaping @Sendable (inout Options, String) -> Bool
  ) -> Option {
    Option(names: names, value: .required(value), help: help, pattern: nil) {
      options, text throws(Failure) in
      guard set(&options, text ?? "") else {
        throw .value(text ?? "", of: names.last ?? "", expects: expects)
      }
    }
  }

  /// An option that may have a value; `set` gets nil where there is none.
  public static func optional(
    _ name: String, value: String, expects: String, help: String,
    set: @escaping @Sendable (inout Options, String?) -> Bool
  ) -> Option {
    Option(names: [name], value: .optional(value), help: help, pattern: nil) {
      options, text throws(Failure) in
      guard set(&options, text) else { throw .value(text ?? "", of: name, expects: expects) }
    }
  }

  /// An option whose name carries its value, as in `--hci0`.
  public static func pattern(
    _ shown: String, help: String, read: @escaping @Sendable (String) -> String?,
    set: @escaping @Sendable (inout Options, String) -> Void
  ) -> Option {
    Option(names: [shown], value: .none, help: help, pattern: read) {
      options, text throws(Failure) in set(&options, text ?? "")
    }
  }

  /// An option that is understood and refused, since what it asks for is not there yet.
  public static func later(_ name: String, value: String) -> Option {
    Option(names: [name], value: .required(value), help: "", pattern: nil) {
      _, _ throws(Failure) in
      throw Failure(.usage, name, "this version of ancsd does not have it yet")
    }
  }

  /// An option that another program has, and what it is called here: understood and refused.
  public static func renamed(_ names: String..., now: String) -> Option {
    let name = names.joined(separator: ", ")
    return Option(names: names, value: .optional(""), help: "", pattern: nil) {
      _, _ throws(Failure) in
      throw Failure(.usage, name, "there is no such option", remedy: "it is \(now) here")
    }
  }

  /// Whether the help lists it.
  var isListed: Bool { !help.isEmpty }
}

extension Failure {
  /// A value that an option does not take.
  static func value(_ text: String, of name: String, expects: String) -> Failure {
    Failure(.usage, "\(name) \(text)", "not \(expects)")
  }
}
