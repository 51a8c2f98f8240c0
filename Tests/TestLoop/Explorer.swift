// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Explores a machine: every input in every state that can be reached, up to a stated bound.
///
/// Time is one more input, which comes when the state's deadline is due. Two states are the same if they differ only in
/// the time at which they are; what lies further back than `memory` is not told apart.
///
///     start ──input──▶ state ──input──▶ … until nothing new comes, or `bound` cuts off
///
/// What must hold is told as findings: sentences with the inputs that lead there. That the checks find something is
/// shown with machines that have a fault put in by hand (`ignoring`, `forgetting`, `leavingOut`, `repeating`).
public struct Explorer<Machine, Input: Hashable, Action: Hashable> {
  /// A machine at some time.
  public struct State {
    public var machine: Machine
    public var now: Instant
    fileprivate var trail: Trail
  }

  public struct Edge {
    public let from: Int
    public let to: Int
    public let input: Input
    public let actions: [Action]
  }

  /// The inputs, but time, that may come in a state.
  public var inputs: (Machine) -> [Input] = { _ in [] }
  /// The input that time has passed.
  public let time: Input
  public var deadline: (Machine, Instant) -> Instant?
  public var handle: (inout Machine, Input, Instant) -> [Action]
  /// What two machines that are the same have in common, if that is known without a look at their parts.
  public var identity: (Machine) -> AnyHashable? = { _ in nil }
  /// The states in which the exploration goes on.
  public var bound: (Machine) -> Bool = { _ in true }
  /// What makes one machine different from another.
  public var parts: (Machine, Instant) -> [Any] = { machine, _ in [machine] }
  /// The same as a value, with times as they lie from now (`distance`): much faster than a look at the parts.
  public var key: ((Machine, Instant) -> AnyHashable)?
  /// How far back times are told apart, and how finely.
  public var memory: Duration = .seconds(120)
  public var grain: Duration = .nanoseconds(1)

  public private(set) var states: [State] = []
  public private(set) var edges: [Edge] = []
  /// The states behind the bound, which are in `states` without edges.
  private var beyond: Set<Int> = []
  private var numbers: [AnyHashable: Int] = [:]
  /// The numbers of machines that were seen at this time.
  private var known: (now: Instant, numbers: [AnyHashable: Int]) = (.zero, [:])

  public init(
    time: Input, deadline: @escaping (Machine, Instant) -> Instant?,
    handle: @escaping (inout Machine, Input, Instant) -> [Action]
  ) { (self.time, self.deadline, self.handle) = (time, deadline, handle) }

  /// The steps to a state, shared by those that follow it.
  fileprivate final class Trail {
    let before: Trail?
    let step: Input?
    init(_ before: Trail?, _ step: Input?) { (self.before, self.step) = (before, step) }
    var steps: [Input] { (before?.steps ?? []) + (step.map { [$0] } ?? []) }
  }

  /// Explores from a start.
  ///
  /// - Returns: whether all was explored within this number of states.
  public mutating func explore(from start: Machine, limit: Int = 20_000) -> Bool {
    _ = number(of: State(machine: start, now: .zero, trail: Trail(nil, nil)))
    var next = 0
    while next < states.count, states.count < limit {
      let state = states[next]
      if bound(state.machine) {
        for input in inputs(state.machine) { step(from: next, state, input, at: state.now) }
        if let due = deadline(state.machine, state.now) {
          step(from: next, state, time, at: max(due, state.now))
        }
      } else {
        beyond.insert(next)
      }
      next += 1
    }
    beyond.formUnion(next..<states.count)
    return next == states.count
  }

  private mutating func step(from number: Int, _ state: State, _ input: Input, at now: Instant) {
    var machine = state.machine
    let actions = handle(&machine, input, now)
    let to = self.number(of: State(machine: machine, now: now, trail: Trail(state.trail, input)))
    edges.append(Edge(from: number, to: to, input: input, actions: actions))
  }

  private mutating func number(of state: State) -> Int {
    let identity = identity(state.machine)
    if known.now != state.now { known = (state.now, [:]) }
    if let identity, let number = known.numbers[identity] { return number }
    let key = key?(state.machine, state.now) ?? AnyHashable(text(of: state))
    let number = numbers[key] ?? states.count
    if number == states.count {
      states.append(state)
      numbers[key] = number
    }
    if let identity { known.numbers[identity] = number }
    return number
  }

  /// How far a time lies from now, as far as that is told apart.
  public func distance(of instant: Instant, from now: Instant) -> Duration {
    let distance = max(instant - now, .zero - memory)
    return distance < .zero ? grain * Int(distance / grain) : distance
  }

  private func text(of state: State) -> String {
    var text = ""
    for part in parts(state.machine, state.now) { write(part, at: state.now, to: &text) }
    return text
  }

  /// Writes what makes a value different from others, with times as they lie from now.
  private func write(_ value: Any, at now: Instant, to key: inout String) {
    if let instant = value as? Instant { return key += "\(distance(of: instant, from: now))" }
    let mirror = Mirror(reflecting: value)
    guard !mirror.children.isEmpty else { return key += "\(value)" }
    // The order of these is not that of their contents.
    if mirror.displayStyle == .set || mirror.displayStyle == .dictionary {
      let parts = mirror.children.map { child in
        var part = ""
        write(child.value, at: now, to: &part)
        return part
      }
      return key += "{\(parts.sorted().joined(separator: ","))}"
    }
    key += "("
    for child in mirror.children {
      key += "\(child.label ?? ""):"
      write(child.value, at: now, to: &key)
      key += ","
    }
    key += ")"
  }
}

