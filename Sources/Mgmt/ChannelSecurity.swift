// SPDX-License-Identifier: GPL-3.0-or-later

/// A link's security level (`struct bt_security`, bluetooth/bluetooth.h).
public struct SecurityLevel: RawRepresentable, Hashable, Comparable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// No encryption.
  public static let low = SecurityLevel(rawValue: 1)
  /// Encrypted.
  public static let medium = SecurityLevel(rawValue: 2)
  /// Encrypted with a key from an authenticated pairing (MITM protection).
  public static let high = SecurityLevel(rawValue: 3)
  /// The same, by Secure Connections with a 16-byte key.
  public static let fips = SecurityLevel(rawValue: 4)

  public static func < (one: SecurityLevel, other: SecurityLevel) -> Bool {
    one.rawValue < other.rawValue
  }
}

/// A link's security, as its ATT channel shows it.
public struct ChannelSecurity: Hashable, Sendable {
  /// The level reached.
  public let level: SecurityLevel
  /// The encryption key's length in bytes, 7 to 16. It may be set before the link is encrypted; only the
  /// level tells that. Zero while the channel waits for encryption.
  public let keySize: Int

  public init(level: SecurityLevel, keySize: Int) {
    self.level = level
    self.keySize = keySize
  }

  /// Whether the link is encrypted.
  public var isEncrypted: Bool { level >= .medium }
  /// Whether its key is from an authenticated pairing.
  public var isAuthenticated: Bool { level >= .high }
}
