// SPDX-License-Identifier: GPL-3.0-or-later
import System
import Wire

/// The subject of a log line.
package struct LogSubject: Hashable, Sendable {
  /// As in `hci0`.
  var adapter: String?
  var phone: Address?
}

/// A line of the log.
package struct LogEntry: Hashable, Sendable {
  var priority: LogLevel
  /// Without control characters.
  var text: String
  var subject = LogSubject()

  /// The line for a terminal or a file.
  var line: String { "ancsd: \(text)" }

  /// The line for readers of priority prefixes (sd-daemon(3)).
  var markedLine: String { "<\(priority.rawValue)>\(line)" }

  /// The datagram for the journal: fields, one per line (systemd's “Native Journal Protocol”).
  var fields: [UInt8] {
    var fields = [
      "MESSAGE=\(text)", "PRIORITY=\(priority.rawValue)", "SYSLOG_IDENTIFIER=ancsd",
    ]
    if let adapter = subject.adapter { fields.append("ADAPTER=\(adapter)") }
    if let phone = subject.phone { fields.append("PHONE=\(phone)") }
    return fields.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
  }
}

/// systemd's journal, if it reads standard error: it gets the lines with their fields, so that
/// `journalctl ADAPTER=hci0` or `-p warning` finds them.
final class Journal {
  private let socket: DatagramSocket

  /// The socket of the journal that reads standard error; nil if it is read by something else.
  convenience init?() {
    guard Standard.isReadByJournal() else { return nil }
    self.init(at: "/run/systemd/journal/socket")
  }

  init?(at path: String) {
    guard let socket = try? DatagramSocket(to: path) else { return nil }
    self.socket = socket
  }

  /// Sends an entry; false if the journal does not accept it now, so that it has to be written
  /// elsewhere.
  func take(_ entry: LogEntry) -> Bool {
    do throws(SystemError) {
      try socket.send(entry.fields)
      return true
    } catch {
      return false
    }
  }
}
