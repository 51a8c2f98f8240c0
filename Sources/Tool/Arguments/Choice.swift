// SPDX-License-Identifier: GPL-3.0-or-later

extension Option {
  /// An option that takes one of the names of `Choice`.
  public static func choice<
    Choice: RawRepresentable<String> & CaseIterable & Sendable & SendableMetatype
  >(
    _ name: String, _ path: any WritableKeyPath<Options, Choice> & Sendable, help: String
  ) -> Option {
    choice(name, Choice.self, help: help) { $0[keyPath: path] = $1 }
  }

  /// An option that takes one of the names of `Choice`.
  public static func choice<
    Choice: RawRepresentable<String> & CaseIterable & Sendable & SendableMetatype
  >(
    _ name: String, _ path: any WritableKeyPath<Options, Choice?> & Sendable, help: String
  ) -> Option {
    choice(name, Choice.self, help: help) { $0[keyPath: path] = $1 }
  }

  private static func choice<Choice: RawRepresentable<String> & CaseIterable & SendableMetatype>(
    _ name: String, _ type: Choice.Type, help: String,
    set: @escaping @Sendable (inout Options, Choice) -> Void
  ) -> Option {
    let names = Choice.allCases.map(\.rawValue)
    return .value(
      name, value: names.joined(separator: "|"), expects: "one of \(names.joined(separator: ", "))",
      help: help,
      set: { options, text in
        guard let choice = Choice(rawValue: text) else { return false }
        set(&options, choice)
        return true
      })
  }
}
