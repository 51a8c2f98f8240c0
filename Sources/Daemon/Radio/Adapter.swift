// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import System
import Wire

/// One adapter: sets it up, keeps it on the air, passes each event to the link it is about, and
/// holds the adapter's bonds.
@LoopActor final class Adapter {
  /// The life of the adapter.
  private enum State {
    case settingUp
    /// Set up. The watch notices when another program changes the adapter.
    case serving(AdapterWatch)
    /// Blocked, changed or failing. Set-up is tried again.
    case recovering(Wait)
    /// Unplugged, or restored to the state it was found in.
    case over
  }

  let index: ControllerIndex
  let radio: Radio
  private(set) var bonds: [Bond] { didSet { updateWait() } }
  /// How many bonds there are, or were, that can't be used: they keep the board closed to strangers.
  private(set) var unusableBonds = 0
  private(set) var links: [RadioLink] = [] { didSet { updateWait() } }
  private(set) lazy var advertiser = Advertiser(self)
  /// Raw HCI, for connection parameters; nil with `--no-tune` and where it can't be opened.
  private(set) var controller: ControllerLinks?

  private var state = State.settingUp { didSet { updateWait() } }
  private var watchTimer: TimerID?
  private var sharingTimer: TimerID?
  private static let sharingPause: Duration = .seconds(3)
  private var staleBonds = StaleBondWatch()
  /// The phones whose Long Term Keys the kernel does not have while pairing is open.
  private var withheld: Set<DeviceAddress> = []
  /// The HCI error with which the controller refused to ask a phone for connection parameters.
  private var parametersRefusal: UInt8?
  private let information: ControllerInformation
  /// The address on the air, under which bonds are kept.
  private let identity: DeviceAddress
  private let snapshot: AdapterSnapshot

  init(
    _ index: ControllerIndex, _ information: ControllerInformation, _ identity: DeviceAddress,
    _ radio: Radio
  ) {
    self.index = index
    self.radio = radio
    self.information = information
    self.identity = identity
    snapshot = radio.snapshot(of: identity.address, information)
    let stored = radio.supervisor.bonds.bonds(of: identity.address)
    let policy = radio.policy
    bonds = stored.usable.filter { policy.reasonToRefuse($0) == nil }
    unusableBonds = stored.count - bonds.count
    for bond in stored.usable {
      guard let why = policy.reasonToRefuse(bond) else { continue }
      log.warning("\(name): the bond with \(bond.identity) is kept and not used: \(why)")
    }
    if stored.unreadable > 0 { readBondsAgain(after: .seconds(1)) }
  }

  /// Reads what could not be read of the bonds again, after 1, 2, 4 … 600 s.
  private func readBondsAgain(after pause: Duration) {
    _ = scheduler.schedule(after: pause) { [weak self] in
      guard let self else { return }
      if case .over = state { return }
      let stored = radio.supervisor.bonds.bonds(of: address)
      let new = stored.usable.filter {
        !self.isBonded($0.identity) && self.policy.reasonToRefuse($0) == nil
      }
      bonds += new
      unusableBonds = stored.count - bonds.count
      if stored.unreadable > 0 { readBondsAgain(after: min(pause + pause, .seconds(600))) }
      guard !new.isEmpty else { return }
      log.notice("\(name): bonds that could not be read at the start are read now")
      Loop.start { await self.loadKeys() }
      advertiser.update()
    }
  }

  /// As in `hci0`.
  var name: String { "\(index)" }
  var address: Address { identity.address }
  /// Whether an unknown phone may pair.
  var window: PairingWindow {
    get { radio[windowOf: address] }
    set { radio[windowOf: address] = newValue }
  }
  var mgmt: MgmtClient { radio.mgmt }
  var log: Log { radio.supervisor.log.about(name) }
  /// For lines that phones can cause.
  private(set) lazy var linkLog = log.limited(by: LogBudget("phones on \(name)", scheduler))
  var scheduler: any Scheduler { radio.supervisor.platform.scheduler }
  /// The name that phones see.
  var boardName: String { radio.supervisor.name }
  var policy: PairingMachine.Policy { radio.policy }
  /// Whether a phone without a bond may pair now.
  var isPairable: Bool {
    window.isOpen(at: scheduler.now, wasBonded: !bonds.isEmpty || unusableBonds > 0)
  }
  /// Whether it is set up and nothing has happened to it since.
  var isServing: Bool { if case .serving = state { true } else { false } }

  func publish(_ content: Event.Content, phone: DeviceAddress? = nil) {
    radio.supervisor.feed.publish(
      Event(content, adapter: name, phone: phone?.address),
      ofStranger: phone.map { !isBonded($0) } ?? false)
  }

