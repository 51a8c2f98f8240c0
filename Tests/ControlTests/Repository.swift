// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Files that lie beside the tests.
enum Repository {
  /// A file's text, by its path from the repository's root.
  static func text(_ path: String) throws -> String {
    let root = #filePath.prefix(#filePath.count - "/Tests/ControlTests/Repository.swift".count)
    return String(decoding: try Files.read("\(root)/\(path)"), as: UTF8.self)
  }
}
