// SPDX-License-Identifier: GPL-3.0-or-later
@testable import Mgmt
import TestLoop
import Testing
import Wire

/// Every input in every state of a link (`Explorer`).
@Suite("A link, explored")
struct LinkExplorationTests {
  /// A link and its terms. What is saved is a bond from then on, as with the real board.
  private struct Situation: Hashable {
    var link: LinkMachine
    var terms: LinkMachine.Terms
    /// The early events that its owner is about to pass in again.
    var early: [MgmtEvent] = []
    /// Whether the end of another link was already taken for this one's.
    var wasMistaken = false

    var isOver: Bool { if case .over = link.state { true } else { false } }

    /// When time passes next.
    func deadline(at now: Instant) -> Instant? { early.isEmpty ? link.deadline : now }

    /// What makes it different from others, with times as they lie from now: not a reason, which is only told.
    func key(_ distance: (Instant) -> Duration) -> AnyHashable {
      if isOver { return link.wasSecured }
      var key = self
      key.link.state = link.state.seen(distance)
      return key
    }

    mutating func handle(_ input: LinkMachine.Input, at now: Instant) -> [LinkMachine.Action] {
      if input == .time, !early.isEmpty { return handle(.event(early.removeFirst()), at: now) }
      if case .admitted = input { terms.admission = .open }
      if case .windowClosed = input { terms.admission = .closed }
      let actions = link.handle(input, under: terms, at: now)
      for action in actions {
        switch action {
        case .receive(let event): early.append(event)
        case .save(let bond, _):
          terms.bonds.removeAll { $0.identity == bond.identity }
          terms.bonds.append(bond)
        case .otherEnded: wasMistaken = true
        default: break
        }
      }
      // Its owner polls when that is due; here it finds the link not encrypted.
      guard input == .time, let place = actions.firstIndex(of: .poll) else { return actions }
      return actions[..<place] + actions[(place + 1)...] + handle(.polled(.open), at: now)
    }
  }

  private typealias LinkExplorer = Explorer<Situation, LinkMachine.Input, LinkMachine.Action>

  static func inputs() -> [LinkMachine.Input] {
    let phone = Sample.phone
    let number = Passkey(value: 7)
    let privateAddress = Sample.privateAddress.address
    let events: [MgmtEvent] = [
      .userConfirmRequest(phone, hint: true, Passkey(value: 0)),
      .userConfirmRequest(phone, hint: false, number), .userPasskeyRequest(phone),
      .passkeyNotify(phone, number, entered: 0), .passkeyNotify(phone, number, entered: 1),
      .newIdentityResolvingKey(
        Sample.identityResolvingKey(), privateAddress: privateAddress, store: true),
      .newIdentityResolvingKey(
        Sample.identityResolvingKey(peer: Sample.other), privateAddress: privateAddress,
        store: true),
      .newLongTermKey(Sample.longTermKey(), store: true),
      .newLongTermKey(Sample.longTermKey(), store: false),
      .authenticationFailed(phone, .authenticationFailed),
      .deviceDisconnected(phone, .remote),
    ]
    let readings: [ChannelSecurity?] = [
      nil, .open, .encrypted(isAuthenticated: false, keySize: 16),
      .encrypted(isAuthenticated: true, keySize: 7), .encrypted(isAuthenticated: true, keySize: 16),
    ]
    let ends: [ChannelEnd] = [
      .disconnected, .authenticationFailed, .keysDiffer, .aborted,
    ]
    let statuses: [MgmtStatus] = [.success, .authenticationFailed, .alreadyPaired, .failed]
    return events.map { .event($0) } + readings.map { .polled($0) }
      + ends.map { .channelClosed($0) } + statuses.map { .pairCompleted($0) } + [
        .attached, .answered(accept: true, nil), .answered(accept: true, number),
        .answered(accept: false, nil), .admitted, .windowClosed, .securityWanted,
        .adapterLost, .adapterGone, .displaced, .end("x"),
      ]
  }

  /// The terms that make a difference, by who may pair and whose bonds there are.
  private static let terms: [LinkMachine.Terms] = [
    .init(admission: .open, bonds: []),
    .init(admission: .open, bonds: [Sample.bond(with: Sample.other)]),
    .init(admission: .closed, bonds: [Sample.bond()]),
    .init(admission: .closed, bonds: [Sample.bond()], isLastChance: true),
    .init(admission: .busy, bonds: []),
    .init(admission: .open, bonds: [Sample.bond(.secureAuthenticated)]),
  ]

  /// A link with up to two early events, and up to one report of another link's end that is taken for its own.
  private static func explorer() -> LinkExplorer {
    let inputs = inputs()
    var explorer = LinkExplorer(time: .time, deadline: { $0.deadline(at: $1) }, handle: { $0.handle($1, at: $2) })
    explorer.inputs = { world in
      guard world.early.isEmpty else { return [] }
      return inputs.filter { input in
        guard case .event(let event) = input else { return true }
        if case .announced(let early, _) = world.link.state { return early.count < 2 }
        return !world.wasMistaken || event != .deviceDisconnected(Sample.phone, .remote)
      }
    }
    explorer.memory = .seconds(1)
    explorer.key = { [explorer] world, now in world.key { explorer.distance(of: $0, from: now) } }
    return explorer
  }

