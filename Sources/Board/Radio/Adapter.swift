// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import EventLoop
import Mgmt
import System
import Wire

/// One adapter: sets it up, and keeps it on the air. Its links are in AdapterLinks.swift.
@LoopActor package final class Adapter {
  /// The life of the adapter.
  private enum State {
    case settingUp
    /// Set up. The watch notices when another program changes the adapter.
    case serving(AdapterWatch)
    /// Blocked, changed or failing. Set-up is retried.
    case recovering(Wait)
    /// Unplugged, or restored to its original state.
    case over
  }

  let index: ControllerIndex
  let radio: Radio
  /// The bonded phones, and their keys.
  package let keys: KeyKeeper
  /// The links with phones, in the order of their arrival.
  var links: [RadioLink] = [] { didSet { updateWait() } }
  /// Raw HCI, for connection parameters; nil with `--no-tune` or if it can't be opened.
  var controller: ControllerLinks?
  /// The HCI error with which the controller refused to request connection parameters.
  var parametersRefusal: UInt8?
  /// The phones that are not asked for connection parameters for a while.
  var parameterPatience = ParameterPatience()
  /// For lines that phones can cause.
  private(set) lazy var linkLog = log.limited(by: LogBudget("phones on \(name)", scheduler))
  private(set) lazy var advertiser = Advertiser(
    self, AdvertisingPlan(name: boardName, choice: radio.settings.advertise))

  private var state = State.settingUp { didSet { updateWait() } }
  private lazy var watchTimer = Deadline(scheduler) { [weak self] in self?.watchAgain() }
  private lazy var sharingTimer = Deadline(scheduler) { [weak self] in self?.advertiser.update() }
  private static let sharingPause: Duration = .seconds(3)
  private let information: ControllerInformation
  /// The address on the air, under which bonds are kept.
  private let identity: DeviceAddress
  /// What it was before the daemon changed anything.
  private let original: ControllerInformation
  /// What ends accepting phones; called only once its successor accepts them.
  private var stopListening: (() -> Void)? { didSet { oldValue?() } }

  init(_ index: ControllerIndex, _ information: ControllerInformation, _ identity: DeviceAddress, _ radio: Radio) {
    self.index = index
    self.radio = radio
    self.information = information
    self.identity = identity
    original = radio.original(information, at: identity.address)
    keys = KeyKeeper(radio, adapter: identity.address, index)
    keys.onChange = { [weak self] in
      self?.updateWait()
      self?.advertiser.update()
    }
  }

  /// As in `hci0`.
  var name: String { "\(index)" }
  var address: Address { identity.address }
  var mgmt: MgmtClient { radio.mgmt }
  var log: Log { radio.log.about(name) }
  var scheduler: any Scheduler { radio.platform.scheduler }
  /// The name that phones see.
  var boardName: String { radio.name }
  /// Whether a phone without a bond may pair with it now.
  var isPairable: Bool {
    radio.desk.window.isOpen(at: scheduler.now, wasBonded: keys.ring.isBonded)
  }
  /// Whether it is set up and undisturbed.
  var isServing: Bool { watch != nil }
  private var isOver: Bool { if case .over = state { true } else { false } }

  // MARK: Setting up

  /// Sets the adapter up for the first time. If that fails, set-up is retried in the background.
  func begin() async {
    // It takes some milliseconds, which is not worth reporting.
    let timer = scheduler.schedule(after: .seconds(1)) { [weak self] in self?.updateWait() }
    defer { scheduler.cancel(timer) }
    do {
      if let failure = listen() { return lost(.failing(failure), failure) }
      try await setUp()
    } catch {
      guard case .settingUp = state else { return }
      if error.status == .invalidIndex { return unplugged() }
      lost(.failing("\(error)"), "\(error)")
    }
  }

  /// Sets the adapter up, in the order that the kernel requires.
  private func setUp() async throws(MgmtError) {
    let bonds = keys.ring.held
    let steps = information.setUpSteps(
      name: boardName, capability: radio.policy.capability, bonds: bonds,
      staticAddress: identity.type == .random ? identity.address : nil,
      interval: parametersRefusal == nil ? .any : .asked)
    try await mgmt.perform(steps, index: index, while: { !isOver }) { log.info("\(name): \($0)") }
    if isOver { return }
    let settings = try await mgmt.readControllerInformation(index).current
    if isOver { return }
    // A phone was forgotten meanwhile, or more bonds could be read.
    if keys.ring.held != bonds { keys.load() }
    // It was off meanwhile, so all remaining links are gone, even if no event reported their end.
    for link in links { link.handle(.adapterGone) }
    state = .serving(AdapterWatch())
    // bluetoothd may have just started, without having changed anything yet.
    if radio.obstacle(to: index) != nil { return lost(.changed([])) }
    // The radio may have been blocked meanwhile, which powers the adapter off.
    watch(.newSettings(settings))
    openController()
    publish(
      .ready(address: address, name: boardName, version: Program.version, life: radio.life))
    advertiser.start(by: radio.hasExtendedAdvertising ? .extended : .plain)
  }

  /// Restores the adapter's original state.
  func restore() async {
    end()
    for command in original.restoreCommands {
      do {
        try await mgmt.call(command, index: index)
      } catch {
        if case .closed = error {
          return log.warning("\(name) was not restored: the kernel did not reply in time")
        }
        log.info("\(name): while exiting: \(error)")
      }
    }
  }

  private func end() {
    stopServing()
    stopListening = nil
    keys.close()
    state = .over
  }

  private func stopServing() {
    for timer in [watchTimer, sharingTimer] { timer.due = nil }
    advertiser.stop()
    closeController()
  }

  // MARK: Trouble

  /// The watch of an adapter that is set up.
  private var watch: AdapterWatch? {
    get { if case .serving(let watch) = state { watch } else { nil } }
    set { if let newValue { state = .serving(newValue) } }
  }

  /// Tells the watch whether the daemon itself is changing the advertising now.
  func changesAdvertising(_ isOurs: Bool) { watch?.changesAdvertising(isOurs) }

  /// Whether the watch has noticed possible trouble.
  var isSuspectingTrouble: Bool { watch?.deadline != nil }

  private func watch(_ event: MgmtEvent) {
    guard isServing else { return }
    // No link survives that, and a newer kernel says nothing else about those that it has ended for it.
    if case .newSettings(let settings) = event, !settings.contains(.powered) { loseLinks() }
    watch?.receive(event, at: scheduler.now)
    if let deadline = watch?.deadline { watchTimer.limit(to: deadline) }
  }

  /// Runs at the watch's deadline, which later events may have moved.
  private func watchAgain() {
    guard isServing else { return }
    if let trouble = watch?.timePassed(to: scheduler.now) { return lost(trouble) }
    watchTimer.due = watch?.deadline
    if !isSuspectingTrouble { advertiser.update() }
  }

  func unplugged() {
    if isOver { return }
    let message = "\(name) was removed; plug it in again to continue"
    publish(.error(what: "adapter", code: nil, message: message))
    log.warning(message)
    end()
    for link in links { link.handle(.adapterGone) }
    radio.drop(self)
  }

  /// Goes off the air because no more phones may be accepted.
  func retire() {
    stopListening = nil
    guard isServing else { return }
    for link in links { link.end(LinkEnd.closed) }
    lost(.switchedOff)
    Loop.start { _ = try? await self.mgmt.call(.setPowered(false), index: self.index) }
  }

  /// Another program or rfkill has changed the adapter: reports it once, and sets the adapter up
  /// again as soon as possible.
  private func lost(_ trouble: AdapterTrouble) { lost(.lost(trouble, index)) }

  /// - Parameter message: what to report; nil: the wait's sentence.
  private func lost(_ why: Wait, _ message: String? = nil) {
    let wait = radio.obstacle(to: index) ?? why
    stopServing()
    let message = message ?? wait.sentence(name: boardName)
    publish(.error(what: "adapter", code: nil, message: message))
    loseLinks()
    state = .recovering(wait)
    Loop.start { await self.recover() }
  }

  private func loseLinks() { for link in links { link.handle(.adapterLost) } }

  /// Sets the adapter up again as soon as nothing prevents it.
  private func recover() async {
    var pause: Duration = .milliseconds(250)
    while case .recovering = state, !radio.isStopping {
      await radio.platform.sleep(for: pause)
      pause = min(pause + pause, .seconds(10))
      guard case .recovering = state else { return }
      do {
        // While it is blocked or being set up, there may be no event for its removal (docs/kernel.md, “Adapter removal and
        // rfkill”), and another one may have its number.
        let present = try await mgmt.readControllerInformation(index)
        guard case .recovering = state else { return }
        guard present.address == information.address else {
          unplugged()
          radio.added(index)
          return
        }
        if let obstacle = radio.obstacle(to: index) {
          state = .recovering(obstacle)
          if await radio.waitForRadio(index) { pause = .milliseconds(250) }
          continue
        }
        if let failure = listen() {
          state = .recovering(.failing(failure))
          continue
        }
        try await setUp()
        if isServing { log.notice("\(name) is back") }
        return
      } catch {
        guard case .recovering = state else { return }
        if error.status == .invalidIndex { return unplugged() }
        state = .recovering(radio.obstacle(to: index) ?? .failing("\(error)"))
        log.info("\(name): \(error)")
      }
    }
  }

  /// Listens for phones, also again: the kernel passes them to the latest listening socket, which may be that of another
  /// program that has changed the adapter.
  ///
  /// - Returns: why no phone can be accepted.
  private func listen() -> String? {
    do {
      // Only at its own address: another program may serve another adapter.
      stopListening = try radio.platform.listenForPhones(at: identity, log: radio.strangersLog) {
        [weak self] in self?.accept($0)
      }
      return nil
    } catch {
      log.info("\(name): listening for phones: \(error)")
      return "no phone can be accepted: \(error)"
    }
  }

  // MARK: Waits

  /// What the adapter waits for; nil while a phone's session reports its own wait.
  var wait: Wait? {
    switch state {
    case .settingUp: return .settingUp
    case .recovering(let wait): return wait
    case .over: return nil
    case .serving: break
    }
    guard links.isEmpty else { return links.contains { !$0.isAttached } ? .channel : nil }
    if let (peer, bond) = keys.ring.staleBonds.firstSuspicion {
      return .oneSided(bond, phone: peer.address)
    }
    if let phone = keys.ring.firstGivenUp { return .givenUp(phone: phone.address) }
    if let why = advertiser.plan.failure { return .notAdvertising(why) }
    if advertiser.plan.advertisement == nil {
      return advertiser.plan.isResting(at: scheduler.now) ? .resting : .settingUp
    }
    return switch (isPairable, keys.ring.bonds.isEmpty) {
    case (true, true): .firstPhone
    case (true, false): .anyPhone
    case (false, true): keys.ring.isBonded ? .unusableBonds : .nobody
    case (false, false): .bondedPhone
    }
  }

  func updateWait() {
    let current = wait.map { Waits.CurrentWait($0, adapter: name) }
    radio.waits.set(.adapter(name), current)
  }

  /// The adapter as `status` shows it.
  var report: AdapterReport {
    var report = AdapterReport()
    report.adapter = name
    report.address = address
    report.name = boardName
    if case .recovering = state { report.isPowered = false } else { report.isPowered = true }
    if let advertisement = advertiser.plan.advertisement {
      report.isAdvertising = true
      report.profile = advertisement.profile.rawValue
    }
    report.isPairable = isPairable
    report.parametersRefusal = parametersRefusal
    report.phy = controller != nil && radio.settings.onlyPHY1M ? "1m" : nil
    report.waiting = WaitReport(wait, name: boardName)
    return report
  }

  // MARK: Access

  /// Handles an mgmt event about this adapter.
  func receive(_ event: MgmtEvent) {
    // A command that has timed out was carried out after all: nobody knows the adapter's settings any more.
    if case .commandComplete(let opcode, .success, _) = event, opcode.changesSettings, isServing {
      return lost(.failing("\(opcode) completed long after it timed out"))
    }
    watch(event)
    passToLink(event)
  }

  /// Whom the adapter advertises for.
  var audience: AdvertisingPlan.Audience {
    if isPairable { return .anybody }
    let here = Set(links.filter(\.machine.holdsPhone).map(\.peer))
    let isAwaited = keys.ring.bonds.contains { !here.contains($0.identity) }
    if links.isEmpty || isAwaited { return .bonded }
    return radio.sessions?.sharingAdvertisement(on: name).map { .connected($0) } ?? .nobody
  }

  /// Called when a phone may have begun or stopped sharing its notifications. A session learns this within moments, so
  /// nothing needs to be advertised meanwhile.
  package func sharingMayHaveChanged() { sharingTimer.due = scheduler.now + Self.sharingPause }

  /// Called when pairing may have opened or closed.
  func windowChanged() {
    if !isPairable { keys.returnKeys() }
    updateWait()
    advertiser.update()
  }

  /// Revokes a bond here and in the kernel, and ends the phone's link. The caller handles the disk.
  func revoke(_ phone: DeviceAddress) async {
    _ = keys.ring.remove(phone)
    for link in links where link.peer == phone { link.end(LinkEnd.forgotten) }
    await keys.remove(phone)
    advertiser.update()
  }

  /// The bonded phones, as `phones` shows them.
  package var phoneReports: [PhoneReport] {
    let connected = links.filter(\.isUpAndSecured).map(\.peer)
    return keys.ring.bonds.map {
      PhoneReport($0, on: name, isConnected: connected.contains($0.identity))
    }
  }
}
