// SPDX-License-Identifier: GPL-3.0-or-later
@testable import Mgmt
import Testing
import Wire

@Suite("What is on the air, when it changes, and what follows a failure")
struct AdvertisingPlanTests {
  private func at(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1_000)) }

  /// A plan whose fast pace began at 0.
  private func plan(choice: AdvertisingProfile? = .solicit) -> AdvertisingPlan {
    var plan = AdvertisingPlan(name: "board", choice: choice)
    plan.begin(at: .zero)
    return plan
  }

  private func advertise(
    _ pace: AdvertisingPace, _ reach: Advertisement.Reach = .connectable
  ) -> AdvertisingPlan.Step {
    .advertise(Advertisement(profile: .solicit, name: "board", pace: pace, reach: reach))
  }

  @Test(
    "Fast at first, slow after a while, and then nothing is due",
    arguments: [(AdvertisingPlan.Audience.bonded, 30.0), (.anybody, 300.0)])
  func pace(audience: AdvertisingPlan.Audience, end: Double) {
    var plan = plan()
    #expect(plan.step(for: audience, at: at(0)) == advertise(.fast))
    plan.succeeded(advertise(.fast))
    #expect(plan.step(for: audience, at: at(end - 0.1)) == nil)
    #expect(plan.deadline(for: audience, at: at(1)) == at(end))
    #expect(plan.step(for: audience, at: at(end)) == advertise(.slow))
    plan.succeeded(advertise(.slow))
    #expect(plan.step(for: audience, at: at(9_999)) == nil)
    #expect(plan.deadline(for: audience, at: at(9_999)) == nil)
    // A phone has gone.
    plan.begin(at: at(9_999))
    #expect(plan.step(for: audience, at: at(9_999)) == advertise(.fast))
  }

  @Test(
    "While any phone may pair the profiles take turns, otherwise there is the solicitation alone")
  func turns() {
    var plan = plan(choice: nil)
    func profile(_ audience: AdvertisingPlan.Audience, turn: Int) -> AdvertisingProfile? {
      let now = Instant.zero + AdvertisingProfile.turn * turn
      guard case .advertise(let advertisement)? = plan.step(for: audience, at: now) else {
        return nil
      }
      return advertisement.profile
    }
    let profiles = AdvertisingProfile.allCases
    // A round is over within the half minute in which a phone is to find a board.
    #expect(AdvertisingProfile.turn * profiles.count <= .seconds(30))
    #expect((0..<profiles.count).map { profile(.anybody, turn: $0) } == profiles)
    #expect(profile(.anybody, turn: profiles.count) == profiles.first)
    #expect((0..<3).map { profile(.bonded, turn: $0) } == [.solicit, .solicit, .solicit])
    #expect(plan.deadline(for: .anybody, at: at(0.5)) == at(0) + AdvertisingProfile.turn)
    // After a phone has dropped links, for a while no keyboard is among them.
    plan.avoidKeyboard(until: at(3_600))
    let others = profiles.filter { $0 != .hid }
    #expect((0..<others.count).map { profile(.anybody, turn: $0) } == others)
    #expect((720..<726).compactMap { profile(.anybody, turn: $0) }.contains(.hid))
  }

  @Test("Beside a phone that does not share yet the solicitation can be seen, not connected to")
  func sharing() {
    var plan = plan()
    plan.succeeded(advertise(.fast))
    plan.phoneConnected()
    #expect(plan.step(for: .connected(.quiet), at: at(1)) == advertise(.slow, .visible))
    #expect(plan.step(for: .connected(.connectable), at: at(1)) == advertise(.slow))
    #expect(plan.step(for: .connected(.off), at: at(1)) == nil)
    plan.succeeded(advertise(.slow, .visible))
    // Also where something else was chosen for the advertisement.
    var keyboard = self.plan(choice: .hid)
    keyboard.phoneConnected()
    #expect(keyboard.step(for: .connected(.quiet), at: at(1)) == advertise(.slow, .visible))
    // The kernel leaves this one on the air.
    plan.phoneConnected()
    #expect(plan.advertisement?.reach == .visible)
    #expect(plan.step(for: .nobody, at: at(60)) == .remove)
  }

  @Test("What has failed is tried again after 1, 2, 4, 8, 16, 30, 30 s, and reported once")
  func failure() {
    var plan = plan()
    var now = at(100)
    var pauses: [Duration] = []
    for round in 0..<7 {
      #expect(plan.step(for: .bonded, at: now) == advertise(.slow))
      let isNews = plan.failed(
        advertise(.slow), for: .bonded, isAlone: true, why: "no", at: now)
      #expect(isNews == (round == 0))
      #expect(plan.step(for: .bonded, at: now) == nil && plan.failure == "no")
      let again = plan.deadline(for: .bonded, at: now) ?? now
      pauses.append(again - now)
      now = again
    }
    #expect(pauses == [1, 2, 4, 8, 16, 30, 30].map { .seconds($0) })
    plan.succeeded(advertise(.slow))
    #expect(plan.failure == nil)
    let isNews = plan.failed(advertise(.slow), for: .bonded, isAlone: true, why: "no", at: now)
    #expect(isNews)
  }

  @Test("A failure beside a phone waits until the phone has gone or another audience is there")
  func failureBesidePhone() {
    var plan = plan()
    _ = plan.failed(advertise(.slow), for: .bonded, isAlone: false, why: "no", at: at(100))
    #expect(plan.deadline(for: .bonded, at: at(100)) == nil)
    #expect(plan.step(for: .bonded, at: at(999)) == nil)
    #expect(plan.step(for: .nobody, at: at(999)) == .remove)
    plan.begin(at: at(1_000))
    #expect(plan.step(for: .bonded, at: at(1_000)) == advertise(.fast))
  }
}