  /// What is found under these terms, in all states or within so many of each; what lies behind counts as fine.
  private static func found(
    _ explorer: LinkExplorer, _ terms: [LinkMachine.Terms], limit: Int? = nil, _ graph: inout StateGraph
  ) -> [String] {
    terms.flatMap { terms -> [String] in
      var found = explorer
      let capability: IOCapability = terms.bonds.isEmpty ? .keyboardDisplay : .noInputNoOutput
      let link = LinkMachine(peer: Sample.phone, policy: PairingPolicy(capability: capability), at: .zero)
      let isWhole = found.explore(from: Situation(link: link, terms: terms), limit: limit ?? 50_000)
      guard isWhole || limit != nil else { return ["too many states"] }
      graph.add(found.graph { caseName($0.link.state) })
      var findings = found.idle { ["secured", "awaited", "over"].contains(caseName($0.link.state)) }
      findings += found.frozen
      findings += found.repeated { !["poll", "receive"].contains(caseName($0)) }
      findings += found.stuck("never over") { $0.isOver }
      // Left alone, it ends, unless the phone is served, or would give up.
      findings += found.stuck("not over by itself", by: { $0 == .time }) {
        ["secured", "awaited", "over"].contains(caseName($0.link.state))
      }
      findings += endsBroken(found)
      findings += rulesBroken(found)
      findings += bondsBroken(found)
      return findings
    }
  }

  /// What is wrong with how it ends.
  private static func endsBroken(_ found: LinkExplorer) -> [String] {
    var findings = found.steps("over, and yet") { edge, from, _ in
      from.isOver && !edge.actions.isEmpty
    }
    findings += found.steps("the end is not told once") { edge, from, to in
      let ends = edge.actions.contains { if case .over = $0 { true } else { false } }
      return ends != (to.isOver && !from.isOver)
    }
    findings += found.steps("not over") { edge, _, to in
      ["adapterGone", "displaced", "end"].contains(caseName(edge.input)) && !to.isOver
    }
    findings += found.steps("the end of its channel is ignored") { edge, _, to in
      caseName(edge.input) == "channelClosed"
        && !["announced", "ending", "over"].contains(caseName(to.link.state))
    }
    findings += found.steps("half of an end is not believed without an adapter") { edge, _, to in
      edge.input == .adapterLost && ["announced", "ending"].contains(caseName(to.link.state))
    }
    return findings
  }

  private static func rulesBroken(_ found: LinkExplorer) -> [String] {
    var findings = found.steps("asked to pair at the wrong time") { edge, from, to in
      let pairs = edge.actions.contains { if case .pair = $0 { true } else { false } }
      return pairs && (from.link.pairing != nil || from.link.wasSecured || to.link.pairing == nil)
    }
    findings += found.steps("secured is not told once") { edge, from, to in
      let isTold = edge.actions.contains { if case .secured = $0 { true } else { false } }
      return isTold ? !to.link.wasSecured : to.link.isSecured && !from.link.wasSecured
    }
    findings += found.steps("served without a bond") { _, from, to in
      to.link.isSecured && !from.link.wasSecured && to.terms.bond(with: to.link.peer) == nil
    }
    findings += found.steps("closed pairing goes on with an unknown phone") { edge, _, to in
      guard edge.input == .windowClosed, case .pairing = to.link.state else { return false }
      return to.terms.bond(with: to.link.peer) == nil
    }
    findings += found.steps("pairing that was opened leaves it out") { edge, _, to in
      edge.input == .admitted && caseName(to.link.state) == "closedOut"
    }
    findings += found.states("left out of open pairing") { world, _ in
      caseName(world.link.state) == "closedOut" && world.terms.admission == .open
    }
    findings += found.steps("a no is ignored") { edge, from, to in
      guard edge.input == .answered(accept: false, nil), let pairing = from.link.pairing else {
        return false
      }
      return !pairing.isAccepted && to.link.pairing != nil
    }
    findings += found.steps("a failed pairing goes on") { edge, from, to in
      guard edge.input == .pairCompleted(.authenticationFailed) else { return false }
      return caseName(from.link.state) == "pairing" && caseName(to.link.state) == "pairing"
    }
    findings += found.steps("a request for security is ignored") { edge, _, to in
      edge.input == .securityWanted && caseName(to.link.state) == "expected"
    }
    findings += found.steps("a channel is ignored") { edge, _, to in
      edge.input == .attached && caseName(to.link.state) == "announced"
    }
    findings += found.steps("encryption with the bond's key is ignored") { edge, from, to in
      guard case .polled(let security?) = edge.input, security.isEncrypted, security.keySize == 16,
        to.terms.bond(with: to.link.peer)?.isAuthenticated == security.isAuthenticated
      else { return false }
      return ["expected", "asked", "awaited"].contains(caseName(from.link.state))
        && !to.link.isSecured
    }
    return findings
  }

