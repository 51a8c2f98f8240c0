// SPDX-License-Identifier: GPL-3.0-or-later

/// Bytes as they come, taken out again line by line. A line that grows beyond the bound is reported
/// once and dropped up to its end.
struct LineSplitter {
  enum Item: Hashable {
    /// A line without its line feed.
    case line([UInt8])
    /// The place of a line that was too long.
    case overlong
  }

  private let limit: Int
  private var bytes: [UInt8] = []
  private var start = 0
  private var searched = 0
  private var isDropping = false

  /// Lines of at most `limit` bytes.
  init(limit: Int) { self.limit = limit }

  mutating func append(_ more: some Collection<UInt8>) {
    if start > 0 {
      bytes.removeFirst(start)
      searched -= start
      start = 0
    }
    bytes.append(contentsOf: more)
  }

  /// The next line that is complete, if there is one.
  mutating func next() -> Item? {
    while true {
      guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
        searched = bytes.count
        if isDropping || bytes.count - start > limit {
          defer { isDropping = true }
          forget()
          return isDropping ? nil : .overlong
        }
        return nil
      }
      let line = bytes[start..<end]
      start = end + 1
      searched = start
      if isDropping {
        isDropping = false
      } else {
        return line.count > limit ? .overlong : .line(Array(line))
      }
    }
  }

  /// At the end of the input: what stands behind the last line feed, if anything does.
  mutating func last() -> Item? {
    defer {
      forget()
      isDropping = false
    }
    return isDropping || start == bytes.count ? nil : .line(Array(bytes[start...]))
  }

  private mutating func forget() {
    bytes.removeAll(keepingCapacity: true)
    start = 0
    searched = 0
  }
}
