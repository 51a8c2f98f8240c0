// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
import Wire

/// The options and operands of a command.
public struct Grammar<Options>: Sendable {
  /// Options under one title of the help.
  public typealias Group = (title: String, options: [CommandOption<Options>])

  let groups: [Group]
  /// The options of all groups.
  package let options: [CommandOption<Options>]
  /// The operands in the help, such as `UID positive|negative`; empty if there are none.
  let operands: String
  /// The kinds of the operands, for the completions.
  let operandKinds: [ValueKind]
  private let read: Reader

  /// Parses the operands.
  public typealias Reader = @Sendable (inout Options, [String]) throws(Failure) -> Void

  /// Accepts no operands.
  public static var noOperands: Reader {
    { _, operands throws(Failure) in try operands.check(atMost: 0) }
  }

  /// The grammar of a command with options in several groups.
  public init(
    groups: [Group], operands: String = "", kinds: [ValueKind] = [], read: @escaping Reader = Grammar.noOperands
  ) {
    self.groups = groups
    options = groups.flatMap { $0.options }
    operandKinds = kinds
    self.operands = operands
    self.read = read
  }

  /// The grammar of a command with these options and operands.
  public init(
    _ options: [CommandOption<Options>], operands: String = "", kinds: [ValueKind] = [],
    read: @escaping Reader = Grammar.noOperands
  ) {
    self.init(groups: [("Options", options)], operands: operands, kinds: kinds, read: read)
  }

  /// The options as tables of the help, one per group.
  public var tables: [Help.Table] { groups.map { ($0.title, $0.options.compactMap(\.form.entry)) } }

  /// An option as it was typed.
  public struct Given: Sendable {
    let option: CommandOption<Options>
    let typedName: String
    package let value: String?

    package var form: OptionForm { option.form }
    /// Its long name without the dashes; that of `--hci0` as typed.
    package var name: String { form.settingName ?? typedName }

    /// Sets it again, in other options.
    package func apply(to options: inout Options) throws(Failure) {
      try option.apply(&options, typedName, value)
    }
  }

  /// Parses the arguments after a command's name. Options and operands may be mixed; after `--`
  /// every argument is an operand.
  ///
  /// - Returns: the given options in order.
  @discardableResult public func parse(
    _ arguments: [String], into parsed: inout Options
  ) throws(Failure) -> [Given] {
    var rest = arguments[...]
    var operands: [String] = []
    var given: [Given] = []
    func add(_ one: Given) throws(Failure) {
      try one.apply(to: &parsed)
      given.append(one)
    }
    while let argument = rest.popFirst() {
      if argument == "--" {
        operands += rest
        break
      } else if argument.hasPrefix("--") {
        try add(try long(argument, &rest))
      } else if argument.hasPrefix("-"), argument != "-" {
        var letters = argument.dropFirst()
        while let letter = letters.popFirst() { try add(try short(letter, &letters, &rest)) }
      } else {
        operands.append(argument)
      }
    }
    try read(&parsed, operands)
    return given
  }

  /// Whether the next argument is the value of this one.
  func takesNext(_ argument: String) -> Bool {
    guard argument.hasPrefix("-"), !argument.contains("=") else { return false }
    let name = argument.hasPrefix("--") ? argument : "-\(argument.suffix(1))"
    return find(name)?.form.needsValue == true
  }

  /// `--name`, `--name=VALUE`, `--name VALUE`.
  private func long(_ argument: String, _ rest: inout ArraySlice<String>) throws(Failure) -> Given {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    var value = parts.count == 2 ? String(parts[1]) : nil
    let option = try self.option(name)
    switch (option.form.valueName, value) {
    case (nil, _?): throw Failure(usage: "\(name) takes no value")
    case _ where option.form.pattern != nil: value = option.form.pattern?(name)
    case (let valueName?, nil) where option.form.needsValue:
      value = try next(for: name, valueName(), &rest)
    case (_?, nil):
      // Without operands, the next argument can only be meant as its value.
      if operands.isEmpty, let next = rest.first, !next.hasPrefix("-") {
        throw Failure(usage: "unexpected argument “\(next)”", remedy: "did you mean \(name)=\(next)?")
      }
    default: break
    }
    return Given(option: option, typedName: name, value: value)
  }

  /// `-v`, `-vv`, `-n5`, `-n 5`: a letter, and the letters behind it, which may be its value.
  private func short(
    _ letter: Character, _ letters: inout Substring, _ rest: inout ArraySlice<String>
  ) throws(Failure) -> Given {
    let name = "-\(letter)"
    let option = try self.option(name)
    var value: String?
    if let valueName = option.form.valueName, option.form.needsValue {
      value = letters.isEmpty ? try next(for: name, valueName(), &rest) : String(letters)
      letters = ""
    }
    return Given(option: option, typedName: name, value: value)
  }

  /// The next argument as the value of `name`, unless it is an option.
  private func next(for name: String, _ kind: String, _ rest: inout ArraySlice<String>) throws(Failure) -> String {
    guard let value = rest.first, !value.hasPrefix("-") || find(String(value.prefix { $0 != "=" })) == nil else {
      throw Failure(usage: "\(name) needs a value (\(kind))")
    }
    rest.removeFirst()
    return value
  }

  private func option(_ name: String) throws(Failure) -> CommandOption<Options> {
    if let option = find(name) { return option }
    let listed = options.filter { $0.form.isListed }.flatMap { $0.form.names }
    let near = nearest(to: name, among: listed + ["--help", "--version"])
    let remedy = near.map { "did you mean \($0)?" }
    throw Failure(
      usage: "unknown option “\(name)”",
      remedy: name == "--version" ? "“ancsd --version” prints it" : remedy)
  }

  private func find(_ name: String) -> CommandOption<Options>? {
    options.first { $0.form.isNamed(name) }
  }
}

extension [String] {
  /// Refuses operands after the first `count`.
  public func check(atMost count: Int) throws(Failure) {
    if self.count > count { throw Failure(usage: "unexpected argument “\(self[count])”") }
  }
}
