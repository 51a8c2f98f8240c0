// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// Decides which connection parameters a link is to have, and when to ask the phone for them.
///
///     subscribed, a burst ──▶ fast ── nothing to fetch for a while ──▶ calm ── a burst ──▶ fast …
///
/// One request is under way at a time; one that came to nothing is repeated a few times, five seconds
/// apart, and then left alone until something else is wanted. A controller that refuses the command is
/// not asked again.
struct LinkTuner: Hashable, Sendable {
  /// How a link is to be.
  enum Pace: Hashable, Sendable, CaseIterable {
    /// While much is fetched.
    case fast
    /// While there is nothing to do.
    case calm

    /// What is asked for. Both keep the link for six seconds without a word; a phone begins with 720 ms,
    /// which a hand in front of the antenna exceeds.
    var parameters: ConnectionParameters {
      switch self {
      case .fast:  // 15 to 30 ms
        ConnectionParameters(minimumInterval: 12, maximumInterval: 24, latency: 0, timeout: 600)
      case .calm:  // 150 to 165 ms
        ConnectionParameters(minimumInterval: 120, maximumInterval: 132, latency: 4, timeout: 600)
      }
    }
  }

  /// So many notifications to be fetched are a burst; fewer are through before a change would help.
  static let burst = 4
  /// After so long without anything to fetch the link calms down.
  static let quiet: Duration = .seconds(10)
  /// How long an answer may take, and how far apart two tries are.
  static let pause: Duration = .seconds(5)
  /// How often the same is asked for.
  static let tries = 3

  /// When `timePassed` wants to be called, if at all.
  var deadline: Instant? {
    let times = isRefused ? [] : [request.deadline, calmDue].compactMap { $0 }
    return times.min()
  }

  private var wanted: Pace?
  private var request = Request.none
  private var triesLeft = 0
  private var calmDue: Instant?
  private var isBusy = false
  private var isRefused = false

  private enum Request: Hashable, Sendable {
    case none
    case underWay(Pace, until: Instant)
    /// To be repeated then.
    case postponed(until: Instant)

    var deadline: Instant? {
      switch self {
      case .none: nil
      case .underWay(_, let until), .postponed(let until): until
      }
    }
  }

  /// There is so much to be fetched now; the first call says that the session is up.
  ///
  /// - Returns: what to ask the phone for, if anything.
  mutating func work(backlog: Int, at now: Instant) -> ConnectionParameters? {
    isBusy = backlog > 0
    if wanted == nil || backlog >= Self.burst { return want(.fast, at: now) }
    if isBusy {
      calmDue = nil
    } else if wanted == .fast {
      calmDue = calmDue ?? now + Self.quiet
    }
    return nil
  }

  /// The link's parameters are others now, or a change of them failed (a status other than 0).
  ///
  /// - Returns: what to ask the phone for, if anything.
  mutating func updated(status: UInt8, at now: Instant) -> ConnectionParameters? {
    guard case .underWay(let pace, _) = request else { return nil }
    request = .none
    if pace != wanted { return ask(at: now) }
    if status != 0 { postpone(at: now) }
    return nil
  }

  /// The controller does not take such requests.
  mutating func refused() { isRefused = true }

  /// Time has passed; nothing happens before `deadline`.
  ///
  /// - Returns: what to ask the phone for, if anything.
  mutating func timePassed(to now: Instant) -> ConnectionParameters? {
    guard let deadline, now >= deadline else { return nil }
    if let due = calmDue, due <= now {
      calmDue = nil
      return want(.calm, at: now)
    }
    request = .none
    return ask(at: now)
  }

  private mutating func want(_ pace: Pace, at now: Instant) -> ConnectionParameters? {
    calmDue = pace == .fast && !isBusy ? now + Self.quiet : nil
    guard wanted != pace else { return nil }
    wanted = pace
    triesLeft = Self.tries
    if case .underWay = request { return nil }
    return ask(at: now)
  }

  private mutating func ask(at now: Instant) -> ConnectionParameters? {
    guard let wanted, triesLeft > 0, !isRefused else { return nil }
    triesLeft -= 1
    request = .underWay(wanted, until: now + Self.pause)
    return wanted.parameters
  }

  private mutating func postpone(at now: Instant) {
    if triesLeft > 0 { request = .postponed(until: now + Self.pause) }
  }
}
