// SPDX-License-Identifier: GPL-3.0-or-later
@testable import Fleet
import TestLoop
import Testing
import Wire

/// Every input in every state (`Explorer`) of the connection to a broker, and of the outbox.
@Suite("The broker's connection and the outbox, explored")
struct ExplorationTests {
  // MARK: The connection

  private enum BrokerInput: Hashable {
    case accepted, refused(String), takenOver, closed, lost(String), leave, time
    case awaits(Bool, hasMoved: Bool)
  }

  private typealias BrokerExplorer = Explorer<BrokerMachine, BrokerInput, BrokerMachine.Action>

  /// A connection with up to eight failures in a row: after seven, the pauses no longer grow.
  private static func brokers() -> BrokerExplorer {
    var explorer = BrokerExplorer(
      time: .time, deadline: { machine, _ in machine.deadline },
      handle: { machine, input, now in
        switch input {
        case .accepted: return machine.accepted(now: now)
        case .refused(let why): return machine.refused(why, now: now)
        case .takenOver: return machine.takenOver(now: now)
        case .closed: return machine.closed(now: now)
        case .lost(let why): return machine.lost(why, now: now)
        case .awaits(let isAwaiting, let hasMoved):
          machine.awaits(isAwaiting, hasMoved: hasMoved, now: now)
          return []
        case .leave: return machine.leave(now: now)
        case .time: return machine.timeUp(now: now)
        }
      })
    explorer.inputs = { _ in
      [
        .accepted, .refused("a"), .refused("b"), .takenOver, .closed, .lost("a"), .lost("b"),
        .awaits(true, hasMoved: false), .awaits(true, hasMoved: true),
        .awaits(false, hasMoved: true), .leave,
      ]
    }
    explorer.bound = { $0.failures <= 8 }
    explorer.memory = BrokerMachine.goodTime
    return explorer
  }

  private static func found(_ explorer: BrokerExplorer) throws -> [String] {
    var found = explorer
    let start = BrokerMachine(now: .zero, clientID: "board", jitter: { 0.5 })
    var findings = found.explore(from: start) ? [] : ["too many"]
    func isGone(_ machine: BrokerMachine) -> Bool { machine.state == .gone }
    findings += found.idle { machine in
      if case .connected(_, nil) = machine.state { true } else { isGone(machine) }
    }
    findings += found.frozen + found.repeated() + found.stuck("never gone", good: isGone)
    findings += found.stuck("not connected again", by: { $0 == .time || $0 == .accepted }) {
      $0.isConnected || $0.state == .gone
    }
    findings += found.steps("gone is not told once") { edge, from, to in
      edge.actions.contains(.finish) != (isGone(to) && !isGone(from))
    }
    findings += found.steps("gone, and yet") { edge, from, _ in
      isGone(from) && !edge.actions.isEmpty
    }
    findings += found.steps("stays although it is over") { edge, from, to in
      let kind = caseName(from.state)
      return ["closed", "lost", "refused", "takenOver"].contains(caseName(edge.input))
        && ["connecting", "connected", "leaving"].contains(kind) && caseName(to.state) == kind
    }
    findings += found.steps("an attempt that nobody makes") { edge, from, to in
      let begins = caseName(to.state) == "connecting" && caseName(from.state) != "connecting"
      return edge.actions.contains(.connect) != (begins && edge.input == .time)
    }
    findings += found.steps("a connection that is not dropped, or twice") { edge, from, to in
      from.isConnected && !to.isConnected && caseName(to.state) != "leaving"
        && edge.actions.count { $0 == .drop } != 1
    }
    findings += found.steps("leaves without DISCONNECT") { edge, from, to in
      edge.input == .leave && from.isConnected
        && (edge.actions != [.disconnect] || caseName(to.state) != "leaving")
    }
    findings += found.steps("waits for an acknowledgement that nobody owes, or not for one") {
      guard case .awaits(let isAwaiting, _) = $0.input, $2.isConnected else { return false }
      return ($2.deadline != nil) != isAwaiting || !$1.isConnected
    }
    return try findings + pauses(found)
      + found.graph { caseName($0.state) }.differences(from: "the broker's connection")
  }

