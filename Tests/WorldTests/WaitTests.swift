// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone

@testable import Board
@testable import Daemon

@Suite("What the daemon waits for", .inWorld)
struct WaitTests: InWorld {
  /// How a wait comes about.
  struct Scene: CustomStringConvertible {
    let description: String
    let beginning: Beginning
    let play: @LoopActor @Sendable (World) async throws -> Void

    init(
      _ name: String, after beginning: Beginning = .nothing,
      _ play: @escaping @LoopActor @Sendable (World) async throws -> Void
    ) { (description, self.beginning, self.play) = (name, beginning, play) }
  }

  nonisolated static let scenes = adapters + phones + security + services

  @Test("Each wait comes about, and is reported by name", arguments: scenes)
  func comesAbout(_ scene: Scene) async throws {
    try await world.begin(scene.beginning)
    try await scene.play(world)
    try await world.until("the wait \(scene)") {
      world.events.contains {
        if case .why(scene.description, _) = $0.content { true } else { false }
      }
    }
  }

  @Test("Every wait in docs/troubleshooting.md has a scene here")
  func complete() throws {
    let page = try Repository.text("docs/troubleshooting.md")
    let names = page.split(separator: "\n").compactMap { line -> String? in
      guard line.hasPrefix("| `"), !line.hasPrefix("| `doctor") else { return nil }
      return line.split(separator: "`").dropFirst().first.map(String.init)
    }
    #expect(names.count > 30)
    #expect(Set(names).symmetricDifference(Self.scenes.map(\.description)) == [])
  }

  // MARK: Adapters

  nonisolated static let adapters = [
    Scene("no-adapter") { world in
      world.unplug()
      world.launch()
    },
    Scene("setting-up") { world in world.launch() },
    Scene("blocked", after: .onAir) { world in world.kernel.block(world.adapter, .soft) },
    Scene("blocked-by-switch", after: .onAir) { world in world.kernel.block(world.adapter, .hard) },
    Scene("bluetoothd", after: .onAir) { world in world.kernel.startBluetoothDaemon() },
    Scene("switched-off", after: .onAir) { world in try await world.command(.setPowered(false)) },
    Scene("changed", after: .onAir) { world in try await world.command(.setBondable(false)) },
    Scene("advertising-removed", after: .onAir) { world in
      try await world.command(.removeAdvertising(instance: Advertisement.instance))
    },
    Scene("silent-links") { world in
      world.platform.silentLinksLeft = 1
      try await world.begin(.phoneLeft)
      world.phone.otherServer = { _ in }
      world.phone.encryptsAfter = nil
      world.phone.connect(to: world.adapter)
      await world.pass(.seconds(1))
      world.phone.goOutOfRange()
    },
    Scene("failing") { world in
      world.kernel.refusals[.setLowEnergy] = .failed
      world.launch()
    },
    Scene("silent") { world in
      world.kernel.refusals[.addExtendedAdvertisingParameters] = .failed
      world.kernel.refusals[.addAdvertising] = .failed
      world.launch()
    },
  ]

  // MARK: Phones that are to come

  nonisolated static let phones = [
    Scene("first-phone", after: .onAir) { _ in },
    Scene("any-phone", after: .phoneLeft) { world in try await world.openPairing(seconds: 60) },
    Scene("bonded-phone", after: .phoneLeft) { _ in },
    Scene("nobody", after: .onAir) { world in try await world.closePairing() },
    Scene("bond-lost-by-phone", after: .phoneLeft) { world in
      world.phone.forget(world.adapter)
      world.phone.consent = .ignores
      await world.phoneFlutters()
    },
    Scene("bond-lost-here", after: .paired) { world in
      try await world.stop()
      for path in world.platform.disk.paths { try world.platform.disk.remove(path) }
      try await world.start()
      await world.phoneFlutters()
    },
    Scene("keys-differ", after: .phoneLeft) { world in
      world.phone.spoilKey(of: world.adapter)
      await world.phoneFlutters()
    },
    Scene("resting", after: .phoneLeft) { world in
      world.phone.spoilKey(of: world.adapter)
      await world.phoneConnects()
      try await world.until(.disconnected)
    },
    Scene("given-up", after: .phoneLeft) { world in
      world.dropRequests()
      for _ in 0..<Keyring.patience {
        await world.phoneConnects()
        await world.pass(.milliseconds(500))
        try await world.phoneLeaves(silently: true)
      }
    },
    Scene("bonds-unusable", after: .paired) { world in
      try await world.stop()
      world.platform.disk.damage { $0.hasSuffix(".bond.json") }
      try await world.start()
    },
    Scene("nobody-listens") { world in
      world.launch { $0.start.source = .att(path: "/nonexistent/phone") }
    },
    Scene("dialling") { world in
      world.launch { $0.start.source = .virtualPhone }
      try await world.until(.subscribed)
      world.daemon?.sessions.first?.link.end("interrupted")
    },
  ]

