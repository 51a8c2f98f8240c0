// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Decides what an adapter advertises, when that changes, and when to retry a failed change.
///
///                    ┌──────────── a change of the advertisement ────────────┐
///                    ▼                                                       │
///     off ── advertise ──▶ on ── a phone connects ──▶ interrupted ── advertise ──▶ on …
///      ▲                   │                               │
///      └────── remove ─────┼──────────── failed ◀──────────┘   again after 1, 2, 4 … 30 s
///
/// The kernel takes a connectable advertisement off the air when a phone connects, and resumes it when any link ends
/// (docs/kernel.md, “Advertising”). It is added again next to the phone only if another phone may connect, and removed
/// as soon as none may.
///
/// The owner performs each step and reports how it ended. Time is an argument.
public struct AdvertisingPlan: Hashable, Sendable {
  /// Whom the board advertises for.
  public enum Audience: Hashable, Sendable {
    /// Any phone may connect and pair.
    case anybody
    /// Bonded phones may connect.
    case bonded
    /// Nobody may connect. A connected phone shows the switch *Share System Notifications* only while it sees the
    /// solicitation (docs/guesses.md).
    case connected(SharingAdvertisement)
    /// Nobody.
    case nobody
  }

  /// A change, to be performed by the owner.
  public enum Step: Hashable, Sendable {
    case advertise(Advertisement)
    /// Remove the advertising instance.
    case remove
  }

  /// The state on the air.
  private enum Air: Hashable, Sendable {
    /// There is no advertising instance.
    case off
    case on(Advertisement)
    /// A phone's connection took the advertisement off the air; the instance still exists.
    case interrupted
    /// The end of a link, whichever it was, has put that on the air again.
    case resumed
    /// The last change has failed, so the state is unknown.
    case failed(Failure)
  }

  private struct Failure: Hashable, Sendable {
    var why: String
    /// The number of consecutive failed changes.
    var count: Int
    /// The audience of the change.
    var audience: Audience
    /// When to retry it; nil: not before something else changes.
    var again: Instant?
  }

  /// The longest pause between two attempts.
  private static let longestPause: Duration = .seconds(30)

  private let name: String
  private let choice: AdvertisingProfile?
  private var air = Air.off
  /// Nothing is on the air before this time.
  private var quietUntil = Instant.zero
  /// The rotation has no profile of a keyboard before this time.
  private var noKeyboardUntil = Instant.zero
  /// When the fast pace and the rotation of profiles began.
  private var began = Instant.zero

  /// - Parameters:
  ///   - name: the board's name.
  ///   - choice: the only profile; nil: they take turns while any phone may pair.
  public init(name: String, choice: AdvertisingProfile?) {
    self.name = name
    self.choice = choice
  }

  /// The advertisement that is on the air.
  public var advertisement: Advertisement? {
    if case .on(let current) = air { current } else { nil }
  }

  /// Why the last change has failed.
  public var failure: String? { if case .failed(let failure) = air { failure.why } else { nil } }

  // MARK: Inputs

  /// The adapter was set up again: it has no advertising instance.
  public mutating func reset() { air = .off }

  /// The fast pace begins: the adapter was set up, no phone is left, or pairing was opened. The advertisement is sent
  /// to the kernel again, and a failed change is retried at once.
  public mutating func begin(at now: Instant) {
    began = now
    switch air {
    case .off, .interrupted, .resumed: break
    case .on: air = .interrupted
    case .failed(var failure):
      failure.again = now
      air = .failed(failure)
    }
  }

  /// A link has ended because the two sides' keys differ: nothing is on the air for a second. Some controllers meet
  /// that at once upon a quick return (docs/guesses.md).
  public mutating func rest(at now: Instant) { quietUntil = now + .seconds(1) }

  /// Whether that second is not over.
  public func isResting(at now: Instant) -> Bool { now < quietUntil }

  /// A phone drops links after requests, as iOS 26 does with keyboards.
  public mutating func avoidKeyboard(until time: Instant) { noKeyboardUntil = time }

