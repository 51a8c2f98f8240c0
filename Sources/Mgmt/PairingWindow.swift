// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Whether an unknown phone may pair with an adapter now.
///
/// A rule applies by default (`--pairable`). Opening pairing by hand overrides it for a time and for one phone,
/// closing it by hand until it is opened again.
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
    case open(until: Instant)
    case closed
  }

  public init(_ rule: Rule) { self.rule = rule }

  /// Opens it for a time.
  public mutating func open(until deadline: Instant) { hand = .open(until: deadline) }

  /// Closes it until it is opened by hand.
  public mutating func close() { hand = .closed }

  /// A phone has paired, which closes what was opened by hand.
  public mutating func phonePaired() { if case .open = hand { hand = .off } }

  /// The user has removed the last bond: the board accepts a first phone again.
  public mutating func lastBondForgotten(at now: Instant) {
    if case .firstPhone = rule { rule = .firstPhone(until: now + Self.firstPhoneTime) }
  }

  /// Whether an unknown phone may pair.
  ///
  /// - Parameter wasBonded: whether any phone is bonded to the adapter, or was before its bond became
  ///   unreadable.
  public func isOpen(at now: Instant, wasBonded: Bool) -> Bool {
    switch hand {
    case .closed: return false
    case .open(let deadline) where now < deadline: return true
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
    if case .open(let end) = hand { ends.append(end) }
    return hand == .closed ? nil : ends.filter { $0 > now }.min()
  }
}
