// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Files that lie beside the tests.
enum Repository {
  /// A file's text, by its path from the repository's root.
  static func text(_ path: String) throws -> String {
    String(decoding: try Files.read("\(root)/\(path)"), as: UTF8.self)
  }

  /// Writes a file, for tests that record.
  static func write(_ text: String, to path: String) throws {
    try AtomicFile.save(Array(text.utf8), to: "\(root)/\(path)", mode: 0o644)
  }

  private static let root =
    #filePath.prefix(#filePath.count - "/Tests/ControlTests/Repository.swift".count)
}
