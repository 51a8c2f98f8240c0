// SPDX-License-Identifier: GPL-3.0-or-later

/// Text in several styles, laid out together. Everything that is added is made printable first, so
/// that no control character from a phone reaches the terminal.
package struct StyledText {
  private struct Word {
    var text: String
    var paint: Paint
    /// Whether a space precedes it, unless it is the first on its line.
    var spaced: Bool
  }

  private var words: [Word] = []

  package init() {}

  package init(_ text: String, _ paint: Paint = .plain) { add(text, paint) }

  /// Appends the words of a text. `joined`: without a space before the first.
  package mutating func add(_ text: String, _ paint: Paint = .plain, joined: Bool = false) {
    let first = words.count
    for word in text.printable.split(separator: " ") {
      let spaced = !joined || words.count > first
      words.append(Word(text: String(word), paint: paint, spaced: spaced))
    }
  }

  /// Appends a text that is not broken at its spaces.
  package mutating func addWhole(_ text: String, _ paint: Paint = .plain) {
    words.append(Word(text: text.printable, paint: paint, spaced: true))
  }

  /// Appends another text.
  package mutating func add(_ other: StyledText) { words += other.words }

  /// How many columns it takes on one line.
  var displayWidth: Int { Self.width(of: words) }

  /// The lines, broken at spaces where they would be wider than the terminal.
  ///
  /// - Parameters:
  ///   - indent: how many columns each line is indented by.
  ///   - hanging: whether the first line is not indented.
  ///   - maximum: the most lines; the rest is cut, with an ellipsis.
  package func lines(
    _ style: TextStyle, indent: Int = 0, hanging: Bool = true, maximum: Int = .max
  ) -> [String] {
    let margin = String(repeating: " ", count: indent)
    let width = style.width.map { max($0 - indent, 10) }
    var lines = broken(first: hanging ? style.width : width, others: width)
    if lines.count > maximum, maximum > 0 {
      lines.removeLast(lines.count - maximum)
      lines[maximum - 1] = Self.cut(lines[maximum - 1], to: width ?? .max)
    }
    return lines.enumerated().map { number, line in
      (hanging && number == 0 ? "" : margin) + Self.painted(line, style.colour)
    }
  }

  /// Everything on one line.
  func text(_ style: TextStyle) -> String { Self.painted(words, style.colour) }

  /// The words, line by line; a word wider than a line is broken inside.
  private func broken(first: Int?, others: Int?) -> [[Word]] {
    guard let first, let others else { return words.isEmpty ? [] : [words] }
    var lines: [[Word]] = []
    var line: [Word] = []
    var room = first
    for var word in words {
      let blank = word.spaced && !line.isEmpty ? 1 : 0
      if !line.isEmpty, blank + word.text.displayWidth > room {
        lines.append(line)
        line = []
        room = others
      }
      while line.isEmpty, word.text.displayWidth > room {
        let head = String(word.text.prefix(displayWidth: room))
        // Not even one character fits: the word stays whole.
        guard !head.isEmpty else { break }
        lines.append([Word(text: head, paint: word.paint, spaced: false)])
        word.text.removeFirst(head.count)
        room = others
      }
      room -= word.text.displayWidth + (word.spaced && !line.isEmpty ? 1 : 0)
      line.append(word)
    }
    return line.isEmpty ? lines : lines + [line]
  }

  private static func cut(_ line: [Word], to width: Int) -> [Word] {
    var line = line
    while let last = line.last, self.width(of: line) + 1 > width {
      line.removeLast()
      let shorter = String(last.text.dropLast())
      if !shorter.isEmpty {
        line.append(Word(text: shorter, paint: last.paint, spaced: last.spaced))
      }
    }
    return line + [Word(text: "…", paint: .plain, spaced: false)]
  }

  private static func width(of line: [Word]) -> Int {
    line.enumerated().reduce(0) { width, place in
      width + place.element.text.displayWidth + (place.element.spaced && place.offset > 0 ? 1 : 0)
    }
  }

  private static func painted(_ line: [Word], _ colour: Bool) -> String {
    var text = ""
    var current = Paint.plain
    for (place, word) in line.enumerated() {
      let paint = colour ? word.paint : .plain
      if paint != current, current != .plain { text += "\u{1b}[0m" }
      if word.spaced, place > 0 { text += " " }
      if paint != current, paint != .plain { text += "\u{1b}[\(paint.rawValue)m" }
      text += word.text
      current = paint
    }
    return current == .plain ? text : text + "\u{1b}[0m"
  }
}
