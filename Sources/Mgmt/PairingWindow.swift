// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Whether an unknown phone may pair with an adapter now.
///
/// A rule applies by default (`--pairable`). Opening pairing by hand overrides it for a time and for one phone,
/// closing it by hand until it is opened again or the last bond is forgotten.
public struct PairingWindow: Hashable, Sendable {
  /// The rule while nobody has opened or closed pairing by hand.
  public enum Rule: Hashable, Sendable {
    /// Open until this time on a board that never had a bond; the default.
    case firstPhone(until: Instant)
    /// `--pairable=TIME`.
    case until(Instant)
    /// `--pairable`.
    case always
  }

  /// How long a board that never had a bond accepts a first phone.
  public static let firstPhoneTime: Duration = .seconds(30 * 60)

  private var rule: Rule
  private var hand = Hand.off

  private enum Hand: Hashable, Sendable {
    case off
    case open(until: Instant, number: Int)
    case closed
  }

  public init(_ rule: Rule) { self.rule = rule }

  /// Opens it for a time.
  ///
  /// - Parameter number: identifies this opening, for `end`.
  public mutating func open(until deadline: Instant, number: Int) {
    hand = .open(until: deadline, number: number)
  }

  /// Ends that opening, so that the rule applies again; false if it was over already.
  public mutating func end(_ number: Int, at now: Instant) -> Bool {
    guard case .open(let deadline, number) = hand, now < deadline else { return false }
    hand = .off
    return true
  }

  /// Closes it by hand.
  public mutating func close() { hand = .closed }

  /// A phone has paired, which closes what was opened by hand.
  public mutating func phonePaired() { if case .open = hand { hand = .off } }

  /// The user has removed the last bond: the board accepts a first phone again.
  public mutating func lastBondForgotten(at now: Instant) {
    if hand == .closed { hand = .off }
    if case .firstPhone = rule { rule = .firstPhone(until: now + Self.firstPhoneTime) }
  }

  /// Whether an unknown phone may pair.
  ///
  /// - Parameter wasBonded: whether any phone is bonded to the adapter, or was before its bond became
  ///   unreadable.
  public func isOpen(at now: Instant, wasBonded: Bool) -> Bool {
    switch hand {
    case .closed: return false
    case .open(let deadline, _) where now < deadline: return true
    case .open, .off: break
    }
    return switch rule {
    case .firstPhone(let deadline): !wasBonded && now < deadline
    case .until(let deadline): now < deadline
    case .always: true
    }
  }

  /// The next time at which `isOpen` may change by itself.
  public func deadline(after now: Instant) -> Instant? {
    var ends: [Instant] = []
    switch rule {
    case .until(let end), .firstPhone(let end): ends.append(end)
    case .always: break
    }
    if case .open(let end, _) = hand { ends.append(end) }
    return hand == .closed ? nil : ends.filter { $0 > now }.min()
  }
}