  // MARK: On the way to encryption

  nonisolated static let security = [
    Scene("channel", after: .onAir) { world in
      world.phone.channelDelay = .seconds(2)
      world.phone.connect(to: world.adapter)
    },
    Scene("mtu") { world in try await world.connects { $0.phone.lose(requests: 0x02) } },
    Scene("encryption", after: .phoneLeft) { world in
      world.phone.encryptsAfter = nil
      world.phone.connect(to: world.adapter)
    },
    Scene("security-request", after: .phoneLeft) { world in
      world.phone.forget(world.adapter)
      world.phone.consent = .ignores
      world.phone.connect(to: world.adapter)
    },
    Scene("confirmation-there") { world in try await world.connects() },
    Scene("entry-there") { world in try await world.connects(.displayOnly) },
    Scene("confirmation-here") { world in try await world.connects(.displayYesNo) },
    Scene("consent-here") { world in
      try await world.start { $0.radio.io = .displayYesNo }
      await world.strangerComes { $0.capability = .noInputNoOutput }
      await world.pass(.seconds(10))
    },
    Scene("another-pairs") { world in
      try await world.connects(.displayYesNo)
      await world.strangerComes()
      await world.pass(.seconds(1))
    },
    Scene("entry-here") { world in try await world.connects(.keyboardOnly) },
    Scene("pairing-failed") { world in
      try await world.connects { $0.phone.consent = .refuses(after: .seconds(1)) }
    },
    Scene("closed-out", after: .onAir) { world in
      try await world.closePairing()
      await world.pass(.seconds(1))
      world.phone.connect(to: world.adapter)
    },
  ]

  // MARK: Serving

  nonisolated static let services = [
    Scene("discovery") { world in try await world.connects { $0.phone.lose(requests: 0x06) } },
    Scene("subscription") { world in try await world.connects { $0.phone.lose(requests: 0x12) } },
    Scene("unpublished") { world in
      try world.phoneDoes(.unpublish(.ancs))
      try await world.connects()
    },
    Scene("incomplete") { world in
      let database = AttributeDatabase()
      _ = try database.add(
        ServiceDefinition(
          .notificationCenter, characteristics: [CharacteristicDefinition(.notificationSource, [.read])]))
      let bearer = Bearer(scheduler: world.clock)
      let server = Server(bearer, database: database) { .encrypted }
      world.phone.otherServer = { end in
        bearer.send = { end.send($0) }
        end.receive = {
          bearer.receive($0)
          _ = server
        }
      }
      try await world.connects()
    },
    Scene("refused") { world in
      // The phone thinks that the link is not encrypted.
      try await world.connects { world in
        world.phone.transform = { pdu, toPhone in
          _ = try? world.phoneDoes(.encrypt(false))
          return pdu
        }
      }
    },
    Scene("permission") { world in try await world.connects() },
    Scene("forbidden") { world in
      try world.phoneDoes(.authorize(false))
      try await world.connects()
    },
    Scene("stale", after: .paired) { world in
      // An error that no iPhone sends for a notification that cannot exist.
      try world.phoneDoes(.failCommands(code: 0xA0, count: 1))
      await world.pass(.seconds(1_000))
    },
    Scene("news") { world in try await world.connects() },
  ]
}

extension World {
  /// Starts the daemon and connects the phone, which differs from the usual one by `change`.
  fileprivate func connects(
    _ io: IOCapability = .noInputNoOutput, _ change: (World) -> Void = { _ in }
  ) async throws {
    try await start { $0.radio.io = io }
    await pass(.seconds(1))
    change(self)
    phone.connect(to: adapter)
  }
}

extension Handset {
  /// Loses every request of this opcode on its way to the phone.
  fileprivate func lose(requests opcode: UInt8) {
    transform = { pdu, toPhone in toPhone && pdu.first == opcode ? nil : pdu }
  }
}
