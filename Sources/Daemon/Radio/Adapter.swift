// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import System
import Wire

/// One adapter: sets it up, keeps it on the air, finds the link that an event is about, and holds its
/// bonds.
@LoopActor final class Adapter {
  /// How the adapter stands.
  private enum State {
    case settingUp
    /// Set up; the watch notices when somebody else changes that.
    case serving(AdapterWatch)
    /// Taken away, changed or failing; it is tried again.
    case recovering(Wait)
    /// Unplugged, or left as it was found.
    case over
  }

  let index: ControllerIndex
  let radio: Radio
  private(set) var bonds: [Bond] { didSet { updateWait() } }
  private(set) var links: [RadioLink] = [] { didSet { updateWait() } }
  var window: PairingWindow
  private(set) lazy var advertiser = Advertiser(self)
  /// Raw HCI, for connection parameters; nil where it can't be opened or is not wanted.
  private(set) var controller: ControllerLinks?

  private var state = State.settingUp { didSet { updateWait() } }
  private var watchTimer: TimerID?
  private var staleBonds = StaleBondWatch()
  private let information: ControllerInformation
  private let snapshot: AdapterSnapshot

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
  var mgmt: MgmtClient { radio.mgmt }
  var log: Log { radio.supervisor.log }
  var scheduler: any Scheduler { radio.supervisor.platform.scheduler }
  /// The name that phones see.
  var boardName: String { radio.supervisor.name }
  var advertising: AdvertisingChoice { radio.options.advertise.map { .only($0) } ?? .auto }
  var hasExtendedAdvertising: Bool { radio.hasExtendedAdvertising }
  var policy: PairingMachine.Policy {
    .init(
      capability: radio.capability, allowsLegacy: radio.options.allowLegacy,
      pause: radio.options.quirks.encryptionPause)
  }
  /// Whether an unknown phone may pair now.
  var isPairable: Bool { window.isOpen(at: scheduler.now, isBonded: !bonds.isEmpty) }
  /// Whether it is set up, and nobody has taken it away.
  var isServing: Bool { if case .serving = state { true } else { false } }

  func publish(_ content: Event.Content, phone: DeviceAddress? = nil) {
    radio.supervisor.feed.publish(Event(content, adapter: name, phone: phone?.address))
  }

  // MARK: Setting up

  private var setup: AdapterSetup {
    AdapterSetup(
      name: boardName, capability: radio.capability, bonds: bonds,
      staticAddress: radio.staticAddress)
  }

  /// Brings the adapter on the air for the first time. Where that fails it goes on trying in the
  /// background.
  func begin() async {
    do {
      try await setUp()
    } catch {
      guard case .settingUp = state else { return }
      state = .recovering(radio.obstacle(to: index) ?? .adapter(.failing("\(error)")))
      publish(.error(what: "adapter", code: nil, message: "\(error)"))
      Loop.start { await self.recover() }
    }
  }

  /// Sets the adapter up, in the order that kernels accept.
  private func setUp() async throws(MgmtError) {
    for step in setup.steps(for: information) {
      do {
        try await mgmt.call(step.command, index: index)
      } catch {
        guard !step.isEssential, error.status != nil else { throw error }
        log.info("\(name): \(error)")
      }
    }
    let settings = try await mgmt.readControllerInformation(index).current
    if case .over = state { return }
    state = .serving(AdapterWatch())
    // A bluetoothd that has just started may not have changed anything yet.
    if radio.isBluetoothDaemonRunning { return lost(.changed([])) }
    // A radio that was blocked meanwhile is off.
    watch(.newSettings(settings))
    openController()
    publish(.ready(address: address, name: boardName, version: version))
    advertiser.advertiseFast()
  }

  private func openController() {
    controller?.close()
    controller = nil
    guard radio.options.tunes else { return }
    do {
      let channel = try radio.supervisor.platform.openController(index)
      controller = ControllerLinks(channel, scheduler: scheduler, log: log)
    } catch {
      log.info("\(name): connection parameters stay as they are: \(error)")
    }
  }

  /// Leaves the adapter as it was found.
  func restore() async {
    stopServing()
    state = .over
    for command in snapshot.restore {
      do {
        try await mgmt.call(command, index: index)
      } catch {
        log.info("\(name): while leaving: \(error)")
      }
    }
  }

