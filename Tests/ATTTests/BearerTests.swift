// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@Suite("ATT: the bearer")
struct BearerTests {
  @Test("A second request waits for the first response")
  func oneAtATime() throws {
    try TestLoop.run { loop in
      var sent: [[UInt8]] = []
      let bearer = Bearer(scheduler: loop.clock)
      bearer.send = { sent.append($0) }
      let first = loop.start { try await bearer.request(.readRequest(1)) }
      let second = loop.start { try await bearer.request(.readRequest(2)) }
      await loop.settle()
      #expect(sent.map(\.hex) == ["0a0100"])
      bearer.receive([0x0B, 0xAA])
      #expect(sent.map(\.hex) == ["0a0100", "0a0200"])
      bearer.receive([0x01, 0x0A, 0x02, 0x00, 0x02])
      await loop.settle()
      #expect(first.value == .readResponse([0xAA]))
      #expect((second.failure as? ATTFailure)?.code == .readNotPermitted)
      #expect(bearer.requestsSent == 2)
    }
  }

  @Test("After 30 seconds without a response the bearer is dead, and all requests fail")
  func timeout() throws {
    try TestLoop.run { loop in
      let bearer = Bearer(scheduler: loop.clock)
      var death: ATTFailure?
      bearer.onDead = { death = $0 }
      let first = loop.start { try await bearer.request(.readRequest(1)) }
      let second = loop.start { try await bearer.request(.readRequest(2)) }
      await loop.sleep(for: .seconds(29))
      #expect(first.result == nil)
      await loop.sleep(for: .seconds(2))
      #expect(first.failure as? ATTFailure == .timedOut(.readRequest))
      #expect(second.failure as? ATTFailure == .timedOut(.readRequest))
      #expect(death == .timedOut(.readRequest))
      let third = loop.start { try await bearer.request(.readRequest(3)) }
      await loop.settle()
      #expect(third.failure as? ATTFailure == .timedOut(.readRequest))
    }
  }
}
