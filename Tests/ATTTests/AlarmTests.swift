// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@Suite("ATT: waiting on a link")
struct AlarmTests {
  @Test("A ring ends the wait at once, a deadline when it passes")
  func ringAndDeadline() throws {
    try TestLoop.run { loop in
      let alarm = Alarm(Bearer(scheduler: loop.clock))
      let rung = loop.start { try await alarm.wait(until: .zero + .seconds(10)) }
      await loop.settle()
      #expect(rung.value == nil)
      alarm.ring()
      await loop.settle()
      #expect(rung.value == true)
      #expect(loop.clock.scheduled == 0)
      let late = loop.start { try await alarm.wait(until: .zero + .seconds(10)) }
      await loop.sleep(for: .seconds(9))
      #expect(late.value == nil)
      await loop.sleep(for: .seconds(2))
      #expect(late.value == false)
    }
  }

  @Test("A ring before the wait is kept, but only one")
  func early() throws {
    try TestLoop.run { loop in
      let alarm = Alarm(Bearer(scheduler: loop.clock))
      alarm.ring()
      alarm.ring()
      let first = try await alarm.wait()
      #expect(first)
      let second = try await alarm.wait(until: .zero + .seconds(1))
      #expect(!second)
    }
  }

  @Test("The end of the link ends every wait, and every later one")
  func end() throws {
    try TestLoop.run { loop in
      let bearer = Bearer(scheduler: loop.clock)
      let alarm = Alarm(bearer)
      let waiting = loop.start { try await alarm.wait() }
      await loop.settle()
      bearer.close(.closed("gone"))
      await loop.settle()
      #expect(waiting.failure as? ATTFailure == .closed("gone"))
      #expect(loop.clock.scheduled == 0)
      alarm.ring()
      let after = loop.start { try await alarm.wait() }
      await loop.settle()
      #expect(after.failure as? ATTFailure == .closed("gone"))
    }
  }
}
