// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import System

/// Diagnostics, on standard error; with the priority in front where the journal reads them
/// (sd-daemon(3)), so that `journalctl -p` can tell them apart.
struct Log: Sendable {
  /// The most detailed level that is written.
  var level: LogLevel
  private let marksPriority: Bool

  /// A log that writes what is at least as important as `level`.
  init(level: LogLevel = .notice) {
    self.level = level
    marksPriority = Host.variable("JOURNAL_STREAM") != nil
  }

  func error(_ text: @autoclosure () -> String) { write(.error, text) }
  func warning(_ text: @autoclosure () -> String) { write(.warning, text) }
  func notice(_ text: @autoclosure () -> String) { write(.notice, text) }
  func info(_ text: @autoclosure () -> String) { write(.info, text) }
  func debug(_ text: @autoclosure () -> String) { write(.debug, text) }

  /// Writes what was asked for by an option of its own, whatever the level.
  func say(_ text: String) { write(.error, as: .notice) { text } }

  private func write(_ priority: LogLevel, as mark: LogLevel? = nil, _ text: () -> String) {
    guard priority <= level else { return }
    let mark = marksPriority ? "<\((mark ?? priority).rawValue)>" : ""
    // There is nowhere to tell that standard error can't be written.
    try? FileDescriptor.writeAll("\(mark)ancsd: \(text().printable)\n".utf8, to: Standard.error)
  }
}

/// How much is said on standard error; numbered as syslog's priorities are (RFC 5424, 6.2.1).
enum LogLevel: Int, CaseIterable, Comparable, Sendable {
  case error = 3
  case warning, notice, info, debug

  static func < (one: LogLevel, other: LogLevel) -> Bool { one.rawValue < other.rawValue }

  /// The names that `--log-level` takes.
  var name: String { "\(self)" }
}
