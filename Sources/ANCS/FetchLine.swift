// SPDX-License-Identifier: GPL-3.0-or-later

/// A first-in, first-out line of notifications. One that leaves from the middle only has its ticket
/// invalidated, so that a flood of removals costs nothing; whoever keeps the tickets clears such places
/// away now and then.
struct FetchLine: Sendable {
  /// A place in the line: who stands there, and the ticket that says that it is still theirs.
  struct Place: Hashable, Sendable {
    let uid: NotificationUID
    let ticket: UInt64
  }

  private var places: [Place] = []
  private var first = 0

  /// How many places are kept, valid or not.
  var length: Int { places.count }

  /// Adds a place at the end.
  mutating func append(_ place: Place) { places.append(place) }

  /// Keeps only the valid places.
  mutating func sweep(_ isLive: (Place) -> Bool) {
    places = places[first...].filter(isLive)
    first = 0
  }

  /// Puts a place in front of all others.
  mutating func prepend(_ place: Place) {
    if first > 0 {
      first -= 1
      places[first] = place
    } else {
      places.insert(place, at: 0)
    }
  }

  /// Takes the first place, valid or not.
  mutating func popFirst() -> Place? {
    guard first < places.count else { return nil }
    defer {
      first += 1
      if first == places.count {
        places.removeAll(keepingCapacity: true)
        first = 0
      }
    }
    return places[first]
  }
}
