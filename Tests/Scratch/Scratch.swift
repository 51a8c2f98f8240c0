// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import System

/// A directory of a test's own, which is removed with the object, whatever is in it.
public final class Scratch: Sendable {
  public let path: String

  public init() throws(SystemError) { path = try Files.makeTemporaryDirectory(named: "ancsd-test") }

  deinit { Self.remove(path) }

  /// Removes a file, or a directory with all that is in it; what a link points to stays.
  private static func remove(_ path: String) {
    if case .directory? = try? Files.kind(of: path) {
      for name in (try? Files.names(in: path)) ?? [] { remove("\(path)/\(name)") }
      rmdir(path)
    } else {
      unlink(path)
    }
  }
}
