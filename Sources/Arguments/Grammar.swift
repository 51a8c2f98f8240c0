// SPDX-License-Identifier: GPL-3.0-or-later
public import Control

/// The options and operands of a command.
public struct Grammar<Options>: Sendable {
  public let options: [CommandOption<Options>]
  /// What the help calls the operands, as in `UID positive|negative`; empty where there are none.
  public let operands: String
  /// Reads the operands.
  let readOperands: @Sendable (inout Options, [String]) throws(Failure) -> Void

  /// A command without operands.
  public init(_ options: [CommandOption<Options>]) {
    self.init(options, operands: "") { _, operands throws(Failure) in
      if let first = operands.first {
        throw Failure(.usage, first, "nothing is expected there")
      }
    }
  }

  /// A command with operands.
  public init(
    _ options: [CommandOption<Options>], operands: String,
    read: @escaping @Sendable (inout Options, [String]) throws(Failure) -> Void
  ) {
    self.options = options
    self.operands = operands
    readOperands = read
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
    try readOperands(&parsed, operands)
  }

  /// `--name`, `--name=VALUE`, `--name VALUE`.
  private func long(
    _ argument: String, _ rest: inout ArraySlice<String>, _ parsed: inout Options
  ) throws(Failure) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    let value = parts.count == 2 ? String(parts[1]) : nil
    let option = try self.option(name)
    if let pattern = option.pattern {
      try option.apply(&parsed, pattern(name))
      return
    }
    switch option.value {
    case .none where value != nil:
      throw Failure(.usage, argument, "\(name) takes no value")
    case .none, .optional:
      try option.apply(&parsed, value)
    case .required(let kind):
      if let value {
        try option.apply(&parsed, value)
      } else {
        try option.apply(&parsed, try next(for: name, kind, &rest))
      }
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
      try option.apply(&parsed, value)
      return
    }
  }

  /// The argument that is the value of `name`; an option is none.
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
    let near = nearest(to: name, among: options.filter(\.isListed).flatMap(\.names))
    throw Failure(.usage, name, "unknown option", remedy: near.map { "did you mean \($0)?" })
  }

  private func find(_ name: String?) -> CommandOption<Options>? {
    guard let name else { return nil }
    return options.first { option in
      option.pattern.map { $0(name) != nil } ?? option.names.contains(name)
    }
  }
}
