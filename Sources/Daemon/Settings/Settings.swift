// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Board
import Control
import System
import TOML

/// What the daemon was told, by a file and by the command line, which comes first: a value that is replaced as a
/// whole when the file is read again.
struct Settings: Sendable {
  let options: RunOptions
  /// The file that was read, if there was one.
  private(set) var file: String?
  /// The options that were set, and by what.
  private(set) var given: [SettingsReport.Setting] = []

  /// Settings without a file, as tests have them.
  package init(_ options: RunOptions) { self.options = options }

  /// Reads a command line, and the file that it names, or the usual one if it is there.
  ///
  /// - Parameter find: finds the file by its path; nil is the usual one.
  init(
    _ arguments: [String],
    find: (String?) throws(Failure) -> (path: String, file: SettingsFile)? = SettingsFile.find
  ) throws(Failure) {
    var options = RunOptions()
    let typed = try Grammar.run.parse(arguments, into: &options)
    if let (path, file) = try find(options.start.config) {
      if let failure = file.failure(in: path) { throw failure }
      self.file = path
      // What is typed takes the place of what is in the file.
      let namesAdapters = !options.radio.adapters.isEmpty || options.start.source != .radio
      options = file.options
      if namesAdapters { options.radio.adapters = [] }
      try Grammar.run.parse(arguments, into: &options)
      let isTyped = Set(typed.map(\.name))
      given = file.entries.filter { !isTyped.contains($0.name) }
        .map { .init($0.name, $0.value, line: $0.position.line, Self.effect(of: $0.name)) }
    }
    self.options = options
    given += typed.map { name, value in
      .init(name, SettingValue(typed: value).description, Self.effect(of: name))
    }
  }

  /// When a change of a setting takes effect; a quirk has the name that it has in a file.
  static func effect(of name: String) -> SettingEffect {
    Grammar.run.settingEffect(name.hasPrefix("quirks.") ? "quirk" : name) ?? .nextStart
  }

  /// What differs from `other` among what takes effect so: as it is here, or without a value where it is as by
  /// default.
  func changes(from other: Settings, _ effect: SettingEffect) -> [SettingsReport.Setting] {
    let (mine, others) = (
      given.filter { $0.effect == effect }, other.given.filter { $0.effect == effect }
    )
    let changed = mine.filter { new in
      !others.contains { $0.name == new.name && $0.value == new.value }
    }
    let removed = others.filter { old in !mine.contains { $0.name == old.name } }
    return changed + removed.map { .init($0.name, nil, effect) }
  }
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
