// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import System

/// A file that a command writes for the user: one that does not exist yet, or one that such a command wrote before, as its
/// first bytes show. A mistyped path costs nobody a file, unless the user gives --force.
package struct OutputFile: Hashable, Sendable {
  /// The path; `-` is standard output.
  package let path: String
  /// The first bytes of each file that the command writes; nil: any file is replaced.
  package let beginning: [UInt8]?

  /// - Parameters:
  ///   - beginning: the first bytes of each file that the command writes.
  ///   - isForced: whether any file is replaced.
  package init(_ path: String, beginning: [UInt8], isForced: Bool) {
    self.path = path
    self.beginning = isForced ? nil : beginning
  }

  package var isStandard: Bool { path == "-" }

  /// Throws if the file is not to be replaced.
  package func check() throws(Failure) {
    guard !isStandard, let beginning else { return }
    try attempt(try Files.check(path, begins: beginning)) { Failure(writing: path, $0) }
  }

  /// Opens the file, which is then empty.
  package func create(mode: UInt32) throws(Failure) -> FileDescriptor {
    try attempt(try Files.create(path, mode: mode, ifBegins: beginning)) {
      Failure(writing: path, $0)
    }
  }
}

extension CommandOption {
  /// `--force`.
  package static func force(set: @escaping @Sendable (inout Options) -> Void) -> CommandOption {
    .flag("--force", help: "replace an existing file, whatever it is (default: only one that ancsd wrote)", set: set)
  }
}