  // MARK: Setting up

  private var setup: AdapterSetup {
    AdapterSetup(
      name: boardName, capability: radio.capability, bonds: bonds.map(known),
      staticAddress: identity.type == .random ? identity.address : nil,
      interval: parametersRefusal == nil ? .any : .asked)
  }

  /// A bond as the kernel is to know it.
  private func known(_ bond: Bond) -> Bond {
    guard withheld.contains(bond.identity) else { return bond }
    var known = bond
    known.longTermKeys = []
    return known
  }

  /// Sets the adapter up for the first time. If that fails, set-up is tried again in the
  /// background.
  func begin() async {
    // It takes some milliseconds, which need not be said.
    let timer = scheduler.schedule(after: .seconds(1)) { [weak self] in self?.updateWait() }
    defer { scheduler.cancel(timer) }
    do {
      try await setUp()
    } catch {
      guard case .settingUp = state else { return }
      if error.status == .invalidIndex { return removed() }
      state = .recovering(radio.obstacle(to: index) ?? .adapter(.failing("\(error)")))
      publish(.error(what: "adapter", code: nil, message: "\(error)"))
      Loop.start { await self.recover() }
    }
  }

  /// Sets the adapter up, in the order that the kernel requires.
  private func setUp() async throws(MgmtError) {
    for step in setup.steps(for: information) {
      if case .over = state { return }
      do {
        try await mgmt.call(step.command, index: index)
      } catch {
        guard !step.isEssential, error.isRefusal else { throw error }
        log.info("\(name): \(error)")
      }
    }
    if case .over = state { return }
    let settings = try await mgmt.readControllerInformation(index).current
    if case .over = state { return }
    // It was off meanwhile, so whatever is still there is gone, however little was heard of that.
    for link in links { link.handle(.adapterGone) }
    state = .serving(AdapterWatch())
    // bluetoothd may have just started, and not have changed anything yet.
    if radio.obstacle(to: index) != nil { return lost(.changed([])) }
    // The radio may have been blocked meanwhile: then the adapter is powered off.
    watch(.newSettings(settings))
    openController()
    let life = radio.supervisor.life
    publish(.ready(address: address, name: boardName, version: version, life: life))
    advertiser.start()
  }

  private func openController() {
    controller?.close()
    controller = nil
    guard radio.options.tunes else { return }
    do {
      let channel = try radio.supervisor.platform.openController(index)
      controller = ControllerLinks(channel, log: log)
      controller?.onAnswer = { [weak self] handle, answer in
        self?.links.last { $0.connectionHandle == handle }?.handle(.parameters(answer))
      }
    } catch {
      log.info("\(name): connection parameters stay as they are: \(error)")
    }
  }

  /// Restores the adapter to the state it was found in.
  func restore() async {
    stopServing()
    state = .over
    for command in snapshot.restore {
      do {
        try await mgmt.call(command, index: index)
      } catch {
        if case .closed = error {
          return log.warning("\(name) is left as it is: the kernel has not answered in time")
        }
        log.info("\(name): while leaving: \(error)")
      }
    }
  }

  private func stopServing() {
    for timer in [watchTimer, sharingTimer] { if let timer { scheduler.cancel(timer) } }
    (watchTimer, sharingTimer) = (nil, nil)
    advertiser.stop()
    controller?.close()
    controller = nil
  }

  // MARK: Trouble

  /// Tells the watch whether the daemon itself is changing the advertising now.
  func changesAdvertising(_ isOurs: Bool) {
    guard case .serving(var watch) = state else { return }
    watch.changesAdvertising(isOurs)
    state = .serving(watch)
  }

  /// Whether the watch has noticed something that may turn out to be trouble.
  var isSuspectingTrouble: Bool {
    if case .serving(let watch) = state { watch.deadline != nil } else { false }
  }

  private func watch(_ event: MgmtEvent) {
    guard case .serving(var watch) = state else { return }
    watch.receive(event, at: scheduler.now)
    state = .serving(watch)
    setWatchTimer(watch.deadline)
  }

  private func setWatchTimer(_ deadline: Instant?) {
    guard let deadline, watchTimer == nil else { return }
    watchTimer = scheduler.schedule(at: deadline) { [weak self] in self?.watchAgain() }
  }

  /// Runs at the watch's deadline, which later events may have moved.
  private func watchAgain() {
    watchTimer = nil
    guard case .serving(var watch) = state else { return }
    let trouble = watch.timePassed(to: scheduler.now)
    state = .serving(watch)
    if let trouble { return lost(trouble) }
    setWatchTimer(watch.deadline)
    if !isSuspectingTrouble { advertiser.update() }
  }

