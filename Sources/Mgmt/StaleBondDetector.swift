// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Notices that a bond is there on one side only: the phone comes, finds that the keys do not fit,
/// leaves within seconds, and comes again (kernel.md, d). One detector a phone.
///
/// Only links that ended by themselves before they were encrypted or subscribed count. A phone at
/// the edge of its range, which comes and goes with a session in between, never does.
public struct StaleBondDetector: Hashable, Sendable {
  /// How many such links make a case.
  public static let drops = 3
  /// Within which time.
  public static let window: Duration = .seconds(60)
  /// How long such a link lives at most.
  public static let life: Duration = .seconds(5)

  private var began: Instant?
  private var isSound = false
  private var fruitless: [Instant] = []
  private var wasTold = false

  public init() {}

  /// The phone has connected.
  public mutating func connected(at now: Instant) {
    began = now
    isSound = false
  }

  /// The link is encrypted, or its session subscribed: whatever was counted is forgotten.
  public mutating func secured() { self = .init(sound: began) }

  /// The link has ended.
  /// - Parameters:
  ///   - isBonded: whether this side has a bond. Of an unknown phone count only links on which it
  ///     was asked to pair and nothing came of that, not even a question of the kernel's.
  ///   - isOurs: whether this side ended it, or the adapter went away.
  ///   - keysDiffer: whether the socket told so (ENOSYS: a MIC failure).
  /// - Returns: what is wrong, the first time that it is certain enough.
  public mutating func disconnected(
    at now: Instant, isBonded: Bool = true, isOurs: Bool = false, keysDiffer: Bool = false
  ) -> StaleBond? {
    guard let start = began else { return nil }
    began = nil
    guard !isSound, !isOurs, now - start <= Self.life else { return nil }
    fruitless = fruitless.filter { now - $0 <= Self.window } + [now]
    guard fruitless.count >= Self.drops, !wasTold else { return nil }
    wasTold = true
    guard isBonded else { return .lostHere }
    return keysDiffer ? .keysDiffer : .lostByPhone
  }

  private init(sound began: Instant?) {
    self.began = began
    isSound = true
  }
}

/// A bond that no longer holds, in words for the event `stale`.
public enum StaleBond: Hashable, Sendable {
  /// The phone has no key for this board any more, or will not use it.
  case lostByPhone
  /// The phone has a key for this board, which has none for the phone any more.
  case lostHere
  /// Both have a key, and not the same one.
  case keysDiffer

  /// What was found.
  public var what: String {
    let found =
      switch self {
      case .lostByPhone: "the phone seems to have lost its side of the bond"
      case .lostHere: "the phone seems to have a bond that this board has lost"
      case .keysDiffer: "the phone's key for this board is not the board's key for the phone"
      }
    return "\(found): it connects and leaves within seconds, again and again, without encryption"
  }

  /// What to do about it, on both sides.
  /// - Parameters:
  ///   - board: the name that the phone shows.
  ///   - phone: what `ancsd forget` takes.
  public func remedy(board: String, phone: String) -> String {
    let there = "on the phone: Settings › Bluetooth › \(board) › Forget This Device"
    return switch self {
    case .lostByPhone, .keysDiffer: "\(there); here: ancsd forget \(phone), then ancsd pair"
    case .lostHere: "\(there); here: ancsd pair"
    }
  }
}