  /// When it tries again, and what it says about that.
  private static func pauses(_ found: BrokerExplorer) -> [String] {
    found.steps("tries again too soon, or too late") { edge, from, to in
      let now = found.states[edge.to].now
      switch to.state {
      case .waiting(let until) where wasOpen(from):
        return until - now != .seconds(min(60, 1 << (to.failures - 1)))
      case .refused(let until) where wasOpen(from):
        return until - now != (caseName(edge.input) == "closed" ? .seconds(60) : .seconds(300))
      default: return false
      }
    }
      + found.steps("backs off before the third takeover, or not then") { edge, from, to in
        guard ["takenOver", "closed"].contains(caseName(edge.input)) else { return false }
        switch from.state {
        case .connected(let since, _)
        where edge.input == .takenOver || found.states[edge.from].now - since < .seconds(15):
          return (caseName(to.state) == "refused") != (from.takeovers == 2)
        case .connecting where edge.input == .takenOver:
          return (caseName(to.state) == "refused") != (from.takeovers == 2)
        default: return caseName(to.state) == "refused" && caseName(from.state) != "refused"
        }
      }
      + found.steps("says nothing new, or not what is new") { edge, from, to in
        let said: [String] = edge.actions.compactMap {
          if case .say(let why) = $0 { why } else { nil }
        }
        return said != (to.trouble == from.trouble ? [] : [to.trouble].compactMap { $0 })
      }
  }

  private static func wasOpen(_ machine: BrokerMachine) -> Bool {
    ["connecting", "connected"].contains(caseName(machine.state))
  }

  @Test("The connection to a broker is never stuck, is made again, dropped and closed once")
  func broker() throws {
    let findings = try Self.found(Self.brokers())
    #expect(findings.isEmpty, "\(findings.prefix(3).joined(separator: "\n"))")
  }

  @Test("A connection to a broker with a fault is found")
  func faultyBroker() throws {
    let brokers = Self.brokers()
    let start = BrokerMachine(now: .zero, clientID: "board", jitter: { 0.5 })
    for kind in brokers.kinds(in: start).union(["time"]) {
      #expect(try Self.found(brokers.ignoring { caseName($0) == kind }) != [], "ignores \(kind)")
    }
    for state in ["waiting", "connecting", "connected", "leaving", "refused"] {
      let forgetful = brokers.forgetting { caseName($0.state) == state }
      #expect(try Self.found(forgetful) != [], "has no deadline when it is \(state)")
    }
    for action in [BrokerMachine.Action.connect, .drop, .disconnect, .finish] {
      #expect(try Self.found(brokers.leavingOut { $0 == action }) != [], "leaves out \(action)")
      #expect(try Self.found(brokers.repeating { $0 == action }) != [], "repeats \(action)")
    }
  }

  // MARK: The outbox

  /// An outbox with what has gone in and come out.
  private struct Box {
    var outbox = Outbox(position: Position(life: "a", seq: 0))
    var lastEvent: UInt64 = 0
    var lastNumber: UInt16 = 0
    var postponements = 0
    /// The events that are acknowledged, refused, or too old.
    var done: Set<UInt64> = []
    /// The numbers that the broker has not acknowledged.
    var open: [UInt16] = []
    /// The payload of the last state.
    var lastState: UInt8 = 0
    var responses = 0
    /// When the postponed events are too old.
    var ends: [UInt64: Instant] = [:]
    /// What was sent that should not be.
    var fault: String?
  }

  private enum BoxInput: Hashable {
    case event, response, sent, begin, unknownNumber, time
    case state(UInt8)
    /// It was not sent, but perhaps a shorter one will be.
    case dropped(isShortened: Bool)
    case acknowledged(first: Bool, UInt8)
  }

  private typealias BoxExplorer = Explorer<Box, BoxInput, Outbox.Result>