  /// The adapter was unplugged.
  func removed() {
    if case .over = state { return }
    let message = "\(name) is gone; plug it in again, the rest happens by itself"
    publish(.error(what: "adapter", code: nil, message: message))
    log.warning(message)
    stopServing()
    state = .over
    for link in links { link.handle(.adapterGone) }
    radio.removed(self)
  }

  /// Goes off the air because no phone may be accepted any more.
  func retire() {
    guard isServing else { return }
    for link in links { link.end("the board accepts no phones any more") }
    lost(.switchedOff)
    Loop.start { _ = try? await self.mgmt.call(.setPowered(false), index: self.index) }
  }

  /// The kernel has carried out a command that was given up: the adapter is set up again.
  func changedLate(by opcode: MgmtOpcode) {
    guard isServing else { return }
    lost(.failing("\(opcode) was carried out long after it was given up"))
  }

  /// Another program or rfkill has changed the adapter: reports it once, and sets the adapter up
  /// again as soon as possible.
  private func lost(_ trouble: AdapterTrouble) { lost(.lost(trouble, index)) }

  private func lost(_ why: AdapterWait) {
    let wait = radio.obstacle(to: index) ?? .adapter(why)
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

  /// Sets the adapter up again as soon as nothing prevents it.
  private func recover() async {
    var pause: Duration = .milliseconds(250)
    while case .recovering = state, !radio.isStopping {
      await radio.supervisor.platform.sleep(for: pause)
      pause = min(pause + pause, .seconds(10))
      guard case .recovering = state else { return }
      do {
        guard try await isPresent() else { return exchanged() }
        guard case .recovering = state else { return }
        if let obstacle = radio.obstacle(to: index) {
          state = .recovering(obstacle)
          if await radio.waitForRadio(index) { pause = .milliseconds(250) }
          continue
        }
        radio.listenAgain()
        try await setUp()
        if isServing { log.notice("\(name) is back") }
        return
      } catch {
        guard case .recovering = state else { return }
        if error.status == .invalidIndex { return removed() }
        state = .recovering(radio.obstacle(to: index) ?? .adapter(.failing("\(error)")))
        log.info("\(name): \(error)")
      }
    }
  }

  /// Whether the adapter is still there. While it is blocked or set up, no event may tell that it was
  /// unplugged (docs/kernel.md, “Adapter removal and rfkill”), and another one may have its number.
  private func isPresent() async throws(MgmtError) -> Bool {
    do {
      return try await mgmt.readControllerInformation(index).address == information.address
    } catch {
      guard error.status == .invalidIndex else { throw error }
      return false
    }
  }

  /// The adapter is gone, and another one may be there in its place.
  private func exchanged() {
    if case .over = state { return }
    removed()
    radio.added(index)
  }

  // MARK: What it waits for

  /// What the adapter waits for; nil while a phone's session reports its own wait.
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
    case (false, true): .phone(unusableBonds > 0 ? .unusableBonds : .nobody)
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
    if case .on(let advertisement) = advertiser.state {
      report.isAdvertising = true
      report.profile = advertisement.profile.rawValue
    }
    report.isPairable = isPairable
    report.parametersRefusal = parametersRefusal
    report.waiting = WaitReport(wait, name: boardName)
    return report
  }

  // MARK: Links

  /// Handles an mgmt event about this adapter.
  func receive(_ event: MgmtEvent) {
    watch(event)
    if case .deviceConnected(let peer, let flags, _) = event, !flags.contains(.initiated) {
      _ = link(with: peer)
    }
    let named = links.filter { $0.concerns(event) }
    if case .deviceDisconnected = event, let ended = named.first(where: \.awaitsDisconnected) {
      return ended.handle(.event(event))
    }
    (named.last(where: \.hasPaired) ?? named.last)?.handle(.event(event))
  }

  /// The link with a phone: the existing one, or a new one.
  private func link(with peer: DeviceAddress) -> RadioLink {
    if let known = links.last(where: { $0.peer == peer && !$0.isEnding }) { return known }
    if !isPairable { returnKeys() }
    let profile = advertiser.phoneConnected()
    let link = RadioLink(self, peer, profile: profile)
    links.append(link)
    staleBonds.connected(peer, at: scheduler.now, isBonded: isBonded)
    return link
  }

