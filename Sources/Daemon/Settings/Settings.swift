// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import System
import TOML

/// What the daemon was told, by a file and by the command line, which comes first.
struct Settings: Sendable {
  var options: RunOptions
  /// The options that were set, and by what.
  private(set) var report = SettingsReport()
  private let arguments: [String]

  /// Settings without a file, as tests have them.
  package init(_ options: RunOptions) {
    self.options = options
    arguments = []
  }

  /// Reads a command line, and the file that it names, or the usual one if it is there.
  init(_ arguments: [String]) throws(Failure) {
    self.arguments = arguments
    var typed = Noted(RunOptions())
    try Grammar.run.noting.parse(arguments, into: &typed)
    options = typed.options
    if let (path, file) = try SettingsFile.find(typed.options.config) {
      if let failure = file.failure(in: path) { throw failure }
      report.file = path
      // What is typed takes the place of what is in the file.
      options = file.options
      if !typed.options.adapters.isEmpty || typed.options.source != .radio { options.adapters = [] }
      try Grammar.run.parse(arguments, into: &options)
      let isTyped = Set(typed.given.map(\.name))
      report.settings = file.entries.filter { !isTyped.contains($0.name) }
        .map { .init($0.name, $0.value, line: $0.position.line) }
    }
    report.settings += typed.given.map { name, value in
      .init(name, SettingValue(typed: value).description)
    }
    report.hooks = options.hooks.count
    report.rules = options.rules.count
  }

  /// The same command line with the file as it is now.
  func reread() throws(Failure) -> Settings { try Settings(arguments) }

  /// The names of the settings that differ from `other` and are read only at the start.
  func changesForTheNextStart(from other: Settings) -> [String] {
    let (mine, others) = (
      Set(report.settings.map(\.named)), Set(other.report.settings.map(\.named))
    )
    return Set(mine.symmetricDifference(others).map(\.name))
      .subtracting(Self.live).sorted()
  }

  /// What is taken over without a new start.
  private static let live: Set = [
    "fetch", "max-length", "grace", "early", "why", "log-level", "verbose", "quiet", "exec",
    "exec-jobs", "exec-timeout",
  ]
}

extension SettingsReport.Setting {
  /// Without the line, which may change.
  fileprivate var named: SettingsReport.Setting { .init(name, value) }
}

extension SettingValue {
  /// The value of an option as it was typed.
  fileprivate init(typed value: String?) {
    self = value.map { text in Int64(text).map { .number($0) } ?? .text(text) } ?? .truth(true)
  }
}

extension SettingsFile {
  /// The longest file that is read.
  private static let longest = 1 << 20

  /// Reads the file that is named, or the usual one; nil if that one is not there.
  static func find(_ path: String?) throws(Failure) -> (path: String, file: SettingsFile)? {
    let name = path ?? usualPath
    let trusted: [UInt8]?
    do throws(SystemError) {
      trusted = try Files.readTrusted(name, limit: longest)
    } catch {
      if path == nil, error.errno == .noSuchFile { return nil }
      throw Failure(.noInput, "reading settings", "\(error)")
    }
    guard let text = trusted else {
      throw Failure(
        .badSettings, name, "others can write to it, and it names programs to run",
        remedy: "chown root \(name) && chmod go-w \(name)")
    }
    return (name, SettingsFile(text))
  }

  /// Reads the file that is named, or the usual one, which has to be there.
  static func require(
    _ path: String?, remedy: String
  ) throws(Failure) -> (path: String, file: SettingsFile) {
    if let found = try find(path) { return found }
    throw Failure(.noInput, "reading settings", "\(usualPath) is not there", remedy: remedy)
  }

  /// What is wrong with it, as one line; nil if nothing is.
  func failure(in path: String) -> Failure? {
    guard let first = faults.first else { return nil }
    let more = faults.count > 1 ? "ancsd config check \(path) tells \(faults.count - 1) more" : nil
    return Failure(.badSettings, "\(path):\(first.place)", first.message, remedy: more)
  }
}
