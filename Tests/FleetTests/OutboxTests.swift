// SPDX-License-Identifier: GPL-3.0-or-later
import Fleet
import Testing

@Suite("The outbox") struct OutboxTests {
  private func event(_ seq: UInt64) -> Publication {
    Publication("e", [UInt8(seq)], .event(Position(life: "a", seq: seq), expiry: 600))
  }

  @Test("Nothing counts as acknowledged before the broker has confirmed it, in any order")
  func position() throws {
    var outbox = Outbox(position: Position(life: "a", seq: 1))
    outbox.begin(receiveMaximum: 20)
    for seq: UInt64 in 2...4 {
      outbox.add([event(seq)])
      outbox.passed(Position(life: "a", seq: seq))
      let next = outbox.next()
      outbox.sent(try #require(next), as: UInt16(seq))
    }
    #expect(outbox.position?.seq == 1)
    #expect(outbox.acknowledged(3)?.payload == [3])
    #expect(outbox.position?.seq == 1)
    #expect(outbox.acknowledged(2)?.payload == [2])
    #expect(outbox.position?.seq == 3)
    #expect(outbox.acknowledged(4)?.payload == [4])
    #expect(outbox.position?.seq == 4)
    #expect(outbox.acknowledged(4) == nil)
  }

  @Test("An event of which nothing is published counts as soon as all before it are acknowledged")
  func skipped() throws {
    var outbox = Outbox()
    outbox.begin(receiveMaximum: 20)
    outbox.passed(Position(life: "a", seq: 7))
    #expect(outbox.position?.seq == 7)
    outbox.add([event(8)])
    outbox.passed(Position(life: "a", seq: 8))
    let next = outbox.next()
    outbox.sent(try #require(next), as: 1)
    outbox.passed(Position(life: "a", seq: 9))
    #expect(outbox.position?.seq == 7)
    _ = outbox.acknowledged(1)
    #expect(outbox.position?.seq == 9)
  }

  @Test("A link that is lost takes back what it has not acknowledged", arguments: 0...3)
  func lost(acknowledged count: Int) throws {
    var outbox = Outbox(position: Position(life: "a", seq: 10))
    outbox.begin(receiveMaximum: 2)
    for seq: UInt64 in 11...13 {
      outbox.add([event(seq)])
      outbox.passed(Position(life: "a", seq: seq))
      if let next = outbox.next() { outbox.sent(next, as: UInt16(seq)) }
    }
    for number in 11..<11 + count {
      _ = outbox.acknowledged(UInt16(number))
      if let next = outbox.next() { outbox.sent(next, as: 13) }
    }
    outbox.begin(receiveMaximum: 2)
    #expect(outbox.position == Position(life: "a", seq: 10 + UInt64(count)))
    #expect(!outbox.isAwaiting && !outbox.isFull)
  }

  @Test("The window is the broker's, and never wider than ours", arguments: [1, 3, 65_535])
  func window(_ maximum: Int) {
    var outbox = Outbox()
    outbox.begin(receiveMaximum: maximum)
    var sent = 0
    for seq: UInt64 in 1...40 { outbox.add([event(seq)]) }
    while let next = outbox.next() {
      sent += 1
      outbox.sent(next, as: UInt16(sent))
    }
    #expect(sent == min(maximum, Outbox.widestWindow))
    #expect(outbox.isFull)
  }

  @Test("A state takes the place of an older one that waits")
  func states() {
    var outbox = Outbox()
    outbox.begin(receiveMaximum: 1)
    outbox.add([
      Publication("a", [1], .state), Publication("b", [2], .state), Publication("a", [3], .state),
    ])
    #expect(outbox.next() == Publication("a", [3], .state))
    #expect(outbox.next() == Publication("b", [2], .state))
    #expect(outbox.next() == nil)
  }

  @Test("Answers to requests that come faster than the broker takes them are bounded")
  func responses() {
    var outbox = Outbox()
    outbox.begin(receiveMaximum: 1)
    var taken = 0
    while outbox.hasSpaceForResponse, taken < 1_000 {
      outbox.add([Publication("x", [], .response(correlation: nil))])
      taken += 1
    }
    #expect(taken == 64)
    _ = outbox.next()
    #expect(outbox.hasSpaceForResponse)
  }
}
