// SPDX-License-Identifier: GPL-3.0-or-later
import Control

/// The layout of help texts: names on the left, explanations on the right.
public enum Help {
  /// A name and its explanation.
  public typealias Entry = (name: String, text: String)
  /// Entries under a title.
  public typealias Table = (title: String, entries: [Entry])

  /// Wider lines are hard to read.
  private static let widest = 96

  /// The start of the right column; on a narrow terminal the text is below the name instead.
  private static func column(_ width: Int) -> Int { width < 60 ? 6 : 28 }

  /// The help of one command.
  ///
  /// - Parameters:
  ///   - tables: the options and other named items.
  ///   - column: the start of their right column; nil: the usual one.
  ///   - examples: lines to type.
  public static func page(
    usage: [String], summary: String, tables: [Table] = [], column: Int? = nil,
    notes: [String] = [], examples: [String] = [], width: Int
  ) -> String {
    let width = min(max(width, 40), widest)
    var lines = usage.enumerated().flatMap { number, line in
      hanging((number == 0 ? "Usage: " : "       "), line, 9, width)
    }
    lines += [""] + wrap(summary.prefix(1).uppercased() + summary.dropFirst() + ".", 0, width)
    for part in tables where !part.entries.isEmpty {
      lines += ["", part.title + ":"] + part.entries.flatMap { table($0, width, column) }
    }
    for note in notes { lines += [""] + wrap(note, 0, width) }
    if !examples.isEmpty { lines += ["", "Examples:"] + examples.map { "  " + $0 } }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The help of the whole program.
  static func overview(_ commands: [Command], width: Int) -> String {
    page(
      usage: ["ancsd [run] [--hciN]... [OPTIONS]", "ancsd COMMAND [OPTIONS]"],
      summary: "an iPhone's notifications and media on this board, over the kernel's own Bluetooth: "
        + "“ancsd --hci0” is all you need. Without COMMAND, ancsd runs the daemon in the foreground; "
        + "the commands are clients of the daemon, or standalone tools",
      tables: [("Commands", commands.map { ($0.name, $0.summary) })], column: 12,
      notes: [
        "See “ancsd COMMAND --help” for each; “ancsd --version” prints the version.",
        "All output is text, to a terminal and to a pipe; --json or ANCSD_FORMAT=json makes it JSON Lines.",
      ], width: width)
  }

  private static func table(_ entry: Entry, _ width: Int, _ column: Int?) -> [String] {
    let column = column ?? self.column(width)
    let text = wrap(entry.text, column, width)
    let name = "  " + entry.name
    guard name.count + 2 <= column, let first = text.first else {
      return hanging("  ", entry.name, 4, width) + text
    }
    let gap = String(repeating: " ", count: column - name.count)
    let line: String = name + gap + String(first.drop { $0 == " " })
    return [line] + text.dropFirst()
  }

  /// The text after `head`, in lines of at most `width` columns; all but the first are indented by `indent`.
  private static func hanging(_ head: String, _ text: String, _ indent: Int, _ width: Int) -> [String] {
    if head.count + text.count <= width { return [head + text] }
    let lines = wrap(text, indent, width)
    let line: String = head + String((lines.first ?? "").drop { $0 == " " })
    return [line] + lines.dropFirst()
  }

  /// The text in lines of at most `width` columns, each indented by `indent`.
  private static func wrap(_ text: String, _ indent: Int, _ width: Int) -> [String] {
    StyledText(text).lines(TextStyle(width: width), indent: indent, hanging: false)
  }
}
