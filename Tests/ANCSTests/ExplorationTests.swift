// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@testable import ANCS

/// Every input in every state (`Explorer`) of `SessionWatch` and `FetchQueue`, joined as the consumer joins them.
@Suite("A session with ANCS, explored")
struct ExplorationTests {
  private enum Input: Hashable {
    case announced(UInt32, NotificationChange, EventFlags)
    case call
    case answered, refused(UInt8), timedOut
    case userActs
    case time
  }

  private enum Action: Hashable {
    case send(ControlPointCommand)
    case authorization(Authorization)
    case subscribeAgain, dead
    case published(NotificationChange, NotificationUID)
    case broke(Rule)
  }

  /// What must hold of times and counts, which `Expectation` keeps for itself.
  private enum Rule: String, CaseIterable {
    case age = "what is old counts as new, or what is new as old"
    case call = "a call rings for another time than it may"
    case silence = "the subscriptions are written again at another time than after silence"
    case patience = "it does not die of two unanswered probes in a row"
    case pauses = "the pauses between probes do not grow up to their limit"
  }

  /// What is expected of a session, by the times of what has happened.
  private struct Expectation {
    /// When the phone last began to announce what it has.
    var subscribed = Instant.zero
    /// When the phone last sent an event, or the subscriptions were written.
    var heard = Instant.zero
    /// When the call last rang.
    var rang: Instant?
    /// How many probes in a row were not answered.
    var unanswered = 0
    /// The last probe while the phone refuses access, and the pause after it; nil if an event may have shortened that.
    var probed: (at: Instant, pause: Duration)?
  }

  /// A session with one notification and one call.
  private struct Situation {
    var watch: SessionWatch
    var queue = FetchQueue()
    var ledger = NotificationLedger()
    var command: ControlPointCommand?
    var isDead = false
    var authorization: Authorization?
    var actions: [Action] = []
    let timing: ConsumerTiming
    var expected = Expectation()

    init() {
      ledger.rulesChanged(AttributeSelection([.title]).judge, at: .zero)
      var timing = ConsumerTiming()
      // The same steps in fewer of them.
      (timing.retry, timing.longestRetry) = (.seconds(5), .seconds(15))
      (timing.probe, timing.silence, timing.call) = (.seconds(25), .seconds(60), .seconds(40))
      self.timing = timing
      watch = SessionWatch(timing)
      watch.sessionBegan(at: .zero)
    }

    mutating func expect(_ holds: Bool, _ rule: Rule) { if !holds { actions.append(.broke(rule)) } }

    mutating func event(_ told: NotificationEvent, at now: Instant) {
      var event = told
      let startsOver = watch.correct(&event, at: now)
      let isOld = now - expected.subscribed < timing.preExisting || !mayFetch
      let wasOld = told.flags.contains(.preExisting)
      expect(event.flags.contains(.preExisting) == (wasOld && isOld), .age)
      (expected.heard, expected.probed) = (now, nil)
      if event.category == .incomingCall { expected.rang = now }
      if startsOver {
        queue.startOver()
        ledger.sessionBegan(at: now, keeping: .zero)
      }
      guard watch.received(event, at: now) else { return }
      apply(event, at: now)
    }

    mutating func apply(_ event: NotificationEvent, at now: Instant) {
      if event.change == .removed {
        queue.removed(event, &ledger, at: now)
      } else {
        queue.announced(event, &ledger, at: now)
      }
    }

    mutating func report(_ authorization: Authorization) {
      self.authorization = authorization
      actions.append(.authorization(authorization))
    }

    mutating func finish(_ outcome: ControlPoint.Outcome, at now: Instant) {
      guard command != nil else { return }
      command = nil
      let wasRefusing = !mayFetch
      if let evidence = outcome.evidence(onProbe: queue.sentProbe) {
        switch watch.note(evidence, of: queue.purpose, at: now) {
        case .authorization(let authorization): report(authorization)
        case .dead:
          isDead = true
          actions.append(.dead)
          queue.end()
        case nil: break
        }
        check(evidence, wasRefusing: wasRefusing, at: now)
      }
      queue.finished(outcome, &ledger, at: now)
    }

