// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Detects a one-sided bond of one phone: the phone connects, finds that the keys do not match,
/// disconnects within seconds, and connects again (docs/kernel.md, “One-sided bonds”).
///
/// It counts only links that the phone ended before encryption, or that this side ended because the
/// phone did not encrypt. A phone at the edge of its range, which has sessions in between, is never
/// reported.
public struct StaleBondDetector: Hashable, Sendable {
  /// How many such links cause a report.
  public static let drops = 3
  /// The time window for them.
  public static let window: Duration = .seconds(60)
  /// The maximum duration of such a link if the phone ends it.
  public static let life: Duration = .seconds(5)

  private var began: Instant?
  private var isSound = false
  private var fruitless: [Instant] = []
  private var wasReported = false

  public init() {}

  /// The phone has connected.
  public mutating func connected(at now: Instant) {
    began = now
    isSound = false
  }

  /// The link is encrypted: earlier links no longer count.
  public mutating func secured() {
    isSound = true
    fruitless = []
    wasReported = false
  }

  /// The link has ended.
  ///
  /// - Parameters:
  ///   - isBonded: whether this side has a bond.
  ///   - cause: who ended it.
  /// - Returns: the finding, once.
  public mutating func disconnected(
    at now: Instant, isBonded: Bool = true, _ cause: LinkEnd.Cause = .phone
  ) -> StaleBond? {
    guard let start = began else { return nil }
    began = nil
    let isFruitless = cause == .unencrypted || (cause != .board && now - start <= Self.life)
    guard !isSound, isFruitless else { return nil }
    fruitless = fruitless.filter { now - $0 <= Self.window } + [now]
    guard fruitless.count >= Self.drops, !wasReported else { return nil }
    wasReported = true
    guard isBonded else { return .lostHere }
    return cause == .keysDiffer ? .keysDiffer : .lostByPhone
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

/// Watches every phone of an adapter for bonds that only one side has.
public struct StaleBondWatch: Hashable, Sendable {
  /// The maximum number of watched phones: unknown ones change their addresses.
  public static let capacity = 64

  private var detectors: [DeviceAddress: StaleBondDetector] = [:]
  /// The findings, until the phone's link is secured after all.
  public private(set) var suspicions: [DeviceAddress: StaleBond] = [:]

  public init() {}

  /// A phone has connected.
  ///
  /// - Parameter isBonded: which phones are bonded; the others are dropped first if there are too
  ///   many.
  public mutating func connected(
    _ phone: DeviceAddress, at now: Instant, isBonded: (DeviceAddress) -> Bool
  ) {
    if detectors.count >= Self.capacity { detectors = detectors.filter { isBonded($0.key) } }
    detectors[phone, default: StaleBondDetector()].connected(at: now)
  }

  /// A phone has disconnected; see `StaleBondDetector.disconnected`.
  public mutating func disconnected(
    _ phone: DeviceAddress, at now: Instant, isBonded: Bool, _ cause: LinkEnd.Cause
  ) -> StaleBond? {
    guard let found = detectors[phone]?.disconnected(at: now, isBonded: isBonded, cause) else {
      return nil
    }
    // For unknown phones, whose addresses change, the last finding is enough.
    suspicions = suspicions.filter { $0.value != .lostHere }
    suspicions[phone] = found
    return found
  }

  /// A phone's link is encrypted.
  public mutating func secured(_ phone: DeviceAddress) {
    detectors[phone]?.secured()
    // A bond lost here was suspected under an address that is used only once.
    suspicions = suspicions.filter { $0.key != phone && $0.value != .lostHere }
  }

  /// A phone was forgotten.
  public mutating func forget(_ phone: DeviceAddress) {
    detectors[phone] = nil
    suspicions[phone] = nil
  }

  /// One of the suspicions, chosen consistently.
  public var firstSuspicion: (phone: DeviceAddress, bond: StaleBond)? {
    suspicions.min { $0.key.address < $1.key.address }.map { ($0.key, $0.value) }
  }
}
