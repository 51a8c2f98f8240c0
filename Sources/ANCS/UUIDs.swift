// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The UUIDs of the Apple Notification Center Service (ANCS specification, Service Characteristics).
extension UUID {
  /// The service itself: `7905F431-B5CE-4E99-A40F-4B1E122D00D0`.
  public static let notificationCenter =
    UUID(high: 0x7905_F431_B5CE_4E99, low: 0xA40F_4B1E_122D_00D0)
  /// Notification Source, notified: `9FBF120D-6301-42D9-8C58-25E699A21DBD`.
  public static let notificationSource =
    UUID(high: 0x9FBF_120D_6301_42D9, low: 0x8C58_25E6_99A2_1DBD)
  /// Control Point, written with response: `69D1D8F3-45E1-49A8-9821-9BBDFDAAD9D9`.
  public static let controlPoint = UUID(high: 0x69D1_D8F3_45E1_49A8, low: 0x9821_9BBD_FDAA_D9D9)
  /// Data Source, notified: `22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB`.
  public static let dataSource = UUID(high: 0x22EA_C6E9_24D6_4BB5, low: 0xBE44_B36A_CE7C_7BFB)
}
