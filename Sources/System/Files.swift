// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// What is done with files and directories, by path.
public enum Files {
  /// What is at a path.
  public enum Kind: Hashable, Sendable { case file, directory, socket, other }

  /// What is at `path` (a symbolic link is itself, `other`); nil where there is nothing.
  public static func kind(of path: String) throws(SystemError) -> Kind? {
    do throws(SystemError) {
      switch try Syscall.status(ofLink: path).st_mode & S_IFMT {
      case S_IFREG: return .file
      case S_IFDIR: return .directory
      case S_IFSOCK: return .socket
      default: return .other
      }
    } catch {
      if error.errno == .noSuchFile || error.errno == .notDirectory { return nil }
      throw error.on(path)
    }
  }

  /// Opens a file for reading; of a device, `waits` says whether reading waits for something to come.
  public static func open(
    _ path: String, waits: Bool = true
  ) throws(SystemError) -> FileDescriptor {
    let flags = waits ? O_RDONLY : O_RDONLY | O_NONBLOCK
    return try about(path) { () throws(SystemError) in try Syscall.open(path, flags) }
  }

  /// Opens a file for writing, emptied if it is there, made with `mode` if it is not.
  public static func create(
    _ path: String, mode: UInt32 = 0o644
  ) throws(SystemError) -> FileDescriptor {
    try about(path) { () throws(SystemError) in
      try Syscall.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: mode)
    }
  }

  /// Opens a file for writing behind what it has, made with `mode` if it is not there.
  public static func append(
    to path: String, mode: UInt32 = 0o644
  ) throws(SystemError) -> FileDescriptor {
    try about(path) { () throws(SystemError) in
      try Syscall.open(path, O_WRONLY | O_CREAT | O_APPEND, mode: mode)
    }
  }

  /// All of a file. One of more than `limit` bytes is refused with EFBIG.
  public static func read(_ path: String, limit: Int = 1 << 24) throws(SystemError) -> [UInt8] {
    let file = try open(path)
    return try about(path) { () throws(SystemError) in try file.readAll(limit: limit) }
  }

  /// The names in a directory, sorted.
  public static func names(in path: String) throws(SystemError) -> [String] {
    try Syscall.names(in: path).sorted()
  }

  /// Makes a directory and those above it, where they are not there yet. `mode` is the last one's;
  /// those above get 0755.
  public static func makeDirectory(_ path: String, mode: UInt32 = 0o755) throws(SystemError) {
    do throws(SystemError) {
      try Syscall.makeDirectory(path, mode: mode)
    } catch {
      switch error.errno {
      case .fileExists where isDirectory(path): return
      case .noSuchFile:
        guard let parent = parent(of: path), parent != path else { throw error.on(path) }
        try makeDirectory(parent)
        try about(path) { () throws(SystemError) in try Syscall.makeDirectory(path, mode: mode) }
      default: throw error.on(path)
      }
    }
  }

  /// Gives a file or directory these permissions.
  public static func setMode(_ path: String, _ mode: UInt32) throws(SystemError) {
    try about(path) { () throws(SystemError) in try Syscall.changeMode(path, mode) }
  }

  /// Throws why this process may not read, change and go through a directory; asks, and tries nothing.
  public static func checkAccess(_ path: String) throws(SystemError) {
    try about(path) { () throws(SystemError) in try Syscall.access(path, R_OK | W_OK | X_OK) }
  }

  /// Gives a file another name; what had that name is gone.
  public static func rename(_ old: String, to new: String) throws(SystemError) {
    try about("\(old) to \(new)") { () throws(SystemError) in try Syscall.rename(old, to: new) }
  }

  /// Removes a file, if it is there.
  public static func remove(_ path: String) throws(SystemError) {
    do throws(SystemError) {
      try Syscall.unlink(path)
    } catch {
      if error.errno != .noSuchFile { throw error.on(path) }
    }
  }

  /// The directory that a path's last part is in; nil for the root.
  public static func parent(of path: String) -> String? {
    var bytes = Array(path.utf8)
    let slash = UInt8(ascii: "/")
    while bytes.count > 1, bytes.last == slash { bytes.removeLast() }
    if bytes == [slash] { return nil }
    guard let last = bytes.lastIndex(of: slash) else { return "." }
    return last == 0 ? "/" : String(decoding: bytes[..<last], as: UTF8.self)
  }

  /// Whether a path, symbolic links followed, is a directory.
  private static func isDirectory(_ path: String) -> Bool {
    guard let directory = try? Syscall.open(path, O_RDONLY | O_DIRECTORY) else { return false }
    return directory.raw >= 0
  }
}

extension FileDescriptor {
  /// Everything up to the end of the file. More than `limit` bytes are refused with EFBIG.
  public borrowing func readAll(limit: Int = 1 << 24) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let part = try read(limit - bytes.count + 1, atMost: 1 << 16)
      if part.isEmpty { return bytes }
      bytes += part
      if bytes.count > limit { throw SystemError("read", .fileTooLarge) }
    }
  }

  /// What is there to read, up to `count` bytes; empty at the end.
  public borrowing func read(_ count: Int, atMost bound: Int = .max) throws(SystemError) -> [UInt8]
  {
    let number = raw
    var bytes = [UInt8](repeating: 0, count: max(0, min(count, bound)))
    let length = try bytes.withUnsafeMutableBufferPointer { buffer throws(SystemError) in
      try Syscall.read(number, into: UnsafeMutableRawBufferPointer(buffer))
    }
    bytes.removeLast(bytes.count - length)
    return bytes
  }

  /// Writes all of `bytes`, waiting where the descriptor cannot take more yet.
  public borrowing func writeAll(_ bytes: some Collection<UInt8>) throws(SystemError) {
    try FileDescriptor.writeAll(bytes, to: raw)
  }

  /// Writes all of `bytes` to an open descriptor that somebody else owns, such as standard output,
  /// waiting where it cannot take more yet.
  public static func writeAll(
    _ bytes: some Collection<UInt8>, to number: Int32
  ) throws(SystemError) {
    let bytes = Array(bytes)
    var start = 0
    while start < bytes.count {
      do throws(SystemError) {
        start += try bytes.withUnsafeBufferPointer { buffer throws(SystemError) in
          try Syscall.write(
            number, UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: buffer[start...])))
        }
      } catch {
        guard error.errno == .wouldBlock else { throw error }
        _ = try Syscall.poll(number, for: Int16(POLLOUT), milliseconds: -1)
      }
    }
  }

  /// Whether the descriptor with this number is one that never makes anybody wait, as files do.
  public static func isAlwaysReady(_ number: Int32) -> Bool {
    guard let mode = try? Syscall.status(number).st_mode & S_IFMT else { return false }
    return mode == S_IFREG || mode == S_IFDIR || mode == S_IFBLK
  }

  /// Sees to it that what was written is on the disk.
  public borrowing func sync() throws(SystemError) { try Syscall.sync(raw) }

  /// Takes the file's advisory lock for this process (flock(2)); false where somebody else has it.
  /// It is given back when the descriptor is closed.
  public borrowing func lock() throws(SystemError) -> Bool {
    do throws(SystemError) {
      try Syscall.lock(raw, LOCK_EX | LOCK_NB)
      return true
    } catch {
      if error.errno == .wouldBlock { return false }
      throw error
    }
  }
}
