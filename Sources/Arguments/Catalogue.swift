// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import JSON

// The machine-readable description of the commands, `ancsd help --json`, from which the manual
// pages and completions are generated.

extension Program {
  /// The environment variables, and the purpose of each.
  private static let variables: KeyValuePairs = [
    "ANCSD_SOCKET": "the control socket, unless --socket names one; the daemon passes it to hooks",
    "ANCSD_FORMAT": "text or json: the form of standard output, unless an option sets it",
    "NO_COLOR": "any text: no colours, unless --color says otherwise",
    "TERM": "the terminal: “dumb” has no colours; the live screen looks others up in ncurses",
    "XDG_RUNTIME_DIR": "the directory of the control socket (ancsd.sock) for users other than root",
    "XDG_STATE_HOME":
      "the directory that has bonds and caches, in ancsd, for users other than root (default: ~/.local/state)",
  ]

  /// All commands with their options, as JSON on one line.
  static func catalogue(_ commands: [Command]) -> String {
    let variables = variables.map { name, text in
      JSONValue.object(["name": .string(name), "text": .string(text)])
    }
    let all: JSONValue = [
      "commands": .array(commands.map { $0.described() }), "environment": .array(variables),
    ]
    return all.text + "\n"
  }
}

extension Grammar {
  /// The options and operands.
  func described(_ name: String) -> JSONValue {
    .object([
      "name": .string(name),
      "options": .array(options.map(\.form).filter(\.isListed).map(\.described)),
      "operands": .array(operandKinds.map { .object($0.described) }),
    ])
  }
}

extension OptionForm {
  fileprivate var described: JSONValue {
    var described = kind.described
    described["names"] = .strings(names)
    described["value"] = valueName.map { .string($0()) }
    described["optional"] = .bool(valueName != nil && !needsValue)
    described["repeats"] = .bool(repeats)
    described["help"] = .string(help?() ?? "")
    described["setting"] = effect == nil || isOnlyTyped ? nil : settingName.map { .string($0) }
    described["expects"] = .string(settingKind)
    described["effect"] = effect.map { .string($0.rawValue) }
    return .object(described)
  }
}

extension ValueKind {
  fileprivate var described: JSONObject {
    let words = words()
    return ["kind": .string(name), "words": words.isEmpty ? nil : .strings(words)]
  }
}
