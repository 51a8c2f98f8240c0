// SPDX-License-Identifier: GPL-3.0-or-later
public import Capture
public import System

/// A btsnoop file that is being written, in the monitor format.
///
/// Each record is written at once, so that the file is complete up to the last packet whatever happens
/// to the process, and can be followed while it grows.
public final class CaptureFile {
  private let path: String
  private let file: FileDescriptor
  /// The most bytes that the file may have.
  private let limit: Int
  private var size = 0

  /// The most bytes of a file for which nothing else was asked: some hours of a busy link.
  public static let usualLimit = 256 << 20

  /// Creates the file, or empties the one that is there, with mode 0600: a capture contains what the phone
  /// sent, and the keys that the kernel gives to the controller.
  ///
  /// - Parameter limit: the most bytes that the file may have.
  public init(_ path: String, limit: Int = usualLimit) throws(SystemError) {
    self.path = path
    self.limit = limit
    file = try Files.create(path, mode: 0o600)
    try write(BtsnoopWriter.header)
  }

  /// Appends a record. After an error the file may end within it, which readers expect of a capture; where
  /// it would exceed the limit, which is EFBIG, it ends before it.
  public func write(_ record: CaptureRecord) throws(SystemError) {
    try write(BtsnoopWriter.record(record))
  }

  /// Why a capture has ended, as a sentence to a person.
  public static func sentence(_ error: SystemError) -> String {
    guard error.errno == .fileTooLarge else { return "\(error)" }
    return "\(error.subject ?? "the file") is as large as it may be (--capture-limit)"
  }

  private func write(_ bytes: [UInt8]) throws(SystemError) {
    guard size + bytes.count <= limit else { throw SystemError("write", .fileTooLarge, on: path) }
    size += bytes.count
    do throws(SystemError) { try file.writeAll(bytes) } catch { throw error.on(path) }
  }
}
