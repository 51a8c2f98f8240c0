// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import TestLoop
import Testing
import Wire

@testable import Mgmt

@Suite("Connection parameters")
struct TuningTests {
  @Test(
    "Whatever is asked for is within Apple's rules",
    arguments: [ConnectionParameters.fast, .idle])
  func pace(wanted: ConnectionParameters) { #expect(AppleRules.allows(wanted)) }

  private func at(_ seconds: Double) -> Instant { .zero + .milliseconds(Int64(seconds * 1_000)) }

  /// A tuner whose first request was accepted at 0, with nothing to do since.
  private func tuner() -> LinkTuner {
    var tuner = LinkTuner(at: at(-1))
    _ = tuner.timePassed(to: at(0))
    _ = tuner.work(backlog: 0, at: at(0))
    _ = tuner.updated(status: 0, at: at(0.1))
    return tuner
  }

  @Test("Calm after a while without work, fast for a burst")
  func paces() {
    var tuner = tuner()
    #expect(tuner.deadline == at(10))
    #expect(tuner.timePassed(to: at(9)) == nil)
    #expect(tuner.timePassed(to: at(10)) == .idle)
    _ = tuner.updated(status: 0, at: at(10.5))
    // From now on nothing wakes anybody up.
    #expect(tuner.deadline == nil)
    // One or two are through before a change would help.
    #expect(tuner.work(backlog: 2, at: at(60)) == nil)
    #expect(tuner.deadline == nil)
    _ = tuner.work(backlog: 0, at: at(61))
    #expect(tuner.deadline == nil)
    #expect(tuner.work(backlog: 12, at: at(70)) == .fast)
    _ = tuner.updated(status: 0, at: at(70.5))
    #expect(tuner.deadline == nil)
    _ = tuner.work(backlog: 0, at: at(75))
    #expect(tuner.deadline == at(85))
    // Work in between begins the wait again.
    _ = tuner.work(backlog: 1, at: at(80))
    _ = tuner.work(backlog: 0, at: at(81))
    #expect(tuner.deadline == at(91))
  }

  @Test("Three attempts, the first a second after encryption, five seconds apart, refused or unanswered; then none")
  func tries() {
    var tuner = LinkTuner(at: at(-1))
    #expect(tuner.work(backlog: 6, at: at(-0.8)) == nil && tuner.deadline == at(0))
    #expect(tuner.timePassed(to: at(0)) == .fast)
    // Refused by the phone after a second.
    #expect(tuner.updated(status: 0x3B, at: at(1)) == nil)
    #expect(tuner.deadline == at(6))
    #expect(tuner.timePassed(to: at(6)) == .fast)
    // Not answered at all.
    #expect(tuner.deadline == at(11))
    #expect(tuner.timePassed(to: at(11)) == .fast)
    #expect(tuner.timePassed(to: at(16)) == nil)
    #expect(tuner.deadline == nil)
    // Something else is tried again.
    _ = tuner.work(backlog: 0, at: at(20))
    #expect(tuner.timePassed(to: at(30)) == .idle)
  }

  @Test("One request at a time: what is wanted meanwhile is asked for behind the response")
  func oneAtATime() {
    var tuner = tuner()
    _ = tuner.timePassed(to: at(10))
    #expect(tuner.work(backlog: 9, at: at(11)) == nil)
    #expect(tuner.updated(status: 0, at: at(12)) == .fast)
  }

  @Test("What the phone changes by itself is left alone")
  func unasked() {
    var tuner = LinkTuner(at: at(-1))
    _ = tuner.timePassed(to: at(0))
    _ = tuner.updated(status: 0, at: at(1))
    #expect(tuner.updated(status: 0, at: at(2)) == nil)
    #expect(tuner.deadline == nil)
  }

  @Test("No order of calls asks twice at once, or for ever", arguments: 0..<50 as Range<UInt64>)
  func chance(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var tuner = LinkTuner(at: at(0))
    var now = 0.0
    var isAsked = false
    for _ in 0..<500 {
      now += Double.random(in: 0...3, using: &random)
      var request: ConnectionParameters?
      switch Int.random(in: 0..<4, using: &random) {
      case 0: request = tuner.work(backlog: .random(in: 0...8, using: &random), at: at(now))
      case 1:
        isAsked = false
        request = tuner.updated(status: Bool.random(using: &random) ? 0 : 0x3B, at: at(now))
      default:
        let isOverdue = tuner.deadline.map { $0 <= at(now) } ?? false
        if isOverdue { isAsked = false }
        request = tuner.timePassed(to: at(now))
      }
      if request != nil {
        #expect(!isAsked)
        isAsked = true
      }
    }
    // Left alone, it comes to rest.
    _ = tuner.work(backlog: 0, at: at(now))
    for _ in 0..<20 {
      guard let deadline = tuner.deadline else { break }
      _ = tuner.timePassed(to: deadline)
    }
    #expect(tuner.deadline == nil)
  }
}

/// Which connection parameters an iPhone takes (Accessory Design Guidelines for Apple Devices, 2021, 35.6).
private enum AppleRules {
  /// Whether a request for these has a chance.
  static func allows(_ wanted: ConnectionParameters) -> Bool {
    // Intervals in units of 1.25 ms, the time-out in units of 10 ms; so 15 ms are 12 units.
    let (shortest, longest) = (Int(wanted.minimumInterval), Int(wanted.maximumInterval))
    let latency = Int(wanted.latency)
    let timeout = Int(wanted.timeout) * 8
    guard latency <= 30, (1_600...4_800).contains(timeout) else { return false }
    guard shortest >= 12, shortest % 12 == 0 else { return false }
    guard longest >= shortest + 12 || (shortest == 12 && longest == 12) else { return false }
    let silence = longest * (latency + 1)
    return silence <= 1_600 && silence * 3 < timeout
  }
}
