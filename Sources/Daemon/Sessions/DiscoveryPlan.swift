// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// Decides when to search the phone's services again, where, and for what.
///
///     Service Changed ──▶ change, merged with others while it waits ──┐
///     ANCS or AMS is missing ──▶ search, after pauses that grow ──────┼──▶ step
///     ANCS no longer responds ──▶ revival ────────────────────────────┘
///
/// The owner performs one step at a time, and reports when a search begins and how it ended. Time is an argument.
struct DiscoveryPlan {
  /// A search, to be performed by the owner.
  enum Step: Hashable, Sendable {
    /// The phone has indicated a change in this range. `mayBeNone`: it belongs to the start of a link, when every iPhone
    /// indicates one even if nothing has changed.
    case change(HandleRange, mayBeNone: Bool)
    /// ANCS or AMS is missing.
    case search
    /// The session with ANCS is dead: ANCS has to be located again.
    case revival
  }

  /// The longest time between two changes that belong to the start of a link.
  private static let startOfLink: Duration = .seconds(2)
  /// How long nothing has to be missing before the pauses are short again: a service may fail as soon as it is found.
  private static let recovery: Duration = .seconds(60)
  private static let pauses: [Duration] = [.seconds(5), .seconds(15), .seconds(60), .seconds(300)]

  /// The indicated change, until its range is searched; simultaneous ones are merged.
  private var change: (range: HandleRange, mayBeNone: Bool, due: Instant)?
  /// A search of the whole database for ANCS and AMS.
  private var search: (step: Step, due: Instant)?
  /// The number of searches since a service went missing.
  private var searches = 0
  /// Since when none is missing.
  private var wholeSince: Instant?
  /// How often to search after changes. Changes in between are merged.
  private var limit = RateLimit(burst: 32, interval: .seconds(10))
  /// When the phone last indicated a change that belongs to the start of the link.
  private var startedChanging: Instant?
  /// The range of the last search for whatever is there, and the number of requests sent before it. Responses to later
  /// requests are newer than any change indicated before them.
  private var latest = (range: HandleRange.all, requestsBefore: 0)

  /// The range that is to be searched because it has changed.
  var changing: HandleRange? { change?.range }

  /// When to call `next`; nil: not before another input.
  var deadline: Instant? { [change?.due, search?.due].compactMap { $0 }.min() }

  // MARK: Inputs

  /// The set-up begins to discover or verify everything, after this many requests, and so sees earlier changes.
  mutating func began(after requests: Int) { (latest, change) = ((.all, requests), nil) }

  /// The phone has indicated a change in `range`, after this many responses.
  ///
  /// - Returns: false if a search in progress will see it anyway.
  mutating func changed(_ range: HandleRange, after responses: Int, isSettingUp: Bool, at now: Instant) -> Bool {
    guard responses > latest.requestsBefore || !latest.range.contains(range) else { return false }
    // A phone may indicate the same change several times, each once the previous one is confirmed.
    let isStart = isSettingUp || startedChanging.map { now - $0 < Self.startOfLink } ?? false
    if isStart { startedChanging = now }
    if let earlier = change {
      change = (earlier.range.spanning(range), earlier.mayBeNone && isStart, earlier.due)
    } else {
      change = (range, isStart, now + limit.pause(at: now))
    }
    return true
  }

  /// What stood in the indicated range has failed there: something has changed.
  mutating func confirmChange() { change?.mayBeNone = false }

  /// A search has ended, or a service has failed.
  ///
  /// - Parameter isMissing: whether ANCS or AMS is missing and has to be searched for.
  mutating func settled(isMissing: Bool, at now: Instant) {
    // That searches anyway.
    if search?.step == .revival { return }
    guard isMissing else {
      search = nil
      return wholeSince = wholeSince ?? now
    }
    if let whole = wholeSince.take(), now - whole >= Self.recovery { searches = 0 }
    let pause = Self.pauses[min(searches, Self.pauses.count - 1)]
    search = (.search, now + pause)
    searches += 1
  }

  /// The services have changed: one that is missing now may appear in a moment.
  mutating func servicesChanged() { searches = 0 }

  /// The session with ANCS is dead: ANCS has to be located again now.
  mutating func revive(at now: Instant) { search = (.revival, now) }

  /// Nothing more can be done about ANCS before this time.
  mutating func rest(until due: Instant) { search = (.search, due) }

  // MARK: Steps

  /// The step that is due, which begins now, after this many requests; nil: none.
  mutating func next(at now: Instant, after requests: Int) -> Step? {
    if let due = change, due.due <= now {
      change = nil
      latest = (due.range, requests)
      return .change(due.range, mayBeNone: due.mayBeNone)
    }
    if let due = search, due.due <= now {
      search = nil
      return due.step
    }
    return nil
  }
}