  private func stopServing() {
    if let watchTimer { scheduler.cancel(watchTimer) }
    watchTimer = nil
    advertiser.stop()
    controller?.close()
    controller = nil
  }

  // MARK: Trouble

  /// Says whether this side changes the advertising just now.
  func changesAdvertising(_ isOurs: Bool) {
    guard case .serving(var watch) = state else { return }
    watch.changesAdvertising(isOurs)
    state = .serving(watch)
  }

  /// Whether something was noticed that may turn out to be trouble.
  var isSuspectingTrouble: Bool {
    if case .serving(let watch) = state { watch.deadline != nil } else { false }
  }

  private func watch(_ event: MgmtEvent) {
    if event == .indexRemoved { return removed() }
    guard case .serving(var watch) = state else { return }
    watch.receive(event, at: scheduler.now)
    state = .serving(watch)
    guard let deadline = watch.deadline, watchTimer == nil else { return }
    watchTimer = scheduler.schedule(at: deadline) { [weak self] in self?.watchAgain() }
  }

  /// Looks again when the watch wants to; each event may have put that off.
  private func watchAgain() {
    watchTimer = nil
    guard case .serving(var watch) = state else { return }
    let trouble = watch.timePassed(to: scheduler.now)
    state = .serving(watch)
    if let trouble { return lost(trouble) }
    guard let deadline = watch.deadline else { return }
    watchTimer = scheduler.schedule(at: deadline) { [weak self] in self?.watchAgain() }
  }

  /// The adapter was unplugged.
  private func removed() {
    let message = "\(name) is gone; plug it in again, the rest happens by itself"
    publish(.error(what: "adapter", code: nil, message: message))
    log.warning(message)
    stopServing()
    state = .over
    for link in links { link.handle(.adapterLost) }
    radio.removed(self)
  }

  /// Somebody took the adapter away or changed it: says so once, and sets it up again when possible.
  private func lost(_ trouble: AdapterTrouble) {
    let wait = radio.obstacle(to: index) ?? .adapter(.lost(trouble, index))
    let isNew =
      switch state {
      case .settingUp, .serving: true
      case .recovering, .over: false
      }
    stopServing()
    if isNew {
      publish(.error(what: "adapter", code: nil, message: wait.sentence(name: boardName)))
    }
    for link in links { link.handle(.adapterLost) }
    guard isNew else { return }
    state = .recovering(wait)
    Loop.start { await self.recover() }
  }

  /// Sets the adapter up again, as soon as nothing is in the way.
  private func recover() async {
    var pause: Duration = .seconds(1)
    while case .recovering = state, !radio.isStopping {
      await radio.supervisor.platform.sleep(for: pause)
      pause = min(pause + pause, .seconds(10))
      guard case .recovering = state else { return }
      if let obstacle = radio.obstacle(to: index) { state = .recovering(obstacle) }
      await radio.radioIsFree(index)
      if radio.isBluetoothDaemonRunning { continue }
      do {
        radio.listenAgain()
        try await setUp()
        if isServing { log.notice("\(name) is back") }
        return
      } catch {
        guard case .recovering = state else { return }
        state = .recovering(radio.obstacle(to: index) ?? .adapter(.failing("\(error)")))
        log.info("\(name): \(error)")
      }
    }
  }

  // MARK: What it waits for

  /// What the adapter waits for; nil while a phone is on it, whose session knows better.
  var wait: Wait? {
    switch state {
    case .settingUp: return .adapter(.settingUp)
    case .recovering(let wait): return wait
    case .over: return nil
    case .serving: break
    }
    guard links.isEmpty else {
      return links.contains { !$0.isAttached } ? .security(.channel) : nil
    }
    if let (peer, bond) = staleBonds.firstSuspicion {
      return .phone(.oneSided(bond, phone: peer.address))
    }
    switch advertiser.state {
    case .off: return .adapter(.settingUp)
    case .refused(let why): return .adapter(.notAdvertising(why))
    case .on: break
    }
    return switch (isPairable, bonds.isEmpty) {
    case (true, true): .phone(.first)
    case (true, false): .phone(.any)
    case (false, true): .phone(.nobody)
    case (false, false): .phone(.bonded)
    }
  }

