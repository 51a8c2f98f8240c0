// SPDX-License-Identifier: GPL-3.0-or-later
import Testing

@testable import LineEditor

@Suite("The line editor: keys and completion")
struct LineEditorTests {
  private func keys(_ text: String) -> [[UInt32]] {
    var stream = KeyStream()
    stream.append(text.utf8)
    var keys: [[UInt32]] = []
    while let key = stream.next() { keys.append(key) }
    return keys
  }

  @Test(
    "Keys are complete; unknown sequences are dropped",
    arguments: [
      ("ab", [[0x61], [0x62]]), ("é€😀", [[0xE9], [0x20AC], [0x1F600]]), ("\u{1B}[A\u{1B}OB", [[0x10], [0x0E]]),
      ("\u{1B}[1;5Cx", [[0x1B, 0x66], [0x78]]), ("\u{1B}[15~x\u{1B}[<0;1;1My", [[0x78], [0x79]]),
      ("\u{1B}b", [[0x1B, 0x62]]), ("\u{16}\u{3}x", [[0x78]]), ("\u{18}\u{18}x", [[0x78]]), ("\u{1B}[3~", [[0x04]]),
      ("a\u{1B}", [[0x61]]), ("\u{1B}[", []), ("\r", [[0x0D]]),
    ] as [(String, [[UInt32]])])
  func whole(text: String, wanted: [[UInt32]]) {
    #expect(keys(text) == wanted)
  }

  @Test("A key that arrives byte by byte is one key")
  func pieces() {
    for text in ["é", "😀", "\u{1B}[1;5D", "\u{1B}OA"] {
      var stream = KeyStream()
      var found: [[UInt32]] = []
      for byte in text.utf8 {
        #expect(found.isEmpty)
        stream.append([byte])
        while let key = stream.next() { found.append(key) }
      }
      #expect(found.count == 1)
      #expect(!stream.isIncomplete)
    }
  }

  @Test("No bytes block the stream permanently, and a lone ESC can be discarded")
  func anything() {
    var stream = KeyStream()
    for first in UInt8.min...UInt8.max {
      stream.append([first, 0xFF, 0x1B, first, 0x80, UInt8(ascii: "x")])
      while stream.next() != nil {}
      stream.drop()
      #expect(!stream.isIncomplete)
    }
    stream.append([0xC3])
    #expect(stream.next() == nil && stream.isIncomplete)
    stream.append([0x41])
    #expect(stream.next() == [0xFFFD])
    #expect(stream.next() == [0x41])
  }

  @Test(
    "The common beginning of all words is inserted, and a space after the only one, unless a value follows",
    arguments: [
      (2, ["read"], "ad "), (1, ["write", "write-command"], "rite"), (5, ["write", "writes"], ""),
      (0, [], ""), (0, ["a", "b"], ""), (4, ["read"], " "),
      (2, ["title="], "tle="),
    ])
  func insertion(typed: Int, words: [String], wanted: String) {
    #expect(Completion(typed: typed, words: words).insertion == wanted)
  }
}
