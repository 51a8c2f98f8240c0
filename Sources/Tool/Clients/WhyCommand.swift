// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import JSON
import Wire

extension Clients {
  /// `ancsd status --why`: what everything waits for now, and whenever that changes.
  static func followWhy(_ client: ControlClient) async throws(Failure) -> ExitStatus {
    let subscription = Subscription(events: [.why])
    _ = try await client.call(.subscribe(subscription), "follow what is waited for")
    let status = try await client.fetch(.status, "status", StatusReport.init(json:))
    for line in status.waits { try show(line, client) }
    while true {
      guard case .line(let line) = try await client.next(),
        let text = RPCLine.eventText(in: line), let json = try? JSONValue(parsing: text),
        let event = try? NumberedEvent(json: json),
        case .why(let wait, let why) = event.event.content
      else { continue }
      try show(
        WaitLine(
          adapter: event.event.adapter, phone: event.event.phone?.description, wait: wait, why: why),
        client)
    }
  }

  private static func show(_ line: WaitLine, _ client: ControlClient) throws(Failure) {
    switch client.console.usualFormat {
    case .json: try client.console.print(line: line.json.text)
    case .text: try client.console.print(line: line.text(client.console.style))
    }
  }
}
