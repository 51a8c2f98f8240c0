// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@Suite("One-sided bonds")
struct StaleBondTests {
  /// A link that begins at `second` and lasts for `life`.
  func link(
    _ watch: inout StaleBondWatch, at second: Int, life: Duration = .seconds(2),
    isSecured: Bool = false, _ cause: LinkEnd.Cause = .phone
  ) -> StaleBond? {
    let start = Instant.zero + .seconds(second)
    guard !isSecured else {
      watch.secured(Sample.phone)
      return nil
    }
    return watch.ended(Sample.phone, since: start, at: start + life, cause) { _ in true }
  }

  @Test("Three fruitless links within a minute are reported, once")
  func found() {
    var watch = StaleBondWatch()
    #expect(link(&watch, at: 0) == nil)
    #expect(link(&watch, at: 20) == nil)
    #expect(link(&watch, at: 40) == .lostByPhone)
    #expect(link(&watch, at: 45) == nil)
    #expect(link(&watch, at: 50) == nil)
    // Repaired, and broken again.
    #expect(link(&watch, at: 60, isSecured: true) == nil)
    for second in [70, 75] { #expect(link(&watch, at: second) == nil) }
    #expect(link(&watch, at: 80, .keysDiffer) == .keysDiffer)
  }

  @Test("Ten quick reconnections with sessions are not reported")
  func reconnections() {
    var watch = StaleBondWatch()
    for cycle in 0..<10 {
      #expect(link(&watch, at: cycle * 3, life: .seconds(1), isSecured: true) == nil)
    }
    for cycle in 0..<10 {  // every other one did not get that far
      #expect(link(&watch, at: 100 + cycle * 3, isSecured: cycle % 2 == 0) == nil)
    }
  }

  @Test("Links that are far apart, last long or were ended here do not count")
  func uncounted() {
    var watch = StaleBondWatch()
    for cycle in 0..<10 { #expect(link(&watch, at: cycle * 40) == nil) }
    watch = StaleBondWatch()
    for cycle in 0..<10 { #expect(link(&watch, at: cycle * 6, life: .seconds(6)) == nil) }
    watch = StaleBondWatch()
    for cycle in 0..<10 { #expect(link(&watch, at: cycle * 3, .board) == nil) }
  }

  @Test(
    "Links that were ended here because the phone did not encrypt count, however long they were")
  func unencrypted() {
    var watch = StaleBondWatch()
    #expect(link(&watch, at: 0, life: .seconds(10), .unencrypted) == nil)
    #expect(link(&watch, at: 12, life: .seconds(10), .unencrypted) == nil)
    #expect(link(&watch, at: 24, life: .seconds(10), .unencrypted) == .lostByPhone)
    watch = StaleBondWatch()
    for second in [0, 20] {  // that the phone ends them afterwards adds nothing
      #expect(link(&watch, at: second, life: .seconds(1), .unencrypted) == nil)
      #expect(link(&watch, at: second) == nil)
    }
  }

  @Test("Too many unknown phones don't drive out the bonded one")
  func capacity() {
    var watch = StaleBondWatch()
    func end(_ phone: DeviceAddress, at second: Int) -> StaleBond? {
      let start = Instant.zero + .seconds(second)
      return watch.ended(phone, since: start, at: start + .seconds(1), .phone) {
        $0 == Sample.phone
      }
    }
    for second in [0, 2] { #expect(end(Sample.phone, at: second) == nil) }
    for number in 0..<1000 {
      _ = end(DeviceAddress(Address(UInt64(number)), .random), at: 4)
    }
    #expect(end(Sample.phone, at: 6) == .lostByPhone)
  }

  @Test("The remedy names both sides")
  func words() {
    for stale in [StaleBond.lostByPhone, .keysDiffer] {
      let remedy = stale.remedy(board: "Kitchen", phone: "Ada's phone")
      #expect(remedy.contains("Kitchen › Forget This Device"))
      #expect(remedy.contains("ancsd forget Ada's phone"))
      #expect(stale.what.contains("without encryption"))
    }
    #expect(!StaleBond.lostHere.remedy(board: "Kitchen", phone: "x").contains("ancsd forget"))
  }
}