  private static func handle(_ box: inout Box, _ input: BoxInput, _ now: Instant) -> [Outbox.Result] {
    switch input {
    case .event:
      guard !box.outbox.isFull else { break }
      box.lastEvent += 1
      let position = Position(life: "a", seq: box.lastEvent)
      let event = Publication("e", [UInt8(box.lastEvent)], .event(position, expiry: 3))
      if box.outbox.pause != nil { box.ends[box.lastEvent] = now + .seconds(3) }
      box.outbox.add([event], at: now)
      box.outbox.handled(position)
    case .state(let payload):
      box.lastState = payload
      box.outbox.add([Publication("s", [payload], .state())], at: now)
    case .response:
      guard box.outbox.hasSpaceForResponse, box.responses == 0 else { break }
      box.responses += 1
      box.outbox.add([Publication("r", [], .response(correlation: nil))], at: now)
    case .dropped(let isShortened): drop(&box, isShortened, now)
    case .sent: send(&box, now)
    case .acknowledged(let first, let reason):
      guard let number = first ? box.open.first : box.open.last else { break }
      box.open.removeAll { $0 == number }
      guard let result = box.outbox.acknowledged(number, ReasonCode(reason), at: now) else { break }
      switch result {
      case .delivered(let publication), .refused(let publication):
        if let position = publication.position { box.done.insert(position.seq) }
      case .postponed(let publication):
        box.postponements += 1
        if let seq = publication.position?.seq {
          box.ends[seq] = box.ends[seq] ?? now + .seconds(3)
        }
      }
      return [result]
    case .begin:
      box.outbox.begin(receiveMaximum: 2)
      (box.open, box.ends) = ([], [:])
      // The daemon is asked again for what was not acknowledged.
      box.lastEvent = box.outbox.lastAcknowledged?.seq ?? 0
      box.done = box.done.filter { $0 <= box.lastEvent }
    case .unknownNumber:
      return box.outbox.acknowledged(60_000, ReasonCode(0), at: now).map { [$0] } ?? []
    case .time:
      let dropped = box.outbox.dropExpired(at: now)
      if dropped > 0 { box.done.formUnion(1...box.lastEvent) }
    }
    return []
  }

  private static func drop(_ box: inout Box, _ isShortened: Bool, _ now: Instant) {
    guard let next = box.outbox.next(at: now) else { return }
    // A state has nothing shorter.
    guard isShortened, !next.isState else {
      box.outbox.finishNext()
      if let position = next.position { box.done.insert(position.seq) }
      return
    }
    guard !next.payload.isEmpty else { return }
    let shorter = Publication(next.topic, [], next.kind)
    box.outbox.replaceNext(with: shorter)
    if box.outbox.next(at: now) != shorter { box.fault = "not the shorter one" }
  }

  private static func send(_ box: inout Box, _ now: Instant) {
    guard let next = box.outbox.next(at: now) else { return }
    if next.isState, next.payload != [box.lastState] { box.fault = "an older state" }
    if case .event(let position, let expiry) = next.kind, let end = box.ends[position.seq],
      expiry != UInt32(clamping: max(1, (end - now).components.seconds))
    {
      box.fault = "an event that expires at another time"
    }
    box.lastNumber += 1
    box.outbox.sent(as: box.lastNumber)
    box.open.append(box.lastNumber)
  }

  /// Up to three events, over a window of two, for which the broker has no space up to twice.
  ///
  /// - Parameter drops: whether there are also responses, states that change, and what can't be sent; then with fewer of
  ///   the rest.
  private static func boxes(drops: Bool = false) -> BoxExplorer {
    var explorer = BoxExplorer(time: .time, deadline: { $0.outbox.deadline(after: $1) }, handle: handle)
    explorer.inputs = { _ in
      (drops
        ? [.response, .dropped(isShortened: true), .dropped(isShortened: false), .state(1)] : [])
        + [.event, .state(0), .sent, .begin, .unknownNumber]
        + [true, false].flatMap { first in
          [0x00, 0x87, 0x97].map { BoxInput.acknowledged(first: first, $0) }
        }
    }
    explorer.bound = {
      drops ? $0.lastEvent + UInt64($0.postponements) <= 2 : $0.lastEvent <= 3 && $0.postponements <= 2
    }
    // Which numbers the messages have makes no difference.
    explorer.parts = { box, _ in
      let outbox = Mirror(reflecting: box.outbox).children.map { label, value in
        label == "inFlight"
          ? Mirror(reflecting: value).children.map { Mirror(reflecting: $0.value).descendant("entry") } : value
      }
      return outbox + [
        box.lastEvent, box.postponements, box.done, box.open.count, box.lastState, box.responses,
        box.ends, box.fault ?? "",
      ]
    }
    explorer.memory = .zero
    return explorer
  }

