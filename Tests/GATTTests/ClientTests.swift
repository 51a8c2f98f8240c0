// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import TestLoop
import Testing
import Wire

@Suite("GATT: client procedures")
struct ClientTests {
  @Test("Handles out of order end a discovery with an error, not in a loop")
  func circle() throws {
    try TestLoop.run { loop in
      let bearer = Bearer(scheduler: loop.clock)
      let client = Client(bearer)
      bearer.send = { _ in bearer.receive([0x11, 6, 1, 0, 5, 0, 0, 0x18]) }
      let services = loop.start { try await client.primaryServices() }
      await loop.settle()
      #expect(services.failure is ATTFailure)
      #expect(bearer.requestsSent == 2)
    }
  }

  @Test("If CCCDs may not be read by type, the descriptors' types are asked for")
  func refusedConfigurations() throws {
    try TestLoop.run { loop in
      let bearer = Bearer(scheduler: loop.clock)
      let client = Client(bearer)
      bearer.send = { sent in
        switch sent.hex {
        case "08120015000229": bearer.receive([0x01, 0x08, 0x13, 0x00, 0x05])
        case "0413001500": bearer.receive([UInt8](hex: "0501 1300 0229 1400 0129") ?? [])
        default: bearer.receive([0x01, sent[0], 0, 0, 0x0A])
        }
      }
      var services = [
        LocatedService(
          service: Service(uuid: 0x180F, range: HandleRange(0x10, 0x15)),
          characteristics: [
            Characteristic(declaration: 0x11, properties: .notify, value: 0x12, uuid: 0x2A19, end: 0x15)
          ])
      ]
      try await client.findConfigurations(of: &services)
      #expect(services.first?[0x2A19]?.cccd == 0x13)
    }
  }
}
