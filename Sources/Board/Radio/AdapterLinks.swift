// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import GAP
import Mgmt
import System
import Wire

// The links on an adapter: creates them, passes each event to the link concerned, and performs actions that need the
// adapter.
extension Adapter {
  func publish(_ content: Event.Content, phone: DeviceAddress? = nil) {
    radio.feed.publish(
      Event(content, adapter: name, phone: phone?.address), ofStranger: phone.map { keys.ring[$0] == nil } ?? false)
  }

  // MARK: From a phone's first event to its end

  /// Passes an mgmt event to the link concerned.
  func passToLink(_ event: MgmtEvent) {
    if case .deviceConnected(let peer, let flags, _) = event, !flags.contains(.initiated),
      !links.contains(where: { $0.peer == peer && ($0.isUp || !$0.isAttached) })
    {
      addLink(with: peer)
    }
    if case .deviceDisconnected = event { advertiser.plan.linkEnded() }
    let now = scheduler.now
    let named = links.filter { $0.machine.concerns(event, at: now) }
    // A phone's address may name several links: its own, and those of devices that spoof its address.
    if case .deviceDisconnected = event, let ended = named.first(where: \.mayHaveEnded) {
      return ended.handle(.event(event))
    }
    let link = named.last { $0.machine.pairing != nil } ?? named.last { $0.machine.mayGetKeys(at: now) } ?? named.last
    if let link { return link.handle(.event(event)) }
    if case .deviceDisconnected = event { presenceChanged() }
    // A device paired under a bonded phone's identity and has disconnected: the kernel holds its key instead of the
    // phone's.
    switch event {
    case .newLongTermKey(let key, _) where keys.ring[key.peer] != nil: keys.load()
    case .newIdentityResolvingKey(let key, _, _) where keys.ring[key.peer] != nil: keys.load()
    default: break
    }
  }

  /// A link with a phone that has just connected.
  @discardableResult private func addLink(with peer: DeviceAddress) -> RadioLink {
    let history = radio.timeline.begin(adapter: name, phone: peer.address)
    let link = RadioLink(self, peer, radio.policy, history, profile: advertiser.phoneConnected())
    links.append(link)
    return link
  }

  /// Starts the session of a phone whose ATT channel was accepted.
  func accept(_ channel: any ATTChannel) {
    // Of two links with one phone, one may be a replay of its private address: the one that is not secured.
    let former = links.last { $0.peer == channel.peer && $0.isUp }
    if let former, former.wasSecured {
      linkLog.notice("\(name): refused a second link with \(channel.peer)")
      radio.sessions?.countUnproven()
      return radio.close(channel)
    }
    let link = links.last { $0.peer == channel.peer && !$0.isAttached } ?? addLink(with: channel.peer)
    if let former {
      linkLog.notice("\(name): a second link with \(channel.peer) replaces the first")
      former.handle(.displaced)
    }
    link.attach(channel)
    Loop.start { await self.radio.sessions?.serve(link) }
    // The kernel stops advertising when a phone connects.
    advertiser.update()
  }

  /// Called when a link is over.
  func ended(_ link: RadioLink, _ end: LinkEnd) {
    links.removeAll { $0 === link }
    let peer = link.peer
    if !isPairable { keys.returnKeys() }
    if let failure = end.failure { publish(.pairingFailed(reason: "\(failure)"), phone: peer) }
    if !link.hasSubscribed {
      // The board ends no link for lack of encryption once two are counted.
      keys.count(peer, hasSubscribed: false, isSaved: end.wasSecured || end.cause == .unencrypted)
    }
    if !end.wasSecured, keys.ring[peer] != nil { radio.sessions?.countUnproven() }
    if !end.wasSecured { judgeBond(of: link, end.cause) }
    updateWait()
    guard isServing, !radio.isStopping else { return }
    if end.cause == .keysDiffer { advertiser.plan.rest(at: scheduler.now) }
    if links.isEmpty { advertiser.phonesGone() } else { advertiser.update() }
  }

  /// Called when a phone has not encrypted with the bond's key, although the link goes on.
  func unencrypted(_ link: RadioLink) {
    judgeBond(of: link, .unencrypted)
    updateWait()
  }

