// SPDX-License-Identifier: GPL-3.0-or-later

/// The states of a machine and the ways between them, as docs/design.md has them: a line for each state,
/// `announced ──▶ closedOut, expected`, below `<!-- states of a link -->`.
public struct StateGraph: Hashable, Sendable, CustomStringConvertible {
  public var targets: [String: Set<String>] = [:]

  public init() {}

  /// Reads the lines of docs/design.md.
  public init(of name: String) throws {
    let lines = try Repository.text("docs/design.md").split(
      separator: "\n", omittingEmptySubsequences: false)
    guard let start = lines.firstIndex(of: "<!-- states of \(name) -->") else { return }
    for line in lines[(start + 1)...].drop(while: \.isEmpty) {
      let halves = line.split(separator: "──▶", maxSplits: 1)
      guard line.hasPrefix("    "), halves.count == 2 else { break }
      let words = halves[1].split { $0 == "," || $0 == " " }.map(String.init)
      targets[halves[0].filter { $0 != " " }, default: []].formUnion(words)
    }
  }

  public mutating func add(_ other: StateGraph) { targets.merge(other.targets) { $0.union($1) } }

  /// The lines as docs/design.md should have them.
  public var description: String {
    let widest = targets.keys.map(\.count).max() ?? 0
    return targets.sorted { $0.key < $1.key }.map { from, to in
      let padding = String(repeating: " ", count: widest - from.count)
      return "    \(from)\(padding) ──▶ \(to.sorted().joined(separator: ", "))"
    }.joined(separator: "\n")
  }

  /// What keeps docs/design.md from saying the same.
  public func differences(from name: String) throws -> [String] {
    self == (try StateGraph(of: name))
      ? [] : ["docs/design.md differs; the states of \(name) found:\n\(self)"]
  }
}
