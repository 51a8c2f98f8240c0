// SPDX-License-Identifier: GPL-3.0-or-later
public import Capture
public import System

/// A btsnoop file that is being written, in the monitor format.
///
/// Each record is written at once, so the file is complete up to the last packet even after a crash, and can be
/// followed while it grows.
public final class CaptureFile {
  private let path: String
  private var file: FileDescriptor
  /// The maximum size of the file in bytes.
  private let limit: Int64
  private var size: Int64

  /// The default maximum size in bytes: some hours of a busy link.
  public static let usualLimit: Int64 = 256 << 20

  /// Creates the file, or empties an existing capture, with mode 0600: a capture contains what the phone
  /// sent, and the keys that the kernel gives to the controller.
  ///
  /// - Parameters:
  ///   - limit: the maximum size of the file in bytes.
  ///   - isForced: whether any other file is replaced too; otherwise it is refused with EEXIST and left unchanged.
  public convenience init(_ path: String, limit: Int64 = usualLimit, isForced: Bool = false) throws(SystemError) {
    let file = try Files.create(path, mode: 0o600, ifBegins: isForced ? nil : BtsnoopWriter.header)
    self.init(path, file, size: 0, limit: limit)
    try write(BtsnoopWriter.header)
  }

  /// Creates the file, or appends to an existing capture after its last complete record. Any other file is refused
  /// with EEXIST and left unchanged.
  public convenience init(continuing path: String, limit: Int64 = usualLimit) throws(SystemError) {
    let file = try Files.openToContinue(path, mode: 0o600, ifBegins: BtsnoopWriter.header)
    let end: Int64
    do throws(SystemError) {
      end = try Self.end(of: file)
      // An incomplete record after a crash would make those after it unreadable.
      if end < (try file.size()) { try file.truncate(to: end) }
    } catch { throw error.on(path) }
    self.init(path, file, size: end, limit: limit)
    if end == 0 { try write(BtsnoopWriter.header) }
  }

  private init(_ path: String, _ file: consuming FileDescriptor, size: Int64, limit: Int64) {
    self.path = path
    self.file = file
    self.size = size
    self.limit = limit
  }

  /// The length of the complete records in a capture; 0 if the file is empty.
  private static func end(of file: borrowing FileDescriptor) throws(SystemError) -> Int64 {
    let size = try file.size()
    if size == 0 { return 0 }
    var end = Int64(BtsnoopWriter.header.count)
    while let length = BtsnoopWriter.recordLength(
      head: try file.read(BtsnoopWriter.recordHeadLength, at: end)), length <= size - end
    { end += Int64(length) }
    return end
  }

  /// Appends a record. After an error the file may end with part of it, which readers accept; if it would exceed the
  /// limit (EFBIG), the file ends before it.
  public func write(_ record: CaptureRecord) throws(SystemError) {
    try write(BtsnoopWriter.record(record))
  }

  /// Starts a new file under the same name. The previous file is renamed to `.1`, the one before to `.2`, and so on,
  /// up to `count` files in all.
  public func rotate(keeping count: Int) throws(SystemError) {
    for number in stride(from: count - 2, through: 1, by: -1) where try Files.kind(of: "\(path).\(number)") != nil {
      try Files.rename("\(path).\(number)", to: "\(path).\(number + 1)")
    }
    if count > 1 { try Files.rename(path, to: "\(path).1") }
    file = try Files.create(path, mode: 0o600)
    size = 0
    try write(BtsnoopWriter.header)
  }

  /// Why a capture has ended or can't start, as a sentence for the user.
  public static func sentence(_ error: SystemError) -> String {
    let file = error.subject ?? "the file"
    switch error.errno {
    case .fileTooLarge: return "\(file) has reached its maximum size (--capture-limit)"
    case .fileExists: return "\(file) is not a capture, so it stays unchanged"
    default: return "\(error)"
    }
  }

  private func write(_ bytes: [UInt8]) throws(SystemError) {
    guard bytes.count <= limit - size else { throw SystemError("write", .fileTooLarge, on: path) }
    size += Int64(bytes.count)
    do throws(SystemError) { try file.writeAll(bytes) } catch { throw error.on(path) }
  }
}
