// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What waits to be sent, in order, with a bound in bytes.
struct SendQueue {
  private var chunks = FIFO<[UInt8]>()
  /// How many bytes of the first chunk are sent already.
  private(set) var sent = 0

  /// How many bytes wait.
  private(set) var bytes = 0
  /// How many bytes may wait.
  let limit: Int

  init(limit: Int) { self.limit = limit }

  var isEmpty: Bool { chunks.isEmpty }

  /// The chunk to go on with, which must be there.
  var first: [UInt8] { chunks[0] }

  /// How many chunks wait.
  var count: Int { chunks.count }

  /// Puts a chunk, without its first `skipped` bytes, behind the others; false where it would be too
  /// much. An empty packet counts as one byte, so that they are bounded too.
  mutating func append(_ chunk: [UInt8], skipping skipped: Int = 0) -> Bool {
    let size = max(1, chunk.count - skipped)
    guard bytes + size <= limit else { return false }
    if isEmpty { sent = skipped }
    chunks.append(isEmpty || skipped == 0 ? chunk : Array(chunk.dropFirst(skipped)))
    bytes += size
    return true
  }

  /// Records that `count` more bytes of the first chunk are sent; removes and returns it when that was all.
  @discardableResult mutating func advance(_ count: Int) -> [UInt8]? {
    let left = chunks[0].count - sent
    if count < left {
      sent += count
      bytes -= count
      return nil
    }
    bytes -= max(1, left)
    sent = 0
    return chunks.popFirst()
  }

  mutating func removeAll() { self = SendQueue(limit: limit) }
}
