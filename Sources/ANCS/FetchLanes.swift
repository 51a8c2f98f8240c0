// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The lanes in which a phone's notifications wait until they are fetched.
///
/// The order is: new notifications (but only a few in a row of a continuing stream while others wait); notifications
/// that existed before the session; those fetched again. Within each lane, the phone's order applies. A notification
/// that is fetched again waits until every other has had its turn; if the phone announces it again immediately, it also
/// waits for an increasing pause.
struct FetchLanes: Sendable {
  /// A lane; they are in the order of their turns.
  enum Lane: Int, CaseIterable, Comparable, Sendable {
    case new
    case preExisting
    /// To be fetched again.
    case again
    /// Announced immediately after the last fetch, by how many times in a row.
    case againOnce, againTwice, againThrice, againOften
    /// The phone sent no response. Another timeout would delay all others by ten seconds, so these come late.
    case unanswered

    /// The minimum wait.
    var pause: Duration {
      switch self {
      case .new, .preExisting, .again: .zero
      case .againOnce: .seconds(1)
      case .againTwice: .seconds(2)
      case .againThrice: .seconds(4)
      case .againOften: .seconds(8)
      case .unanswered: .seconds(15)
      }
    }

    /// The lane after an immediate announcement.
    var slower: Lane { min(max(Lane(rawValue: rawValue + 1) ?? .againOften, .again), .againOften) }

    static func < (one: Lane, other: Lane) -> Bool { one.rawValue < other.rawValue }
  }

  /// What is known of a notification that waits.
  struct Wait: Hashable, Sendable {
    var ticket: UInt64 = 0
    var lane = Lane.new
    /// Whether an attempt has failed.
    var hasFailed = false
    /// Whether it is published only if it has changed: it was announced while it was fetched, or not again at all.
    var onlyIfChanged = false
  }

  /// A place in a lane. When a notification is removed, its place stays with an invalid ticket, so a flood of removals
  /// is cheap.
  private struct Place: Sendable {
    let uid: NotificationUID
    let ticket: UInt64
    /// When its turn may come.
    let due: Instant
  }

  /// The notifications whose fetch has just ended, each with its lane. There are at most as many as the phone can be
  /// asked for within `period`.
  private struct Recent: Sendable {
    /// How soon after a fetch an announcement counts as immediate.
    static let period: Duration = .seconds(1)

    private var lanes: [NotificationUID: (lane: Lane, end: Instant)] = [:]
    private var ends = FIFO<(uid: NotificationUID, end: Instant)>()

    mutating func add(_ uid: NotificationUID, _ lane: Lane, at now: Instant) {
      expire(at: now)
      lanes[uid] = (lane, now)
      ends.append((uid, now))
    }

    mutating func lane(of uid: NotificationUID, at now: Instant) -> Lane? {
      // Nearly always there is none.
      if ends.isEmpty { return nil }
      expire(at: now)
      return lanes[uid]?.lane
    }

    private mutating func expire(at now: Instant) {
      while let first = ends.first, first.end + Self.period <= now {
        _ = ends.popFirst()
        if lanes[first.uid]?.end == first.end { lanes[first.uid] = nil }
      }
    }
  }

  /// How many later new notifications may precede one that is already waiting.
  private static let newInARow = 16

  /// The number of waiting notifications.
  private(set) var count = 0
  private var lanes = Lane.allCases.map { _ in FIFO<Place>() }
  /// The number of places, with the invalid ones.
  private var places = 0
  private var recent = Recent()
  private var lastTicket: UInt64 = 0
  /// While new notifications wait: the last ticket when the first of them was fetched, and how many with later tickets
  /// were fetched since one of the others was.
  private var streak: (end: UInt64, later: Int)?

  // MARK: Waiting

  /// The lane of a notification that the phone has announced.
  ///
  /// - Parameters:
  ///   - lane: the one if it was not announced immediately after its last fetch.
  ///   - fetching: its lane if it is being fetched now.
  mutating func lane(of uid: NotificationUID, usually lane: Lane, fetching: Lane?, at now: Instant) -> Lane {
    let last = fetching ?? recent.lane(of: uid, at: now)
    return last?.slower ?? lane
  }