  /// Reports a bond that only one side has, as far as the links with the phone show it.
  private func judgeBond(of link: RadioLink, _ cause: LinkEnd.Cause) {
    let phone = link.peer
    let bonded = keys.ring.bonds.map(\.identity)
    let found = keys.ring.staleBonds.ended(
      phone, since: link.began, at: scheduler.now, cause, isBonded: bonded.contains)
    guard let found else { return }
    let remedy = found.remedy(board: radio.name, phone: phone.address.description)
    publish(.stale(what: found.what, remedy: remedy), phone: phone)
  }

  // MARK: The kernel

  /// Sends a command, which may be about a link's phone, and passes the kernel's reply on. A failure is only logged: the
  /// end of the link shows what matters.
  func send(
    _ command: MgmtCommand, on link: RadioLink? = nil, then: @escaping @LoopActor (MgmtStatus) -> Void = { _ in }
  ) {
    Loop.start {
      do throws(MgmtError) {
        try await self.mgmt.call(command, index: self.index)
        then(.success)
      } catch {
        self.linkLog.info("\(self.name): \(link.map { "\($0.peer): " } ?? "")\(error)")
        if let status = error.status { then(status) }
      }
    }
  }

  /// Called when the phone begins or stops to count as connected while the link continues, or when a link has ended that is
  /// not on the list anymore.
  func presenceChanged() { if !radio.isStopping { advertiser.update() } }

  func openController() {
    closeController()
    guard radio.settings.tunes else { return }
    do {
      let channel = try radio.platform.openController(index)
      controller = ControllerLinks(channel, onlyPHY1M: radio.settings.onlyPHY1M, log: log)
      controller?.onReply = { [weak self] handle, error, isRefusal in
        self?.links.last { $0.connectionHandle == handle }?.controllerReplied(error, isRefusal)
      }
      controller?.onEnd = { [weak self] in self?.askedPhoneLeft($0, $1) }
    } catch { log.info("\(name): connection parameters are unchanged: \(error)") }
  }

  /// Requests connection parameters; false if this phone is not to be asked now, or can't be.
  func request(_ wanted: ConnectionParameters, of phone: DeviceAddress, on handle: UInt16) -> Bool {
    guard let controller, parameterPatience.pause(of: phone, at: scheduler.now) == nil else {
      return false
    }
    parameterPatience.asked(phone, at: scheduler.now)
    return controller.request(wanted, from: phone, on: handle)
  }

  private func askedPhoneLeft(_ phone: DeviceAddress, _ reason: UInt8) {
    guard parameterPatience.ended(phone, reason: reason, at: scheduler.now) else { return }
    linkLog.notice(
      "\(name): \(phone) dropped two links soon after a request for connection parameters: no more for a day")
    advertiser.plan.avoidKeyboard(until: scheduler.now + ParameterPatience.pause)
  }

  func closeController() {
    controller?.close()
    controller = nil
  }

  /// Called when the controller refused to request connection parameters. The kernel requests them from the next link
  /// on.
  func parametersRefused(_ status: UInt8) {
    guard parametersRefusal == nil else { return }
    parametersRefusal = status
    if let text = report.parametersRefusalText { log.notice("\(name): \(text)") }
    send(ConnectionIntervalRange.asked.command)
  }

  // MARK: Keys and pairing

  /// Saves a bond, then reports it.
  func save(_ bond: Bond, isNew: Bool) {
    do {
      try keys.save(bond)
    } catch {
      // Without the path, which is private; the log has it.
      let message =
        "\(error.call): \(error.errno); it is valid until the daemon exits, which retries every minute to save it"
      publish(.error(what: "saving the bond", code: nil, message: message), phone: bond.identity)
    }
    guard isNew else { return }
    publish(.paired, phone: bond.identity)
    radio.phonePaired()
  }

  /// Called when a link is encrypted, which proves that the phone's bond works.
  func secured(_ peer: DeviceAddress) {
    keys.ring.staleBonds.secured(peer)
    updateWait()
  }

  /// On which terms the board serves the phone of this link now.
  func terms(for link: RadioLink) -> LinkMachine.Terms {
    LinkMachine.Terms(admission: admission(of: link), bonds: keys.ring.bonds, isLastChance: link.isLastChance)
  }

  /// Whether the phone on a link may pair: one at a time.
  func admission(of link: RadioLink) -> Admission {
    if !isPairable { return .closed }
    return radio.pairingLinks.allSatisfy { $0 === link } ? .open : .busy
  }

  /// Asks the first phone that waits for its turn to pair, if it may now.
  func admitNext() {
    for link in links where link.machine.isHeldUp {
      if admission(of: link) == .open { return link.handle(.admitted) }
      link.onChange(.wait)
    }
  }
}
