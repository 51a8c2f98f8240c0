// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The chunks waiting to be sent, in order, with a limit in bytes.
struct SendQueue {
  private var chunks = FIFO<[UInt8]>()
  /// How many bytes of the first chunk have been sent.
  private(set) var sent = 0

  /// The number of waiting bytes.
  private(set) var bytes = 0
  /// The maximum number of waiting bytes.
  let limit: Int

  init(limit: Int) { self.limit = limit }

  var isEmpty: Bool { chunks.isEmpty }

  /// The next chunk, which must exist.
  var first: [UInt8] { chunks[0] }

  /// The number of waiting chunks.
  var count: Int { chunks.count }

  /// Appends a chunk without its first `skipped` bytes; false if that would exceed the limit. An
  /// empty packet counts as one byte, so their number is bounded too.
  mutating func append(_ chunk: [UInt8], skipping skipped: Int = 0) -> Bool {
    let size = max(1, chunk.count - skipped)
    guard bytes + size <= limit else { return false }
    if isEmpty { sent = skipped }
    chunks.append(isEmpty || skipped == 0 ? chunk : Array(chunk.dropFirst(skipped)))
    bytes += size
    return true
  }

  /// Records that `count` more bytes of the first chunk were sent; removes it when complete.
  mutating func advance(_ count: Int) {
    let left = chunks[0].count - sent
    if count < left {
      sent += count
      bytes -= count
      return
    }
    bytes -= max(1, left)
    sent = 0
    _ = chunks.popFirst()
  }

  mutating func removeAll() { self = SendQueue(limit: limit) }
}
