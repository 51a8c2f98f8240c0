// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import EventLoop
import GATT
import VirtualPhone
import Wire

@testable import Daemon

extension WaitScene {
  /// What a session waits for.
  static let services = [
    WaitScene("mtu") {
      let bench = SessionBench()
      bench.wire.transform = { _, _ in nil }
      bench.begin()
      await bench.pass(.seconds(1))
      return bench.session.wait
    },
    WaitScene("unencrypted") {
      let bench = SessionBench(isSecured: false)
      bench.begin()
      await bench.pass(.seconds(1))
      return bench.session.wait
    },
    WaitScene("discovery") { await stopped(at: 0x06) },
    WaitScene("subscription") { await stopped(at: 0x12) },
    WaitScene("unpublished") {
      let bench = SessionBench()
      try bench.phone.perform(.unpublish(.ancs))
      bench.begin()
      await bench.pass(.seconds(1))
      return bench.session.wait
    },
    WaitScene("incomplete") {
      let bench = SessionBench()
      let database = AttributeDatabase()
      _ = try database.add(
        ServiceDefinition(
          .notificationCenter,
          characteristics: [
            CharacteristicDefinition(.notificationSource, [.read])
          ]))
      let bearer = Bearer(scheduler: bench.clock)
      let server = Server(bearer, database: database) { .encrypted }
      bench.begin { end in
        bearer.send = { end.send($0) }
        end.receive = {
          bearer.receive($0)
          _ = server
        }
      }
      await bench.pass(.seconds(1))
      return bench.session.wait
    },
    WaitScene("refused") {
      // The phone thinks that the link is in the clear.
      var configuration = VirtualPhone.Configuration()
      configuration.isEncrypted = false
      let bench = SessionBench(configuration)
      bench.begin()
      await bench.pass(.seconds(5))
      return bench.session.wait
    },
    WaitScene("permission") {
      let bench = SessionBench()
      bench.begin()
      await bench.pass(.milliseconds(500))
      return bench.session.wait
    },
    WaitScene("forbidden") {
      let bench = SessionBench()
      try bench.phone.perform(.authorize(false))
      bench.begin()
      await bench.pass(.seconds(5))
      return bench.session.wait
    },
    WaitScene("stale") {
      let bench = SessionBench()
      bench.begin()
      await bench.pass(.seconds(60))
      // What no iPhone says of a notification that there can't be.
      try bench.phone.perform(.failCommands(code: 0xA0, count: 1))
      await bench.pass(.seconds(900))
      return bench.session.wait
    },
    WaitScene("news") {
      let bench = SessionBench()
      bench.begin()
      await bench.pass(.seconds(5))
      return bench.session.wait
    },
  ]

  /// What a session waits for whose requests of this opcode never arrive.
  @LoopActor private static func stopped(at opcode: UInt8) async -> Wait? {
    let bench = SessionBench()
    bench.wire.transform = { pdu, toOne in !toOne && pdu.first == opcode ? nil : pdu }
    bench.begin()
    await bench.pass(.seconds(1))
    return bench.session.wait
  }
}
