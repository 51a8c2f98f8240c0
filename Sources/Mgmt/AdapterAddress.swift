// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// The address that an adapter uses on the air. Phones identify the board by it, so it must not change.
///
///     a valid public address ─────────────────────────────────▶ own
///     none, or a placeholder ── Set Public Address works ─────▶ own (an address that the board keeps)
///                            └─ it does not, or there is LE only ▶ static random
public enum AddressKind: String, Hashable, Sendable, CaseIterable {
  /// The public address, if there is one.
  case `public`
  /// A static random address (Vol 6 Part B, 1.3.2.1), even if there is a public one.
  case `static`
}

extension Address {
  /// Whether this is not an address but a placeholder of controllers that were never given one: 00:00:00:00:00:00,
  /// AA:AA:AA:AA:AA:AA, FF:FF:FF:FF:FF:FF, or a constant of the vendor's, with which two boards would be one accessory
  /// to a phone.
  public var isPlaceholder: Bool {
    Set(littleEndian).count == 1 || Self.vendorConstants.contains(value)
  }

  /// The addresses of controllers without one of their own: of Broadcom's and Cypress's (Linux, drivers/bluetooth/btbcm.c),
  /// Intel's (btintel.c) and Qualcomm's (earlier versions of btqca.c).
  private static let vendorConstants: Set<UInt64> = [
    0x0020_7002_A000, 0x2070_02A0_0000, 0x2076_A000_5679, 0x4343_A012_1FAC, 0x4343_A112_1FAC,
    0x4324_B300_0000, 0x4330_B100_0000, 0x4334_B000_0000, 0x4345_C500_1FAC, 0x4334_1B00_1FAC,
    0x0003_199E_8B00, 0x0000_0000_5AAD, 0x3998_0000_5AAD,
  ]

  /// A static random address: 46 random bits below two set ones (Vol 6 Part B, 1.3.2.1).
  public static func `static`(from random: UInt64) -> Address { Address(random | 0xC000_0000_0000) }

  /// A locally administered public address (IEEE 802, 8.2.2): bit 1 of the first byte is set, and bit 0, the group
  /// bit, is not.
  public static func locallyAdministered(from random: UInt64) -> Address {
    Address(random & ~0x0300_0000_0000 | 0x0200_0000_0000)
  }

  /// The address of the board's adapter with this number, derived from its first adapter's.
  public func ofAdapter(_ index: ControllerIndex) -> Address {
    Address(value ^ UInt64(index.value))
  }
}
