// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@Suite("One-sided bonds")
struct StaleBondTests {
  /// A link that begins at `second` and lasts for `life`.
  func link(
    _ detector: inout StaleBondDetector, at second: Int, life: Duration = .seconds(2),
    isSecured: Bool = false, _ cause: LinkEnd.Cause = .phone
  ) -> StaleBond? {
    let start = Instant.zero + .seconds(second)
    detector.connected(at: start)
    if isSecured { detector.secured() }
    return detector.disconnected(at: start + life, cause)
  }

  @Test("Three fruitless links within a minute are reported, once")
  func found() {
    var detector = StaleBondDetector()
    #expect(link(&detector, at: 0) == nil)
    #expect(link(&detector, at: 20) == nil)
    #expect(link(&detector, at: 40) == .lostByPhone)
    #expect(link(&detector, at: 45) == nil)
    #expect(link(&detector, at: 50) == nil)
    // Repaired, and broken again.
    #expect(link(&detector, at: 60, isSecured: true) == nil)
    for second in [70, 75] { #expect(link(&detector, at: second) == nil) }
    #expect(link(&detector, at: 80, .keysDiffer) == .keysDiffer)
  }

  @Test("Ten quick reconnections with sessions are not reported")
  func reconnections() {
    var detector = StaleBondDetector()
    for cycle in 0..<10 {
      #expect(link(&detector, at: cycle * 3, life: .seconds(1), isSecured: true) == nil)
    }
    for cycle in 0..<10 {  // every other one did not get that far
      #expect(link(&detector, at: 100 + cycle * 3, isSecured: cycle % 2 == 0) == nil)
    }
  }

  @Test("Links that are far apart, last long or were ended here do not count")
  func uncounted() {
    var detector = StaleBondDetector()
    for cycle in 0..<10 { #expect(link(&detector, at: cycle * 40) == nil) }
    detector = StaleBondDetector()
    for cycle in 0..<10 { #expect(link(&detector, at: cycle * 6, life: .seconds(6)) == nil) }
    detector = StaleBondDetector()
    for cycle in 0..<10 { #expect(link(&detector, at: cycle * 3, .board) == nil) }
    #expect(detector.disconnected(at: .zero + .seconds(30)) == nil)
  }

  @Test(
    "Links that were ended here because the phone did not encrypt count, however long they were")
  func unencrypted() {
    var detector = StaleBondDetector()
    #expect(link(&detector, at: 0, life: .seconds(10), .unencrypted) == nil)
    #expect(link(&detector, at: 12, life: .seconds(10), .unencrypted) == nil)
    #expect(link(&detector, at: 24, life: .seconds(10), .unencrypted) == .lostByPhone)
  }

  @Test("A bond that the board has lost is reported as such")
  func lostHere() {
    var detector = StaleBondDetector()
    var found: [StaleBond?] = []
    for second in [0, 4, 8] {
      detector.connected(at: .zero + .seconds(second))
      found.append(detector.disconnected(at: .zero + .seconds(second + 1), isBonded: false))
    }
    #expect(found == [nil, nil, .lostHere])
    #expect(!StaleBond.lostHere.remedy(board: "Kitchen", phone: "x").contains("ancsd forget"))
  }

  @Test("The remedy names both sides")
  func words() {
    for stale in [StaleBond.lostByPhone, .keysDiffer] {
      let remedy = stale.remedy(board: "Kitchen", phone: "Ada's phone")
      #expect(remedy.contains("Kitchen › Forget This Device"))
      #expect(remedy.contains("ancsd forget Ada's phone"))
      #expect(stale.what.contains("without encryption"))
    }
  }
}
