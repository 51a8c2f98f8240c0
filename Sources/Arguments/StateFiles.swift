// SPDX-License-Identifier: GPL-3.0-or-later
public import EventLoop
public import JSON
import System

/// The small files in which a client of the daemon keeps its state. A full disk does not end it: only the next start knows
/// less.
@LoopActor public final class StateFiles {
  /// Called when a file can't be written; not again until one can.
  public var onFailure: (String) -> Void
  private var hasFailed = false

  private static let longest = 1 << 16

  public init(onFailure: @escaping (String) -> Void = { _ in }) { self.onFailure = onFailure }

  /// The content of a file; nil if there is none, or it is damaged.
  public func read(_ path: String) -> JSONValue? {
    guard let bytes = try? Files.read(path, limit: Self.longest) else { return nil }
    return try? JSONValue(parsing: bytes)
  }

  /// Replaces a file by a line of JSON; returns whether that worked.
  ///
  /// - Parameter isOfThisBoot: it need not survive a power failure, so nobody waits for the disk.
  @discardableResult public func write(
    _ json: [UInt8], to path: String, isOfThisBoot: Bool = false
  ) -> Bool {
    do throws(SystemError) {
      try AtomicFile.save(json + [UInt8(ascii: "\n")], to: path, isFlushed: !isOfThisBoot)
      hasFailed = false
      return true
    } catch {
      if !hasFailed { onFailure("\(error)") }
      hasFailed = true
      return false
    }
  }
}
