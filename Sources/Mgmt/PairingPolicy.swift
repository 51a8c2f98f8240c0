// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Which pairings and keys the board accepts, and what it can show or ask while pairing.
public struct PairingPolicy: Hashable, Sendable {
  public var capability: IOCapability
  /// `--allow-legacy`: legacy pairing and keys shorter than 16 bytes are accepted too.
  public var allowsLegacy: Bool
  /// `--require-mitm`: only pairings that protect against a man in the middle are accepted.
  public var requiresAuthentication: Bool
  /// How long a bonded phone has to encrypt by itself.
  public var pause: Duration

  public init(
    capability: IOCapability, allowsLegacy: Bool = false, requiresAuthentication: Bool = false,
    pause: Duration = .seconds(5)
  ) {
    self.capability = capability
    self.allowsLegacy = allowsLegacy
    self.requiresAuthentication = requiresAuthentication
    self.pause = pause
  }

  /// Why a key must not be stored or used again; nil if it may.
  public func reasonToRefuse(_ key: LongTermKey) -> PairingFailure? {
    if key.kind == .debug { return .debugKey }
    if requiresAuthentication, !key.kind.isAuthenticated { return .notAuthenticated }
    if allowsLegacy { return nil }
    if !key.kind.isSecureConnections { return .legacy }
    return key.size < 16 ? .shortKey(key.size) : nil
  }

  /// Why a bond must not be used; nil if it may.
  public func reasonToRefuse(_ bond: Bond) -> PairingFailure? {
    bond.longTermKeys.lazy.compactMap { reasonToRefuse($0) }.first
  }

  /// Whether somebody at the board can say yes or no.
  var canAsk: Bool {
    switch capability {
    case .displayYesNo, .keyboardOnly, .keyboardDisplay: true
    case .displayOnly, .noInputNoOutput: false
    }
  }
}

/// Whether an unknown phone may pair.
public enum Admission: Hashable, Sendable {
  case open
  case closed
  /// Pairing is open, but another phone is pairing.
  case busy

  var refusal: PairingFailure { self == .busy ? .busy : .windowClosed }
}

/// Whether an unknown phone may pair with one of the board's adapters now.
///
/// A rule applies by default (`--pairable`). Opening pairing by hand overrides it for a time and for one phone, also if
/// others have opened it; closing it by hand until it is opened again or the last bond is forgotten.
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
    /// The numbers of the openings, and their ends.
    case open([Int: Instant])
    case closed
  }

  /// How many openings are kept: clients may open it again and again.
  private static let mostOpenings = 16

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
    var openings = openings
    openings[number] = deadline
    let first = openings.min { $0.value < $1.value }
    if openings.count > Self.mostOpenings, let first { openings[first.key] = nil }
    hand = .open(openings)
  }

  private var openings: [Int: Instant] { if case .open(let openings) = hand { openings } else { [:] } }

  /// Ends that opening: without others, the rule applies again. False if it was over already.
  public mutating func end(_ number: Int, at now: Instant) -> Bool {
    var openings = openings
    guard let deadline = openings.removeValue(forKey: number), now < deadline else { return false }
    hand = openings.isEmpty ? .off : .open(openings)
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
    if hand == .closed { return false }
    if openings.values.contains(where: { now < $0 }) { return true }
    if rule == .firstPhone, wasBonded { return false }
    return ruleEnd.map { now < $0 } ?? true
  }

  /// The next time at which `isOpen` may change by itself.
  public func deadline(after now: Instant) -> Instant? {
    let ends = openings.values + [ruleEnd].compactMap { $0 }
    return hand == .closed ? nil : ends.filter { $0 > now }.min()
  }
}