  /// A phone has connected.
  public mutating func phoneConnected() {
    switch air {
    case .on(let current) where current.isConnectable: air = .interrupted
    case .resumed: air = .interrupted
    case .off, .on, .interrupted, .failed: break
    }
  }

  /// A link has ended, perhaps not the last one.
  public mutating func linkEnded() { if case .interrupted = air { air = .resumed } }

  /// The next change for this audience; nil: none now.
  public func step(for audience: Audience, at now: Instant) -> Step? {
    let wanted = advertisement(for: audience, at: now)
    switch air {
    // The kernel has resumed it.
    case .interrupted where isResting(at: now): return .remove
    // Nothing has to be removed: the kernel itself resumes it when a phone disconnects.
    case .off, .interrupted: return wanted.map(Step.advertise)
    case .on(let current) where current == wanted: return nil
    case .failed(let failure) where failure.audience == audience:
      guard let again = failure.again, now >= again else { return nil }
    case .on, .resumed, .failed: break
    }
    return wanted.map(Step.advertise) ?? .remove
  }

  /// The step was performed.
  public mutating func succeeded(_ step: Step) {
    switch step {
    case .advertise(let advertisement): air = .on(advertisement)
    case .remove: air = .off
    }
  }

  /// The step has failed.
  ///
  /// - Parameters:
  ///   - isAlone: whether no phone is connected. Not every controller can advertise while a phone is connected, so
  ///     that is tried only once.
  /// - Returns: whether this is the first failure after a success.
  public mutating func failed(
    _ step: Step, for audience: Audience, isAlone: Bool, why: String, at now: Instant
  ) -> Bool {
    var count = 1
    if case .failed(let earlier) = air { count = earlier.count + 1 }
    let pause = min(.seconds(1 << min(count - 1, 5)), Self.longestPause)
    let again = isAlone || step == .remove ? now + pause : nil
    air = .failed(Failure(why: why, count: count, audience: audience, again: again))
    return count == 1
  }

  // MARK: Time

  /// When to call `step` again, if at all.
  public func deadline(for audience: Audience, at now: Instant) -> Instant? {
    if case .failed(let failure) = air { return failure.again }
    if isResting(at: now) { return quietUntil }
    guard let current = advertisement(for: audience, at: now) else { return nil }
    var ends: [Instant] = []
    if current.pace == .fast { ends.append(began + AdvertisingPace.fastTime(for: audience)) }
    if profiles(for: audience, at: now).count > 1 {
      ends.append(began + AdvertisingProfile.turn * (turn(at: now) + 1))
    }
    return ends.min()
  }

  private func advertisement(for audience: Audience, at now: Instant) -> Advertisement? {
    if isResting(at: now) || audience == .nobody || audience == .connected(.off) { return nil }
    let profiles = profiles(for: audience, at: now)
    let isFast = now < began + AdvertisingPace.fastTime(for: audience)
    return Advertisement(
      profile: profiles[turn(at: now) % profiles.count], name: name, pace: isFast ? .fast : .slow,
      isConnectable: audience != .connected(.quiet))
  }

  private func profiles(for audience: Audience, at now: Instant) -> [AdvertisingProfile] {
    let turns = AdvertisingProfile.turns(of: choice, for: audience)
    return now < noKeyboardUntil && turns.count > 1 ? turns.filter { $0 != .hid } : turns
  }

  /// The number of the turn, starting at 0.
  private func turn(at now: Instant) -> Int {
    Int(max(.zero, now - began) / AdvertisingProfile.turn)
  }
}

/// What to advertise while a connected phone does not share its notifications yet, if no other phone may connect.
public enum SharingAdvertisement: String, Hashable, Sendable, CaseIterable {
  /// Nothing.
  case off
  /// The solicitation, to which nobody can connect.
  case quiet
  /// The usual, connectable solicitation: a stranger may connect, and is disconnected.
  case connectable
}
