// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Files of the repository that tests read.
public enum Repository {
  /// The path of a file, by that from the repository's root.
  public static func path(of name: String) -> String {
    "\(#filePath.dropLast("Tests/TestLoop/Repository.swift".count))\(name)"
  }

  /// A file's bytes.
  public static func read(_ name: String) throws -> [UInt8] { try Files.read(path(of: name)) }

  /// A file's text.
  public static func text(_ name: String) throws -> String {
    String(decoding: try read(name), as: UTF8.self)
  }
}
