// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Testing
import Wire

@testable import Daemon

@Suite("When a phone's services are searched again")
struct DiscoveryPlanTests {
  let start = Instant.zero + .seconds(1_000)
  let all = HandleRange.all

  /// The plan of a session that was set up.
  private static var serving: DiscoveryPlan {
    var plan = DiscoveryPlan()
    plan.began(after: 3)
    return plan
  }

  @Test("A change that a search in progress will see needs no other; a later one does")
  func whileSearching() {
    var plan = DiscoveryPlan()
    plan.began(after: 3)
    let isNews = (2...4).map { plan.changed(all, after: $0, isSettingUp: true, at: start) }
    #expect(isNews == [false, false, true])
    #expect(plan.deadline == start)
    #expect(plan.next(at: start, after: 20) == .change(all, mayBeNone: true))
    #expect(plan.deadline == nil && plan.next(at: start, after: 20) == nil)
    // The search of a part says nothing about the rest.
    let part = HandleRange(10, 20)
    #expect(plan.changed(part, after: 21, isSettingUp: false, at: start) == true)
    #expect(plan.next(at: start, after: 22) == .change(part, mayBeNone: true))
    #expect(plan.changed(part, after: 22, isSettingUp: false, at: start) == false)
    #expect(plan.changed(all, after: 22, isSettingUp: false, at: start) == true)
  }

  @Test("Changes merge while they wait, and are searched less and less often")
  func merged() {
    var plan = Self.serving
    #expect(plan.changed(HandleRange(10, 20), after: 30, isSettingUp: false, at: start) == true)
    #expect(plan.changed(HandleRange(40, 50), after: 30, isSettingUp: false, at: start) == true)
    #expect(plan.changing == HandleRange(10, 50))
    #expect(plan.next(at: start, after: 31) == .change(HandleRange(10, 50), mayBeNone: false))
    for count in 1..<32 {
      #expect(plan.changed(all, after: 100 * count, isSettingUp: false, at: start) == true)
      #expect(plan.next(at: start, after: 100 * count + 1) != nil)
    }
    #expect(plan.changed(all, after: 9_000, isSettingUp: false, at: start) == true)
    #expect(plan.next(at: start, after: 9_001) == nil)
    #expect(plan.deadline == start + .seconds(10))
    #expect(plan.next(at: start + .seconds(10), after: 9_001) != nil)
    // After a rest it is as at first.
    let later = start + .seconds(1_000)
    for count in 100..<132 {
      #expect(plan.changed(all, after: 100 * count, isSettingUp: false, at: later) == true)
      #expect(plan.next(at: later, after: 100 * count + 1) != nil)
    }
    #expect(plan.changed(all, after: 19_000, isSettingUp: false, at: later) == true)
    #expect(plan.next(at: later, after: 19_001) == nil && plan.deadline == later + .seconds(10))
  }

  @Test("Changes at the start of a link may be none, as far as each follows another within 2 s")
  func startOfLink() {
    var plan = Self.serving
    var kinds: [DiscoveryPlan.Step?] = []
    for (seconds, isSettingUp) in [(0, true), (1, false), (2, false), (5, false)] as [(Int64, Bool)] {
      let now = start + .seconds(seconds)
      _ = plan.changed(all, after: 1_000 * Int(seconds + 1), isSettingUp: isSettingUp, at: now)
      kinds.append(plan.next(at: now, after: 0))
    }
    #expect(kinds == [true, true, true, false].map { .change(all, mayBeNone: $0) })
  }

  @Test("A missing service is searched for after pauses that grow, and sooner after a change")
  func missing() {
    var plan = Self.serving
    var now = start
    for pause in [5, 15, 60, 300, 300] as [Int64] {
      plan.settled(isMissing: true, at: now)
      #expect(plan.deadline == now + .seconds(pause))
      #expect(plan.next(at: now, after: 30) == nil)
      now = now + .seconds(pause)
      #expect(plan.next(at: now, after: 30) == .search)
    }
    plan.servicesChanged()
    plan.settled(isMissing: true, at: now)
    #expect(plan.deadline == now + .seconds(5))
    plan.settled(isMissing: false, at: now)
    #expect(plan.deadline == nil)
  }

  @Test("A revival is not forgotten for what ends before it begins, and a change comes first")
  func revival() {
    var plan = Self.serving
    plan.revive(at: start)
    for isMissing in [true, false] { plan.settled(isMissing: isMissing, at: start) }
    #expect(plan.changed(all, after: 40, isSettingUp: false, at: start) == true)
    #expect(plan.next(at: start, after: 41) == .change(all, mayBeNone: false))
    #expect(plan.next(at: start, after: 50) == .revival)
    plan.rest(until: start + .seconds(300))
    #expect(plan.deadline == start + .seconds(300))
    #expect(plan.next(at: start + .seconds(300), after: 60) == .search)
  }
}
