// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The stored data of a paired phone, so that it need not pair again.
public struct Bond: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible {
  /// The phone's identity address, whatever address it uses on the air.
  public var identity: DeviceAddress
  /// One key from Secure Connections, or up to two from legacy pairing.
  public var longTermKeys: [LongTermKey]
  /// Resolves the phone's private addresses; nil if it distributed none.
  public var identityResolvingKey: IdentityResolvingKey?
  /// The phone's name, once it was read.
  public var name: String?
  /// When it first paired, in seconds since 1970 (UTC).
  public var firstSeen: Int64?
  /// How many links in a row with it have ended before the board had subscribed, up to `Keyring.patience`; nil: none. It is
  /// kept on the disk, as the phone keeps its own count.
  public var strikes: Int?

  public init(
    identity: DeviceAddress, longTermKeys: [LongTermKey], identityResolvingKey: IdentityResolvingKey? = nil,
    name: String? = nil, firstSeen: Int64? = nil
  ) {
    self.identity = identity
    self.longTermKeys = longTermKeys
    self.identityResolvingKey = identityResolvingKey
    self.name = name
    self.firstSeen = firstSeen
  }

  /// Whether a person compared or typed a number, which protects against a man in the middle.
  public var isAuthenticated: Bool {
    !longTermKeys.isEmpty && longTermKeys.allSatisfy(\.kind.isAuthenticated)
  }

  /// Whether all keys were made by LE Secure Connections.
  public var isSecureConnections: Bool {
    !longTermKeys.isEmpty && longTermKeys.allSatisfy(\.kind.isSecureConnections)
  }

  /// The strength of the weakest key in bytes; 0 without keys.
  public var keySize: UInt8 { longTermKeys.map(\.size).min() ?? 0 }

  /// The bond after the phone has paired again: the new keys, with the rest of the known data.
  public func renewed(by newer: Bond) -> Bond {
    var bond = newer
    bond.identityResolvingKey = newer.identityResolvingKey ?? identityResolvingKey
    bond.name = newer.name ?? name
    bond.firstSeen = firstSeen ?? newer.firstSeen
    bond.strikes = strikes
    return bond
  }

  /// The phone and how well the bond protects it; never the keys.
  public var description: String {
    let how = isSecureConnections ? "Secure Connections" : "legacy pairing"
    let who = isAuthenticated ? "authenticated" : "not authenticated"
    return "\(identity) (\(how), \(who), \(keySize)-byte key)"
  }
  public var debugDescription: String { description }
}

extension [Bond] {
  /// Adds a bond, in place of an earlier one with the same phone.
  public mutating func keep(_ bond: Bond) {
    removeAll { $0.identity == bond.identity }
    append(bond)
  }
}

/// Assembles a bond from the events of one link.
///
/// The kernel reports the Identity Resolving Key before the Long Term Keys, and replies to Pair
/// Device after them (docs/kernel.md, “Pair Device”); if the phone started the pairing, there is no
/// reply. So a bond is complete once it has the key that the central will encrypt with.
struct BondCollector: Hashable, Sendable {
  /// Whether this side is the central.
  let isCentral: Bool
  private var longTermKeys: [LongTermKey] = []
  private var identityResolvingKey: IdentityResolvingKey?

  init(isCentral: Bool = false) { self.isCentral = isCentral }

  /// The bond so far, if it is usable.
  var bond: Bond? {
    let isWhole = longTermKeys.contains { $0.kind.isSecureConnections || $0.isCentral == isCentral }
    guard isWhole, let peer = identityResolvingKey?.peer ?? longTermKeys.first?.peer else {
      return nil
    }
    var keys = longTermKeys
    for index in keys.indices { keys[index].peer = peer }
    return Bond(identity: peer, longTermKeys: keys, identityResolvingKey: identityResolvingKey)
  }

  /// Whether the phone's identity is known.
  var hasIdentity: Bool { identityResolvingKey != nil }

  mutating func add(_ key: IdentityResolvingKey) { identityResolvingKey = key }

  /// A Secure Connections key replaces all others, a legacy key only the one of the same kind.
  mutating func add(_ key: LongTermKey) {
    if key.kind.isSecureConnections {
      longTermKeys = [key]
    } else {
      longTermKeys.removeAll { $0.kind.isSecureConnections || $0.isCentral == key.isCentral }
      longTermKeys.append(key)
    }
  }
}
