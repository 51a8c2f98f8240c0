// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Watches every phone of an adapter for bonds that only one side has: the phone connects, finds that the keys do not
/// match, disconnects within seconds, and connects again (docs/kernel.md, “One-sided bonds”).
///
/// It counts only links that the phone ended before encryption, or on which the phone did not encrypt in time. A phone
/// at the edge of its range, which has sessions in between, is never reported.
public struct StaleBondWatch: Hashable, Sendable {
  /// How many such links cause a report.
  public static let drops = 3
  /// The time window for them.
  public static let window: Duration = .seconds(60)
  /// The maximum duration of such a link if the phone ends it.
  public static let life: Duration = .seconds(5)
  /// The maximum number of watched phones: unknown ones change their addresses.
  public static let capacity = 64

  /// When the last such links of each phone ended.
  private var ends: [DeviceAddress: [Instant]] = [:]
  /// The findings, until the phone's link is secured after all.
  public private(set) var suspicions: [DeviceAddress: StaleBond] = [:]

  public init() {}

  /// A link has ended, or its phone has not encrypted in time.
  ///
  /// - Parameters:
  ///   - start: when the link began. It counts once.
  ///   - isBonded: which phones are bonded; the others are dropped first if there are too many.
  /// - Returns: the finding, once.
  public mutating func ended(
    _ phone: DeviceAddress, since start: Instant, at now: Instant, _ cause: LinkEnd.Cause,
    isBonded: (DeviceAddress) -> Bool
  ) -> StaleBond? {
    let isFruitless = cause == .unencrypted || (cause != .board && now - start <= Self.life)
    let before = ends[phone, default: []].filter { now - $0 <= Self.window }
    guard isFruitless, before.allSatisfy({ $0 <= start }) else { return nil }
    if ends.count >= Self.capacity { ends = ends.filter { isBonded($0.key) } }
    ends[phone] = (before + [now]).suffix(Self.drops)
    guard before.count + 1 >= Self.drops, suspicions[phone] == nil else { return nil }
    let found: StaleBond =
      if !isBonded(phone) { .lostHere } else { cause == .keysDiffer ? .keysDiffer : .lostByPhone }
    // For unknown phones, whose addresses change, the last finding is enough.
    suspicions = suspicions.filter { $0.value != .lostHere }
    suspicions[phone] = found
    return found
  }

  /// A phone's link is encrypted: earlier ones no longer count.
  public mutating func secured(_ phone: DeviceAddress) {
    ends[phone] = nil
    // A bond lost here was suspected under an address that is used only once.
    suspicions = suspicions.filter { $0.key != phone && $0.value != .lostHere }
  }

  /// A phone was forgotten.
  public mutating func forget(_ phone: DeviceAddress) {
    ends[phone] = nil
    suspicions[phone] = nil
  }

  /// One of the suspicions, chosen consistently.
  public var firstSuspicion: (phone: DeviceAddress, bond: StaleBond)? {
    suspicions.min { $0.key.address < $1.key.address }.map { ($0.key, $0.value) }
  }
}

/// A bond that no longer works, in words for the event `stale`.
public enum StaleBond: Hashable, Sendable {
  /// The phone has lost its key for this board, or will not use it.
  case lostByPhone
  /// The phone has a key for this board, which has lost its own.
  case lostHere
  /// Each has a key, but not the same.
  case keysDiffer

  /// The finding.
  public var what: String {
    let found =
      switch self {
      case .lostByPhone: "the phone seems to have lost its bond"
      case .lostHere: "the phone seems to have a bond that this board has lost"
      case .keysDiffer: "the phone's key for this board and the board's key for the phone differ"
      }
    return "\(found): it repeatedly connects and disconnects within seconds, without encryption"
  }

  /// What to do about it, on both sides.
  ///
  /// - Parameters:
  ///   - board: the name that the phone shows.
  ///   - phone: the argument for `ancsd forget`.
  public func remedy(board: String, phone: String) -> String {
    let there = "on the phone: Settings › Bluetooth › \(board) › Forget This Device"
    return switch self {
    case .lostByPhone, .keysDiffer: "\(there); here: ancsd forget \(phone), then ancsd pair"
    case .lostHere: "\(there); here: ancsd pair"
    }
  }
}
