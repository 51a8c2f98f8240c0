// SPDX-License-Identifier: GPL-3.0-or-later
import Glibc
import System
import TestLoop
import Testing
import VirtualPhone

/// Whole lives with faults (`Life`): the daemon ends in the state in which it would be without them.
///
/// The suite plays a sample of the single faults. `scripts/simulate` plays all of them, and pairs by seed.
@Suite("Whatever goes wrong, it heals", .inWorld) struct SimulationTests: InWorld {
  static func play(_ plan: [Fault], rules: PhoneRules? = nil) async throws -> Life {
    let world = World()
    let life = Life(world, plan, rules: rules)
    await life.live()
    life.checkEvents()
    world.onTurn = {}
    if world.end == nil, world.daemon != nil { try await world.stop() }
    return life
  }

  /// How often each place comes up in any life. One without a grace period, which an odd index makes, has fewer turns.
  static func opportunities(of sound: Life, rules: PhoneRules? = nil) async throws -> [Fault.Place: Int] {
    let never = Fault(place: .turn, index: .max, kind: .linkLost)
    let other = try await play([never], rules: rules)
    return sound.plan.opportunities.merging(other.plan.opportunities, uniquingKeysWith: min)
  }

  /// All single faults of a life.
  static func singles(_ opportunities: [Fault.Place: Int]) -> [Fault] {
    Fault.Place.allCases.flatMap { place in
      (0..<opportunities[place, default: 0]).flatMap { index in
        Fault.kinds[place, default: []].map { Fault(place: place, index: index, kind: $0) }
      }
    }
  }

  /// Whether a life with faults has ended as one without any. What a PDU told that was lost on the way is known only
  /// once the phone returns.
  static func hasHealed(_ end: Life.End, _ plan: [Fault], _ sound: Life.End) -> Bool {
    guard plan.contains(where: { $0.place == .pdu }) else { return end == sound }
    return end.settled.withoutTexts == sound.settled.withoutTexts && end.returned == sound.returned
      && end.restarted == sound.restarted
  }

  /// Rules for a seed, any of which the phone may keep.
  static func rules(_ seed: UInt64) -> PhoneRules {
    var dice = SeededGenerator(seed: seed)
    let values = ["strikes": "3", "text-limit": "512", "previews": "com.example.secret"]
    var rules = PhoneRules()
    for name in PhoneRules.names where Bool.random(using: &dice) {
      _ = rules.set("\(name)=\(values[name] ?? "on")")
    }
    return rules
  }

  @Test(
    "Whatever rules the phone keeps, a life ends as it does without faults", arguments: 1...8 as ClosedRange<UInt64>)
  func rules(seed: UInt64) async throws {
    let rules = Self.rules(seed)
    let sound = try await Self.play([], rules: rules)
    #expect(sound.violations == [] && !sound.world.story.contains("error"), "\(rules)")
    for state in [sound.end.settled, sound.end.returned, sound.end.restarted] {
      #expect(state.active == Life.titles.sorted() && state.wait == "news", "\(rules)")
      #expect(state.sessions == 1 && state.keys == 1, "\(rules)")
      #expect(rules.updatesChangesOnly || state.track == Life.tracks[1], "\(rules)")
    }
    let all = Self.singles(try await Self.opportunities(of: sound, rules: rules))
    let plan = [all[Int(seed * 197) % all.count]]
    let result = try await Self.play(plan, rules: rules)
    #expect(result.violations == [] && result.plan.rest.isEmpty, "\(plan) \(rules)")
    #expect(Self.hasHealed(result.end, plan, sound.end), "\(plan) \(rules) \(result.end)")
  }

  @Test("The same faults make the same life", arguments: [3, 1605, 2734])
  func replay(seed: UInt64) async throws {
    let opportunities = try await Self.opportunities(of: Self.play([]))
    let plan = Self.pair(seed, Self.singles(opportunities))
    let (one, other) = (try await Self.play(plan), try await Self.play(plan))
    #expect(one.end == other.end && one.world.story == other.world.story)
    #expect(one.plan.opportunities == other.plan.opportunities)
  }

  @Test("Faults, chosen by the environment variable SIMULATE or a sample of the single ones")
  func faults() async throws {
    let order = getenv("SIMULATE").map { String(cString: $0) } ?? "sample"
    let sound = try await Self.play([])
    let opportunities = try await Self.opportunities(of: sound)
    let plans = try #require(Self.plans(order, opportunities), "there is no such fault: \(order)")
    var incomplete = 0
    for (name, plan) in plans {
      if getenv("SIMULATE_TRACE") != nil { try? FileDescriptor.writeAll("\(plan)\n".utf8, to: 2) }
      let result = try await Self.play(plan)
      if !result.plan.rest.isEmpty { incomplete += 1 }
      // The first fault comes up in any case: until then nothing is different.
      let isPlayed = result.plan.rest.count < plan.count
      let hasHealed = Self.hasHealed(result.end, plan, sound.end)
      if isPlayed, hasHealed, result.violations.isEmpty { continue }
      Issue.record("\(name): \(plan): \(result.violations) \(hasHealed ? "" : "\(result.end)") \(result.world.story)")
    }
    if order != "sample" {
      let count = Self.singles(opportunities).count
      print("simulated \(plans.count) lives of \(count) single faults, \(incomplete) without the second")
    }
  }

  /// Two faults for a seed.
  static func pair(_ seed: UInt64, _ singles: [Fault]) -> [Fault] {
    var dice = SeededGenerator(seed: seed)
    return (0..<2).map { _ in singles[Int(dice.next() % UInt64(singles.count))] }
  }

  /// The plans that an order names: `sample`, `single PART OF`, `seeds FIRST LAST [STEP]`, or faults as they are
  /// printed, with commas between them; nil: it names none.
  static func plans(_ order: String, _ opportunities: [Fault.Place: Int]) -> [(name: String, plan: [Fault])]? {
    let all = singles(opportunities)
    let words = order.split(separator: " ").map(String.init)
    let numbers = words.compactMap { Int($0) }
    switch words.first {
    case "sample":
      return stride(from: 3, to: all.count, by: 197).map { ("a fault", [all[$0]]) }
    case "single" where numbers.count == 2:
      return stride(from: numbers[0], to: all.count, by: numbers[1]).map { ("a fault", [all[$0]]) }
    case "seeds" where numbers.count >= 2:
      let step = numbers.count > 2 ? numbers[2] : 1
      return stride(from: numbers[0], through: numbers[1], by: step)
        .map { ("seed \($0)", pair(UInt64($0), all)) }
    default:
      var plan: [Fault] = []
      for text in order.split(separator: ",") {
        let wanted = text.trimmingPrefix(" ")
        guard let fault = all.first(where: { $0.description == wanted }) else { return nil }
        plan.append(fault)
      }
      return [("the plan", plan)]
    }
  }
}
