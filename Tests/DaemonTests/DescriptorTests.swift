// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import OnLoop
import System
import Testing

@testable import Board
@testable import Daemon

@Suite("File descriptors")
struct DescriptorTests {
  @Test(
    "The last ones are kept from clients, for bonds, links and adapters", arguments: [true, false])
  func spare(hasOthers: Bool) async throws {
    let wasAccepted = try await onLoop {
      let platform = SystemPlatform(
        descriptorLimit: hasOthers ? 1 << 20 : ControlLimits.spareDescriptors + 3)
      let name = "@ancsd-test-descriptors-\(hasOthers)"
      var accepted: (any LineChannel)?
      let stop = try platform.listenForClients(at: name, log: Log(level: .error)) {
        accepted = $0
      }
      let client = try LineSocket.connect(unix: name)
      client.onLine = { _ in }
      await eventually { accepted != nil || !client.isOpen }
      stop()
      return accepted != nil
    }
    #expect(wasAccepted == hasOthers)
  }
}
