// SPDX-License-Identifier: GPL-3.0-or-later

/// Text in several styles, laid out together. All added text is made printable first, so no control character from a
/// phone reaches the terminal.
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
  package var displayWidth: Int { Self.width(of: words) }

  /// The lines, broken at spaces where they would be wider than the terminal, with the escape sequences of
  /// their styles.
  package func lines(_ style: TextStyle, indent: Int = 0, hanging: Bool = true, maximum: Int = .max) -> [String] {
    rows(style, indent: indent, hanging: hanging, maximum: maximum).map { $0.text(style) }
  }

  /// Everything on one line, cut to `width` columns with an ellipsis if it is longer.
  package func row(displayWidth width: Int) -> StyledRow {
    Self.row(words).cut(toDisplayWidth: width)
  }

  /// The lines, broken at spaces where they would be wider than the terminal.
  ///
  /// - Parameters:
  ///   - indent: how many columns each line is indented by.
  ///   - hanging: whether the first line is not indented.
  ///   - maximum: the maximum number of lines; the rest is cut, with an ellipsis.
  package func rows(_ style: TextStyle, indent: Int = 0, hanging: Bool = true, maximum: Int = .max) -> [StyledRow] {
    let margin = String(repeating: " ", count: indent)
    let width = style.width.map { max($0 - indent, 10) }
    var lines = broken(first: hanging ? style.width : width, others: width)
    if lines.count > maximum, maximum > 0 {
      lines.removeLast(lines.count - maximum)
      lines[maximum - 1] = Self.cut(lines[maximum - 1], to: width ?? .max)
    }
    return lines.enumerated().map { number, line in
      Self.row(line, margin: hanging && number == 0 ? "" : margin)
    }
  }

  /// Everything on one line.
  package func text(_ style: TextStyle) -> String { Self.row(words).text(style) }

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
        // Not even one character fits, so the word stays whole.
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

  /// The words of a line, merged into one run per style. The space between two styles has no style.
  private static func row(_ line: [Word], margin: String = "") -> StyledRow {
    var row: StyledRow = margin.isEmpty ? [] : [StyledRun(margin)]
    func add(_ text: String, _ paint: Paint) {
      if row.last?.paint == paint {
        row[row.count - 1].text += text
      } else {
        row.append(StyledRun(text, paint))
      }
    }
    for (place, word) in line.enumerated() {
      if word.spaced, place > 0 { add(" ", row.last?.paint == word.paint ? word.paint : .plain) }
      add(word.text, word.paint)
    }
    return row
  }
}

extension [StyledText] {
  /// The lines of the first text, and indented below them those of the others.
  package func lines(_ style: TextStyle, indent: Int) -> [String] {
    enumerated().flatMap { $1.lines(style, indent: indent, hanging: $0 == 0) }
  }
}

/// A piece of a line in one style. It has no control characters.
package struct StyledRun: Hashable, Sendable {
  package var text: String
  package var paint: Paint

  package init(_ text: String, _ paint: Paint = .plain) {
    self.text = text
    self.paint = paint
  }
}

/// A line of the terminal.
package typealias StyledRow = [StyledRun]

extension StyledRow {
  /// How many columns it takes.
  package var displayWidth: Int { reduce(0) { $0 + $1.text.displayWidth } }

  /// The row, cut to `width` columns with an ellipsis if it is longer.
  package func cut(toDisplayWidth width: Int) -> StyledRow {
    guard displayWidth > width else { return self }
    var cut: StyledRow = []
    var room = width - 1
    for var run in self where room > 0 {
      run.text = String(run.text.prefix(displayWidth: room))
      room -= run.text.displayWidth
      cut.append(run)
      if run.text.isEmpty { break }
    }
    return width > 0 ? cut + [StyledRun("…")] : []
  }

  /// The rows as lines of a table: each column but the last is as wide as its widest cell.
  package static func table(_ rows: [StyledRow], _ style: TextStyle) -> String {
    let rows = rows.map { row in row.map { StyledRun($0.text.printable, $0.paint) } }
    let widths = (rows.first ?? []).indices.dropLast().map { column in
      rows.map { $0[column].text.displayWidth }.max() ?? 0
    }
    return rows.map { row in
      var line = StyledText()
      for (column, cell) in row.enumerated() where column < widths.count || !cell.text.isEmpty {
        let pad = column < widths.count ? widths[column] - cell.text.displayWidth : 0
        line.addWhole(cell.text + String(repeating: " ", count: pad), cell.paint)
      }
      return line.text(style)
    }.joined(separator: "\n")
  }

  /// The line, with the escape sequences of its styles if there are colours.
  package func text(_ style: TextStyle) -> String {
    reduce(into: "") { text, run in
      text += style.colour && run.paint != .plain ? "\u{1b}[\(run.paint.rawValue)m\(run.text)\u{1b}[0m" : run.text
    }
  }
}
