// SPDX-License-Identifier: GPL-3.0-or-later
import System

/// BlueZ's daemon, which wants the adapters for itself.
public enum BluetoothDaemon {
  /// Whether one runs: it takes every phone's connection, and its end powers the adapter off.
  public static var isRunning: Bool {
    guard let processes = try? Files.names(in: "/proc") else { return false }
    return processes.contains { process in
      process.utf8.allSatisfy { (48...57).contains($0) }
        && (try? Files.read("/proc/\(process)/comm", limit: 64)) == Array("bluetoothd\n".utf8)
    }
  }

  /// The command that ends it.
  public static let remedy = "systemctl disable --now bluetooth"
}
