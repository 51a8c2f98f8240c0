// SPDX-License-Identifier: GPL-3.0-or-later
public import Control

/// The value of an option in a settings file.
public enum SettingValue: Hashable, Sendable {
  case truth(Bool)
  case number(Int64)
  case text(String)
  case list([String])
}

extension SettingValue: CustomStringConvertible {
  /// The value in TOML.
  public var description: String {
    switch self {
    case .truth(let value): "\(value)"
    case .number(let number): "\(number)"
    case .text(let text): Self.quoted(text)
    case .list(let texts): "[\(texts.map(Self.quoted).joined(separator: ", "))]"
    }
  }

  private static func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\"", "\\": "\\\(scalar)"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        "\\u" + String(0x1_0000 + scalar.value, radix: 16).dropFirst()
      default: "\(scalar)"
      }
    }
    return "\"\(escaped.joined())\""
  }
}

extension Grammar {
  /// Sets an option by its name without the dashes; does nothing if there is none.
  ///
  /// - Throws: the description of a valid value.
  public func set(
    _ name: String, to value: SettingValue, in options: inout Options
  ) throws(Failure) {
    guard let option = option(ofSetting: name) else { return }
    let form = option.form
    switch value {
    case .truth(let isOn) where !form.needsValue: if isOn { try option.apply(&options, name, nil) }
    case .number(let number) where form.needsValue ? form.takesNumber : form.valueName != nil:
      try option.apply(&options, name, "\(number)")
    case .text(let text) where form.needsValue ? form.kind != .number : form.kind == .time:
      try option.apply(&options, name, text)
    case .list(let texts) where form.needsValue && !form.takesNumber:
      // A repeatable option is set once per element; other lists are joined by commas.
      if form.repeats {
        for text in texts { try option.apply(&options, name, text) }
      } else {
        try option.apply(&options, name, texts.joined(separator: ","))
      }
    default: throw Failure(usage: "\(name) must be \(form.settingKind), not \(value)")
    }
  }

  /// The names of the options that can be set, without their dashes.
  public var settingNames: [String] { self.options.compactMap { $0.form.settingName } }

  /// How the help shows the option of this name.
  public func settingHelp(_ name: String) -> String? { form(ofSetting: name)?.help?() }

  /// When a change of the option of this name takes effect.
  public func settingEffect(_ name: String) -> SettingEffect? { form(ofSetting: name)?.effect }

  /// The value of an option as it was typed, as it would be in a file.
  public func settingValue(_ name: String, typed text: String?) -> SettingValue {
    guard let text else { return .truth(true) }
    guard form(ofSetting: name)?.takesNumber == true, let number = Int64(text) else {
      return .text(text)
    }
    return .number(number)
  }

  /// Whether the option of this name may be given several times.
  public func settingRepeats(_ name: String) -> Bool { form(ofSetting: name)?.repeats ?? false }

  /// What an option must be.
  public func settingKind(_ name: String) -> String { form(ofSetting: name)?.settingKind ?? "" }

  private func form(ofSetting name: String) -> OptionForm? {
    place(ofSetting: name).map { forms[$0] }
  }

  private func option(ofSetting name: String) -> CommandOption<Options>? {
    place(ofSetting: name).map { self.options[$0] }
  }

  private func place(ofSetting name: String) -> Int? {
    let typed = "--\(name)"
    return forms.firstIndex { $0.isSetting && $0.names.last == typed }
  }
}

extension OptionForm {
  /// Whether a file can set it; some options are for the command line only.
  fileprivate var isSetting: Bool {
    isListed && pattern == nil && names.last?.hasPrefix("--") == true
  }

  /// The name in a file; nil for options of the command line only.
  var settingName: String? { isSetting ? names.last.map { String($0.dropFirst(2)) } : nil }

  /// Whether a number is a value of it.
  fileprivate var takesNumber: Bool { kind == .number || kind == .time }

  /// What it must be in a file.
  var settingKind: String {
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
