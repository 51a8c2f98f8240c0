// SPDX-License-Identifier: GPL-3.0-or-later
public import Bluetooth

/// Which connection parameters an iPhone takes (Accessory Design Guidelines for Apple Devices, 2021, 35.6).
public enum AppleRules {
  /// Whether a request for these has a chance.
  public static func allows(_ wanted: ConnectionParameters) -> Bool {
    // Intervals in units of 1.25 ms, the time-out in units of 10 ms; so 15 ms are 12 units.
    let (shortest, longest) = (Int(wanted.minimumInterval), Int(wanted.maximumInterval))
    let latency = Int(wanted.latency)
    let timeout = Int(wanted.timeout) * 8
    guard latency <= 30, (1_600...4_800).contains(timeout) else { return false }
    guard shortest >= 12, shortest % 12 == 0 else { return false }
    guard longest >= shortest + 12 || (shortest == 12 && longest == 12) else { return false }
    let silence = longest * (latency + 1)
    return silence <= 1_600 && silence * 3 < timeout
  }
}
