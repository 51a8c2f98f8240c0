// SPDX-License-Identifier: GPL-3.0-or-later

/// How well a link is secured, in the kernel's levels (`struct bt_security`, bluetooth/bluetooth.h).
public struct SecurityLevel: RawRepresentable, Hashable, Comparable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// No encryption.
  public static let low = SecurityLevel(rawValue: 1)
  /// Encrypted.
  public static let medium = SecurityLevel(rawValue: 2)
  /// Encrypted with a key that was made safe against a man in the middle.
  public static let high = SecurityLevel(rawValue: 3)
  /// The same, by Secure Connections with a key of 16 bytes.
  public static let fips = SecurityLevel(rawValue: 4)

  public static func < (one: SecurityLevel, other: SecurityLevel) -> Bool {
    one.rawValue < other.rawValue
  }
}

/// What the kernel says about a link's security.
public struct ChannelSecurity: Hashable, Sendable {
  /// The level reached.
  public let level: SecurityLevel
  /// The encryption key's length in bytes, 7 to 16. It can be there before the link is encrypted: go
  /// by the level. Zero while the channel waits for encryption.
  public let keySize: Int
}

/// What became of asking for a security level.
public enum SecurityRequest: Hashable, Sendable {
  /// The link has that level already.
  case reached
  /// The phone was asked. The channel sends nothing until it is encrypted, or until the phone sends
  /// something itself.
  case asked
}
