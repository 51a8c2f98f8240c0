// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments

/// The text of a settings file. It is edited line by line, so everything else in it stays as its owner wrote it.
struct SettingsText: Hashable, Sendable {
  /// Each with its carriage return, if it has one.
  private var lines: [String]

  init(_ text: String) {
    // A line feed is only a byte here: as a character, CRLF would be another one.
    lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    if lines.last == "" { lines.removeLast() }
  }

  var text: String { lines.map { $0 + "\n" }.joined() }

  /// The end of a new line, besides the line feed: as the file has it.
  private var carriage: String { lines.first?.last == "\r" ? "\r" : "" }

  /// Sets a top-level key to a text: on its line, on the line of its commented-out example, or else on a new line.
  mutating func set(_ key: String, to value: String) {
    let line = "\(key) = \(SettingValue.text(value))\(carriage)"
    let top = lines.firstIndex { $0.trimmed.hasPrefix("[") } ?? lines.endIndex
    func isSet(in line: String, behind mark: String) -> Bool {
      guard line.trimmed.hasPrefix(mark) else { return false }
      let rest = line.trimmed.dropFirst(mark.count).drop { $0 == " " }
      return rest.hasPrefix(key) && rest.dropFirst(key.count).drop { $0 == " " }.hasPrefix("=")
    }
    for mark in ["", "#"] {
      guard let place = lines[..<top].firstIndex(where: { isSet(in: $0, behind: mark) }) else {
        continue
      }
      lines[place] = line
      return
    }
    // After the comment at the top of the file.
    lines.insert(line, at: lines[..<top].firstIndex { !$0.hasPrefix("#") } ?? top)
  }

  /// Adds a program to run for each event of a kind, unless it is already there.
  mutating func run(_ program: String, onEach event: String) {
    let run = "run = \(SettingValue.text(program))"
    guard !lines.contains(where: { $0.trimmed == run }) else { return }
    let carriage = carriage
    if let last = lines.last, !last.trimmed.isEmpty { lines.append(carriage) }
    lines += ["[[hook]]", "event = \(SettingValue.text(event))", run].map { $0 + carriage }
  }
}

extension String {
  /// Without the spaces, tabs and carriage returns at its ends.
  fileprivate var trimmed: Substring {
    let head = drop { $0 == " " || $0 == "\t" }
    let tail = head.reversed().drop { $0 == " " || $0 == "\t" || $0 == "\r" }
    return head[..<tail.startIndex.base]
  }
}