  func updateWait() {
    let standing = wait.map { WaitBoard.Standing(wait: $0, adapter: name) }
    radio.supervisor.waits.set(.adapter(name), standing)
  }

  /// The adapter as `status` shows it.
  var report: AdapterReport {
    var report = AdapterReport()
    report.adapter = name
    report.address = address
    report.name = boardName
    if case .recovering = state { report.isPowered = false } else { report.isPowered = true }
    report.isAdvertising = advertiser.state == .on
    report.isPairable = isPairable
    report.waiting = WaitReport(wait, name: boardName)
    return report
  }

  // MARK: Links

  /// An event of the kernel's about this adapter.
  func receive(_ event: MgmtEvent) {
    watch(event)
    if case .deviceConnected(let peer, let flags, _) = event, !flags.contains(.initiated) {
      _ = link(with: peer)
    }
    links.last { $0.concerns(event) }?.handle(.event(event))
  }

  /// The link with a phone: the one that is there, or a new one.
  private func link(with peer: DeviceAddress) -> RadioLink {
    if let known = links.last(where: { $0.peer == peer && !$0.isEnding }) { return known }
    let link = RadioLink(self, peer, isBonded: isBonded(peer))
    links.append(link)
    staleBonds.connected(peer, at: scheduler.now, isBonded: isBonded)
    return link
  }

  /// A phone's ATT channel was accepted: its session begins.
  func accept(_ channel: any ATTChannel) {
    let link = link(with: channel.peer)
    link.handle(.channel(channel))
    Loop.start { await self.radio.supervisor.serve(link) }
    advertiseForOthers()
  }

  /// The kernel stops advertising when a phone connects; where another one may come too, it goes on.
  private func advertiseForOthers() {
    let here = Set(links.map(\.peer))
    if isPairable || bonds.contains(where: { !here.contains($0.identity) }) { advertiser.update() }
  }

  /// Sends a command about a phone. A failure is only logged: the link's own end tells the rest.
  func send(_ command: MgmtCommand, about peer: DeviceAddress) {
    Loop.start {
      do {
        try await self.mgmt.call(command, index: self.index)
      } catch {
        self.log.info("\(self.name): \(peer): \(error)")
      }
    }
  }

  /// Asks a phone to pair; the command's answer tells how that ends.
  func pair(_ command: MgmtCommand, on link: RadioLink) {
    Loop.start {
      var status = MgmtStatus.success
      do throws(MgmtError) {
        try await self.mgmt.call(command, index: self.index)
      } catch {
        guard let refused = error.status else { return }
        status = refused
      }
      link.handle(.pairCompleted(status))
    }
  }

  /// How a link has ended.
  struct LinkEnd {
    /// This side ended it, or the adapter went away.
    var byUs: Bool
    /// The two sides' keys were not the same.
    var keysDiffer: Bool
  }

  /// A link is over.
  func ended(_ link: RadioLink, wasSecured: Bool, pairingFailure: PairingFailure?, end: LinkEnd) {
    links.removeAll { $0 === link }
    let peer = link.peer
    if let pairingFailure { publish(.pairingFailed(reason: "\(pairingFailure)"), phone: peer) }
    if let bond = staleBonds.disconnected(
      peer, at: scheduler.now, isBonded: isBonded(peer), isOurs: end.byUs,
      keysDiffer: end.keysDiffer)
    {
      let remedy = bond.remedy(board: boardName, phone: peer.address.description)
      publish(.stale(what: bond.what, remedy: remedy), phone: peer)
    }
    if wasSecured { note(peer) { $0.lastSeen = radio.supervisor.platform.wallTime.seconds } }
    updateWait()
    if links.isEmpty, isServing, !radio.isStopping { advertiser.advertiseFast() }
  }

  /// A link is encrypted: what was suspected of the phone's bond is forgotten.
  func secured(_ peer: DeviceAddress) {
    staleBonds.secured(peer)
    updateWait()
  }

  /// What is suspected of a phone's bond.
  func suspicion(of peer: DeviceAddress) -> StaleBond? { staleBonds.suspicions[peer] }

