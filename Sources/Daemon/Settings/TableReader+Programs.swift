// SPDX-License-Identifier: GPL-3.0-or-later
import Patterns
import TOML

extension TableReader {
  /// A program's absolute path, or an array of it and its arguments.
  mutating func program(_ key: String) -> [String]? {
    let program = value(
      key, expected: "a program's absolute path, or an array of it and its arguments"
    ) { content in content.texts.flatMap { Hook.isProgram($0) ? $0 : nil } }
    if let path = program?.first { noted.append((path, position(of: key))) }
    return program
  }

  /// A regular expression.
  mutating func pattern(_ key: String) -> TextPattern? {
    guard let text = text(key) else { return nil }
    do throws(TextPattern.SyntaxError) {
      return try TextPattern(text)
    } catch {
      fail(of: key, "\(key): \(error)")
      return nil
    }
  }
}
