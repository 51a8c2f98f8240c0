// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@Suite("ATT: which request goes first")
struct PurposeTests {
  @Test("The session's requests go before a user's, and those before debugging")
  func order() throws {
    try TestLoop.run { loop in
      let bench = Bench(loop)
      let purposes: [Purpose] = [
        .debugging(Cancellation()), .debugging(Cancellation()), .user(Cancellation()), .session,
        .user(Cancellation()), .session,
      ]
      for (index, purpose) in purposes.enumerated() {
        loop.start { [bearer = bench.bearer] in
          _ = try await bearer.request(.readRequest(Handle(index + 1)), for: purpose)
        }
        await loop.settle()
      }
      for _ in purposes {
        bench.receive("0b01")
        await loop.settle()
      }
      // The first was under way before the others came.
      #expect(bench.sent == [1, 4, 6, 3, 5, 2].map { "0a0\($0)00" })
    }
  }

  @Test("What is cancelled while it waits is never sent, and fails at once")
  func cancelled() throws {
    try TestLoop.run { loop in
      let bench = Bench(loop)
      let gone = Cancellation()
      let requests = (1...100).map { handle in
        loop.start { [bearer = bench.bearer] in
          try await bearer.request(.readRequest(Handle(handle)), for: .debugging(gone))
        }
      }
      await loop.settle()
      let stays = loop.start { [bearer = bench.bearer] in
        try await bearer.request(.readRequest(500), for: .debugging(Cancellation()))
      }
      await loop.settle()
      gone.cancel()
      await loop.settle()
      #expect(requests.dropFirst().allSatisfy { $0.failure as? ATTFailure == .cancelled })
      bench.receive("0b01")
      await loop.settle()
      bench.receive("0b01")
      await loop.settle()
      #expect(bench.sent == ["0a0100", "0af401"])
      #expect(stays.failure == nil && requests[0].failure == nil)
    }
  }
}
