// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// BlueZ's daemon, which takes over the adapters.
public enum BluetoothDaemon {
  /// Whether it is running: it takes every phone's connection, and powers the adapter off when it exits.
  public static var isRunning: Bool { process != nil }

  /// Its process ID; nil if it is not running.
  public static var process: Int32? {
    guard let processes = try? Files.names(in: "/proc") else { return nil }
    let ours = try? Files.read("/proc/self/uid_map", limit: 4_096)
    return processes.lazy.compactMap { Int32($0) }.first { process in
      guard (try? Files.read("/proc/\(process)/comm", limit: 64)) == Array("bluetoothd\n".utf8),
        let status = try? Files.read("/proc/\(process)/status", limit: 1 << 16)
      else { return false }
      let namespace = try? Files.read("/proc/\(process)/uid_map", limit: 4_096)
      return isMeant(status: status, sharesNamespace: namespace == ours)
    }
  }

  /// Whether a process is BlueZ's daemon and not one of any user with the same name: it runs as root, or with the
  /// capability that mgmt requires for every command that changes something.
  ///
  /// - Parameters:
  ///   - status: the process's /proc/PID/status (proc(5)).
  ///   - sharesNamespace: whether it is in our user namespace. In its own namespace any user has all capabilities, which
  ///   have no effect here.
  static func isMeant(status: [UInt8], sharesNamespace: Bool) -> Bool {
    var fields: [String: [Substring]] = [:]
    for line in String(decoding: status, as: UTF8.self).split(separator: "\n") {
      let words = line.split(whereSeparator: { $0 == "\t" || $0 == " " })
      if let name = words.first { fields[String(name)] = Array(words.dropFirst()) }
    }
    guard fields["Name:"]?.first == "bluetoothd", fields["State:"]?.first != "Z",
      let users = fields["Uid:"], users.count == 4
    else { return false }
    if users[1] == "0" { return true }
    let capabilities = fields["CapEff:"]?.first.flatMap { UInt64($0, radix: 16) } ?? 0
    return sharesNamespace && capabilities & networkAdministration != 0
  }

  /// CAP_NET_ADMIN (capabilities(7)).
  private static let networkAdministration: UInt64 = 1 << 12
}
