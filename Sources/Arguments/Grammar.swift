// SPDX-License-Identifier: GPL-3.0-or-later
public import Control

/// The options and operands of a command.
public struct Grammar<Options>: Sendable {
  let options: [CommandOption<Options>]
  /// What the help calls the operands, as in `UID positive|negative`; empty if there are none.
  let operands: String
  private let read: Reader

  /// Reads the operands.
  public typealias Reader = @Sendable (inout Options, [String]) throws(Failure) -> Void

  /// Accepts no operands.
  public static var noOperands: Reader {
    { _, operands throws(Failure) in try operands.check(atMost: 0) }
  }

  /// The grammar of a command with these options and operands.
  public init(
    _ options: [CommandOption<Options>], operands: String = "",
    read: @escaping Reader = Grammar.noOperands
  ) {
    self.options = options
    self.operands = operands
    self.read = read
  }

  /// How the help shows the options.
  public var entries: [Help.Entry] {
    options.filter { !$0.help.isEmpty }.map { option in
      let names = option.names.joined(separator: ", ")
      return switch option.value {
      case .none: (names, option.help)
      case .required(let kind): ("\(names) \(kind)", option.help)
      case .optional(let kind): ("\(names)[=\(kind)]", option.help)
      }
    }
  }

  /// Reads the arguments behind a command's name. Options and operands may be mixed; behind `--`
  /// everything is an operand.
  public func parse(_ arguments: [String], into parsed: inout Options) throws(Failure) {
    var rest = arguments[...]
    var operands: [String] = []
    while let argument = rest.popFirst() {
      if argument == "--" {
        operands += rest
        break
      } else if argument.hasPrefix("--") {
        try long(argument, &rest, &parsed)
      } else if argument.hasPrefix("-"), argument != "-" {
        try short(argument, &rest, &parsed)
      } else {
        operands.append(argument)
      }
    }
    try read(&parsed, operands)
  }

  /// `--name`, `--name=VALUE`, `--name VALUE`.
  private func long(
    _ argument: String, _ rest: inout ArraySlice<String>, _ parsed: inout Options
  ) throws(Failure) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let value = parts.count == 2 ? String(parts[1]) : nil
    let option = try self.option(name)
    if let pattern = option.pattern { return try option.apply(&parsed, pattern(name)) }
    switch (option.value, value) {
    case (.none, _?): throw Failure(.usage, argument, "\(name) takes no value")
    case (.required(let kind), nil): try option.apply(&parsed, try next(for: name, kind, &rest))
    default: try option.apply(&parsed, value)
    }
  }

  /// `-v`, `-vv`, `-n5`, `-n 5`.
  private func short(
    _ argument: String, _ rest: inout ArraySlice<String>, _ parsed: inout Options
  ) throws(Failure) {
    var letters = argument.dropFirst()
    while let letter = letters.popFirst() {
      let name = "-\(letter)"
      let option = try self.option(name)
      guard case .required(let kind) = option.value else {
        try option.apply(&parsed, nil)
        continue
      }
      let value = letters.isEmpty ? try next(for: name, kind, &rest) : String(letters)
      return try option.apply(&parsed, value)
    }
  }

  /// The next argument, the value of `name`; an option is not taken for one.
  private func next(
    for name: String, _ kind: String, _ rest: inout ArraySlice<String>
  ) throws(Failure) -> String {
    guard let value = rest.first, find(value.split(separator: "=").first.map(String.init)) == nil
    else { throw Failure(.usage, name, "\(kind) is missing behind it") }
    rest.removeFirst()
    return value
  }

  private func option(_ name: String) throws(Failure) -> CommandOption<Options> {
    if let option = find(name) { return option }
    let near = nearest(to: name, among: options.filter { !$0.help.isEmpty }.flatMap(\.names))
    throw Failure(.usage, name, "unknown option", remedy: near.map { "did you mean \($0)?" })
  }

  private func find(_ name: String?) -> CommandOption<Options>? {
    guard let name else { return nil }
    return options.first { option in
      option.pattern.map { $0(name) != nil } ?? option.names.contains(name)
    }
  }
}

extension [String] {
  /// Refuses operands after the first `count`.
  public func check(atMost count: Int) throws(Failure) {
    if self.count > count { throw Failure(.usage, self[count], "nothing is expected there") }
  }
}