// MARK: - What must hold

extension Explorer {
  private func finding(_ what: String, _ state: Int, _ input: Input? = nil) -> String {
    let steps = states[state].trail.steps + (input.map { [$0] } ?? [])
    return "\(what): \(steps.map { "\($0)" }.joined(separator: ", "))"
  }

  /// The states from which none of the good ones can be reached by these inputs.
  public func stuck(
    _ what: String, by way: (Input) -> Bool = { _ in true }, good: (Machine) -> Bool
  ) -> [String] {
    var before: [[Int]] = Array(repeating: [], count: states.count)
    for edge in edges where way(edge.input) { before[edge.to].append(edge.from) }
    var reaching = Set(states.indices.filter { good(states[$0].machine) || beyond.contains($0) })
    var queue = Array(reaching)
    while let state = queue.popLast() {
      for former in before[state] where reaching.insert(former).inserted { queue.append(former) }
    }
    return states.indices.filter { !reaching.contains($0) }.map { finding(what, $0) }
  }

  /// The states that have no deadline although they may not rest.
  public func idle(mayRest: (Machine) -> Bool) -> [String] {
    states.indices.filter {
      deadline(states[$0].machine, states[$0].now) == nil && !mayRest(states[$0].machine)
    }.map { finding("no deadline", $0) }
  }

  /// The states whose deadline is due, and whose time passes without anything.
  public var frozen: [String] {
    edges.filter { edge in
      edge.from == edge.to && edge.input == time && edge.actions.isEmpty
        && deadline(states[edge.from].machine, states[edge.from].now) ?? .zero <= states[edge.from].now
    }.map { finding("time has stopped", $0.from) }
  }

  /// The steps in which an action comes twice.
  public func repeated(_ isOnce: (Action) -> Bool = { _ in true }) -> [String] {
    steps("twice") { edge, _, _ in
      let actions = edge.actions.filter(isOnce)
      return Set(actions).count < actions.count
    }
  }

  /// The steps that break a rule.
  public func steps(
    _ what: String, where isBroken: (_ edge: Edge, _ from: Machine, _ to: Machine) -> Bool
  ) -> [String] {
    edges.filter { isBroken($0, states[$0.from].machine, states[$0.to].machine) }
      .map { finding(what, $0.from, $0.input) }
  }

  /// The states that break a rule.
  public func states(_ what: String, where isBroken: (Machine, Instant) -> Bool) -> [String] {
    states.indices.filter { isBroken(states[$0].machine, states[$0].now) }
      .map { finding(what, $0) }
  }

  /// The ways between the machine's states, by their names.
  public func graph(_ name: (Machine) -> String) -> StateGraph {
    let names = states.map { name($0.machine) }
    var graph = StateGraph()
    for edge in edges where names[edge.from] != names[edge.to] {
      graph.targets[names[edge.from], default: []].insert(names[edge.to])
    }
    return graph
  }
}

// MARK: - A machine with a fault

extension Explorer {
  /// It does not react to these inputs.
  public func ignoring(_ isIgnored: @escaping (Input) -> Bool) -> Self {
    var flawed = self
    flawed.handle = { [handle] in isIgnored($1) ? [] : handle(&$0, $1, $2) }
    return flawed
  }

  /// It forgets the deadline of these states.
  public func forgetting(_ isForgotten: @escaping (Machine) -> Bool) -> Self {
    var flawed = self
    flawed.deadline = { [deadline] in isForgotten($0) ? nil : deadline($0, $1) }
    return flawed
  }

  /// It does not act.
  public func leavingOut(_ isLeftOut: @escaping (Action) -> Bool) -> Self {
    var flawed = self
    flawed.handle = { [handle] in handle(&$0, $1, $2).filter { !isLeftOut($0) } }
    return flawed
  }

  /// It acts twice.
  public func repeating(_ isRepeated: @escaping (Action) -> Bool) -> Self {
    var flawed = self
    flawed.handle = { [handle] in handle(&$0, $1, $2).flatMap { isRepeated($0) ? [$0, $0] : [$0] } }
    return flawed
  }
}

/// The inputs by their names, without what they carry.
extension Explorer {
  public func kinds(in machine: Machine) -> Set<String> {
    Set(inputs(machine).map { caseName($0) })
  }
}

/// The name of an enum's case, without what it carries; of a property, if one is named.
public func caseName(_ value: Any, _ property: String? = nil) -> String {
  var value = value
  if let property { value = Mirror(reflecting: value).descendant(property) ?? value }
  return Mirror(reflecting: value).children.first?.label ?? "\(value)"
}

/// The states of a machine and the ways between them, as docs/design.md has them: a line for each state,
/// `announced ──▶ closedOut, expected`, below `<!-- states of a link -->`.
public struct StateGraph: Hashable, Sendable, CustomStringConvertible {
  public var targets: [String: Set<String>] = [:]

  public init() {}

  /// Reads the lines of docs/design.md.
  public init(of name: String) throws {
    let lines = try Repository.text("docs/design.md").split(separator: "\n", omittingEmptySubsequences: false)
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
    self == (try StateGraph(of: name)) ? [] : ["docs/design.md differs; the states of \(name) found:\n\(self)"]
  }
}