  /// A notification waits. If it does so already, it keeps its place, unless it moves from the pre-existing ones to the
  /// new ones.
  mutating func add(
    _ uid: NotificationUID, to wait: inout Wait?, in lane: Lane, hasFailed: Bool = false,
    onlyIfChanged: Bool = false, at now: Instant
  ) {
    if let earlier = wait {
      wait?.hasFailed = hasFailed || earlier.hasFailed
      wait?.onlyIfChanged = onlyIfChanged
      guard earlier.lane == .preExisting, lane == .new else { return }
      wait?.lane = lane
      wait?.ticket = nextTicket()
    } else {
      wait = Wait(ticket: nextTicket(), lane: lane, hasFailed: hasFailed, onlyIfChanged: onlyIfChanged)
      count += 1
    }
    let due = lane.pause > .zero ? now + lane.pause : .zero
    lanes[lane.rawValue].append(Place(uid: uid, ticket: lastTicket, due: due))
    places += 1
  }

  /// An interrupted fetch waits again, before all others of its lane.
  mutating func putBack(_ uid: NotificationUID, _ before: Wait, to wait: inout Wait?) {
    if wait == nil { count += 1 }
    wait = before
    wait?.ticket = nextTicket()
    lanes[before.lane.rawValue].prepend(Place(uid: uid, ticket: lastTicket, due: .zero))
    places += 1
  }

  private mutating func nextTicket() -> UInt64 {
    lastTicket += 1
    return lastTicket
  }

  /// The fetch of a notification has ended: an announcement within a second counts as immediate.
  mutating func ended(_ uid: NotificationUID, _ lane: Lane, at now: Instant) {
    recent.add(uid, lane, at: now)
  }

  /// A notification was removed from the table.
  mutating func remove(_ wait: Wait?) { if wait != nil { count -= 1 } }

  /// Forgets what waits, because the session is over or starts over.
  mutating func removeAll() { if places > 0 { self = FetchLanes() } }

  /// Removes invalid places once they are the majority.
  mutating func sweep(_ entries: [NotificationUID: NotificationLedger.Entry]) {
    guard places > max(64, 2 * count) else { return }
    for lane in lanes.indices {
      lanes[lane].removeAll { entries[$0.uid]?.wait?.ticket != $0.ticket }
    }
    places = lanes.reduce(0) { $0 + $1.count }
  }

  // MARK: The next one

  /// When a paused notification becomes due; nil if there is none.
  var deadline: Instant? {
    guard count > 0 else { return nil }
    return lanes[Lane.again.rawValue...].compactMap { $0.first?.due }.min()
  }

  /// The next notification to fetch, which then no longer waits.
  mutating func next(from entries: inout [NotificationUID: NotificationLedger.Entry], at now: Instant) -> Fetch? {
    guard count > 0 else { return nil }
    let (end, later) = streak ?? (lastTicket, 0)
    if later < Self.newInARow {
      if let new = pop(.new, from: &entries, at: now) {
        streak = (end, new.wait.ticket > end ? later + 1 : later)
        return new
      }
      streak = nil
    } else {
      streak = (end, 0)
    }
    for lane in Lane.allCases.dropFirst() {
      if let other = pop(lane, from: &entries, at: now) { return other }
    }
    return streak == nil ? nil : pop(.new, from: &entries, at: now)
  }

  private mutating func pop(
    _ lane: Lane, from entries: inout [NotificationUID: NotificationLedger.Entry], at now: Instant
  ) -> Fetch? {
    while let place = lanes[lane.rawValue].first, place.due <= now {
      _ = lanes[lane.rawValue].popFirst()
      places -= 1
      guard let index = entries.index(forKey: place.uid),
        let wait = entries.values[index].wait, wait.ticket == place.ticket
      else { continue }
      entries.values[index].wait = nil
      count -= 1
      return Fetch(NotificationReport(entries.values[index].event), wait)
    }
    return nil
  }
}
