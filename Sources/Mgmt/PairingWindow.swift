// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Whether an unknown phone may pair with an adapter now.
///
/// A rule holds by default (`--pairable`); opening by hand outweighs it for a time, closing by hand
/// for good.
public struct PairingWindow: Hashable, Sendable {
  /// What holds while nobody opened or closed it by hand.
  public enum Rule: Hashable, Sendable {
    /// Open until the first phone is bonded; the default.
    case whileUnbonded
    /// `--pairable=SECONDS`.
    case until(Instant)
    /// `--pairable`.
    case always
  }

  private let rule: Rule
  private var hand = Hand.off

  private enum Hand: Hashable, Sendable {
    case off
    case open(until: Instant)
    case closed
  }

  public init(_ rule: Rule = .whileUnbonded) { self.rule = rule }

  /// Opens it for a time.
  public mutating func open(until deadline: Instant) { hand = .open(until: deadline) }

  /// Closes it until it is opened by hand.
  public mutating func close() { hand = .closed }

  /// Whether an unknown phone may pair.
  /// - Parameter isBonded: whether any phone is bonded to the adapter.
  public func isOpen(at now: Instant, isBonded: Bool) -> Bool {
    switch hand {
    case .closed: return false
    case .open(let deadline) where now < deadline: return true
    case .open, .off: break
    }
    return switch rule {
    case .whileUnbonded: !isBonded
    case .until(let deadline): now < deadline
    case .always: true
    }
  }

  /// The next time at which `isOpen` may change by itself.
  public func deadline(after now: Instant) -> Instant? {
    var ends: [Instant] = []
    if case .until(let end) = rule { ends.append(end) }
    if case .open(let end) = hand { ends.append(end) }
    return hand == .closed ? nil : ends.filter { $0 > now }.min()
  }
}
