// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The bonds of one adapter, and which of their keys the kernel should hold.
///
///     stored ─┬─▶ in use ──▶ held by the kernel ◀──▶ withheld, while the phone may pair again
///             └─▶ unusable: they only keep the board closed to strangers
///
/// Its owner applies changes to the disk and the kernel.
public struct Keyring: Hashable, Sendable {
  /// The bonds in use.
  public private(set) var bonds: [Bond] = []
  /// The number of existing or former bonds that can't be used: refused by the policy, damaged, or not readable now.
  public private(set) var unusable = 0

  private let policy: PairingPolicy
  private let packetLimit: Int
  /// Those that the policy refuses.
  private var refused: Set<DeviceAddress> = []
  /// The phones whose Long Term Keys the kernel does not have while pairing is open.
  private var withheld: Set<DeviceAddress> = []
  /// The bonds that only one side seems to have.
  public var staleBonds = StaleBondWatch()

  /// - Parameter packetLimit: the longest packet that the kernel takes, in bytes.
  public init(_ policy: PairingPolicy, packetLimit: Int = .max) {
    (self.policy, self.packetLimit) = (policy, packetLimit)
  }

  // MARK: Bonds

  /// Whether any phone is bonded, or was before its bond became unusable.
  public var isBonded: Bool { !bonds.isEmpty || unusable > 0 }

  /// The bond with a phone; nil: there is none in use.
  public subscript(phone: DeviceAddress) -> Bond? { bonds.first { $0.identity == phone } }

  /// Adds stored bonds, at startup and when more can be read.
  ///
  /// - Parameters:
  ///   - stored: the bonds that could be read, those of the phones that were here last at the end.
  ///   - count: the total number of existing or former bonds.
  /// - Returns: those that the policy refuses, each once, with the reason.
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
  /// - Returns: the bond to store.
  public mutating func add(_ bond: Bond, at seconds: Int64) -> Bond {
    var kept = self[bond.identity]?.renewed(by: bond) ?? bond
    kept.firstSeen = kept.firstSeen ?? seconds
    dropRefused(bond.identity)
    bonds.keep(kept)
    withheld.remove(bond.identity)
    return kept
  }

  /// A bond that the policy refuses is gone from the disk, or was replaced there.
  private mutating func dropRefused(_ phone: DeviceAddress) {
    if refused.remove(phone) != nil { unusable -= 1 }
  }

  /// A bonded phone's name is known.
  public mutating func name(_ phone: DeviceAddress, _ name: String) {
    change(phone) { $0.name = name }
  }

  private mutating func change(_ phone: DeviceAddress, _ change: (inout Bond) -> Void) {
    if let place = bonds.firstIndex(where: { $0.identity == phone }) { change(&bonds[place]) }
  }

  /// Removes a bond, also one that the policy refuses.
  ///
  /// - Returns: whether there was one in use.
  public mutating func remove(_ phone: DeviceAddress) -> Bool {
    dropRefused(phone)
    guard self[phone] != nil else { return false }
    bonds.removeAll { $0.identity == phone }
    staleBonds.forget(phone)
    return true
  }

  // MARK: Keys in the kernel

  /// The bonds whose keys the kernel should hold: the last ones, as many as it takes.
  public var held: [Bond] {
    var held = bonds.map { bond in
      var bond = bond
      if withheld.contains(bond.identity) { bond.longTermKeys = [] }
      return bond
    }
    while MgmtCommand.loadKeys(of: held).contains(where: { $0.packetLength > packetLimit }) { held.removeFirst() }
    return held
  }

  /// The phones whose keys the kernel has no room for.
  public var leftOut: [DeviceAddress] { bonds.dropLast(held.count).map(\.identity) }

  /// A phone pairs again, which the kernel allows only without its key. The bond is kept until a new one replaces it.
  public mutating func withhold(_ phone: DeviceAddress) { withheld.insert(phone) }

  /// Pairing has closed.
  ///
  /// - Returns: whether to load keys into the kernel again.
  public mutating func returnKeys() -> Bool {
    defer { withheld = [] }
    return !withheld.isEmpty
  }

  // MARK: The phones' patience

  /// After how many links in a row without a subscription a phone is said to stay away (docs/guesses.md).
  public static let patience = 3

  /// The board has subscribed on a phone's link, or that has ended before.
  ///
  /// - Returns: whether that changes the number of such links.
  public mutating func count(_ phone: DeviceAddress, hasSubscribed: Bool) -> Bool {
    let before = self[phone]?.strikes
    let strikes = hasSubscribed ? nil : min((before ?? 0) + 1, Self.patience)
    change(phone) { $0.strikes = strikes }
    return self[phone]?.strikes != before
  }

  /// Whether one more link without a subscription would make a phone give up: this side does not end such a link.
  public func isOnLastChance(_ phone: DeviceAddress) -> Bool {
    self[phone]?.strikes ?? 0 >= Self.patience - 1
  }

  /// A phone that has probably given up, chosen consistently.
  public var firstGivenUp: DeviceAddress? {
    bonds.filter { $0.strikes ?? 0 >= Self.patience }.map(\.identity)
      .min { $0.address < $1.address }
  }
}
