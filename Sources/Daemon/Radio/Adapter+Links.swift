// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import EventLoop
import Mgmt
import System
import Wire

// Phones that come and go on an adapter.

extension Adapter {
  /// The link with a phone: the one that is there, or a new one whose pairing rules begin now.
  func link(with peer: DeviceAddress) -> RadioLink {
    if let known = links.first(where: { $0.machine.peer == peer }) { return known }
    let link = RadioLink(self, peer, isBonded: isBonded(peer))
    links.append(link)
    // Unknown phones change their addresses: what is remembered of them has a bound.
    if detectors.count >= Self.mostSuspects { detectors = detectors.filter { isBonded($0.key) } }
    detectors[peer, default: StaleBondDetector()].connected(at: Loop.shared.now)
    let action = link.machine.connected(
      isBonded: link.isBonded, isWindowOpen: isPairable, at: Loop.shared.now)
    switch action {
    case .pair(let command): link.pairing = command
    case .waitForEncryption, .nothing: break
    case .serveNothing: link.settle(false)
    }
    link.watchTime()
    return link
  }

  /// A phone's socket was accepted: its session begins.
  func accepted(_ socket: ATTSocket) {
    let link = link(with: socket.peer)
    link.attach(socket)
    // Not before: until its L2CAP side is up, the kernel takes Pair Device and asks the phone nothing.
    if let command = link.pairing.take() { pair(command, on: link) }
    Loop.start { await self.supervisor.serve(link) }
    advertiseForOthers()
  }

  /// An event of the kernel's about a phone.
  func receive(_ event: MgmtEvent) {
    if case .deviceConnected(let peer, let flags, _) = event, !flags.contains(.initiated) {
      _ = link(with: peer)
    }
    for link in links where link.machine.concerns(event) {
      if case .deviceDisconnected(_, let reason) = event {
        link.disconnected("\(reason)")
      } else {
        take(event, on: link)
      }
    }
  }

  /// What a link's time brings.
  func perform(_ action: PairingMachine.TimeAction, on link: RadioLink) {
    switch action {
    case .nothing: break
    case .requestSecurity:
      supervisor.log.info(
        "\(name): \(link.machine.peer) has not encrypted by itself: it is asked to")
      do {
        try link.socket?.setSecurity(.medium)
      } catch {
        supervisor.log.info("\(name): \(error)")
      }
    case .disconnect:
      link.end("pairing is closed for unknown phones")
    }
  }

  /// Ends a link at once; merely closing the socket would leave it for seconds.
  func disconnect(_ link: RadioLink) { tell(.disconnect(link.machine.peer), on: link) }

  /// Sends a command about a link; what goes wrong is only logged: the link's own end tells.
  func tell(_ command: MgmtCommand, on link: RadioLink) {
    Loop.start {
      do {
        try await self.mgmt.call(command, index: self.index)
      } catch {
        self.supervisor.log.info("\(self.name): \(link.machine.peer): \(error)")
      }
    }
  }

  /// A link is over.
  func ended(_ link: RadioLink, wasSecured: Bool) {
    links.removeAll { $0 === link }
    let peer = link.machine.peer
    if let failure = link.machine.disconnected() {
      post(.pairingFailed(reason: "\(failure)"), phone: peer)
    }
    suspect(link, peer)
    if wasSecured { note(peer) { $0.lastSeen = WallTime.now.seconds } }
    if links.isEmpty, trouble == nil, !radio.isStopping { advertiseAnew() }
  }

  /// Says so where the bond seems to be there on one side only.
  private func suspect(_ link: RadioLink, _ peer: DeviceAddress) {
    let suspicion = detectors[peer]?.disconnected(
      at: Loop.shared.now, isBonded: link.isBonded,
      isOurs: link.endedHere || link.closeErrno == .connectionAborted,
      keysDiffer: link.closeErrno == .notImplemented)
    guard let suspicion else { return }
    // Of strangers, whose addresses change, the last one is enough.
    suspicions = suspicions.filter { $0.value != .lostHere }
    suspicions[peer] = suspicion
    let remedy = suspicion.remedy(board: supervisor.name, phone: peer.address.description)
    post(.stale(what: suspicion.what, remedy: remedy), phone: peer)
  }

  /// The link is encrypted: whatever was suspected of the bond is forgotten.
  func secured(_ link: RadioLink) {
    detectors[link.machine.peer]?.secured()
    // A bond that was lost here was suspected under an address that comes only once.
    suspicions = suspicions.filter { $0.key != link.machine.peer && $0.value != .lostHere }
  }
}
