// SPDX-License-Identifier: GPL-3.0-or-later

/// The words of a line that was typed: blanks part them, quotation marks keep them together.
enum CommandLineWords {
  /// As in `write 0x0003 text:"hello world"`. A quotation mark that is not closed reaches to the end.
  static func split(_ line: String) -> [String] {
    var words: [String] = []
    var word: String?
    var quote: Character?
    for character in line {
      if let open = quote {
        if character == open { quote = nil } else { word?.append(character) }
      } else if character == "\"" || character == "'" {
        quote = character
        word = word ?? ""
      } else if character == " " || character == "\t" {
        if let ended = word { words.append(ended) }
        word = nil
      } else {
        word = (word ?? "") + String(character)
      }
    }
    if let last = word { words.append(last) }
    return words
  }
}
