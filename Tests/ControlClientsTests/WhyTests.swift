// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import FakeDaemon
import Testing

@testable import ControlClients

@Suite("status --why")
struct WhyTests {
  @Test("Prints what each is waiting for, and continues when that changes")
  func follows() async throws {
    var adapter = AdapterReport()
    adapter.adapter = "hci0"
    adapter.waiting.wait = "first-phone"
    adapter.waiting.why = "on the air"
    var status = StatusReport()
    status.adapters = [adapter]
    let daemon = FakeDaemon(.text) { [status] request in
      guard request.calls(ControlMethods.status) else { return [.result(true)] }
      return [
        .result(status), .event(.battery(level: 1)), .event(.why(wait: "mtu", why: "connected")),
        .input(.readerGone),
      ]
    }
    await #expect(throws: Failure.self) { _ = try await daemon.run(Clients.status, "--why") }
    #expect(daemon.output == "hci0: on the air\nhci0: connected\n")
    #expect(
      daemon.requests.first == .call(ControlMethods.subscribe, Subscription(events: [.why])))
  }
}
