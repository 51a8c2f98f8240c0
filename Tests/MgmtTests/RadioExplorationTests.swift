// SPDX-License-Identifier: GPL-3.0-or-later
@testable import Mgmt
import TestLoop
import Testing
import Wire

/// Every input in every state (`Explorer`) of the pairing window and of what is on the air.
@Suite("Pairing and advertising, explored")
struct RadioExplorationTests {
  // MARK: The pairing window

  private enum WindowInput: Hashable {
    case open, end(Int), close, paired, forgotten, time
  }

  private typealias WindowExplorer = Explorer<PairingWindow, WindowInput, Bool>

  private static func windows() -> WindowExplorer {
    var explorer = WindowExplorer(
      time: .time, deadline: { $0.deadline(after: $1) },
      handle: { window, input, now in
        switch input {
        case .open: window.open(until: now + .seconds(600), number: 1)
        case .end(let number): return [window.end(number, at: now)]
        case .close: window.close()
        case .paired: window.phonePaired()
        case .forgotten: window.lastBondForgotten(at: now)
        case .time: break
        }
        return []
      })
    explorer.inputs = { _ in [.open, .end(1), .end(2), .close, .paired, .forgotten] }
    explorer.memory = .seconds(1)
    return explorer
  }

  @Test("Of many openings, those that end last are kept") func manyOpenings() {
    var window = PairingWindow(.seconds(0), since: .zero)
    window.open(until: Instant(nanoseconds: .max), number: 0)
    for number in 1...100 { window.open(until: .zero + .seconds(number), number: number) }
    #expect(window.isOpen(at: .zero + .seconds(1_000), wasBonded: true))
    #expect(!window.end(1, at: .zero) && window.end(100, at: .zero) && window.end(0, at: .zero))
  }

  private static func found(_ explorer: WindowExplorer) throws -> [String] {
    var graph = StateGraph()
    var findings: [String] = []
    for rule in [PairingWindow.Rule.firstPhone, .seconds(60), .always] {
      var found = explorer
      if !found.explore(from: PairingWindow(rule, since: .zero)) { findings.append("too many") }
      graph.add(found.graph { caseName($0, "hand") })
      for wasBonded in [false, true] {
        findings += found.states("changes without a deadline") { window, now in
          let due = found.deadline(window, now) ?? now + .seconds(1_000_000_000)
          return window.isOpen(at: due + .nanoseconds(-1), wasBonded: wasBonded)
            != window.isOpen(at: now, wasBonded: wasBonded)
        }
        for edge in found.edges where edge.input == .open || edge.input == .close {
          let (window, now) = (found.states[edge.to].machine, found.states[edge.to].now)
          if window.isOpen(at: now, wasBonded: wasBonded) != (edge.input == .open) {
            findings.append("\(edge.input) does not")
          }
        }
      }
      findings += found.states("open against its rule, or closed") { window, now in
        let isOpen = rule == .seconds(60) ? now < .zero + .seconds(60) : rule == .always
        return caseName(window, "hand") == "off"
          && window.isOpen(at: now, wasBonded: true) != isOpen
      }
      findings += stepsBroken(found, rule)
    }
    return try findings + graph.differences(from: "the pairing window")
  }

  private static func stepsBroken(_ found: WindowExplorer, _ rule: PairingWindow.Rule) -> [String] {
    var findings = found.steps("ends what it does not know") { edge, from, to in
      edge.input == .end(2) && (edge.actions != [false] || from != to)
    }
    findings += found.steps("ends without an end") { edge, from, to in
      edge.input == .end(1) && (edge.actions.isEmpty || edge.actions == [true] && from == to)
    }
    findings += found.steps("ends what is over") { edge, from, _ in
      edge.input == .end(1) && edge.actions == [true]
        && !from.isOpen(at: found.states[edge.from].now, wasBonded: true)
    }
    findings += found.steps("open after somebody has paired") { edge, _, to in
      edge.input == .paired && caseName(to, "hand") == "open"
    }
    findings += found.steps("opened by a phone") { edge, from, to in
      edge.input == .paired && caseName(from, "hand") == "closed" && from != to
    }
    findings += found.steps("closed on a board without bonds") { edge, _, to in
      edge.input == .forgotten
        && (caseName(to, "hand") == "closed"
          || rule == .firstPhone && !to.isOpen(at: found.states[edge.to].now, wasBonded: false))
    }
    return findings
  }

