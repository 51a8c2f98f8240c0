// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Mgmt
import Wire

// What clients of the control socket may do with the radio.

extension Radio {
  /// Lets unknown phones pair, for so many seconds, or until `closePairing`.
  func openPairing(for seconds: Int?) throws(RPCError) -> PairingReport {
    guard !adapters.isEmpty else { throw .unavailable("no adapter is there to pair on") }
    let end = seconds.map { Loop.shared.now + .seconds($0) } ?? Instant(nanoseconds: .max)
    for adapter in adapters.values {
      adapter.window.open(until: end)
      adapter.windowOpened()
    }
    return PairingReport(name: supervisor.name, seconds: seconds)
  }

  /// Lets unknown phones pair no more.
  func closePairing() {
    for adapter in adapters.values {
      adapter.window.close()
      Loop.start { await adapter.advertise() }
    }
  }

  /// Answers what pairing asked; false where nothing was.
  func respond(accept: Bool, passkey: Passkey?) -> Bool {
    adapters.values.contains { $0.respond(accept: accept, passkey: passkey) }
  }

  /// Forgets a phone on every adapter; false where none knows it.
  func forget(_ selector: PhoneSelector) async throws(RPCError) -> Bool {
    var found = false
    for adapter in adapters.values {
      for bond in adapter.bonds
      where selector.matches(bond.identity.address, name: bond.name) {
        found = true
        do {
          try await adapter.forget(bond)
        } catch {
          throw .internalError("the bond could not be removed: \(error)")
        }
        for phone in supervisor.phones where phone.identity == bond.identity {
          supervisor.forget(phone)
        }
      }
    }
    return found
  }

  /// The adapters as `status` shows them.
  var reports: [AdapterReport] {
    missing.map { choice in
      var report = AdapterReport("\(choice)")
      report.isPresent = false
      report.stand(Wait.noAdapter("\(choice)"), name: supervisor.name)
      return report
    }
      + adapters.values.sorted { $0.index < $1.index }.map { adapter in
        var report = AdapterReport(adapter.name)
        report.address = adapter.address
        report.name = supervisor.name
        report.isPowered = adapter.trouble == nil
        report.isAdvertising = adapter.air.isOn
        report.isPairable = adapter.isPairable
        report.stand(adapter.wait, name: supervisor.name)
        return report
      }
  }

  /// The phones that are bonded.
  var phoneReports: [PhoneReport] {
    adapters.values.sorted { $0.index < $1.index }.flatMap { adapter in
      adapter.bonds.map { bond in
        var report = PhoneReport(bond.identity.address)
        report.adapter = adapter.name
        report.name = bond.name
        report.isConnected = adapter.links.contains { $0.machine.peer == bond.identity }
        report.key = PhoneReport.Key(
          isSecureConnections: bond.isSecureConnections, isAuthenticated: bond.isAuthenticated,
          size: Int(bond.keySize))
        return report
      }
    }
  }
}
