// SPDX-License-Identifier: GPL-3.0-or-later
import CPage

/// The page before and after the data. Its source is in Page; comments in the document mark where the other parts
/// belong, and its Content-Security-Policy has their hashes (scripts/page).
enum PageParts {
  static let head: [UInt8] = parts.head
  static let tail: [UInt8] = parts.tail

  private static let parts: (head: [UInt8], tail: [UInt8]) = {
    let document = bytes(ancsd_page_document())
    let atStyle = split(document, at: "<!-- style -->\n")
    let atData = split(atStyle.after, at: "<!-- data -->\n")
    let atScript = split(atData.after, at: "<!-- script -->\n")
    let head =
      atStyle.before + element("style", bytes(ancsd_page_style())) + atData.before
    let tail = atScript.before + element("script", bytes(ancsd_page_script())) + atScript.after
    return (head, tail)
  }()

  private static func bytes(_ part: ancsd_part) -> [UInt8] {
    Array(UnsafeBufferPointer(start: part.bytes, count: Int(part.length)))
  }

  private static func element(_ name: String, _ content: [UInt8]) -> [UInt8] {
    Array("<\(name)>".utf8) + content + Array("</\(name)>\n".utf8)
  }

  /// The text before and after a mark; scripts/page checks that the marks exist.
  private static func split(
    _ text: [UInt8], at mark: String
  ) -> (before: [UInt8], after: [UInt8]) {
    let mark = Array(mark.utf8)
    let place = text.indices.first { text[$0...].starts(with: mark) } ?? text.endIndex
    return (Array(text[..<place]), Array(text[place...].dropFirst(mark.count)))
  }
}
