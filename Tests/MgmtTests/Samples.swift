// SPDX-License-Identifier: GPL-3.0-or-later
@testable import Mgmt
import Testing
import Wire

/// The devices and keys of these tests.
enum Sample {
  static let hci0 = ControllerIndex(0)
  static let phone = DeviceAddress(Address(0xF0F1_F2F3_F4F5), .random)
  static let privateAddress = DeviceAddress(Address(0x4A11_2233_4455), .random)
  static let other = DeviceAddress(Address(0xC0FF_EE00_0001), .public)

  static let phoneWire = "f5f4f3f2f1f0 02"
  static let keyBytes = "00112233445566778899aabbccddeeff"
  static let key = SecretKey(0x7766_5544_3322_1100, 0xFFEE_DDCC_BBAA_9988)

  static func bytes(_ hex: String) -> [UInt8] { [UInt8](hex: hex) ?? [] }

  /// New Long Term Key of LE Secure Connections: 37 bytes, of which [1..37) are the entry.
  static let newLongTermKey = bytes("01 \(phoneWire) 02 00 10 0000 0000000000000000 \(keyBytes)")
  /// New Identity Resolving Key: 30 bytes, of which [7..30) are the entry.
  static let newIdentityResolvingKey = bytes("01 55443322114a \(phoneWire) \(keyBytes)")

  static func packet(_ code: UInt16, _ hex: String, index: ControllerIndex = hci0) -> Packet {
    Packet(code: code, index: index, body: bytes(hex))
  }
}

extension Sample {
  static func longTermKey(
    _ kind: LongTermKey.Kind = .secure, isCentral: Bool = false, size: UInt8 = 16,
    diversifier: UInt16 = 0, random: UInt64 = 0, peer: DeviceAddress = phone
  ) -> LongTermKey {
    LongTermKey(
      peer: peer, kind: kind, isCentral: isCentral, size: size, diversifier: diversifier, random: random, value: key)
  }

  /// The bond of a phone that has paired, without a number unless the kind says otherwise.
  static func bond(_ kind: LongTermKey.Kind = .secure, with peer: DeviceAddress = phone) -> Bond {
    Bond(identity: peer, longTermKeys: [longTermKey(kind, peer: peer)])
  }

  static func identityResolvingKey(peer: DeviceAddress = phone) -> IdentityResolvingKey {
    IdentityResolvingKey(peer: peer, value: key)
  }
}

extension ChannelSecurity {
  static let open = ChannelSecurity(level: .low, keySize: 0)

  static func encrypted(isAuthenticated: Bool, keySize: Int) -> ChannelSecurity {
    ChannelSecurity(level: isAuthenticated ? .high : .medium, keySize: keySize)
  }
}
