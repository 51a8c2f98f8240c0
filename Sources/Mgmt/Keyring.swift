// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The bonds of one adapter, and which of their keys the kernel is to hold.
///
///     stored ─┬─▶ in use ──▶ held by the kernel ◀──▶ withheld, while the phone may pair again
///             └─▶ unusable: they only keep the board closed to strangers
///
/// Its owner performs on the disk and in the kernel what follows from a change.
public struct Keyring: Hashable, Sendable {
  /// The bonds in use.
  public private(set) var bonds: [Bond] = []
  /// How many there are, or were, that can't be used: refused by the policy, broken, or not readable now.
  public private(set) var unusable = 0

  private let policy: PairingPolicy
  /// Those that the policy refuses.
  private var refused: Set<DeviceAddress> = []
  /// The phones whose Long Term Keys the kernel does not have while pairing is open.
  private var withheld: Set<DeviceAddress> = []
  private var staleBonds = StaleBondWatch()

  public init(_ policy: PairingPolicy) { self.policy = policy }

  // MARK: Which bonds there are

  /// Whether any phone is bonded, or was before its bond became unusable.
  public var isBonded: Bool { !bonds.isEmpty || unusable > 0 }

  /// The bond with a phone; nil: there is none in use.
  public subscript(phone: DeviceAddress) -> Bond? { bonds.first { $0.identity == phone } }

  /// Takes over what is stored, at the start and when more of it can be read.
  ///
  /// - Parameters:
  ///   - stored: the bonds that could be read.
  ///   - count: how many there are, or were, in all.
  /// - Returns: those that the policy refuses, each once, and why.
  public mutating func add(_ stored: [Bond], of count: Int) -> [(Bond, PairingFailure)] {
    var news: [(Bond, PairingFailure)] = []
    for bond in stored where self[bond.identity] == nil {
      if let why = policy.reasonToRefuse(bond) {
        if refused.insert(bond.identity).inserted { news.append((bond, why)) }
      } else {
        bonds.append(bond)
      }
    }
    unusable = count - bonds.count
    return news
  }

  /// A phone has paired.
  ///
  /// - Parameter seconds: the time, since 1970 (UTC).
  /// - Returns: the bond as it is to be stored.
  public mutating func add(_ bond: Bond, at seconds: Int64) -> Bond {
    var kept = self[bond.identity]?.renewed(by: bond) ?? bond
    kept.firstSeen = kept.firstSeen ?? seconds
    bonds.removeAll { $0.identity == bond.identity }
    bonds.append(kept)
    withheld.remove(bond.identity)
    return kept
  }

  /// A bonded phone has said its name.
  public mutating func name(_ phone: DeviceAddress, _ name: String) {
    guard let place = bonds.firstIndex(where: { $0.identity == phone }) else { return }
    bonds[place].name = name
  }

  /// Removes a bond.
  ///
  /// - Returns: whether there was one.
  public mutating func remove(_ phone: DeviceAddress) -> Bool {
    guard self[phone] != nil else { return false }
    bonds.removeAll { $0.identity == phone }
    staleBonds.forget(phone)
    return true
  }

  // MARK: What the kernel holds

  /// The bonds as the kernel is to know them.
  public var held: [Bond] {
    bonds.map { bond in
      var bond = bond
      if withheld.contains(bond.identity) { bond.longTermKeys = [] }
      return bond
    }
  }

  /// A phone pairs again, which the kernel allows only without its key. The bond is kept until there is another.
  public mutating func withhold(_ phone: DeviceAddress) { withheld.insert(phone) }

  /// Pairing is not open any more.
  ///
  /// - Returns: whether the kernel is to get keys back.
  public mutating func returnKeys() -> Bool {
    defer { withheld = [] }
    return !withheld.isEmpty
  }

  // MARK: One-sided bonds

  /// A phone has connected.
  public mutating func connected(_ phone: DeviceAddress, at now: Instant) {
    let bonded = Set(bonds.map(\.identity))
    staleBonds.connected(phone, at: now) { bonded.contains($0) }
  }

  /// A phone has gone; see `StaleBondDetector.disconnected`.
  public mutating func disconnected(
    _ phone: DeviceAddress, at now: Instant, _ cause: LinkEnd.Cause
  ) -> StaleBond? {
    staleBonds.disconnected(phone, at: now, isBonded: self[phone] != nil, cause)
  }

  /// A phone's link is encrypted, which proves that its bond is good.
  public mutating func secured(_ phone: DeviceAddress) { staleBonds.secured(phone) }

  /// The bonds that are suspected to be stale.
  public var suspicions: [DeviceAddress: StaleBond] { staleBonds.suspicions }

  /// One of the suspicions, always the same of several.
  public var firstSuspicion: (phone: DeviceAddress, bond: StaleBond)? { staleBonds.firstSuspicion }
}
