// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import System

/// Diagnostics on standard error. Where systemd's journal reads them, each line begins with its
/// priority (sd-daemon(3)), so that `journalctl -p` can filter.
struct Log: Sendable {
  /// The most detailed level that is written.
  var level: LogLevel
  private let marksPriority: Bool

  /// Creates a log that writes messages of `level` and of higher priority.
  init(level: LogLevel = .notice) {
    self.level = level
    marksPriority = Host.variable("JOURNAL_STREAM") != nil
  }

  func error(_ text: @autoclosure () -> String) { write(.error, text) }
  func warning(_ text: @autoclosure () -> String) { write(.warning, text) }
  func notice(_ text: @autoclosure () -> String) { write(.notice, text) }
  func info(_ text: @autoclosure () -> String) { write(.info, text) }
  func debug(_ text: @autoclosure () -> String) { write(.debug, text) }

  /// Writes output that an option asked for explicitly, whatever the level.
  func always(_ text: String) { write(.error, as: .notice) { text } }

  private func write(_ priority: LogLevel, as mark: LogLevel? = nil, _ text: () -> String) {
    guard priority <= level else { return }
    let mark = marksPriority ? "<\((mark ?? priority).rawValue)>" : ""
    // There is nowhere to report that standard error can't be written.
    try? FileDescriptor.writeAll("\(mark)ancsd: \(text().printable)\n".utf8, to: Standard.error)
  }
}

/// How much is logged; numbered like syslog's severities (RFC 5424, 6.2.1).
enum LogLevel: Int, CaseIterable, Comparable, Sendable {
  case error = 3
  case warning, notice, info, debug

  static func < (one: LogLevel, other: LogLevel) -> Bool { one.rawValue < other.rawValue }

  /// The names that `--log-level` takes.
  var name: String { "\(self)" }
}
