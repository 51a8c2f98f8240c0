// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// An owned file descriptor: it cannot be copied, and is closed when its lifetime ends.
public struct FileDescriptor: ~Copyable, Sendable {
  /// The kernel's number, valid as long as this value lives.
  public let raw: Int32

  /// Takes ownership of an open descriptor.
  public init(owning raw: Int32) { self.raw = raw }

  /// Gives up ownership without closing the descriptor; the caller must close it, or leave it open on
  /// purpose.
  public consuming func release() -> Int32 {
    let number = raw
    discard self
    return number
  }

  /// Never repeated: Linux closes the descriptor even if the call is interrupted.
  deinit { _ = close(raw) }
}

/// The descriptors that every process starts with.
public enum Standard {
  public static let input: Int32 = 0
  /// Without udev there may be no /dev/stdin.
  public static let inputPath = "/proc/self/fd/0"
  public static let output: Int32 = 1
  public static let error: Int32 = 2
}

extension FileDescriptor {
  /// Reads to the end of the file. Throws EFBIG if there are more than `limit` bytes.
  public borrowing func readAll(limit: Int = 1 << 24) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      // Most files are small; for larger ones each part is as large as all before it.
      let size = max(1 << 12, min(bytes.count, 1 << 16))
      let part = try read(min(limit - bytes.count + 1, size))
      if part.isEmpty { return bytes }
      bytes += part
      if bytes.count > limit { throw SystemError("read", .fileTooLarge) }
    }
  }

  /// Reads up to `count` bytes: what is available, or at an offset; fewer at the end.
  public borrowing func read(_ count: Int, at place: Int64? = nil) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: max(0, count))
    let length = try Syscall.retrying(place == nil ? "read" : "pread") {
      place.map { pread(raw, &bytes, bytes.count, off_t($0)) } ?? Glibc.read(raw, &bytes, bytes.count)
    }
    bytes.removeLast(bytes.count - length)
    return bytes
  }

  /// The size of the file in bytes; 0 if it has none.
  public borrowing func size() throws(SystemError) -> Int64 {
    let status = try status()
    return status.st_mode & S_IFMT == S_IFREG ? Int64(status.st_size) : 0
  }

  /// Truncates the file to this number of bytes.
  public borrowing func truncate(to length: Int64) throws(SystemError) {
    try Syscall.retrying("ftruncate") { ftruncate(raw, off_t(length)) }
  }

  /// Writes all bytes, and blocks if the descriptor is not ready for more.
  public borrowing func writeAll(_ bytes: some Collection<UInt8>) throws(SystemError) {
    try FileDescriptor.writeAll(bytes, to: raw)
  }

  /// Writes all bytes to a descriptor owned elsewhere, such as standard output, and blocks if it is not
  /// ready for more.
  public static func writeAll(_ bytes: some Collection<UInt8>, to number: Int32) throws(SystemError) {
    let bytes = Array(bytes)
    var start = 0
    while start < bytes.count {
      do throws(SystemError) {
        start += try Syscall.write(number, bytes, from: start)
      } catch {
        guard error.errno == .wouldBlock else { throw error }
        try Syscall.isWritable(number, within: -1)
      }
    }
  }

  /// The same in pieces that a pipe accepts whole; while it waits for the reader, signals have their default effect.
  public static func writeAllInterruptibly(_ bytes: [UInt8], to number: Int32) throws(SystemError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      try Syscall.waitInterruptibly(toWrite: number)
      try writeAll(rest.prefix(Int(PIPE_BUF)), to: number)
      rest = rest.dropFirst(Int(PIPE_BUF))
    }
  }

  borrowing func status(of path: String? = nil) throws(SystemError) -> stat {
    var status = stat()
    try Syscall.retrying("fstat", on: path) { fstat(raw, &status) }
    return status
  }

  borrowing func setMode(_ mode: UInt32, of path: String) throws(SystemError) {
    try Syscall.retrying("chmod", on: path) { fchmod(raw, mode) }
  }

  /// Sets the owner of the file at `path`; nothing if it has that owner already.
  borrowing func setOwner(_ owner: (user: UInt32, group: UInt32), of path: String) throws(SystemError) {
    let status = try status(of: path)
    if (status.st_uid, status.st_gid) == owner { return }
    try Syscall.retrying("chown", on: path) { fchown(raw, owner.user, owner.group) }
  }

  /// Flushes the written data to the disk.
  public borrowing func sync() throws(SystemError) { try Syscall.retrying("fsync") { fsync(raw) } }

  /// Takes the file's advisory lock (flock(2)), which closing the descriptor releases; false if
  /// another descriptor holds it.
  public borrowing func lock() throws(SystemError) -> Bool {
    do throws(SystemError) {
      try Syscall.retrying("flock") { flock(raw, LOCK_EX | LOCK_NB) }
      return true
    } catch {
      if error.errno == .wouldBlock { return false }
      throw error
    }
  }
}
