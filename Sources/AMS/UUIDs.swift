// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The UUIDs of the Apple Media Service (AMS specification, Service Characteristics).
extension UUID {
  /// The service itself: `89D3502B-0F36-433A-8EF4-C502AD55F8DC`.
  public static let mediaService = UUID(high: 0x89D3_502B_0F36_433A, low: 0x8EF4_C502_AD55_F8DC)
  /// Remote Command, written and notified: `9B3C81D8-57B1-4A8A-B8DF-0E56F7CA51C2`.
  public static let remoteCommand = UUID(high: 0x9B3C_81D8_57B1_4A8A, low: 0xB8DF_0E56_F7CA_51C2)
  /// Entity Update, written and notified: `2F7CABCE-808D-411F-9A0C-BB92BA96C102`.
  public static let entityUpdate = UUID(high: 0x2F7C_ABCE_808D_411F, low: 0x9A0C_BB92_BA96_C102)
  /// Entity Attribute, written and read: `C6B2F38C-23AB-46D8-A6AB-A3A870BBD5D7`.
  public static let entityAttribute = UUID(
    high: 0xC6B2_F38C_23AB_46D8, low: 0xA6AB_A3A8_70BB_D5D7)
}
