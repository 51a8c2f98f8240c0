// SPDX-License-Identifier: GPL-3.0-or-later

/// The log level; numbered like syslog's severities (RFC 5424, 6.2.1).
public enum LogLevel: Int, CaseIterable, Comparable, Sendable {
  case error = 3
  case warning, notice, info, debug

  public static func < (one: LogLevel, other: LogLevel) -> Bool { one.rawValue < other.rawValue }

  /// The names that `--log-level` takes.
  public var name: String { ["error", "warning", "notice", "info", "debug"][rawValue - 3] }
}
