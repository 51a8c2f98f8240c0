// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

extension String {
  /// The text made safe for a terminal, on one line: no character in it controls the terminal or
  /// reorders its neighbours.
  ///
  /// - A line end or a tab becomes a space.
  /// - Any other C0 control character, and DEL, becomes its visible picture (␛ for escape); a C1
  ///   control character becomes U+FFFD.
  /// - The marks, overrides and isolates of the bidirectional algorithm (UAX #9) are removed:
  ///   phones put them around telephone numbers, and they can be used for spoofing.
  public var printable: String { printable(keepingLines: false) }

  /// The same, with line ends kept.
  public var printableLines: String { printable(keepingLines: true) }

  private func printable(keepingLines: Bool) -> String {
    // Most texts have nothing to replace.
    if UTF8Text.isPrintableASCII(utf8Span.span) { return self }
    // Whatever is replaced contains one of these UTF-8 bytes.
    let suspicious = utf8.contains {
      $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xD8 || $0 == 0xE2
    }
    guard suspicious else { return self }
    var result = String.UnicodeScalarView()
    var previous: Unicode.Scalar = " "
    for scalar in unicodeScalars {
      defer { previous = scalar }
      switch scalar.value {
      case 0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029:
        if scalar == "\n", previous == "\r" { continue }
        result.append(keepingLines ? "\n" : " ")
      case 0x09: result.append(" ")
      case 0..<0x20: result.append(Unicode.Scalar(0x2400 + scalar.value) ?? "\u{FFFD}")
      case 0x7F: result.append("\u{2421}")
      case 0x80...0x9F: result.append("\u{FFFD}")
      case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: continue
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  /// How many terminal columns the text takes.
  public var displayWidth: Int {
    utf8Span.isKnownASCII || utf8.allSatisfy { $0 < 0x80 } ? utf8.count : reduce(0) { $0 + $1.displayWidth }
  }

  /// The longest prefix that fits into `width` columns.
  public func prefix(displayWidth width: Int) -> Substring {
    var used = 0
    let end = firstIndex { character in
      used += character.displayWidth
      return used > width
    }
    return self[..<(end ?? endIndex)]
  }

  /// The text, cut to `width` columns with an ellipsis if it is longer.
  public func cut(toDisplayWidth width: Int) -> String {
    displayWidth <= width ? self : prefix(displayWidth: max(0, width - 1)) + "…"
  }
}

extension Character {
  /// How many terminal columns the character takes, at least as many as its unjoined scalars: none, one, or two for
  /// those of East Asian scripts (UAX #11, wide and fullwidth) and for emoji.
  public var displayWidth: Int {
    let width = unjoined.reduce(0) { $0 + $1.displayWidth }
    // This variation selector asks for the emoji presentation, which is wide.
    return unicodeScalars.contains("\u{FE0F}") ? max(2, width) : width
  }

  /// The scalars of the character on a terminal that does not join them: of emoji that are joined or modified only the
  /// first. Terminals disagree about the width of the others.
  package var unjoined: [Unicode.Scalar] {
    guard let first = unicodeScalars.first else { return [] }
    return first.isPicture ? [first] : unicodeScalars.filter { $0 != "\u{FE0F}" }
  }
}

extension Unicode.Scalar {
  /// Whether it is an emoji by itself: not a digit, nor one of the two letters of a flag.
  fileprivate var isPicture: Bool { value > 0xFF && properties.isEmoji && !isLetterOfFlag }

  private var isLetterOfFlag: Bool { (0x1F1E6...0x1F1FF).contains(value) }

  fileprivate var displayWidth: Int {
    if value < 0x300 { return value < 0x20 || (0x7F..<0xA0).contains(value) ? 0 : 1 }
    switch properties.generalCategory {
    case .format where Self.visibleFormat.contains { $0.contains(value) }: return 1
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    // The vowels and final consonants of Hangul are drawn into the consonant before them.
    if (0x1160...0x11FF).contains(value) || (0xD7B0...0xD7FF).contains(value) { return 0 }
    let isWide = properties.isEmojiPresentation && !isLetterOfFlag
    return isWide || Self.wide.contains { $0.contains(value) } ? 2 : 1
  }

  /// Format characters that are visible: signs around or above the digits that follow them.
  private static let visibleFormat: [ClosedRange<UInt32>] = [
    0x600...0x605, 0x6DD...0x6DD, 0x70F...0x70F, 0x890...0x891, 0x8E2...0x8E2, 0x110BD...0x110BD, 0x110CD...0x110CD,
  ]

  /// The blocks whose characters are wide, as coarse as terminals see them, besides emoji; the last ones have
  /// characters that are newer than the standard library's tables.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97C, 0xAC00...0xD7A3,
    0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
    0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x1FA70...0x1FAFF, 0x20000...0x3FFFD,
  ]
}

extension Int {
  /// The number with a noun: `1 rule`, `3 rules`.
  public func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}
