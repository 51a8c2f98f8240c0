// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc

/// A descriptor that other processes share, such as standard error. Writing to it never blocks, and changes nothing for
/// the others.
///
/// O_NONBLOCK is a flag of the open file, which the shell, the next program on the terminal and all other processes that
/// inherited it share. So the way to write depends on the kind of file:
///
/// - A file on a disk accepts everything at once.
/// - A socket (the journal's) gets MSG_DONTWAIT with each send().
/// - A pipe or a terminal is opened again through /proc/self/fd: a second open file, whose flags nobody else shares.
/// - If that fails (another user's terminal, no /proc), poll(2) precedes each write. A pipe that is ready accepts
///   PIPE_BUF bytes (pipe(7)), a terminal perhaps only one. Another process that writes to the same pipe at that moment
///   may still use up the room.
package struct SharedOutput: ~Copyable {
  /// The descriptor to watch and to write to.
  package let number: Int32
  /// Whether it is a file or device that accepts everything at once, and that epoll can't watch.
  package let isFile: Bool

  private enum Way: ~Copyable {
    /// By a second open file.
    case own(FileDescriptor)
    case write, send
    case poll(limit: Int)
  }

  private let way: Way

  /// - Parameter shared: a descriptor that stays open.
  package init(_ shared: Int32) {
    var status = stat()
    let kind = fstat(shared, &status) == 0 ? status.st_mode & S_IFMT : 0
    // The kernel's own devices: /dev/null, /dev/full and the like.
    let isMemory = kind == S_IFCHR && status.st_rdev >> 8 & 0xFFF == 1
    isFile = isMemory || [S_IFREG, S_IFDIR, S_IFBLK].contains(kind)
    if !isFile, kind == S_IFIFO || Terminal.isTerminal(shared),
      let again = try? Files.open("/proc/self/fd/\(shared)", O_WRONLY | O_NONBLOCK)
    {
      number = again.raw
      way = .own(again)
      return
    }
    number = shared
    way =
      if isFile || (try? Syscall.isNonBlocking(shared)) == true {
        .write
      } else if kind == S_IFSOCK {
        .send
      } else {
        .poll(limit: Terminal.isTerminal(shared) ? 1 : Self.pipeBuffer)
      }
  }

  private static let pipeBuffer = 4096

  /// Writes bytes from `start` on.
  ///
  /// - Returns: how many were taken.
  /// - Throws: EAGAIN if none can be taken now.
  package borrowing func write(_ bytes: [UInt8], from start: Int = 0) throws(SystemError) -> Int {
    switch way {
    case .own(let again): return try Syscall.write(again.raw, bytes, from: start)
    case .write: return try Syscall.write(number, bytes, from: start)
    case .send: return try Syscall.send(number, bytes, from: start)
    case .poll(let limit):
      guard try Syscall.isWritable(number) else { throw SystemError("write", .wouldBlock) }
      return try Syscall.write(number, bytes, from: start, atMost: limit)
    }
  }

  /// Writes bytes followed by one more, if a single call can do that.
  ///
  /// - Returns: how many were taken.
  /// - Throws: EAGAIN if none can be taken now.
  package borrowing func write(_ bytes: ArraySlice<UInt8>, and last: UInt8) throws(SystemError) -> Int {
    switch way {
    case .own(let again): try Syscall.write(again.raw, bytes, and: last)
    case .write: try Syscall.write(number, bytes, and: last)
    case .send: try Syscall.send(number, bytes, and: last)
    case .poll: 0
    }
  }

  /// Writes all bytes that are accepted within `milliseconds`, and drops the rest.
  package borrowing func writeAll(_ bytes: [UInt8], within milliseconds: Int32) throws(SystemError) {
    var start = 0
    while start < bytes.count {
      do throws(SystemError) {
        start += try write(bytes, from: start)
      } catch {
        guard error.errno == .wouldBlock,
          try Syscall.isWritable(number, within: milliseconds)
        else { throw error }
      }
    }
  }
}

/// The log level; numbered like syslog's severities (RFC 5424, 6.2.1).
public enum LogLevel: Int, CaseIterable, Comparable, Sendable {
  case error = 3
  case warning, notice, info, debug

  public static func < (one: LogLevel, other: LogLevel) -> Bool { one.rawValue < other.rawValue }

  /// The names that `--log-level` takes.
  public var name: String { ["error", "warning", "notice", "info", "debug"][rawValue - 3] }
}

extension Standard {
  /// Writes a line to standard error, with its level if the journal reads it (sd-daemon(3)). If nobody reads it, the
  /// line is dropped after a while.
  public static func report(_ line: String, _ level: LogLevel = .error) {
    let mark = isReadByJournal() ? "<\(level.rawValue)>" : ""
    try? SharedOutput(error).writeAll(Array((mark + line + "\n").utf8), within: 500)
  }

  /// Whether systemd's journal reads what is written to a descriptor: the variable `JOURNAL_STREAM` has the device and
  /// inode of its file (systemd.exec(5)).
  public static func isReadByJournal(
    _ number: Int32 = error, stream: String? = Host.variable("JOURNAL_STREAM")
  ) -> Bool {
    var status = stat()
    guard let stream, fstat(number, &status) == 0 else { return false }
    return stream == "\(status.st_dev):\(status.st_ino)"
  }

  /// Opens /dev/null for any of the three that is closed. Otherwise the next file to be opened, perhaps a bond, would
  /// become standard output or standard error.
  public static func fillGaps() {
    for number in [input, output, error] where fcntl(number, F_GETFD) == -1 {
      _ = open("/dev/null", O_RDWR)
    }
  }
}
