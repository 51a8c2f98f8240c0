// SPDX-License-Identifier: GPL-3.0-or-later
public import Control

/// The value of an option that is set in a file.
public enum SettingValue: Hashable, Sendable {
  case truth(Bool)
  case number(Int64)
  case text(String)
  case list([String])
}

extension SettingValue: CustomStringConvertible {
  /// As it is written in a file of TOML.
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
  /// - Throws: what the value must be.
  public func set(
    _ name: String, to value: SettingValue, in options: inout Options
  ) throws(Failure) {
    guard let option = option(named: name) else { return }
    switch (option.value, value) {
    case (.none, .truth(let isOn)), (.optional, .truth(let isOn)):
      if isOn { try option.set(nil, in: &options) }
    case (.required, .number(let number)) where option.isNumber,
      (.optional, .number(let number)):
      try option.set("\(number)", in: &options)
    case (.required, .text(let text)) where !option.isNumber: try option.set(text, in: &options)
    case (.required, .list(let texts)) where !option.isNumber:
      // What may be given several times is given for each; other lists have commas.
      if option.repeats {
        for text in texts { try option.set(text, in: &options) }
      } else {
        try option.set(texts.joined(separator: ","), in: &options)
      }
    default: throw Failure(usage: "\(name) must be \(option.settingKind), not \(value)")
    }
  }

  /// The names of the options that can be set, without their dashes.
  public var settingNames: [String] { options.compactMap(\.settingName) }

  /// How the help shows the option of this name.
  public func settingHelp(_ name: String) -> String? { option(named: name)?.help }

  /// When a change of the option of this name takes effect.
  public func settingEffect(_ name: String) -> SettingEffect? { option(named: name)?.effect }

  /// What an option must be.
  public func settingKind(_ name: String) -> String { option(named: name)?.settingKind ?? "" }

  private func option(named name: String) -> CommandOption<Options>? {
    options.first { $0.settingName == name }
  }
}

extension CommandOption {
  /// The name in a file; nil for what is only typed.
  var settingName: String? {
    guard let name = names.last, name.hasPrefix("--"), pattern == nil, !help.isEmpty else {
      return nil
    }
    return String(name.dropFirst(2))
  }

  /// Whether the help calls its value a number.
  fileprivate var isNumber: Bool {
    guard case .required(let kind) = value else { return false }
    return ["N", "SECONDS", "MIB"].contains(kind)
  }

  /// Whether it may be given several times.
  fileprivate var repeats: Bool { help.split { ";.".contains($0) }.contains(" may repeat") }

  fileprivate var settingKind: String {
    switch value {
    case .none: "true or false"
    case .optional(let kind): "true, false or a number (\(kind))"
    case .required(let kind): isNumber ? "a number (\(kind))" : "a text in quotes (\(kind))"
    }
  }

  fileprivate func set(_ value: String?, in options: inout Options) throws(Failure) {
    try apply(&options, settingName ?? "", value)
  }
}
