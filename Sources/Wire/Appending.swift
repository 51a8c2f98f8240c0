// SPDX-License-Identifier: GPL-3.0-or-later

extension [UInt8] {
  /// Appends the output of `write`, at most `count` bytes, reserving room for them first.
  ///
  /// The standard library has this since Swift 6.3. With an older one (Debian sid's compiler), the bytes
  /// are written to a buffer and copied.
  @inlinable @inline(__always)
  public mutating func append(upTo count: Int, _ write: (inout OutputSpan<UInt8>) -> Void) {
    #if compiler(>=6.3)
      append(addingCapacity: count, initializingWith: write)
    #else
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: count) { room in
        var span = OutputSpan(buffer: room, initializedCount: 0)
        write(&span)
        let written = span.finalize(for: room)
        append(contentsOf: UnsafeBufferPointer(rebasing: room[..<written]))
      }
    #endif
  }
}
