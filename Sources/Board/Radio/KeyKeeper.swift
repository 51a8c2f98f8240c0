// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import System
import Wire

/// Keeps an adapter's keyring in sync with the disk and the kernel.
@LoopActor package final class KeyKeeper {
  /// Called when the set of bonded phones has changed.
  var onChange: () -> Void = {}
  /// Changes that affect neither the disk nor the kernel are made on it directly.
  package var ring: Keyring {
    didSet {
      guard ring.bonds.map(\.identity) != oldValue.bonds.map(\.identity) else { return }
      onChange()
      let leftOut = ring.leftOut
      if leftOut.isEmpty || leftOut == oldValue.leftOut { return }
      log.warning(
        "\(index): this kernel has no room for the keys of \(leftOut.map { "\($0.address)" }.joined(separator: ", ")), "
          + "which were away longest: remove those that are not used (ancsd forget), or use Linux 5.16 or newer")
    }
  }

  /// The adapter's address, under which bonds are stored.
  private let adapter: Address
  private let index: ControllerIndex
  private let radio: Radio
  private let log: Log
  private var timer: TimerID?

  init(_ radio: Radio, adapter: Address, _ index: ControllerIndex) {
    ring = Keyring(radio.policy, packetLimit: radio.channel?.packetLimit ?? .max)
    self.radio = radio
    self.adapter = adapter
    self.index = index
    log = radio.log.about("\(index)")
    read(again: .seconds(1))
  }

  /// Called when the adapter is no longer served.
  func close() { if let timer { radio.platform.scheduler.cancel(timer) } }

  // MARK: The disk

  /// Reads the bonds, and retries unreadable ones after 1, 2, 4 … 600 s.
  private func read(again pause: Duration) {
    let stored = radio.bonds.bonds(of: adapter)
    for (bond, why) in ring.add(stored.usable, of: stored.count) {
      log.warning("\(index): the bond with \(bond.identity) is kept but not used: \(why)")
    }
    guard stored.unreadable > 0 else { return }
    timer = radio.platform.scheduler.schedule(after: pause) { [weak self] in
      guard let self else { return }
      let before = ring.bonds.count
      read(again: min(pause + pause, .seconds(600)))
      guard ring.bonds.count > before else { return }
      log.notice("\(index): read the bonds that could not be read at startup")
      load()
    }
  }

  /// Saves the bond of a phone that has paired.
  ///
  /// - Throws: why it could not be saved; this is retried, and the bond is valid until the daemon
  ///   exits.
  func save(_ bond: Bond) throws(SystemError) {
    try radio.bonds.save(ring.add(bond, at: radio.platform.wallTime.seconds), of: adapter)
  }

  private func place(of phone: DeviceAddress) -> BondStore.Place {
    BondStore.Place(adapter: adapter, phone: phone)
  }

  /// Removes the bond, if any, under an address that turned out not to be the phone's identity.
  func void(_ address: DeviceAddress) {
    guard ring.remove(address) else { return }
    do {
      try radio.bonds.forget(place(of: address))
    } catch { log.warning("the bond with \(address) could not be removed: \(error)") }
  }

  /// The stored data about a phone.
  package func cache(of phone: DeviceAddress) -> PhoneCache? {
    radio.bonds.cache(of: place(of: phone))
  }

  /// Stores data about a bonded phone.
  package func remember(_ cache: PhoneCache, of phone: DeviceAddress) {
    guard ring[phone] != nil else { return }
    if let name = cache.name { ring.name(phone, name) }
    var cache = cache
    cache.strikes = ring[phone]?.strikes
    radio.bonds.remember(cache, of: place(of: phone))
  }

  /// The board has subscribed on a phone's link, or that has ended before.
  ///
  /// - Parameter isSaved: whether it counts over a restart. What anybody can cause in the phone's name has nothing written.
  func count(_ phone: DeviceAddress, hasSubscribed: Bool, isSaved: Bool = true) {
    guard ring.count(phone, hasSubscribed: hasSubscribed), isSaved else { return }
    remember(cache(of: phone) ?? PhoneCache(), of: phone)
  }

  // MARK: The kernel

  /// Removes the Long Term Key of a phone that pairs again from the kernel.
  func withhold(_ phone: DeviceAddress) {
    ring.withhold(phone)
    load()
  }

  /// Loads the keys again that were withheld from the kernel while pairing was open.
  func returnKeys() { if ring.returnKeys() { load() } }

  /// Loads the keys of every bond, which replace those in the kernel.
  func load() { Loop.start { await self.loadKeys() } }

  private func loadKeys() async {
    var loaded: [Bond]
    // A command replaces all keys of its kind, and so those of a phone that has paired meanwhile.
    repeat {
      loaded = ring.held
      for command in MgmtCommand.loadKeys(of: loaded) {
        do {
          try await radio.mgmt.call(command, index: index)
        } catch { log.error("\(index): the keys could not be loaded: \(error)") }
      }
    } while ring.held != loaded
  }

  /// Removes a phone's keys from the kernel, which ends its link, and then loads the keys of all
  /// bonds again, because an older key of this phone may be among them. In the other order that key
  /// would be lost.
  func discard(_ phone: DeviceAddress) { Loop.start { await self.remove(phone) } }

  /// The same, and waits until it is done.
  func remove(_ phone: DeviceAddress) async {
    do {
      try await radio.mgmt.call(.unpairDevice(phone, disconnect: true), index: index)
    } catch {
      // It is fine if the kernel does not have the key.
      log.info("\(index): \(phone): \(error)")
    }
    await loadKeys()
  }
}

extension PhoneReport {
  /// A bonded phone, as `phones` shows it.
  init(_ bond: Bond, on adapter: String, isConnected: Bool) {
    self.init()
    (phone, name) = (bond.identity.address, bond.name)
    (self.adapter, self.isConnected) = (adapter, isConnected)
    var key = BondKey()
    key.isSecureConnections = bond.isSecureConnections
    key.isAuthenticated = bond.isAuthenticated
    key.size = Int(bond.keySize)
    self.key = key
  }
}
