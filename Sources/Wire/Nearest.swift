// SPDX-License-Identifier: GPL-3.0-or-later

/// The name that was probably meant by `word`: one that begins with it; or one that at most two
/// typing errors turned into it (one, if the word is short); or one whose parts are abbreviated (`vol-up`); or one
/// with this part, in the singular (`calls`).
public func nearest(to word: String, among names: [String]) -> String? {
  let dashes = word.prefix { $0 == "-" }.count
  let length = word.count - dashes
  if length >= 2, let longer = names.first(where: { $0.hasPrefix(word) }) { return longer }
  let limit = length <= 4 ? 1 : 2
  let letters = Array(word)
  let near = names.compactMap { name -> (name: String, distance: Int)? in
    let candidate = Array(name)
    // At least this many letters must be added or dropped.
    guard candidate.count > dashes + 1, abs(candidate.count - letters.count) <= limit
    else { return nil }
    let distance = distance(letters, candidate)
    return distance <= limit ? (name, distance) : nil
  }
  if let nearest = near.min(by: { $0.distance < $1.distance })?.name { return nearest }
  guard dashes == 0, length > 3 else { return nil }
  let parts = word.split(separator: "-")
  let singular = word.hasSuffix("s") ? word.dropLast() : word[...]
  return names.first { name in
    let others = name.split(separator: "-")
    return parts.count > 1 && parts.count == others.count
      && zip(others, parts).allSatisfy { $0.hasPrefix($1) }
      || others.count > 1 && others.contains(singular)
  }
}

/// How many letters must be added, dropped, changed or swapped with their neighbour to turn one
/// word into the other (optimal string alignment).
private func distance(_ one: [Character], _ other: [Character]) -> Int {
  var before: [Int] = []
  var above = Array(0...other.count)
  for (row, letter) in one.enumerated() {
    var current = [row + 1]
    for (column, counterpart) in other.enumerated() {
      var best = min(above[column] + (letter == counterpart ? 0 : 1), above[column + 1] + 1, current[column] + 1)
      if row > 0, column > 0, letter == other[column - 1], one[row - 1] == counterpart {
        best = min(best, before[column - 1] + 1)
      }
      current.append(best)
    }
    before = above
    above = current
  }
  return above[other.count]
}
