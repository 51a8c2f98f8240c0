// SPDX-License-Identifier: GPL-3.0-or-later
import JSON
import Wire

/// The layout of a line: text, and members of a JSON object in braces, as in `{app}: {title}`.
public struct Template: Hashable, Sendable {
  private enum Part: Hashable {
    case text(String)
    /// The path of a member, as in `track.title`.
    case member([String])
  }

  private var parts: [Part] = []

  /// How a template is typed, for errors.
  static let forms = "text with members in braces, such as '{app}: {title}'"

  /// Parses a template. `\n` and `\t` are a line end and a tab; a backslash before `{`, `}` or `\` makes it text.
  public init?(typed text: String) {
    var rest = text[...]
    var literal = ""
    while let character = rest.popFirst() {
      switch character {
      case "\\":
        let escapes: [Character: Character] = ["n": "\n", "t": "\t", "\\": "\\", "{": "{", "}": "}"]
        guard let escaped = rest.popFirst().flatMap({ escapes[$0] }) else { return nil }
        literal.append(escaped)
      case "{":
        let name = rest.prefix { $0 != "}" }
        rest = rest.dropFirst(name.count)
        let path = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard rest.popFirst() != nil, path.allSatisfy({ !$0.isEmpty && !$0.contains("{") }) else {
          return nil
        }
        parts += [.text(literal), .member(path)]
        literal = ""
      case "}": return nil
      default: literal.append(character)
      }
    }
    parts.append(.text(literal))
  }

  /// The line for an object. A member that it does not have is empty.
  func line(for json: JSONValue) -> String {
    parts.map { part in
      switch part {
      case .text(let text): text
      case .member(let path): Self.text(path.reduce(json) { $0[$1] ?? .null })
      }
    }.joined()
  }

  private static func text(_ value: JSONValue) -> String {
    switch value {
    case .null: ""
    case .string(let text): escaped(text)
    case .array(let values): values.map(text).joined(separator: ",")
    case .bool, .int, .double, .object: escaped(String(decoding: value.json, as: UTF8.self))
    }
  }

  /// Escapes what could control a terminal, or the direction of its text, as in JSON; and so the backslash.
  private static func escaped(_ text: String) -> String {
    text.unicodeScalars.map { scalar in
      switch scalar.value {
      case 0x5C: "\\\\"
      case 0x0A: "\\n"
      case 0x0D: "\\r"
      case 0x09: "\\t"
      case 0..<0x20, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
        "\\u" + String(scalar.value, digits: 4, radix: 16)
      default: String(scalar)
      }
    }.joined()
  }
}