  @Test("The pairing window opens and closes when it says, and can always be opened and closed")
  func window() throws {
    let findings = try Self.found(Self.windows())
    #expect(findings.isEmpty, "\(findings.prefix(3).joined(separator: "\n"))")
  }

  @Test("A pairing window with a fault is found")
  func faultyWindow() throws {
    let windows = Self.windows()
    // An unknown end changes nothing anyway.
    for input in windows.inputs(PairingWindow(.always, since: .zero)) where input != .end(2) {
      #expect(try Self.found(windows.ignoring { $0 == input }) != [], "ignores \(input)")
    }
    #expect(try Self.found(windows.forgetting { _ in true }) != [])
  }

  // MARK: Advertising

  private struct Air: Hashable {
    var plan: AdvertisingPlan
    var audience = AdvertisingPlan.Audience.bonded
    var failures = 0
    /// Whether no phone was connected when it failed.
    var isAlone = true
  }

  private enum AirInput: Hashable {
    case reset, begin, rest, phoneConnected, linkEnded, time
    case audience(AdvertisingPlan.Audience)
    /// The step that is due succeeds, or fails, with no phone connected or next to one.
    case succeeds, fails(isAlone: Bool)
  }

  private typealias AirExplorer = Explorer<Air, AirInput, AdvertisingPlan.Step>

  private static func handle(_ air: inout Air, _ input: AirInput, _ now: Instant) -> [AdvertisingPlan.Step] {
    let step = air.plan.step(for: air.audience, at: now)
    switch (input, step) {
    case (.reset, _): air.plan.reset()
    case (.begin, _): air.plan.begin(at: now)
    case (.rest, _): air.plan.rest(at: now)
    case (.phoneConnected, _): air.plan.phoneConnected()
    case (.linkEnded, _): air.plan.linkEnded()
    case (.audience(let audience), _): air.audience = audience
    case (.succeeds, let step?):
      air.plan.succeeded(step)
      air.failures = 0
      return [step]
    case (.fails(let isAlone), let step?) where air.failures < 4:
      _ = air.plan.failed(step, for: air.audience, isAlone: isAlone, why: "x", at: now)
      air.failures += 1
      air.isAlone = isAlone
      return [step]
    case (.time, _), (.succeeds, _), (.fails, _): break
    }
    return []
  }

  /// A board with one profile; up to four failures in a row.
  private static func airs() -> AirExplorer {
    let audiences: [AdvertisingPlan.Audience] = [.anybody, .bonded, .connected(.quiet), .nobody]
    var explorer = AirExplorer(
      time: .time,
      deadline: { air, now in
        // A step that is due is performed at once.
        air.plan.step(for: air.audience, at: now) == nil ? air.plan.deadline(for: air.audience, at: now) : nil
      }, handle: handle)
    let inputs: [AirInput] =
      [
        .reset, .begin, .rest, .phoneConnected, .linkEnded, .succeeds, .fails(isAlone: true),
        .fails(isAlone: false),
      ] + audiences.map { .audience($0) }
    explorer.inputs = { _ in inputs }
    explorer.identity = { $0 }
    // How long the fast pace has lasted makes no difference but that it ends.
    explorer.parts = { air, now in
      let children = Mirror(reflecting: air.plan).children.filter { $0.label != "began" }
      return children.map(\.value) + [
        air.audience, air.failures, air.isAlone, air.plan.deadline(for: .anybody, at: now) == nil,
        air.plan.deadline(for: .bonded, at: now) == nil,
      ]
    }
    explorer.memory = .zero
    return explorer
  }

