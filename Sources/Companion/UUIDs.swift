// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The UUIDs of the phone's small standard services (Assigned Numbers, 3.4 and 3.8).
extension UUID {
  /// Battery Service.
  public static let batteryService: UUID = 0x180F
  /// Battery Level, read and notified.
  public static let batteryLevel: UUID = 0x2A19
  /// Current Time Service.
  public static let currentTimeService: UUID = 0x1805
  /// Current Time, read and notified.
  public static let currentTime: UUID = 0x2A2B
  /// Local Time Information, read.
  public static let localTimeInformation: UUID = 0x2A0F
}
