// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
public import JSON
import System

/// A position in a settings file.
public struct SettingsPlace: Hashable, Sendable, CustomStringConvertible {
  public fileprivate(set) var file: String
  public fileprivate(set) var line: Int
  public fileprivate(set) var column: Int

  public init(file: String, line: Int, column: Int) {
    self.file = file
    self.line = line
    self.column = column
  }

  /// As in `/etc/ancsd/ancsd.toml:3:14`, which editors know.
  public var description: String { "\(file):\(line):\(column)" }
}

/// An error in a settings file, or something that may be unintended.
public struct SettingsFault: Hashable, Sendable, CustomStringConvertible {
  public private(set) var place: SettingsPlace
  /// What it is, and what was expected.
  public private(set) var message: String

  public init(place: SettingsPlace, message: String) {
    self.place = place
    self.message = message
  }

  public var description: String { "\(place): \(message)" }
}

extension SettingsFault: JSONObjectCodable {
  public init() { self.init(place: SettingsPlace(file: "", line: 0, column: 0), message: "") }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("file", &place.file)
    try json.required("line", &place.line)
    try json.required("column", &place.column)
    try json.required("message", &message)
  }
}

/// The locations of the settings files.
public enum SettingsFolder {
  public static let path = "/etc/ancsd"
  /// The first file that is read if none is named.
  public static let usualPath = path + "/ancsd.toml"
  /// The files that are read after it.
  public static let morePaths = path + "/conf.d/*.toml"
  /// The longest file that is read.
  private static let longest = 1 << 20

  /// Reads the named file; without one, the usual file and then those in `conf.d` in alphabetical order, skipping
  /// whatever is missing.
  ///
  /// - Returns: the text of each file; nil for a file that others can write to.
  public static func read(
    _ path: String?, in folder: String = path
  ) throws(Failure) -> [(path: String, text: [UInt8]?)] {
    do throws(SystemError) {
      var files: [(path: String, text: [UInt8]?)] = []
      let paths = if let path { [path] } else { try usualPaths(in: folder) }
      for path in paths {
        // What is on standard input is only checked.
        let text =
          try path == "-" ? Files.read(Standard.inputPath, limit: longest) : Files.readTrusted(path, limit: longest)
        files.append((path == "-" ? "standard input" : path, text))
      }
      return files
    } catch { throw Failure(.noInput, "reading settings", "\(error)") }
  }

  private static func usualPaths(in folder: String) throws(SystemError) -> [String] {
    let (first, more) = ("\(folder)/ancsd.toml", "\(folder)/conf.d")
    let names = try Files.kind(of: more) == nil ? [] : Files.names(in: more)
    return try (Files.kind(of: first) == nil ? [] : [first])
      + names.filter { $0.hasSuffix(".toml") && $0.first != "." }.map { "\(more)/\($0)" }
  }
}