  /// What is wrong with the bonds, and with whom they let in.
  private static func bondsBroken(_ found: LinkExplorer) -> [String] {
    var findings = found.steps("bonded while pairing is closed") { edge, from, _ in
      guard from.terms.admission != .open, from.link.pairing?.isAccepted != true else {
        return false
      }
      return edge.actions.contains { if case .save(_, isNew: true) = $0 { true } else { false } }
    }
    findings += found.steps("served with another key") { edge, from, to in
      guard case .polled(let reading) = edge.input, to.link.isSecured, !from.link.wasSecured,
        let bond = from.terms.bond(with: from.link.peer)
      else { return false }
      return reading != .encrypted(isAuthenticated: bond.isAuthenticated, keySize: Int(bond.keySize))
    }
    findings += found.steps("takes another phone's identity") { _, from, to in
      to.link.isSecured && to.link.peer != from.link.peer
        && from.terms.bond(with: to.link.peer) != nil
    }
    findings += found.steps("a bond protects less") { _, from, to in
      from.terms.bonds.contains { bond in
        bond.isAuthenticated && to.terms.bond(with: bond.identity)?.isAuthenticated == false
      }
    }
    findings += found.steps("not asked to encrypt") { edge, from, to in
      guard caseName(to.link.state) == "asked" else { return false }
      return !["asked", "ending"].contains(caseName(from.link.state))
        && !edge.actions.contains(.requestSecurity)
    }
    findings += found.states("not looked at") { world, _ in
      ["expected", "asked", "awaited"].contains(caseName(world.link.state)) != (world.link.pollPause != nil)
    }
    return findings
  }

  @Test("A link is never stuck, tells its end once, serves nobody without a bond, and has the states of docs/design.md")
  func link() throws {
    var graph = StateGraph()
    let findings = Self.found(Self.explorer(), Self.terms, &graph)
    #expect(findings.isEmpty, "\(findings.prefix(3).joined(separator: "\n"))")
    let differences = try graph.differences(from: "a link")
    #expect(differences.isEmpty, "\(differences.joined(separator: "\n"))")
  }

  /// Whether a fault is found in few states; under which terms is known of each.
  private static func isFound(_ flawed: LinkExplorer, _ terms: [LinkMachine.Terms]) -> Bool {
    var graph = StateGraph()
    return terms.contains { !found(flawed, [$0], limit: 600, &graph).isEmpty }
  }

  @Test("A link with a fault is found")
  func faultyLink() {
    let links = Self.explorer()
    let terms = [Self.terms[0], .init(admission: .closed, bonds: []), Self.terms[2]]
    #expect(!Self.isFound(links, terms))
    for kind in [
      "attached", "polled", "answered", "admitted", "windowClosed", "securityWanted",
      "pairCompleted", "channelClosed", "adapterLost", "adapterGone", "displaced", "end", "time",
    ] { #expect(Self.isFound(links.ignoring { caseName($0) == kind }, terms), "ignores \(kind)") }
    for state in ["announced", "closedOut", "expected", "asked", "pairing", "refused", "ending"] {
      let forgetful = links.forgetting { caseName($0.link.state) == state }
      #expect(Self.isFound(forgetful, terms), "has no deadline when it is \(state)")
    }
    for action in ["over", "secured"] {
      #expect(Self.isFound(links.leavingOut { caseName($0) == action }, terms), "leaves out \(action)")
    }
    #expect(Self.isFound(links.repeating { $0 != .poll }, terms))
  }
}

extension LinkMachine.State {
  /// The state with its times as they lie from now, without what makes no difference.
  fileprivate func seen(_ distance: (Instant) -> Duration) -> Self {
    func seen(_ instant: Instant) -> Instant { .zero + distance(instant) }
    func seen(_ pairing: Pairing) -> Pairing {
      Pairing(turn: pairing.turn, since: seen(pairing.since))
    }
    return switch self {
    case .announced(let early, let until): .announced(early, until: seen(until))
    case .closedOut(let until): .closedOut(until: seen(until))
    case .expected(let until): .expected(until: seen(until))
    case .asked(let until): .asked(until: seen(until))
    case .awaited: .awaited
    case .pairing(let pairing): .pairing(seen(pairing))
    case .secured(let secured):
      .secured(.init(paired: secured.paired.map(seen), pairing: secured.pairing.map(seen)))
    case .refused(_, let until): .refused(.noResponse, until: seen(until))
    case .ending(let ending, let from, let until):
      .ending(ending.seen, from: from.seen(distance), until: seen(until))
    case .over(let end):
      .over(LinkEnd(reason: "", cause: .phone, wasSecured: end.wasSecured, failure: nil))
    }
  }
}

extension LinkMachine.Ending {
  /// The end without its reason, which is only told.
  fileprivate var seen: Self {
    switch self {
    case .announced(let reason): .announced(reason == .remote ? .remote : .timeout)
    case .channelClosed: .channelClosed(.disconnected)
    case .unexplained: .unexplained("")
    }
  }
}
