// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// Other programs that want the adapter for themselves.
enum Rivals {
  /// Whether a bluetoothd runs: it takes every phone's connection, and its end powers the adapter off.
  static var bluetoothd: Bool {
    guard let processes = try? Files.names(in: "/proc") else { return false }
    return processes.contains { process in
      process.utf8.allSatisfy { (48...57).contains($0) }
        && (try? Files.read("/proc/\(process)/comm", limit: 64)) == Array("bluetoothd\n".utf8)
    }
  }

  /// What to do about it.
  static let remedy = "systemctl disable --now bluetooth"
}
