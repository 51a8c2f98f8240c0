// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import JSON
import System
import Testing

@testable import Tool

@Suite("status --why")
struct WhyTests {
  @Test("Prints what each waits for, and goes on when that changes")
  func follows() async throws {
    var status = StatusReport(version: "1", started: WallTime(seconds: 0))
    var adapter = AdapterReport("hci0")
    adapter.wait = "first-phone"
    adapter.why = "on the air"
    status.adapters = [adapter]
    let report = status.json
    let daemon = FakeDaemon(.text) { request in
      switch request {
      case .status:
        [
          .result(report), .event(.battery(level: 1)), .event(.why(wait: "mtu", why: "connected")),
          .input(.readerGone),
        ]
      default: [.result(true)]
      }
    }
    await #expect(throws: Failure.self) { _ = try await daemon.run(Clients.status, "--why") }
    #expect(daemon.output == "hci0: on the air\nhci0: connected\n")
    #expect(daemon.requests.first == .subscribe(Subscription(events: [.why])))
  }
}
