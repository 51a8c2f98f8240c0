// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Mgmt
import System
import Wire

/// One adapter: set up, on the air, with the phones on it and the bonds of it.
@LoopActor
final class Adapter {
  let index: ControllerIndex
  unowned let radio: Radio
  let information: ControllerInformation
  var bonds: [Bond]
  var links: [RadioLink] = [] { didSet { waitsChanged() } }
  var window: PairingWindow
  /// Why it can't be used now; nil while it can.
  var trouble: Wait? { didSet { waitsChanged() } }
  /// The one-sided bonds that are suspected, phone by phone.
  var detectors: [DeviceAddress: StaleBondDetector] = [:]
  /// So many phones are watched for that at a time.
  static let mostSuspects = 64
  /// What they have found, until the phone is secured after all.
  var suspicions: [DeviceAddress: StaleBond] = [:] { didSet { waitsChanged() } }
  let snapshot: AdapterSnapshot
  /// The way past the kernel, for connection parameters; nil where it is closed or not wanted.
  var controller: ControllerLinks?
  var watch: AdapterWatch?
  var watchTimer: TimerID?
  var air = Air() { didSet { waitsChanged() } }

  /// What is on the air, and until when.
  struct Air {
    var isOn = false
    /// Why the kernel would not have it.
    var refusal: String?
    var turn = 0
    var fastUntil = Instant.zero
    var timer: TimerID?
    /// What was told last: whether anybody may pair.
    var told: Bool?
    /// Whether the kernel is being told just now, and whether that is out of date already.
    var isChanging = false
    var isOutOfDate = false
  }

  init(_ index: ControllerIndex, _ information: ControllerInformation, _ radio: Radio) {
    self.index = index
    self.radio = radio
    self.information = information
    snapshot = radio.snapshot(of: information)
    bonds = radio.supervisor.bonds.bonds(of: information.address)
    window = PairingWindow(radio.pairingRule)
  }

  /// As in `hci0`.
  var name: String { "\(index)" }
  var address: Address { information.address }
  var policy: PairingMachine.Policy {
    .init(
      capability: radio.capability, allowsLegacy: supervisor.options.allowLegacy,
      pause: supervisor.options.quirks.encryptionPause)
  }
  /// Whether an unknown phone may pair now.
  var isPairable: Bool { window.isOpen(at: Loop.shared.now, isBonded: !bonds.isEmpty) }
  var supervisor: Supervisor { radio.supervisor }
  var mgmt: MgmtClient { radio.mgmt }
  var setup: AdapterSetup {
    AdapterSetup(
      name: supervisor.name, capability: radio.capability, bonds: bonds,
      staticAddress: radio.staticAddress)
  }

  func post(_ content: Event.Content, phone: DeviceAddress? = nil) {
    supervisor.journal.post(Event(content, adapter: name, phone: phone?.address))
  }

  /// Brings the adapter on the air, in the order that kernels accept.
  func setUp() async throws(MgmtError) {
    watch = nil
    for step in setup.steps(for: information) {
      do {
        try await mgmt.call(step.command, index: index)
      } catch {
        guard !step.isEssential, error.status != nil else { throw error }
        supervisor.log.info("\(name): \(error)")
      }
    }
    let settings = try await mgmt.readControllerInformation(index).current
    watch = AdapterWatch(settings: settings)
    trouble = nil
    openController()
    post(.ready(address: address, name: supervisor.name, version: version))
    air.fastUntil = Loop.shared.now + AdvertisingPace.fastTime
    await advertise()
  }

  /// Leaves the adapter as it was found.
  func restore() async {
    cancelTimers()
    closeController()
    watch = nil
    for command in snapshot.restore {
      do {
        try await mgmt.call(command, index: index)
      } catch {
        supervisor.log.info("\(name): while leaving: \(error)")
      }
    }
  }

  private func openController() {
    closeController()
    guard supervisor.options.tunes else { return }
    do {
      controller = try ControllerLinks(index.value, log: supervisor.log)
    } catch {
      supervisor.log.info("\(name): connection parameters stay as they are: \(error)")
    }
  }

  func closeController() {
    controller?.close()
    controller = nil
  }

  func cancelTimers() {
    for timer in [watchTimer, air.timer].compactMap({ $0 }) { Loop.shared.cancel(timer) }
    watchTimer = nil
    air.timer = nil
  }

  // MARK: Bonds

  /// Loads every bond's keys anew, in place of those that the kernel has.
  func loadKeys() async {
    for command in setup.keys {
      do {
        try await mgmt.call(command, index: index)
      } catch {
        supervisor.log.error("\(name): the keys could not be loaded: \(error)")
      }
    }
  }

  /// Keeps a bond: on the disk before anybody is told.
  func keep(_ bond: Bond) throws(SystemError) {
    let now = WallTime.now.seconds
    let old = bonds.first { $0.identity == bond.identity }
    var kept = old?.renewed(by: bond) ?? bond
    kept.firstSeen = kept.firstSeen ?? now
    kept.lastSeen = now
    bonds.removeAll { $0.identity == bond.identity }
    bonds.append(kept)
    try supervisor.bonds.save(kept, of: address)
  }

  /// Forgets a bond, here and in the kernel, and ends the phone's link.
  func forget(_ bond: Bond) async throws(SystemError) {
    try supervisor.bonds.forget(bond.identity.address, of: address)
    bonds.removeAll { $0.identity == bond.identity }
    detectors[bond.identity] = nil
    suspicions[bond.identity] = nil
    for link in links where link.machine.peer == bond.identity {
      link.end("forgotten by the board")
    }
    // It fails where the kernel does not have the key, which is what is wanted.
    _ = try? await mgmt.call(.unpairDevice(bond.identity, disconnect: true), index: index)
    await loadKeys()
    await advertise()
  }

  /// Changes what is known of a bonded phone besides its keys, and keeps it.
  func note(_ peer: DeviceAddress, _ change: (inout Bond) -> Void) {
    guard let place = bonds.firstIndex(where: { $0.identity == peer }) else { return }
    let old = bonds[place]
    change(&bonds[place])
    guard bonds[place] != old else { return }
    do {
      try supervisor.bonds.save(bonds[place], of: address)
    } catch {
      supervisor.log.warning("what is new about \(peer) could not be saved: \(error)")
    }
  }

  func isBonded(_ peer: DeviceAddress) -> Bool { bonds.contains { $0.identity == peer } }
}
