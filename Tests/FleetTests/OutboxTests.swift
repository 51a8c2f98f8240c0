// SPDX-License-Identifier: GPL-3.0-or-later
import Fleet
import Testing
import Wire

@Suite("The outbox") struct OutboxTests {
  private func event(_ seq: UInt64) -> Publication {
    Publication("e", [UInt8(seq)], .event(Position(life: "a", seq: seq), expiry: 600))
  }

  @Test("An event of which nothing is published counts as soon as all before it are acknowledged")
  func skipped() throws {
    var outbox = Outbox()
    outbox.begin(receiveMaximum: 20)
    outbox.handled(Position(life: "a", seq: 7))
    #expect(outbox.lastAcknowledged?.seq == 7)
    outbox.add([event(8)], at: .zero)
    outbox.handled(Position(life: "a", seq: 8))
    outbox.sent(as: 1)
    outbox.handled(Position(life: "a", seq: 9))
    #expect(outbox.lastAcknowledged?.seq == 7)
    _ = outbox.acknowledged(1, ReasonCode(0), at: .zero)
    #expect(outbox.lastAcknowledged?.seq == 9)
  }

  @Test(
    "An event for which the broker has no space is sent again, in its place, after growing pauses")
  func noSpace() {
    var outbox = Outbox(position: Position(life: "a", seq: 1))
    outbox.begin(receiveMaximum: 20)
    let full = ReasonCode(0x97)
    outbox.add((2...4).map(event) + [Publication("s", [0], .state())], at: .zero)
    outbox.handled(Position(life: "a", seq: 4))
    for number: UInt16 in 2...4 { outbox.sent(as: number) }
    #expect(outbox.acknowledged(3, full, at: .zero) == .postponed(event(3)))
    #expect(outbox.acknowledged(2, full, at: .zero) == .postponed(event(2)))
    #expect(outbox.acknowledged(4, ReasonCode(0x87), at: .zero) == .refused(event(4)))
    #expect(outbox.lastAcknowledged?.seq == 1 && outbox.isFull)
    var now = Instant.zero
    for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
      #expect(outbox.deadline(after: now) == now + .seconds(seconds))
      #expect(outbox.next(at: now) == nil)
      now = now + .seconds(seconds)
      #expect(outbox.next(at: now)?.payload == [2])
      outbox.sent(as: 5)
      #expect(outbox.next(at: now) == nil, "one at a time")
      _ = outbox.acknowledged(5, full, at: now)
    }
    now = now + .seconds(60)
    for seq: UInt64 in 2...3 {
      #expect(outbox.next(at: now)?.payload == [UInt8(seq)])
      outbox.sent(as: 6)
      #expect(outbox.acknowledged(6, ReasonCode(0x10), at: now) == .delivered(event(seq)))
    }
    #expect(outbox.lastAcknowledged?.seq == 4)
    #expect(outbox.next(at: now) == Publication("s", [0], .state()))
    // A state is said again when it changes.
    outbox.sent(as: 7)
    #expect(outbox.acknowledged(7, full, at: now) == .refused(Publication("s", [0], .state())))
  }

  @Test("What is sent at once is bounded, and so are the answers to requests that wait")
  func bounds() {
    var outbox = Outbox()
    outbox.begin(receiveMaximum: 65_535)
    var taken: UInt16 = 0
    while outbox.hasSpaceForResponse, taken < 1_000 {
      outbox.add([Publication("x", [], .response(correlation: nil))], at: .zero)
      taken += 1
    }
    #expect(taken == 64)
    for number: UInt16 in 1...16 { outbox.sent(as: number) }
    #expect(outbox.next(at: .zero) == nil && outbox.isFull && outbox.hasSpaceForResponse)
  }
}