  /// Starts the session of a phone whose ATT channel was accepted.
  func accept(_ channel: any ATTChannel) {
    let link = link(with: channel.peer)
    guard !link.isAttached else {
      // Two links with one phone: one of them replays a private address of it.
      linkLog.notice("\(name): a second link with \(channel.peer) is refused")
      link.twinRefused()
      return radio.close(channel)
    }
    link.handle(.channel(channel))
    Loop.start { await self.radio.supervisor.serve(link) }
    // The kernel stops advertising when a phone connects.
    advertiser.update()
  }

  /// For whom the adapter is on the air.
  var audience: AdvertisingPlan.Audience {
    if isPairable { return .anybody }
    let here = Set(links.map(\.peer))
    let isAwaited = bonds.contains { !here.contains($0.identity) }
    if links.isEmpty || isAwaited { return .bonded }
    guard radio.supervisor.awaitsSharing(on: name) else { return .nobody }
    return .connected(radio.options.quirks.sharingAdvertisement)
  }

  /// Called when whether a phone shares its notifications may have changed. A session learns that within
  /// moments, during which nothing need go on the air.
  func sharingMayHaveChanged() {
    if let sharingTimer { scheduler.cancel(sharingTimer) }
    sharingTimer = scheduler.schedule(after: Self.sharingPause) { [weak self] in
      self?.sharingTimer = nil
      self?.advertiser.update()
    }
  }

  /// Sends a command about a phone. A failure is only logged: what matters shows in the link's end.
  func send(_ command: MgmtCommand, about peer: DeviceAddress) {
    Loop.start {
      do throws(MgmtError) {
        try await self.mgmt.call(command, index: self.index)
      } catch {
        self.linkLog.info("\(self.name): \(peer): \(error)")
      }
    }
  }

  /// Asks a phone to pair. The reply to the command says how the pairing ended.
  func pair(_ command: MgmtCommand, on link: RadioLink) {
    link.history.step(.smp, "Pair Device", "the phone is asked to pair")
    Loop.start {
      var status = MgmtStatus.success
      do throws(MgmtError) {
        try await self.mgmt.call(command, index: self.index)
      } catch {
        self.linkLog.info("\(self.name): \(link.peer): \(error)")
        // Without an answer the link would be the one that pairs for as long as the phone stays.
        let timeout: MgmtStatus? = if case .timedOut = error { .timeout } else { nil }
        guard let failed = error.status ?? timeout else { return }
        status = failed
      }
      link.handle(.pairCompleted(status))
    }
  }

  /// Called when a link is over.
  ///
  /// - Parameters:
  ///   - byUs: whether the board ended it, or the adapter went away.
  ///   - keysDiffer: whether the two sides' keys differ.
  func ended(
    _ link: RadioLink, wasSecured: Bool, failure: PairingFailure?, byUs: Bool, keysDiffer: Bool
  ) {
    links.removeAll { $0 === link }
    let peer = link.peer
    if !isPairable { returnKeys() }
    if let failure { publish(.pairingFailed(reason: "\(failure)"), phone: peer) }
    if let bond = staleBonds.disconnected(
      peer, at: scheduler.now, isBonded: isBonded(peer), isOurs: byUs, keysDiffer: keysDiffer)
    {
      let remedy = bond.remedy(board: boardName, phone: peer.address.description)
      publish(.stale(what: bond.what, remedy: remedy), phone: peer)
    }
    if wasSecured {
      sawBond(with: peer)
    }
    updateWait()
    guard isServing, !radio.isStopping else { return }
    if links.isEmpty { advertiser.phonesGone() } else { advertiser.update() }
  }

  /// Called when the controller refused to ask a phone for connection parameters. From the next link on
  /// the kernel asks.
  func parametersRefused(_ status: UInt8) {
    guard parametersRefusal == nil else { return }
    parametersRefusal = status
    if let text = report.parametersRefusalText { log.notice("\(name): \(text)") }
    let command = ConnectionIntervalRange.asked.command
    Loop.start {
      do throws(MgmtError) {
        try await self.mgmt.call(command, index: self.index)
      } catch {
        self.log.info("\(self.name): \(error)")
      }
    }
  }

  /// Called when a link is encrypted, which proves that the phone's bond is good.
  func secured(_ peer: DeviceAddress) {
    staleBonds.secured(peer)
    updateWait()
  }

  /// Why a phone's bond is suspected to be stale.
  func suspicion(of peer: DeviceAddress) -> StaleBond? { staleBonds.suspicions[peer] }

  // MARK: The pairing window

  /// Whether the phone on a link, or one that has just connected, may pair: one at a time.
  func admission(of link: RadioLink?) -> PairingMachine.Admission {
    if !isPairable { return .closed }
    return radio.pairingLinks.allSatisfy { $0 === link } ? .open : .busy
  }