  // MARK: Pairing by hand

  /// Lets unknown phones pair until then; those that wait are asked to.
  func openPairing(until end: Instant) {
    window.open(until: end)
    for link in links { link.handle(.windowOpened) }
    advertiser.update()
  }

  func closePairing() {
    window.close()
    advertiser.update()
  }

  // MARK: Bonds

  func isBonded(_ peer: DeviceAddress) -> Bool { bonds.contains { $0.identity == peer } }

  /// Keeps a bond, on the disk before anybody is told.
  func save(_ bond: Bond, isNew: Bool) {
    let now = radio.supervisor.platform.wallTime.seconds
    var kept = bonds.first { $0.identity == bond.identity }?.renewed(by: bond) ?? bond
    kept.firstSeen = kept.firstSeen ?? now
    kept.lastSeen = now
    bonds.removeAll { $0.identity == bond.identity }
    bonds.append(kept)
    do {
      try radio.supervisor.bonds.save(kept, of: address)
    } catch {
      let message =
        "\(error); it is good until the daemon ends, then the phone has to pair again"
      publish(.error(what: "saving the bond", code: nil, message: message), phone: bond.identity)
    }
    guard isNew else { return }
    publish(.paired, phone: bond.identity)
    // Pairing may be closed from now on, and the advertisement is to say so.
    advertiseForOthers()
  }

  /// A phone's identity was learned: what was kept under its private address is kept under that now.
  func identified(_ privateAddress: DeviceAddress) {
    guard isBonded(privateAddress) else { return }
    bonds.removeAll { $0.identity == privateAddress }
    do {
      try radio.supervisor.bonds.forget(privateAddress.address, of: address)
    } catch {
      log.warning("the bond with \(privateAddress) could not be removed: \(error)")
    }
  }

  /// Removes a phone's keys from the kernel, which ends its link, and loads those of the bonds that are
  /// kept: an older key of this phone may be among them. In this order, or the older one would be lost.
  func discardKeys(of peer: DeviceAddress) {
    Loop.start {
      do {
        try await self.mgmt.call(.unpairDevice(peer, disconnect: true), index: self.index)
      } catch {
        self.log.info("\(self.name): \(peer): \(error)")
      }
      await self.loadKeys()
    }
  }

  /// Loads the keys of every bond, in place of those that the kernel has.
  private func loadKeys() async {
    for command in setup.keys {
      do {
        try await mgmt.call(command, index: index)
      } catch {
        log.error("\(name): the keys could not be loaded: \(error)")
      }
    }
  }

  /// Forgets a bond, here and in the kernel, and ends the phone's link.
  func forget(_ bond: Bond) async throws(SystemError) {
    try radio.supervisor.bonds.forget(bond.identity.address, of: address)
    bonds.removeAll { $0.identity == bond.identity }
    staleBonds.forget(bond.identity)
    for link in links where link.peer == bond.identity { link.end("forgotten by the board") }
    // It fails where the kernel does not have the key, which is what is wanted.
    _ = try? await mgmt.call(.unpairDevice(bond.identity, disconnect: true), index: index)
    await loadKeys()
    advertiser.update()
  }

  /// Changes what is known of a bonded phone besides its keys, and saves it.
  func note(_ peer: DeviceAddress, _ change: (inout Bond) -> Void) {
    guard let place = bonds.firstIndex(where: { $0.identity == peer }) else { return }
    let old = bonds[place]
    change(&bonds[place])
    guard bonds[place] != old else { return }
    do {
      try radio.supervisor.bonds.save(bonds[place], of: address)
    } catch {
      log.warning("what is new about \(peer) could not be saved: \(error)")
    }
  }

  /// The bonded phones as `phones` shows them.
  var phoneReports: [PhoneReport] {
    bonds.map { bond in
      var report = PhoneReport()
      report.phone = bond.identity.address
      report.adapter = name
      report.name = bond.name
      report.isConnected = links.contains { $0.peer == bond.identity }
      var key = PhoneReport.BondKey()
      key.isSecureConnections = bond.isSecureConnections
      key.isAuthenticated = bond.isAuthenticated
      key.size = Int(bond.keySize)
      report.key = key
      return report
    }
  }
}
