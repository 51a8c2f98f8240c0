// SPDX-License-Identifier: GPL-3.0-or-later

// What the sources take for granted of the compiler and its library, for scripts/check-release. `probe hash` is quiet
// where tables use `_rawHashValue(seed:)` as NotificationUID and ContentSignature want it; `probe overlap` is ended by
// the check of exclusive access where there is one.

/// A number in the tables, as NotificationUID is.
struct Key: Hashable {
  let number: UInt32

  func hash(into hasher: inout Hasher) { fatalError("a table called hash(into:)") }
  func _rawHashValue(seed: Int) -> Int { number._rawHashValue(seed: seed) }
}

/// Fills tables, which grow, are copied and shrink meanwhile, and looks each key up in all of them.
func hash() {
  var set: Set<Key> = []
  var table: [Key: UInt32] = [:]
  for number in 0..<UInt32(10_000) {
    set.insert(Key(number: number &* 2_654_435_761))
    table[Key(number: number &* 2_654_435_761)] = number
  }
  let copy = set
  for (key, number) in table where number % 2 == 1 {
    set.remove(key)
    table[key] = nil
  }
  for number in 0..<UInt32(10_000) {
    let key = Key(number: number &* 2_654_435_761)
    let kept = number % 2 == 0
    guard copy.contains(key), set.contains(key) == kept, (table[key] == number) == kept else {
      fatalError("a table does not find what is in it")
    }
  }
  guard set.union(copy) == copy, Dictionary(grouping: copy, by: { $0 }).count == copy.count else {
    fatalError("tables disagree about what is in them")
  }
}

nonisolated(unsafe) var shared = 0

@inline(never) func modify(_ value: inout Int, _ body: () -> Void) {
  value += 1
  body()
}

switch CommandLine.arguments.dropFirst().first {
case "hash": hash()
case "overlap": modify(&shared) { shared += 1 }
default: fatalError("probe hash | overlap")
}
