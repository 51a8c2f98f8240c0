// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import Testing
import Wire

@testable import Board
@testable import Daemon

/// A client of the phone's battery whose runs end when the test says so.
@LoopActor private final class StubService {
  /// A subscription.
  final class Run: RunningService {
    private(set) var isEnded = false
    private(set) var failure: CheckedContinuation<ATTFailure, Never>?

    func run() async throws(ATTFailure) { throw await withCheckedContinuation { failure = $0 } }

    func end() { isEnded = true }
  }

  /// Oldest first.
  private(set) var runs: [Run] = []

  var client: ServiceClient {
    ServiceClient(
      uuid: .batteryService, characteristics: [.batteryLevel], name: .battery, title: "the stub",
      phase: .first
    ) { _, _ throws(ATTFailure) in
      let run = Run()
      self.runs.append(run)
      return run
    }
  }

  func failRun(_ place: Int) {
    runs[place].failure?.resume(returning: .protocolViolation("a test"))
  }
}

@Suite("The run of a service")
struct ServiceRunTests {
  @Test("Its failure ends the subscription that it is of, and not one that came after it")
  func failsLate() async throws {
    try await inWorld { world in
      try await world.serve { $0.io = .noInputNoOutput }
      let session = try #require(world.daemon?.sessions.first)
      let stub = StubService()
      let services = SessionServices([stub.client], ServiceContext(session), .verify)
      var failures = 0
      services.onFailure = { failures += 1 }
      Loop.start {
        try? await services.locate()
        try? await services.subscribe()
        services.start()
        _ = try? await services.rediscover(in: .all)
        services.start()
      }
      try await world.until("two runs") { stub.runs.count { $0.failure != nil } == 2 }
      stub.failRun(0)
      await world.pass(.seconds(1))
      #expect(services.names == [.battery] && !stub.runs[1].isEnded && failures == 0)
      stub.failRun(1)
      await world.pass(.seconds(1))
      #expect(services.names == [] && stub.runs[1].isEnded && failures == 1)
    }
  }
}
