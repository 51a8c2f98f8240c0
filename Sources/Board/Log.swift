// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import System
import Wire

/// Diagnostics on standard error. If systemd's journal reads them, it gets each line with its priority, and with the
/// adapter and the phone concerned, so that `journalctl ADAPTER=hci0` or `-p warning` finds them.
///
/// A line never blocks: unread lines wait in a bounded queue, beyond which they are dropped and counted. Lines that a
/// phone can cause go through a budget (`limited`), and the data it sent are shown only at `debug`.
@LoopActor package struct Log {
  /// The most detailed level that is written; the same for all logs to one sink.
  package var level: LogLevel {
    get { sink.level }
    nonmutating set { sink.level = newValue }
  }
  private let sink: Sink
  private var adapter: String?
  private var phone: Address?
  private var budget: LogBudget?

  /// Where the lines go.
  @LoopActor package final class Sink {
    private let writer: LineWriter?
    fileprivate var level = LogLevel.notice
    fileprivate let write: (LogEntry) -> Void
    private static let journal = "/run/systemd/journal/socket"

    /// Standard error, or the journal that reads it. What the journal does not accept at once is written to standard
    /// error, where it waits.
    ///
    /// - Parameter stamped: whether each line has the time, which the journal adds by itself.
    package init(stamped: Bool = false) {
      let writer = LineWriter(Standard.error, queueLimit: 1 << 18)
      writer.lossNotice = { lost in
        Array("ancsd: \(lost.count) lines are missing here, because nobody read them in time".utf8)
      }
      self.writer = writer
      guard Standard.isReadByJournal(), let journal = try? DatagramSocket(to: Self.journal) else {
        write = { writer.write(stamped ? "\(WallTime.now.localStamp) \($0.line)" : $0.line) }
        return
      }
      write = { if (try? journal.send($0.fields)) == nil { writer.write($0.markedLine) } }
    }

    /// Calls `write` with each line.
    package init(_ write: @escaping (LogEntry) -> Void) {
      writer = nil
      self.write = write
    }

    /// Writes the queue, and blocks for at most this long.
    package func flush(within duration: Duration) { writer?.flush(within: duration) }
  }

  /// Creates a log that writes messages of `level` and of higher priority.
  package init(level: LogLevel = .notice, to sink: Sink = Sink()) {
    self.sink = sink
    sink.level = level
  }

  /// The same log for lines about an adapter, or about a phone on it.
  package func about(_ adapter: String?, _ phone: Address? = nil) -> Log {
    var log = self
    (log.adapter, log.phone) = (adapter, phone)
    return log
  }

  /// The same log for lines that others can cause, limited by a budget per minute.
  package func limited(by budget: LogBudget) -> Log {
    var log = self
    log.budget = budget
    return log
  }

  package func error(_ text: @autoclosure () -> String) { write(.error, text) }
  package func warning(_ text: @autoclosure () -> String) { write(.warning, text) }
  package func notice(_ text: @autoclosure () -> String) { write(.notice, text) }
  package func info(_ text: @autoclosure () -> String) { write(.info, text) }
  package func debug(_ text: @autoclosure () -> String) { write(.debug, text) }

  /// Logs that external data was dropped, and why; the data only at `debug`, because it may contain a message, a code
  /// in one, or a key.
  package func dropped(_ what: String, _ bytes: [UInt8], at priority: LogLevel = .warning) {
    if level >= .debug {
      debug("dropped \(what): \(bytes.hex)")
    } else {
      write(priority) { "dropped \(what) (\(bytes.count) bytes)" }
    }
  }

  /// Writes output that an option requested explicitly, regardless of the level.
  package func always(_ text: String) { write(.error, as: .notice) { text } }

  private func write(_ priority: LogLevel, as mark: LogLevel? = nil, _ text: () -> String) {
    guard priority <= level else { return }
    if let budget, !budget.take(orLater: { line($0, as: .notice) }) { return }
    line(text(), as: mark ?? priority)
  }

  private func line(_ text: String, as mark: LogLevel) {
    sink.write(LogEntry(priority: mark, text: text.printable, adapter: adapter, phone: phone))
  }
}

extension WallTime {
  /// The board's local time of day with milliseconds, as in `07:00:00.042`.
  fileprivate var localStamp: String {
    let text = WallTime(seconds: seconds + Int64(zoneOffset), nanoseconds: nanoseconds).rfc3339
    return String(text.dropFirst(11).dropLast())
  }
}

/// Limits the lines per minute about something that others can repeat at will, such as a phone's malformed values.
/// Further lines are counted, and a line gives their number after the minute.
@LoopActor package final class LogBudget {
  /// The lines per minute.
  nonisolated static let lines = 30
  nonisolated static let period: Duration = .seconds(60)

  private let subject: String
  private let scheduler: any Scheduler
  private var end = Instant.zero
  private var written = 0
  private var omitted = 0

  /// - Parameter subject: the subject of the lines.
  package init(_ subject: String, _ scheduler: any Scheduler) {
    self.subject = subject
    self.scheduler = scheduler
  }

  /// Whether one more line may be written. If not, `report` later gets one line instead of all suppressed ones.
  func take(orLater report: @escaping (String) -> Void) -> Bool {
    let now = scheduler.now
    if now >= end {
      end = now + Self.period
      written = 0
    }
    if written < Self.lines {
      written += 1
      return true
    }
    omitted += 1
    guard omitted == 1 else { return false }
    _ = scheduler.schedule(at: end) { [self] in
      report("\(omitted) more lines about \(subject) were suppressed within a minute")
      omitted = 0
    }
    return false
  }
}

/// A line of the log.
package struct LogEntry: Hashable, Sendable {
  var priority: LogLevel
  /// Without control characters.
  var text: String
  /// The adapter that it is about, as in `hci0`.
  var adapter: String?
  var phone: Address?

  /// The line for a terminal or a file.
  var line: String { "ancsd: \(text)" }

  /// The line for readers of priority prefixes (sd-daemon(3)).
  var markedLine: String { "<\(priority.rawValue)>\(line)" }

  /// The datagram for the journal: fields, one per line (systemd's “Native Journal Protocol”).
  var fields: [UInt8] {
    var fields = ["MESSAGE=\(text)", "PRIORITY=\(priority.rawValue)", "SYSLOG_IDENTIFIER=ancsd"]
    if let adapter { fields.append("ADAPTER=\(adapter)") }
    if let phone { fields.append("PHONE=\(phone)") }
    return fields.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
  }
}
