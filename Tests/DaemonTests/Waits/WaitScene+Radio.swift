// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import OnLoop
import Mgmt
import Wire

@testable import Daemon

extension WaitScene {
  /// What happens to an adapter.
  static let adapters = [
    WaitScene("no-adapter") {
      let bench = try RadioBench()
      bench.radio.adapters = [:]
      return bench.supervisor.standings.first?.wait
    },
    WaitScene("setting-up") { try RadioBench().adapter.wait },
    WaitScene("blocked") {
      let bench = try await RadioBench.ready()
      bench.radio.block = { _ in .soft }
      return await switchedOff(bench)
    },
    WaitScene("blocked-by-switch") {
      let bench = try await RadioBench.ready()
      bench.radio.block = { _ in .hard }
      return await switchedOff(bench)
    },
    WaitScene("bluetoothd") {
      let bench = try await RadioBench.ready()
      bench.radio.isRivalled = { true }
      return await switchedOff(bench)
    },
    WaitScene("switched-off") { await switchedOff(try await RadioBench.ready()) },
    WaitScene("changed") {
      let bench = try await RadioBench.ready()
      bench.tell(.newSettings(RadioBench.settings.subtracting(.connectable)))
      await eventually { bench.adapter.trouble != nil }
      return bench.adapter.wait
    },
    WaitScene("advertising-removed") {
      let bench = try await RadioBench.ready()
      bench.tell(.advertisingRemoved(instance: Advertisement.instance))
      await eventually { bench.adapter.trouble != nil }
      return bench.adapter.wait
    },
    WaitScene("unplugged") {
      let bench = try await RadioBench.ready()
      bench.tell(.indexRemoved)
      return bench.adapter.wait
    },
    WaitScene("failing") {
      let bench = try await RadioBench.ready()
      bench.refusals[.setPowered] = .failed
      _ = await switchedOff(bench)
      await eventually { bench.adapter.wait?.name == "failing" }
      return bench.adapter.wait
    },
    WaitScene("silent") {
      let bench = try RadioBench()
      bench.refusals[.addAdvertising] = .failed
      try await bench.adapter.setUp()
      return bench.adapter.wait
    },
  ]

  /// Who the adapter waits for.
  static let phones = [
    WaitScene("first-phone") { try await RadioBench.ready().adapter.wait },
    WaitScene("any-phone") {
      try await RadioBench.ready(bonded: true) { $0.pairable = .always }.adapter.wait
    },
    WaitScene("bonded-phone") { try await RadioBench.ready(bonded: true).adapter.wait },
    WaitScene("nobody") {
      let bench = try await RadioBench.ready()
      bench.radio.closePairing()
      return bench.adapter.wait
    },
    WaitScene("bond-lost-by-phone") {
      let bench = try await RadioBench.ready(bonded: true)
      bench.flutter(RadioBench.phone)
      return bench.adapter.wait
    },
    WaitScene("bond-lost-here") {
      let bench = try await RadioBench.ready { $0.pairable = .always }
      bench.flutter(RadioBench.stranger)
      return bench.adapter.wait
    },
    WaitScene("keys-differ") {
      let bench = try await RadioBench.ready(bonded: true)
      // The kernel's word for it comes with a socket that is not there.
      var detector = StaleBondDetector()
      for _ in 0..<StaleBondDetector.drops {
        detector.connected(at: .zero)
        bench.adapter.suspicions[RadioBench.phone] = detector.disconnected(
          at: .zero, keysDiffer: true)
      }
      return bench.connect(RadioBench.phone).wait
    },
    WaitScene("nobody-listens") {
      let source = SocketSource("/nonexistent/phone", try RadioBench().supervisor)
      Loop.start { await source.run() }
      await settle()
      return source.wait
    },
    WaitScene("dialling") { BuiltInSource(try RadioBench().supervisor).wait },
  ]

  /// What stands between a link and encryption.
  static let security = [
    WaitScene("channel") {
      let bench = try await RadioBench.ready(bonded: true)
      _ = bench.connect(RadioBench.phone)
      return bench.supervisor.standings.first?.wait
    },
    WaitScene("encryption") {
      try await RadioBench.ready(bonded: true).connect(RadioBench.phone).wait
    },
    WaitScene("security-request") {
      let bench = try await RadioBench.ready(bonded: true) {
        $0.quirks.encryptionPause = .milliseconds(10)
      }
      let link = bench.connect(RadioBench.phone)
      await eventually { link.machine.progress == .asked }
      return link.wait
    },
    WaitScene("confirmation-there") {
      try await RadioBench.ready().connect(RadioBench.stranger).wait
    },
    WaitScene("entry-there") {
      try await pairing(.passkeyNotify(RadioBench.stranger, Passkey(value: 42), entered: 0))
    },
    WaitScene("confirmation-here") {
      try await pairing(
        .userConfirmRequest(RadioBench.stranger, hint: false, Passkey(value: 42)))
    },
    WaitScene("entry-here") { try await pairing(.userPasskeyRequest(RadioBench.stranger)) },
    WaitScene("pairing-failed") {
      try await pairing(.authenticationFailed(RadioBench.stranger, .authenticationFailed))
    },
    WaitScene("closed-out") {
      try await RadioBench.ready(bonded: true).connect(RadioBench.stranger).wait
    },
  ]

  @LoopActor private static func switchedOff(_ bench: RadioBench) async -> Wait? {
    bench.tell(.newSettings(RadioBench.settings.subtracting(.powered)))
    await eventually { bench.adapter.trouble != nil }
    return bench.adapter.wait
  }

  /// What a phone's link waits for once the kernel has said this while it pairs.
  @LoopActor private static func pairing(_ event: MgmtEvent) async throws -> Wait? {
    let bench = try await RadioBench.ready()
    let link = bench.connect(RadioBench.stranger)
    bench.tell(event)
    return link.wait
  }
}
