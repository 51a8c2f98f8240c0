// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Glibc
import OnLoop
import System
import TestLoop
import Testing
import Wire

@testable import Daemon

/// Whole lives with faults (`Life`): the daemon ends in the state in which it would be without them.
///
/// The suite plays a sample of the single faults. `scripts/simulate` plays all of them, and pairs by seed.
@Suite("Whatever goes wrong, it heals") struct SimulationTests {
  struct Result {
    var end: Life.End
    var violations: [String]
    var opportunities: [Fault.Place: Int]
    var story: [String]
  }

  @LoopActor static func play(_ plan: [Fault]) async throws -> Result {
    let world = World()
    let life = Life(world, plan)
    let end = await life.live()
    life.checkEvents()
    let result = Result(
      end: end, violations: life.violations, opportunities: life.opportunities,
      story: world.story)
    world.onTurn = {}
    if world.end == nil, world.daemon != nil { try await world.stop() }
    withExtendedLifetime(life) {}
    return result
  }

  /// All single faults of a life.
  static func singles(_ opportunities: [Fault.Place: Int]) -> [Fault] {
    Fault.Place.allCases.flatMap { place in
      (0..<opportunities[place, default: 0]).flatMap { index in
        Fault.kinds[place, default: []].map { Fault(place: place, index: index, kind: $0) }
      }
    }
  }

  @Test("A life without faults has an end to compare with")
  func faultless() async throws {
    try await onLoop {
      try await OneAtATime.run {
        let result = try await Self.play([])
        #expect(result.violations == [])
        #expect(result.end.active == Life.titles.sorted() && result.end.wait == "news")
        #expect(result.end.bonds == ["random-c01122334455.bond.json"] && result.end.keys == 1)
        #expect(try await Self.play([]).end == result.end)
      }
    }
  }

  @Test("Faults, chosen by the environment variable SIMULATE or a sample of the single ones")
  func faults() async throws {
    let order = getenv("SIMULATE").map { String(cString: $0) } ?? "sample"
    try await onLoop {
      try await OneAtATime.run {
        let sound = try await Self.play([])
        let plans = Self.plans(order, sound.opportunities)
        #expect(!plans.isEmpty)
        if order != "sample" {
          print(
            "simulated \(plans.count) lives of \(Self.singles(sound.opportunities).count) single faults"
          )
        }
        for (name, plan) in plans {
          if getenv("SIMULATE_TRACE") != nil {
            try? FileDescriptor.writeAll("\(plan)\n".utf8, to: 2)
          }
          let result = try await Self.play(plan)
          if result.violations.isEmpty, result.end == sound.end { continue }
          Issue.record("\(name): \(plan): \(result.violations) \(result.end) \(result.story)")
        }
      }
    }
  }

  /// The plans that an order names: `sample`, `single PART OF`, `seeds FIRST LAST`, or faults as they are
  /// printed, with commas between them.
  static func plans(
    _ order: String, _ opportunities: [Fault.Place: Int]
  ) -> [(name: String, plan: [Fault])] {
    let all = singles(opportunities)
    let words = order.split(separator: " ").map(String.init)
    let numbers = words.compactMap { Int($0) }
    switch words.first {
    case "sample":
      return stride(from: 3, to: all.count, by: 97).map { ("a fault", [all[$0]]) }
    case "single" where numbers.count == 2:
      return stride(from: numbers[0], to: all.count, by: numbers[1]).map { ("a fault", [all[$0]]) }
    case "seeds" where numbers.count == 2:
      return (numbers[0]...max(numbers[0], numbers[1])).map { seed in
        var dice = SeededGenerator(seed: UInt64(seed))
        let plan = (0..<2).map { _ in all[Int(dice.next() % UInt64(all.count))] }
        return ("seed \(seed)", plan)
      }
    default:
      let plan = order.split(separator: ",").compactMap { text in
        all.first { $0.description == text.trimmingPrefix(" ") }
      }
      return plan.isEmpty ? [] : [("the plan", plan)]
    }
  }
}