  /// Called when a pairing may have ended, for which other phones wait.
  func pairingMayBeOver() {
    for link in links
    where link.isHeldUp && !link.isEnding && admission(of: link) == .open {
      return link.handle(.windowOpened)
    }
  }

  /// Lets phones without a bond pair until then, and asks those that are connected to pair.
  func openPairing(until end: Instant) {
    window.open(until: end)
    pairingMayBeOver()
    advertiser.pairingOpened()
  }

  func closePairing() {
    window.close()
    pairingMayBeClosed()
  }

  // MARK: Bonds

  func bond(with peer: DeviceAddress) -> Bond? { bonds.first { $0.identity == peer } }
  func isBonded(_ peer: DeviceAddress) -> Bool { bond(with: peer) != nil }

  /// Keeps a bond: first on the disk, then it is reported.
  func save(_ bond: Bond, isNew: Bool) {
    let now = radio.supervisor.platform.wallTime.seconds
    var kept = self.bond(with: bond.identity)?.renewed(by: bond) ?? bond
    kept.firstSeen = kept.firstSeen ?? now
    kept.lastSeen = now
    bonds.removeAll { $0.identity == bond.identity }
    bonds.append(kept)
    withheld.remove(bond.identity)
    do {
      try radio.supervisor.bonds.save(kept, of: address)
    } catch {
      let message =
        "\(error); it is good until the daemon ends, and saving it is tried again each minute"
      publish(.error(what: "saving the bond", code: nil, message: message), phone: bond.identity)
    }
    guard isNew else { return }
    publish(.paired, phone: bond.identity)
    radio.phonePaired()
  }

  /// Called when pairing may be closed from now on.
  func pairingMayBeClosed() {
    if !isPairable { returnKeys() }
    advertiser.update()
  }

  /// Called when a phone's identity was learned: removes the bond under its private address.
  func identified(_ privateAddress: DeviceAddress) {
    guard isBonded(privateAddress) else { return }
    bonds.removeAll { $0.identity == privateAddress }
    do {
      try radio.supervisor.bonds.forget(privateAddress, of: address)
    } catch {
      log.warning("the bond with \(privateAddress) could not be removed: \(error)")
    }
  }

  /// Takes the Long Term Key of a phone that pairs anew out of the kernel. The bond is kept until there is another.
  func withholdKey(of peer: DeviceAddress) {
    withheld.insert(peer)
    Loop.start { await self.loadKeys() }
  }

  /// Gives the kernel back what it was without while pairing was open.
  private func returnKeys() {
    guard !withheld.isEmpty else { return }
    withheld = []
    Loop.start { await self.loadKeys() }
  }

  /// Removes a phone's keys from the kernel, which ends its link, and then loads the keys of all
  /// bonds again, because an older key of this phone may be among them. In the other order that key
  /// would be lost.
  func discardKeys(of peer: DeviceAddress) {
    Loop.start {
      do throws(MgmtError) {
        try await self.mgmt.call(.unpairDevice(peer, disconnect: true), index: self.index)
      } catch {
        self.linkLog.info("\(self.name): \(peer): \(error)")
      }
      await self.loadKeys()
    }
  }

  /// Loads the keys of every bond, which replace those in the kernel.
  private func loadKeys() async {
    for command in setup.keys {
      do {
        try await mgmt.call(command, index: index)
      } catch {
        log.error("\(name): the keys could not be loaded: \(error)")
      }
    }
  }

  /// Revokes a bond here and in the kernel, and ends the phone's link. What is on the disk is the caller's.
  func revoke(_ bond: Bond) async {
    bonds.removeAll { $0.identity == bond.identity }
    if bonds.isEmpty { window.lastBondForgotten(at: scheduler.now) }
    staleBonds.forget(bond.identity)
    for link in links where link.peer == bond.identity { link.end("forgotten by the board") }
    // It fails if the kernel does not have the key, which is as good.
    _ = try? await mgmt.call(.unpairDevice(bond.identity, disconnect: true), index: index)
    await loadKeys()
    advertiser.update()
  }

  /// Notes that a bonded phone was here until now.
  private func sawBond(with peer: DeviceAddress) {
    guard let place = bonds.firstIndex(where: { $0.identity == peer }) else { return }
    let now = radio.supervisor.platform.wallTime.seconds
    bonds[place].lastSeen = now
    radio.supervisor.bonds.saw(peer, of: address, at: now)
  }

  /// Changes what is known of a bonded phone, and saves it.
  func updateBond(with peer: DeviceAddress, _ change: (inout Bond) -> Void) {
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

  /// The bonded phones, as `phones` shows them.
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
