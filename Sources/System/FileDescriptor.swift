// SPDX-License-Identifier: GPL-3.0-or-later

/// A file descriptor that somebody owns: it cannot be copied, and is closed where its owner ends.
public struct FileDescriptor: ~Copyable, Sendable {
  /// The kernel's number. It is valid only as long as this value lives.
  public let raw: Int32

  /// Takes over an open descriptor.
  public init(owning raw: Int32) { self.raw = raw }

  /// Gives the number up without closing it: whoever takes it must close it, or leave it open on
  /// purpose.
  public consuming func release() -> Int32 {
    let number = raw
    discard self
    return number
  }

  /// Another descriptor of the same open file.
  public borrowing func duplicate() throws(SystemError) -> FileDescriptor {
    try Syscall.duplicate(raw)
  }

  /// Another descriptor of the open file that has this number, such as 0 for standard input.
  public static func duplicate(of number: Int32) throws(SystemError) -> FileDescriptor {
    try Syscall.duplicate(number)
  }

  deinit { Syscall.close(raw) }
}

/// The numbers of the three descriptors every process starts with.
public enum Standard {
  public static let input: Int32 = 0
  public static let output: Int32 = 1
  public static let error: Int32 = 2
}