  /// What an outbox waits for, as docs/design.md has it.
  private static func stage(_ box: Box) -> String {
    if box.outbox.isAwaiting { return "awaiting" }
    if box.outbox.unacknowledged == 0 { return "empty" }
    return box.outbox.pause == nil ? "sending" : "pausing"
  }

  private static func found(_ explorer: BoxExplorer) -> [String] {
    var explorer = explorer
    return found(&explorer)
  }

  private static func found(_ found: inout BoxExplorer) -> [String] {
    var start = Box()
    start.outbox.begin(receiveMaximum: 2)
    var findings = found.explore(from: start, limit: 20_000) ? [] : ["too many"]
    findings += found.states("an event counts too early") { box, _ in
      let position = box.outbox.lastAcknowledged?.seq ?? 0
      return !(1...9).allSatisfy { $0 > position || box.done.contains($0) }
    }
    findings += found.states("an event is lost") { box, _ in
      (box.outbox.lastAcknowledged?.seq ?? 0) < box.lastEvent && box.outbox.unacknowledged == 0
    }
    findings += found.states("an acknowledgement is forgotten") { box, _ in
      box.outbox.isAwaiting != !box.open.isEmpty || box.open.count > 2
    }
    findings += found.states("waits for nothing") { box, now in
      box.outbox.unacknowledged > 0 && box.outbox.next(at: now) == nil && !box.outbox.isAwaiting
        && found.deadline(box, now) == nil
    }
    findings += found.states("waits too long for space") { box, now in
      guard !box.outbox.isAwaiting, box.outbox.next(at: now) == nil,
        let deadline = found.deadline(box, now)
      else { return false }
      return deadline - now > .seconds(1 << (box.postponements - 1))
    }
    findings += found.states("sends") { box, _ in box.fault != nil }
    findings += found.steps("a wrong result") { edge, _, _ in
      guard case .acknowledged(_, let reason) = edge.input else { return false }
      switch edge.actions.first {
      case .delivered?: return reason != 0
      case .refused(let publication)?:
        return reason == 0 || reason == 0x97 && publication.position != nil
      case .postponed(let publication)?: return reason != 0x97 || publication.position == nil
      case nil: return false
      }
    }
    findings += found.steps("an acknowledgement from nowhere") { edge, _, _ in
      edge.input == .unknownNumber && (edge.from != edge.to || !edge.actions.isEmpty)
    }
    return findings + found.frozen
      + found.stuck("never empty", by: { $0 != .begin }) { $0.outbox.unacknowledged == 0 }
  }

  @Test("The outbox loses nothing, counts nothing too early, and always gets rid of what it has")
  func outbox() throws {
    for var boxes in [Self.boxes(), Self.boxes(drops: true)] {
      let findings = try Self.found(&boxes) + boxes.graph(Self.stage).differences(from: "the outbox")
      #expect(findings.isEmpty, "\(findings.prefix(3).joined(separator: "\n"))")
    }
  }

  @Test("An outbox with a fault is found")
  func faultyOutbox() {
    let boxes = Self.boxes()
    #expect(Self.found(boxes.ignoring { caseName($0) == "acknowledged" }) != [])
    #expect(Self.found(boxes.ignoring { $0 == .sent }) != [])
    #expect(Self.found(boxes.forgetting { _ in true }) != [])
  }
}