    private mutating func check(_ evidence: SessionWatch.Evidence, wasRefusing: Bool, at now: Instant) {
      switch evidence {
      case .responded:
        expected.unanswered = 0
        if wasRefusing { (expected.subscribed, expected.probed) = (now, nil) }
      case .refused:
        expected.unanswered = 0
        if !wasRefusing { expected.probed = (now, timing.retry) }
      case .unclear where queue.sentProbe != nil:
        expected.unanswered += 1
        expected.probed = nil
      case .unclear: expected.probed = nil
      case .gone: return
      }
      expect(isDead == (expected.unanswered == 2), .patience)
    }

    /// Performs what is due, and sends the next command.
    mutating func advance(at now: Instant) {
      publish()
      guard !isDead, command == nil else { return }
      if let due = watch.nextDeadline, due <= now {
        for task in watch.due(at: now) {
          switch task {
          case .endCall(let uid):
            expect(expected.rang.map { now - $0 >= timing.call } ?? false, .call)
            expected.rang = nil
            guard var event = ledger.event(of: uid) else { break }
            event.change = .removed
            apply(event, at: now)
          case .probe:
            if let (last, pause) = expected.probed {
              expect(now - last == pause, .pauses)
              expected.probed = (now, min(pause + pause, timing.longestRetry))
            }
            queue.probe = .probe
          case .subscribeAgain:
            watch.subscribing()
            watch.subscribed(at: now)
            actions.append(.subscribeAgain)
            expect(now - expected.heard >= timing.silence, .silence)
            (expected.heard, expected.subscribed) = (now, now)
          }
        }
      }
      expect(now - expected.heard < timing.silence, .silence)
      expect(expected.rang.map { now - $0 < timing.call } ?? true, .call)
      command = queue.next(&ledger, mayFetch: mayFetch, at: now)
      if let command { actions.append(.send(command)) }
      publish()
    }

    private mutating func publish() {
      while let output = ledger.nextOutput() {
        if case .publish(let report) = output {
          actions.append(.published(report.event.change, report.event.uid))
        }
      }
    }

    var mayFetch: Bool { watch.authorization != .refused }

    var deadline: Instant? {
      guard !isDead, command == nil else { return nil }
      guard mayFetch, let due = ledger.lanes.deadline else { return watch.nextDeadline }
      return watch.nextDeadline.map { min($0, due) } ?? due
    }

    /// What is known of the phone's permission, as docs/design.md has it.
    var stage: String {
      if isDead { return "dead" }
      return switch watch.authorization {
      case .unknown(until: .response): "pending"
      case .unknown(until: .notification): "responding"
      case .granted: "granted"
      case .refused: "refused"
      }
    }

    /// Whether everything that waits was fetched.
    var isSettled: Bool { command == nil && ledger.lanes.count == 0 && !queue.isFetching }
  }

  private static func handle(_ world: inout Situation, _ input: Input, _ now: Instant) -> [Action] {
    world.actions = []
    switch input {
    case .announced(let uid, let change, let flags):
      world.event(NotificationEvent(change, .init(rawValue: uid), flags: flags), at: now)
    case .call:
      world.event(NotificationEvent(.added, 9, category: .incomingCall, flags: []), at: now)
    case .answered:
      switch world.command {
      case .getNotificationAttributes(let uid, let wanted)?:
        guard uid != .probe else {
          world.finish(.failure(.refused(ErrorCode(0xA2))), at: now); break
        }
        let values = wanted.map { DataSourceResponse.Attribute(id: $0.id.rawValue, value: [0x78]) }
        world.finish(.success(DataSourceResponse(.notification(uid), values)), at: now)
      case .getAppAttributes(let app, _)?:
        let name = DataSourceResponse.Attribute(id: 0, value: [0x78])
        world.finish(.success(DataSourceResponse(.app(identifier: app), [name])), at: now)
      case .performNotificationAction?: world.finish(.success(nil), at: now)
      case nil: break
      }
    case .refused(let code): world.finish(.failure(.refused(ErrorCode(code))), at: now)
    case .timedOut: world.finish(.failure(.timedOut), at: now)
    case .userActs: world.queue.add(.init(.performNotificationAction(1, .positive)) { _ in })
    case .time: break
    }
    world.advance(at: now)
    return world.actions
  }

  private typealias SessionExplorer = Explorer<Situation, Input, Action>

