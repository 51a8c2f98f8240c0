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

  /// Creates the file, or empties the one that is there, with mode 0600: a capture contains what the phone
  /// sent, and the keys that the kernel gives to the controller.
  public init(_ path: String) throws(SystemError) {
    self.path = path
    file = try Files.create(path, mode: 0o600)
    try write(BtsnoopWriter.header)
  }

  /// Appends a record. After an error the file may end within it, which readers expect of a capture.
  public func write(_ record: CaptureRecord) throws(SystemError) {
    try write(BtsnoopWriter.record(record))
  }

  private func write(_ bytes: [UInt8]) throws(SystemError) {
    do throws(SystemError) { try file.writeAll(bytes) } catch { throw error.on(path) }
  }
}
