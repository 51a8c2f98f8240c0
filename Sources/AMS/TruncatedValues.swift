// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The attributes whose value did not fit into its notification and is to be read whole, in the order
/// they came. A newer value of an attribute takes the place of the older one.
struct TruncatedValues: Sendable {
  /// A cut value, and when it came.
  struct Entry: Hashable, Sendable {
    let update: EntityUpdate
    let instant: Instant
    let number: UInt64
  }

  private var entries: [Entry] = []
  private var lastNumber: UInt64 = 0

  var first: Entry? { entries.first }
  var isEmpty: Bool { entries.isEmpty }

  /// Takes an update: a cut one waits to be read; after a whole one there is nothing to be read.
  ///
  /// - Returns: whether it waits.
  mutating func take(_ update: EntityUpdate, at instant: Instant) -> Bool {
    entries.removeAll { $0.update.attribute == update.attribute }
    guard update.isTruncated else { return false }
    lastNumber += 1
    entries.append(Entry(update: update, instant: instant, number: lastNumber))
    return true
  }

  /// The value was read; whether it is still the one that is wanted.
  mutating func finish(_ entry: Entry) -> Bool {
    guard let index = entries.firstIndex(of: entry) else { return false }
    entries.remove(at: index)
    return true
  }

  mutating func removeAll() { entries = [] }
}
