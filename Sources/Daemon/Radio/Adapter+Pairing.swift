// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Mgmt
import System
import Wire

// How phones are let in: what the pairing machine says is done here.

extension Adapter {
  /// Asks a phone to pair; how that ends, the command's answer tells.
  func pair(_ command: MgmtCommand, on link: RadioLink) {
    Loop.start {
      var status = MgmtStatus.success
      do throws(MgmtError) {
        try await self.mgmt.call(command, index: self.index)
      } catch {
        guard let refused = error.status else { return }
        status = refused
      }
      self.perform(link.machine.pairCompleted(status, at: Loop.shared.now), on: link)
      link.watchTime()
    }
  }

  /// An event of the kernel's about a link's pairing.
  func take(_ event: MgmtEvent, on link: RadioLink) {
    let isOpen = isPairable
    let now = Loop.shared.now
    switch event {
    case .newLongTermKey(let key, let store):
      perform(
        link.machine.longTermKey(key, store: store, isWindowOpen: isOpen, at: now), on: link)
    case .newIdentityResolvingKey(let key, _, let store):
      perform(link.machine.identityResolvingKey(key, store: store), on: link)
    case .userConfirmRequest(_, let hint, let number):
      answer(
        link.machine.userConfirmRequest(
          hint: hint, number: number, isWindowOpen: isOpen, at: now), on: link)
    case .userPasskeyRequest:
      answer(link.machine.userPasskeyRequest(isWindowOpen: isOpen, at: now), on: link)
    case .passkeyNotify(_, let passkey, let entered):
      answer(
        link.machine.passkeyNotify(passkey, entered: entered, isWindowOpen: isOpen, at: now),
        on: link)
    case .authenticationFailed(_, let status):
      if let failure = link.machine.authenticationFailed(status, at: now) { fail(failure, link) }
    default: break
    }
    link.watchTime()
  }

  private func perform(_ action: PairingMachine.KeyAction, on link: RadioLink) {
    switch action {
    case .nothing, .waitForEncryption: break
    case .save(let bond, let isNew): save(bond, isNew: isNew, link)
    case .drop(let command, let failure):
      if let failure { fail(failure, link) }
      Loop.start {
        self.tell(command, on: link)
        await self.loadKeys()
      }
    case .failed(let failure): fail(failure, link)
    }
  }

  private func save(_ bond: Bond, isNew: Bool, _ link: RadioLink) {
    do {
      try keep(bond)
    } catch {
      let message =
        "\(error); it is good until the daemon ends, then the phone has to pair again"
      post(.error(what: "saving the bond", code: nil, message: message), phone: bond.identity)
    }
    link.bonded()
    if isNew {
      post(.paired, phone: bond.identity)
      // Pairing may be closed from now on, and the air is to say so.
      advertiseForOthers()
    }
    link.settle(true)
  }

  private func fail(_ failure: PairingFailure, _ link: RadioLink) {
    link.failure = failure
    post(.pairingFailed(reason: "\(failure)"), phone: link.machine.peer)
    link.settle(false)
  }

  private func answer(_ action: PairingMachine.QuestionAction, on link: RadioLink) {
    let peer = link.machine.peer
    switch action {
    case .accept(let command):
      post(.pairing(.justWorks, passkey: nil), phone: peer)
      tell(command, on: link)
    case .askToConfirm(let number): post(.pairing(.confirm, passkey: number), phone: peer)
    case .askForPasskey: post(.pairing(.entry, passkey: nil), phone: peer)
    case .show(let number):
      link.showsNumber = true
      post(.pairing(.display, passkey: number), phone: peer)
    case .typed(let digits): supervisor.log.info("\(name): \(digits) digits are typed on the phone")
    case .refuse(let command, let failure):
      tell(command, on: link)
      if let failure { fail(failure, link) }
    }
  }

  /// Somebody at the board answers what pairing asked; false where nothing was asked.
  func respond(accept: Bool, passkey: Passkey?) -> Bool {
    let now = Loop.shared.now
    for link in links {
      let said =
        link.machine.enter(accept ? passkey : nil, at: now)
        ?? link.machine.confirm(accept, at: now)
      switch said {
      case .accept(let command): tell(command, on: link)
      case let action?: answer(action, on: link)
      case nil: continue
      }
      link.watchTime()
      return true
    }
    return false
  }

  /// Pairing was opened by hand: phones that wait are asked to pair.
  func windowOpened() {
    for link in links {
      if let command = link.machine.windowOpened() { pair(command, on: link) }
      link.watchTime()
    }
    Loop.start { await self.advertise() }
  }
}
