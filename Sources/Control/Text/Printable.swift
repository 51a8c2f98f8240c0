// SPDX-License-Identifier: GPL-3.0-or-later

extension String {
  /// The text as it may go to a terminal, on one line: no character in it drives the terminal, and
  /// none turns the order of the ones around it.
  ///
  /// - A line end or a tab becomes a blank.
  /// - Any other control character of C0, and DEL, becomes its picture (␛ for escape), so that one
  ///   sees that something was there; one of C1 becomes U+FFFD.
  /// - The marks, overrides and isolates of the bidirectional algorithm (UAX #9) are left out:
  ///   phones put them around telephone numbers, and others could spoof with them.
  public var printable: String { printable(keepingLines: false) }

  /// The same, but line ends stay.
  public var printableLines: String { printable(keepingLines: true) }

  private func printable(keepingLines: Bool) -> String {
    // Most texts have nothing to replace; all that is replaced lies in these ranges of UTF-8.
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
}
