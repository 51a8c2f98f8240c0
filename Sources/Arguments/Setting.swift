// SPDX-License-Identifier: GPL-3.0-or-later
package import Control
import JSON

/// The value of an option in a settings file.
public enum SettingValue: Hashable, Sendable, CustomStringConvertible {
  case truth(Bool)
  case number(Int64)
  case text(String)
  case list([String])

  /// The value in TOML.
  public var description: String {
    switch self {
    case .truth(let value): "\(value)"
    case .number(let number): "\(number)"
    // A string is written as in JSON.
    case .text(let text): JSONValue.string(text).text
    case .list(let texts): "[\(texts.map { JSONValue.string($0).text }.joined(separator: ", "))]"
    }
  }
}

extension Grammar {
  /// The option of this name without the dashes, if there is one that is a setting.
  package func setting(_ name: String) -> CommandOption<Options>? {
    options.first { $0.form.isSetting(named: name) }
  }

  /// The names of the options that a file can set, without their dashes.
  public var settingNames: [String] {
    options.compactMap { $0.form.isOnlyTyped ? nil : $0.form.settingName }
  }
}

extension CommandOption {
  /// Sets it to the value that it has in a file.
  ///
  /// - Throws: the description of a valid value.
  package func set(_ value: SettingValue, in options: inout Options) throws(Failure) {
    let name = form.settingName ?? ""
    switch value {
    case .truth(let isOn) where !form.needsValue: if isOn { try apply(&options, name, nil) }
    case .number(let number) where form.needsValue ? form.takesNumber : form.valueName != nil:
      try apply(&options, name, "\(number)")
    case .text(let text) where form.needsValue ? form.kind != .number : form.kind == .time:
      try apply(&options, name, text)
    case .list(let texts) where form.needsValue && !form.takesNumber:
      // A repeatable option is set once per element; other lists are joined by commas.
      if form.repeats {
        for text in texts { try apply(&options, name, text) }
      } else {
        try apply(&options, name, texts.joined(separator: ","))
      }
    default: throw Failure(usage: "\(name) must be \(form.settingKind), not \(value)")
    }
  }
}

extension OptionForm {
  /// Its long name without the dashes; nil for one that has none, or is not listed.
  package var settingName: String? {
    guard isListed, pattern == nil, let name = names.last, name.hasPrefix("--") else { return nil }
    return String(name.dropFirst(2))
  }

  /// Whether that is its name.
  fileprivate func isSetting(named name: String) -> Bool {
    guard let last = names.last, last.utf8.count == name.utf8.count + 2 else { return false }
    return last.hasSuffix(name) && settingName == name
  }

  /// Its value as it was typed, as it would be in a file.
  package func value(typed text: String?) -> SettingValue {
    guard let text else { return .truth(true) }
    return takesNumber ? Int64(text).map { .number($0) } ?? .text(text) : .text(text)
  }

  /// Whether a number is a value of it.
  fileprivate var takesNumber: Bool { kind == .number || kind == .time }

  /// What it must be in a file.
  package var settingKind: String {
    guard let name = valueName.map({ " (\($0()))" }) else { return "true or false" }
    let time = "a number of seconds, or a time in quotes such as \"10m\"\(name)"
    return switch kind {
    case .time: needsValue ? time : "true, false, \(time)"
    case _ where !needsValue: "true, false or a number\(name)"
    case .number: "a number\(name)"
    default: "a string in quotes\(name)\(repeats ? ", or an array of them" : "")"
    }
  }
}
