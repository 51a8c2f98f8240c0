// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control

extension Clients {
  /// `ancsd status --why`: what everything waits for now, and whenever that changes.
  static func followWhy(_ client: ControlClient) async throws(Failure) -> ExitStatus {
    try await client.call(
      ControlMethods.subscribe, Subscription(events: [.why]), "follow what is waited for")
    let status = try await client.call(ControlMethods.status, "status")
    for line in status.waits { try client.console.show(line) { line.text($0) } }
    while true {
      guard case .line(let line) = try await client.next(),
        let event = NumberedEvent(line: line)?.event, case .why(let wait, let why) = event.content
      else { continue }
      let news = WaitLine(adapter: event.adapter, phone: event.phone, wait: wait, why: why)
      try client.console.show(news) { news.text($0) }
    }
  }
}