  private static func found(_ explorer: AirExplorer) throws -> [String] {
    var found = explorer
    let start = Air(plan: AdvertisingPlan(name: "board", choice: .solicit))
    var findings = found.explore(from: start) ? [] : ["too many"]
    findings += found.frozen + found.repeated()
    findings += found.stuck("never connectable") {
      $0.audience == .bonded && $0.plan.advertisement?.isConnectable == true
    }
    // Its owner performs what is due, and calls it when its time has come.
    for (what, paces) in [("off", [.fast, .slow]), ("fast", [AdvertisingPace.slow])] {
      findings += found.stuck("stays \(what) by itself", by: { $0 == .time || $0 == .succeeds }) { air in
        air.audience == .nobody || air.plan.failure != nil
          || air.plan.advertisement.map { paces.contains($0.pace) } == true
      }
    }
    findings += found.stuck("does not try again by itself", by: { $0 == .time || $0 == .succeeds }) {
      $0.plan.failure == nil || !$0.isAlone
    }
    findings += found.states("rests with the wrong advertisement") { air, now in
      guard found.deadline(air, now) == nil, air.plan.step(for: air.audience, at: now) == nil
      else { return false }
      switch air.audience {
      case .anybody, .bonded:
        // One that failed next to a phone is not tried again.
        return air.plan.advertisement?.isConnectable != true && air.plan.failure == nil
      case .connected:
        return air.plan.advertisement?.isConnectable != false && air.plan.failure == nil
      case .nobody: return air.plan.advertisement != nil
      }
    }
    return try findings + stepsBroken(found)
      + found.graph { caseName($0.plan, "air") }.differences(from: "the advertising")
  }

  private static func stepsBroken(_ found: AirExplorer) -> [String] {
    found.steps("on the air although it was set up again") { edge, _, to in
      edge.input == .reset && to.plan.advertisement != nil
    }
      + found.steps("nothing begins") { edge, _, to in
        let now = found.states[edge.to].now
        return edge.input == .begin && to.audience != .nobody
          && to.plan.step(for: to.audience, at: now) == nil
          && to.plan.deadline(for: to.audience, at: now).map { $0 > now + .seconds(1) } ?? true
      }
      + found.steps("on the air in the quiet second") { edge, _, to in
        let step = to.plan.step(for: to.audience, at: found.states[edge.to].now)
        if edge.input == .rest, case .advertise? = step { return true }
        return false
      }
      + found.steps("connectable next to a phone") { edge, _, to in
        edge.input == .phoneConnected && to.plan.advertisement?.isConnectable == true
      }
      + found.steps("left on the air next to a phone") { edge, from, to in
        edge.input == .linkEnded && caseName(from.plan, "air") == "interrupted"
          && to.plan.step(for: .nobody, at: found.states[edge.to].now) == nil
      }
      + found.steps("a failure is forgotten") { edge, from, to in
        guard case .fails = edge.input, from.failures < 4 else { return false }
        let step = from.plan.step(for: from.audience, at: found.states[edge.from].now)
        return step != nil && to.plan.failure == nil
      }
  }

  @Test("The board ends up advertising what it should, whatever fails, and rests then")
  func advertising() throws {
    let findings = try Self.found(Self.airs())
    #expect(findings.isEmpty, "\(findings.prefix(3).joined(separator: "\n"))")
  }

  @Test("Advertising with a fault is found")
  func faultyAdvertising() throws {
    let airs = Self.airs()
    let start = Air(plan: AdvertisingPlan(name: "board", choice: .solicit))
    // Who listens is for the owner to say.
    for kind in airs.kinds(in: start).subtracting(["audience"]) {
      #expect(try Self.found(airs.ignoring { caseName($0) == kind }) != [], "ignores \(kind)")
    }
    for state in ["on", "failed"] {
      let forgetful = airs.forgetting { caseName($0.plan, "air") == state }
      #expect(try Self.found(forgetful) != [], "has no deadline when it is \(state)")
    }
    #expect(try Self.found(airs.repeating { _ in true }) != [])
  }
}
