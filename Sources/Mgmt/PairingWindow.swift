// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Whether an unknown phone may pair with one of the board's adapters now.
///
/// A rule applies by default (`--pairable`). Opening pairing by hand overrides it for a time and for one phone,
/// closing it by hand until it is opened again or the last bond is forgotten.
public struct PairingWindow: Hashable, Sendable {
  /// Who may pair while nobody has opened or closed pairing by hand.
  public enum Rule: Hashable, Sendable {
    /// The first phone of an adapter that never had a bond, for some time after the start (`firstPhoneTime`).
    case firstPhone
    /// Any phone, for this many seconds after the start.
    case seconds(Int)
    case always
  }

  /// How long an adapter that never had a bond accepts a first phone.
  public static let firstPhoneTime: Duration = .seconds(30 * 60)

  private let rule: Rule
  /// When the rule's time is over; nil: never.
  private var ruleEnd: Instant?
  private var hand = Hand.off

  private enum Hand: Hashable, Sendable {
    case off
    case open(until: Instant, number: Int)
    case closed
  }

  /// The window of a board that started at this time.
  public init(_ rule: Rule, since start: Instant) {
    self.rule = rule
    ruleEnd =
      switch rule {
      case .firstPhone: start + Self.firstPhoneTime
      case .seconds(let seconds): start + .seconds(seconds)
      case .always: nil
      }
  }

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
    if rule == .firstPhone { ruleEnd = now + Self.firstPhoneTime }
  }

  /// Whether an unknown phone may pair.
  ///
  /// - Parameter wasBonded: whether any phone is bonded to the adapter, or was before its bond became unusable.
  public func isOpen(at now: Instant, wasBonded: Bool) -> Bool {
    switch hand {
    case .closed: return false
    case .open(let deadline, _) where now < deadline: return true
    case .open, .off: break
    }
    if rule == .firstPhone, wasBonded { return false }
    return ruleEnd.map { now < $0 } ?? true
  }

  /// The next time at which `isOpen` may change by itself.
  public func deadline(after now: Instant) -> Instant? {
    var ends = [ruleEnd]
    if case .open(let end, _) = hand { ends.append(end) }
    return hand == .closed ? nil : ends.compactMap { $0 }.filter { $0 > now }.min()
  }
}
