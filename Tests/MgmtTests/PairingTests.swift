// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@Suite("The pairing rules, as conversations")
struct PairingTests {
  let phone = Sample.phone
  let now = Instant.zero

  func machine(
    _ capability: IOCapability = .noInputNoOutput, allowsLegacy: Bool = false,
    peer: DeviceAddress = Sample.phone
  ) -> PairingMachine {
    PairingMachine(
      peer: peer, policy: .init(capability: capability, allowsLegacy: allowsLegacy))
  }

  @Test("An unknown phone is asked at once, just works is agreed to, the bond is kept")
  func justWorks() throws {
    var machine = machine(peer: Sample.privateAddress)
    #expect(
      machine.connected(isBonded: false, isWindowOpen: true, at: now)
        == .pair(.pairDevice(Sample.privateAddress, .noInputNoOutput)))
    #expect(machine.deadline == nil)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), isWindowOpen: true, at: now)
        == .accept(.userConfirmReply(Sample.privateAddress)))
    #expect(machine.encrypted() == false)
    let irk = try Sample.identityResolvingKey()
    let ltk = try Sample.longTermKey(.secure)
    #expect(
      machine.concerns(
        .newIdentityResolvingKey(
          irk, privateAddress: Sample.privateAddress.address, store: true)))
    #expect(machine.identityResolvingKey(irk, store: true) == .nothing)
    #expect(machine.peer == phone)
    #expect(machine.concerns(.newLongTermKey(ltk, store: true)))
    let bond = Bond(identity: phone, longTermKeys: [ltk], identityResolvingKey: irk)
    #expect(
      machine.longTermKey(ltk, store: true, isWindowOpen: true, at: now)
        == .save(bond, isNew: true))
    #expect(machine.isSecured)
    #expect(machine.pairCompleted(.success, at: now) == .nothing)
    #expect(machine.disconnected() == nil)
  }

  @Test("A bonded phone is waited for; asked only after a pause, and by its socket")
  func bonded() {
    var machine = machine()
    #expect(
      machine.connected(isBonded: true, isWindowOpen: false, at: now)
        == .waitForEncryption(until: now + .seconds(5)))
    #expect(machine.timePassed(to: now + .seconds(4)) == .nothing)
    #expect(machine.timePassed(to: now + .seconds(5)) == .requestSecurity)
    #expect(machine.timePassed(to: now + .seconds(50)) == .nothing)
    #expect(machine.encrypted() == true)
    #expect(machine.isSecured && machine.deadline == nil)
  }

  @Test("A bonded phone that encrypts by itself is never asked")
  func bondedAndPrompt() {
    var machine = machine()
    _ = machine.connected(isBonded: true, isWindowOpen: true, at: now)
    #expect(machine.encrypted() == true)
    #expect(machine.deadline == nil)
    #expect(machine.timePassed(to: now + .seconds(60)) == .nothing)
  }

  @Test("While pairing is closed an unknown phone gets nothing, and has to go after a while")
  func closed() throws {
    var machine = machine()
    #expect(
      machine.connected(isBonded: false, isWindowOpen: false, at: now)
        == .serveNothing(until: now + .seconds(10)))
    #expect(machine.encrypted() == false)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), isWindowOpen: false, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .windowClosed))
    #expect(
      machine.userPasskeyRequest(isWindowOpen: false, at: now)
        == .refuse(.userPasskeyNegativeReply(phone), nil))
    #expect(
      machine.passkeyNotify(Passkey(value: 1), entered: 0, isWindowOpen: false, at: now)
        == .refuse(.disconnect(phone), nil))
    #expect(
      machine.longTermKey(
        try Sample.longTermKey(.secure), store: true, isWindowOpen: false, at: now)
        == .drop(.unpairDevice(phone, disconnect: true), nil))
    #expect(!machine.isSecured)
    #expect(machine.timePassed(to: now + .seconds(10)) == .disconnect(.disconnect(phone)))
  }

  @Test("A key that came unasked while pairing is closed is taken away")
  func unaskedKey() throws {
    var machine = machine()
    _ = machine.connected(isBonded: false, isWindowOpen: false, at: now)
    #expect(
      machine.longTermKey(
        try Sample.longTermKey(.secure), store: true, isWindowOpen: false, at: now)
        == .drop(.unpairDevice(phone, disconnect: true), .windowClosed))
  }

  @Test("Opening pairing asks the phone that is there")
  func opened() {
    var machine = machine(.displayYesNo)
    _ = machine.connected(isBonded: false, isWindowOpen: false, at: now)
    #expect(machine.windowOpened() == .pairDevice(phone, .displayYesNo))
    #expect(machine.windowOpened() == nil)
    #expect(machine.timePassed(to: now + .seconds(20)) == .nothing)
    #expect(machine.pairCompleted(.busy, at: now) == .nothing)
  }

  @Test("Numbers are compared by a person: yes")
  func numericComparison() throws {
    var machine = machine(.displayYesNo)
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    #expect(machine.confirm(true, at: now) == nil)
    #expect(
      machine.userConfirmRequest(
        hint: false, number: Passkey(value: 123456), isWindowOpen: true, at: now)
        == .askToConfirm(Passkey(value: 123456)))
    #expect(machine.enter(Passkey(value: 1), at: now) == nil)
    #expect(machine.confirm(true, at: now) == .accept(.userConfirmReply(phone)))
    #expect(machine.confirm(true, at: now) == nil)
    let ltk = try Sample.longTermKey(.secureAuthenticated)
    // The window closed meanwhile (the first bond does that); what was agreed to holds.
    #expect(
      machine.longTermKey(ltk, store: true, isWindowOpen: false, at: now)
        == .save(Bond(identity: phone, longTermKeys: [ltk]), isNew: true))
  }

  @Test("Numbers are compared by a person: no, said once")
  func numericComparisonDeclined() {
    var machine = machine(.displayYesNo)
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    _ = machine.userConfirmRequest(
      hint: false, number: Passkey(value: 1), isWindowOpen: true, at: now)
    #expect(
      machine.confirm(false, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .declinedHere))
    #expect(machine.pairCompleted(.authenticationFailed, at: now) == .nothing)
    #expect(machine.disconnected() == nil)
  }

  @Test("The methods have the names of the event")
  func methods() {
    #expect(PairingMachine.QuestionAction.accept(.userConfirmReply(phone)).method == "just-works")
    #expect(PairingMachine.QuestionAction.askToConfirm(Passkey(value: 0)).method == "confirm")
    #expect(PairingMachine.QuestionAction.askForPasskey.method == "entry")
    #expect(PairingMachine.QuestionAction.show(Passkey(value: 0)).method == "display")
    #expect(PairingMachine.QuestionAction.typed(3).method == nil)
  }

  @Test("A passkey is shown, and the phone's typing followed")
  func display() {
    var machine = machine(.displayOnly)
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    let passkey = Passkey(value: 42)
    #expect(
      machine.passkeyNotify(passkey, entered: 0, isWindowOpen: true, at: now) == .show(passkey))
    #expect(
      machine.passkeyNotify(passkey, entered: 3, isWindowOpen: true, at: now) == .typed(3))
    #expect(machine.pairCompleted(.authenticationFailed, at: now) == .failed(.refusedByPhone))
  }

  @Test("A passkey is typed here, or is not")
  func keyboard() {
    var machine = machine(.keyboardOnly)
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    #expect(machine.userPasskeyRequest(isWindowOpen: true, at: now) == .askForPasskey)
    var other = machine
    #expect(
      machine.enter(Passkey(value: 7), at: now)
        == .accept(.userPasskeyReply(phone, Passkey(value: 7))))
    #expect(
      other.enter(nil, at: now) == .refuse(.userPasskeyNegativeReply(phone), .declinedHere))
  }

  @Test(
    "Pair Device's answers are failures in words, or none",
    arguments: [
      (MgmtStatus.success, nil), (.busy, nil), (.alreadyPaired, nil), (.failed, .noAnswer),
      (.timeout, .noAnswer), (.authenticationFailed, .refusedByPhone), (.cancelled, .cancelled),
      (.notConnected, .linkLost), (.disconnected, .linkLost), (.invalidIndex, .adapterGone),
      (.notSupported, .other(.notSupported)),
    ] as [(MgmtStatus, PairingFailure?)])
  func completions(status: MgmtStatus, failure: PairingFailure?) {
    #expect(PairingFailure(status) == failure)
    #expect(failure?.description.isEmpty != true)
  }

  @Test("Already Paired means to wait for the phone, as for any bonded one")
  func alreadyPaired() {
    var machine = machine()
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    #expect(
      machine.pairCompleted(.alreadyPaired, at: now)
        == .waitForEncryption(until: now + .seconds(5)))
    #expect(machine.timePassed(to: now + .seconds(5)) == .requestSecurity)
    #expect(machine.encrypted() == true)
  }

  @Test("A failed phone does not stay for ever")
  func failedStays() {
    var machine = machine()
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    #expect(machine.pairCompleted(.failed, at: now) == .failed(.noAnswer))
    #expect(machine.timePassed(to: now + .seconds(10)) == .disconnect(.disconnect(phone)))
  }

  @Test("A link lost while pairing is a failure; lost later it is none")
  func lost() {
    var machine = machine()
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    #expect(machine.disconnected() == .linkLost)
    #expect(machine.disconnected() == nil)
    #expect(machine.pairCompleted(.disconnected, at: now) == .nothing)
  }

  @Test(
    "Legacy pairing, short keys and the debug key are dropped without --allow-legacy",
    arguments: [
      (LongTermKey.Kind.legacy, 16, PairingFailure.legacy),
      (.legacyAuthenticated, 16, .legacy), (.secure, 15, .shortKey(15)), (.debug, 16, .debugKey),
    ] as [(LongTermKey.Kind, UInt8, PairingFailure)])
  func weakKeys(kind: LongTermKey.Kind, size: UInt8, failure: PairingFailure) throws {
    var machine = machine()
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    let key = try Sample.longTermKey(kind, isCentral: true, size: size)
    let second = try Sample.longTermKey(kind, size: size)
    let command = MgmtCommand.unpairDevice(phone, disconnect: true)
    #expect(
      machine.longTermKey(key, store: true, isWindowOpen: true, at: now)
        == .drop(command, failure))
    #expect(
      machine.longTermKey(second, store: true, isWindowOpen: true, at: now)
        == .drop(command, nil))
    #expect(machine.pairCompleted(.success, at: now) == .nothing)
    #expect(machine.encrypted() == false)
  }

  @Test("With --allow-legacy a bond is whole when the phone's own key has come, in either order")
  func legacy() throws {
    let irk = try Sample.identityResolvingKey()
    let central = try Sample.longTermKey(.legacy, isCentral: true)
    let peripheral = try Sample.longTermKey(.legacy)
    var one = machine(allowsLegacy: true)
    _ = one.connected(isBonded: false, isWindowOpen: true, at: now)
    _ = one.identityResolvingKey(irk, store: true)
    #expect(one.longTermKey(central, store: true, isWindowOpen: true, at: now) == .nothing)
    #expect(
      one.longTermKey(peripheral, store: true, isWindowOpen: true, at: now)
        == .save(
          Bond(
            identity: phone, longTermKeys: [central, peripheral], identityResolvingKey: irk),
          isNew: true))
    var two = machine(allowsLegacy: true)
    _ = two.connected(isBonded: false, isWindowOpen: true, at: now)
    #expect(
      two.longTermKey(peripheral, store: true, isWindowOpen: true, at: now)
        == .save(Bond(identity: phone, longTermKeys: [peripheral]), isNew: true))
    #expect(
      two.longTermKey(central, store: true, isWindowOpen: false, at: now)
        == .save(Bond(identity: phone, longTermKeys: [peripheral, central]), isNew: false))
  }

  @Test("An identity that comes after the key is the bond's all the same")
  func lateIdentity() throws {
    var machine = machine(peer: Sample.privateAddress)
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    let early = try Sample.longTermKey(.secure, peer: Sample.privateAddress)
    #expect(
      machine.longTermKey(early, store: true, isWindowOpen: true, at: now)
        == .save(Bond(identity: Sample.privateAddress, longTermKeys: [early]), isNew: true))
    let irk = try Sample.identityResolvingKey()
    let bond = Bond(
      identity: phone, longTermKeys: [try Sample.longTermKey(.secure)], identityResolvingKey: irk)
    #expect(machine.identityResolvingKey(irk, store: true) == .save(bond, isNew: false))
  }

  @Test("A known phone that forgot the board pairs anew while that is open")
  func pairsAnew() throws {
    var machine = machine()
    _ = machine.connected(isBonded: true, isWindowOpen: true, at: now)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), isWindowOpen: true, at: now)
        == .accept(.userConfirmReply(phone)))
    #expect(machine.timePassed(to: now + .seconds(6)) == .nothing)
    let ltk = try Sample.longTermKey(.secure)
    #expect(
      machine.longTermKey(ltk, store: true, isWindowOpen: true, at: now)
        == .save(Bond(identity: phone, longTermKeys: [ltk]), isNew: true))
  }

  @Test("A known phone that forgot the board is told apart from a stranger while that is closed")
  func forgotten() {
    var machine = machine()
    _ = machine.connected(isBonded: true, isWindowOpen: false, at: now)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), isWindowOpen: false, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .bondLost))
    #expect(machine.authenticationFailed(.authenticationFailed, at: now) == nil)
    #expect("\(PairingFailure.bondLost)".contains("ancsd pair"))
  }

  @Test("A secured phone that asks again while pairing is closed keeps its session")
  func securedAsksAgain() {
    var machine = machine()
    _ = machine.connected(isBonded: true, isWindowOpen: false, at: now)
    #expect(machine.encrypted() == true)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), isWindowOpen: false, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .bondLost))
    #expect(machine.isSecured && machine.deadline == nil)
  }

  @Test("A phone that began before it was accepted is not asked a second time")
  func phoneFirst() {
    var machine = machine()
    _ = machine.userConfirmRequest(
      hint: true, number: Passkey(value: 0), isWindowOpen: true, at: now)
    #expect(machine.connected(isBonded: false, isWindowOpen: true, at: now) == .nothing)
    #expect(machine.authenticationFailed(.authenticationFailed, at: now) == .refusedByPhone)
  }

  @Test("A phone that keeps no bond leaves none here")
  func unbonded() throws {
    var machine = machine()
    _ = machine.connected(isBonded: false, isWindowOpen: true, at: now)
    #expect(
      machine.longTermKey(
        try Sample.longTermKey(.secure), store: false, isWindowOpen: true, at: now) == .nothing)
    #expect(machine.pairCompleted(.success, at: now) == .nothing)
  }

  @Test("The window: while nobody is bonded, for a time, always, and by hand")
  func window() {
    let later = now + .seconds(60)
    var window = PairingWindow()
    #expect(window.isOpen(at: now, isBonded: false))
    #expect(!window.isOpen(at: now, isBonded: true))
    #expect(window.deadline(after: now) == nil)
    window.open(until: later)
    #expect(window.isOpen(at: now, isBonded: true))
    #expect(window.deadline(after: now) == later)
    #expect(!window.isOpen(at: later, isBonded: true))
    #expect(window.deadline(after: later) == nil)
    window.close()
    #expect(!window.isOpen(at: now, isBonded: false))
    let timed = PairingWindow(.until(later))
    #expect(timed.isOpen(at: now, isBonded: true))
    #expect(timed.deadline(after: now) == later)
    #expect(!timed.isOpen(at: later, isBonded: false))
    #expect(PairingWindow(.always).isOpen(at: later, isBonded: true))
  }
}