  private static func sessions() -> SessionExplorer {
    var explorer = SessionExplorer(time: .time, deadline: { session, _ in session.deadline }, handle: Self.handle)
    explorer.inputs = { session in
      if session.isDead { return [] }
      let events: [Input] = [
        .announced(1, .added, .preExisting), .announced(1, .added, []), .announced(1, .removed, []),
        .call,
      ]
      let outcomes: [Input] = [
        .answered, .refused(0x01), .refused(0x03), .refused(0xA2), .timedOut,
      ]
      return events + (session.command == nil ? [.userActs] : outcomes)
    }
    explorer.parts = { session, _ in
      [
        session.watch, session.queue.purpose, session.queue.isFetching, session.command.map { "\($0)" } ?? "",
        session.isDead, session.ledger.lanes.deadline as Any, session.ledger.lanes.count,
        session.ledger[1].map { "\($0.event.flags)" } ?? "", session.ledger[9] == nil,
      ]
    }
    (explorer.memory, explorer.grain) = (.seconds(1), .seconds(1))
    return explorer
  }

  /// What is found within so many states; what lies behind counts as fine.
  private static func found(_ explorer: SessionExplorer) -> [String] {
    var explorer = explorer
    return found(&explorer, limit: 1_500)
  }

  private static func found(_ found: inout SessionExplorer, limit: Int) -> [String] {
    _ = found.explore(from: Situation(), limit: limit)
    // The response to a command has its own time limit.
    var findings = found.idle { $0.isDead || $0.command != nil }
    findings += found.repeated { if case .published = $0 { false } else { true } }
    findings += found.stuck("not fetched") { $0.isDead || $0.isSettled }
    findings += found.stuck("not fetched by itself", by: { $0 == .time || $0 == .answered }) {
      $0.isDead || $0.isSettled
    }
    findings += found.steps("two commands at a time") { edge, from, _ in
      let sends = edge.actions.count { if case .send = $0 { true } else { false } }
      let isOutcome = ["answered", "refused", "timedOut"].contains(caseName(edge.input))
      return sends > (from.command == nil || isOutcome ? 1 : 0)
    }
    findings += found.steps("the death is not told once") { edge, from, to in
      edge.actions.contains(.dead) != (to.isDead && !from.isDead)
    }
    findings += found.steps("told what is known") { edge, from, _ in
      edge.actions.contains {
        if case .authorization(let told) = $0 { told == from.authorization } else { false }
      }
    }
    for rule in Rule.allCases {
      findings += found.steps(rule.rawValue) { edge, _, _ in edge.actions.contains(.broke(rule)) }
    }
    findings += found.steps("it survives without its Control Point") { edge, from, to in
      edge.input == .refused(0x01) && from.command != nil && !to.isDead
    }
    findings += found.steps("granted without proof") { edge, from, to in
      // A notification that was announced and fetched, or a response after a refusal.
      to.authorization == .granted && from.authorization != .granted
        && !(from.queue.purpose == .fetch || from.authorization == .refused)
    }
    findings += found.steps("a refusal is ignored") { edge, from, to in
      edge.input == .refused(0x03) && from.command != nil && !from.isDead
        && !(!to.mayFetch && to.authorization == .refused)
    }
    return findings
  }

  @Test("A session is never stuck with something to fetch, asks one thing at a time, and dies once")
  func session() throws {
    var explorer = Self.sessions()
    var findings = Self.found(&explorer, limit: 10_000)
    findings += try explorer.graph(\.stage).differences(from: "a session with ANCS")
    #expect(findings.isEmpty, "\(findings.prefix(3).joined(separator: "\n"))")
  }

  @Test("A session with a fault is found")
  func faultySession() {
    let sessions = Self.sessions()
    #expect(Self.found(sessions.ignoring { $0 == .answered }) != [])
    #expect(Self.found(sessions.ignoring { $0 == .refused(0x03) }) != [])
    #expect(Self.found(sessions.ignoring { $0 == .time }) != [])
    #expect(Self.found(sessions.forgetting { !$0.mayFetch }) != [])
    #expect(Self.found(sessions.leavingOut { $0 == .dead }) != [])
    #expect(
      Self.found(
        sessions.repeating { if case .send = $0 { true } else { false } }) != [])
  }
}
