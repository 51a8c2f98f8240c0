// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@Suite("The pairing rules, as conversations")
struct PairingTests {
  let phone = Sample.phone
  let now = Instant.zero

  /// The machine of a link that has just come up.
  func machine(
    _ capability: IOCapability = .noInputNoOutput, allowsLegacy: Bool = false,
    requiresAuthentication: Bool = false, peer: DeviceAddress = Sample.phone,
    isBonded: Bool = false, bond: Bond? = nil, isWindowOpen: Bool = true
  ) -> PairingMachine {
    PairingMachine(
      peer: peer, bond: bond ?? (isBonded ? Sample.bond() : nil),
      admission: isWindowOpen ? .open : .closed,
      policy: .init(
        capability: capability, allowsLegacy: allowsLegacy,
        requiresAuthentication: requiresAuthentication), at: now)
  }

  @Test("An unknown phone is asked at once, Just Works is accepted, the bond is saved")
  func justWorks() throws {
    var machine = machine(peer: Sample.privateAddress)
    #expect(machine.state == .pairing(accepted: true, .phone))
    #expect(machine.pairDevice == .pairDevice(Sample.privateAddress, .noInputNoOutput))
    #expect(machine.deadline == nil)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .open, at: now)
        == .accept(.userConfirmReply(Sample.privateAddress)))
    #expect(machine.encrypted(isAuthenticated: false, keySize: 16) == false)
    let irk = try Sample.identityResolvingKey()
    let ltk = try Sample.longTermKey(.secure)
    #expect(
      machine.concerns(
        .newIdentityResolvingKey(
          irk, privateAddress: Sample.privateAddress.address, store: true)))
    #expect(machine.identityResolvingKey(irk, store: true, isTaken: false, at: now) == .nothing)
    #expect(machine.peer == phone)
    #expect(machine.concerns(.newLongTermKey(ltk, store: true)))
    let bond = Bond(identity: phone, longTermKeys: [ltk], identityResolvingKey: irk)
    #expect(
      machine.longTermKey(ltk, store: true, admission: .open, at: now)
        == .save(bond, isNew: true))
    #expect(machine.isSecured)
    #expect(machine.pairCompleted(.success, at: now) == .nothing)
    #expect(machine.disconnected() == nil)
  }

  @Test("A bonded phone is expected to encrypt by itself, and asked only after a pause")
  func bonded() {
    var machine = machine(isBonded: true, isWindowOpen: false)
    #expect(machine.state == .expected(until: now + .seconds(5)))
    #expect(machine.deadline == now + .seconds(5))
    #expect(machine.timePassed(to: now + .seconds(4)) == .nothing)
    #expect(machine.timePassed(to: now + .seconds(5)) == .requestSecurity)
    #expect(machine.state == .asked)
    #expect(machine.timePassed(to: now + .seconds(50)) == .nothing)
    #expect(machine.encrypted(isAuthenticated: false, keySize: 16) == true)
    #expect(machine.isSecured && machine.deadline == nil)
  }

  @Test("A bonded phone that encrypts by itself is never asked")
  func bondedAndPrompt() {
    var machine = machine(isBonded: true)
    #expect(machine.encrypted(isAuthenticated: false, keySize: 16) == true)
    #expect(machine.deadline == nil)
    #expect(machine.timePassed(to: now + .seconds(60)) == .nothing)
  }

  @Test("While pairing is closed an unknown phone gets nothing, and is told to leave after a while")
  func closed() throws {
    var machine = machine(isWindowOpen: false)
    #expect(machine.state == .closedOut(.windowClosed, until: now + .seconds(10)))
    #expect(machine.deadline == now + .seconds(10))
    #expect(machine.encrypted(isAuthenticated: false, keySize: 16) == false)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .closed, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .windowClosed))
    #expect(
      machine.userPasskeyRequest(admission: .closed, at: now)
        == .refuse(.userPasskeyNegativeReply(phone), nil))
    #expect(
      machine.passkeyNotify(Passkey(value: 1), entered: 0, admission: .closed, at: now)
        == .refuse(.disconnect(phone), nil))
    #expect(
      machine.longTermKey(
        try Sample.longTermKey(.secure), store: true, admission: .closed, at: now)
        == .discard(nil))
    #expect(!machine.isSecured)
    #expect(machine.timePassed(to: now + .seconds(10)) == .disconnect(.windowClosed))
    #expect(machine.deadline == nil)
  }

  @Test("A key that comes unasked while pairing is closed is discarded")
  func unaskedKey() throws {
    var machine = machine(isWindowOpen: false)
    #expect(
      machine.longTermKey(
        try Sample.longTermKey(.secure), store: true, admission: .closed, at: now)
        == .discard(.windowClosed))
  }

  @Test("Opening pairing asks the phone that is there")
  func opened() {
    var machine = machine(.displayYesNo, isWindowOpen: false)
    #expect(machine.windowOpened() == .pairDevice(phone, .displayYesNo))
    #expect(machine.windowOpened() == nil)
    #expect(machine.timePassed(to: now + .seconds(20)) == .nothing)
    #expect(machine.pairCompleted(.busy, at: now) == .nothing)
  }

  @Test("Numbers are compared by a person: yes")
  func numericComparison() throws {
    var machine = machine(.displayYesNo)
    #expect(machine.confirm(true, at: now) == nil)
    #expect(
      machine.userConfirmRequest(
        hint: false, number: Passkey(value: 123456), admission: .open, at: now)
        == .askToConfirm(Passkey(value: 123456)))
    #expect(
      machine.state
        == .pairing(
          accepted: false, .comparison(Passkey(value: 123456), until: now + .seconds(30))))
    #expect(machine.enter(Passkey(value: 1), at: now) == nil)
    #expect(machine.confirm(true, at: now) == .accept(.userConfirmReply(phone)))
    #expect(machine.confirm(true, at: now) == nil)
    let ltk = try Sample.longTermKey(.secureAuthenticated)
    // The window closed meanwhile (the first bond does that); what was agreed to holds.
    #expect(
      machine.longTermKey(ltk, store: true, admission: .closed, at: now)
        == .save(Bond(identity: phone, longTermKeys: [ltk]), isNew: true))
  }

  @Test("Numbers are compared by a person: no, said once")
  func numericComparisonDeclined() {
    var machine = machine(.displayYesNo)
    _ = machine.userConfirmRequest(
      hint: false, number: Passkey(value: 1), admission: .open, at: now)
    #expect(
      machine.confirm(false, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .declinedHere))
    #expect(machine.pairCompleted(.authenticationFailed, at: now) == .nothing)
    #expect(machine.disconnected() == nil)
  }

  @Test("A passkey is shown, and the phone's typing followed")
  func display() {
    var machine = machine(.displayOnly)
    let passkey = Passkey(value: 42)
    #expect(
      machine.passkeyNotify(passkey, entered: 0, admission: .open, at: now) == .show(passkey))
    #expect(machine.state == .pairing(accepted: true, .typing(passkey, until: now + .seconds(30))))
    #expect(
      machine.passkeyNotify(passkey, entered: 3, admission: .open, at: now) == .typed(3))
    #expect(machine.pairCompleted(.authenticationFailed, at: now) == .failed(.refusedByPhone))
  }

  @Test("A passkey is typed here, or is not")
  func keyboard() {
    var machine = machine(.keyboardOnly)
    #expect(machine.userPasskeyRequest(admission: .open, at: now) == .askForPasskey)
    #expect(machine.state == .pairing(accepted: false, .passkey(until: now + .seconds(30))))
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

  @Test("Already Paired, with a key that is not ours: the key is removed, and not believed")
  func alreadyPaired() {
    var machine = machine()
    #expect(machine.pairCompleted(.alreadyPaired, at: now) == .discard(.foreignKey))
    #expect(machine.encrypted(isAuthenticated: false, keySize: 16) == false)
    #expect(machine.timePassed(to: now + .seconds(10)) == .disconnect(.foreignKey))
  }

  @Test("A phone whose pairing failed is told to leave, and why")
  func failedStays() {
    var machine = machine()
    #expect(machine.pairCompleted(.failed, at: now) == .failed(.noAnswer))
    #expect(machine.timePassed(to: now + .seconds(10)) == .disconnect(.noAnswer))
    #expect(machine.deadline == nil)
  }

  @Test("A link that is lost while pairing is a failure, and only then")
  func lost() {
    var machine = machine()
    #expect(machine.disconnected() == .linkLost)
    #expect(machine.disconnected() == nil)
    #expect(machine.pairCompleted(.disconnected, at: now) == .nothing)
  }

  @Test(
    "Keys of legacy pairing, short keys and the debug key are discarded without --allow-legacy",
    arguments: [
      (LongTermKey.Kind.legacy, 16, PairingFailure.legacy),
      (.legacyAuthenticated, 16, .legacy), (.secure, 15, .shortKey(15)), (.debug, 16, .debugKey),
    ] as [(LongTermKey.Kind, UInt8, PairingFailure)])
  func weakKeys(kind: LongTermKey.Kind, size: UInt8, failure: PairingFailure) throws {
    var machine = machine()
    let key = try Sample.longTermKey(kind, isCentral: true, size: size)
    let second = try Sample.longTermKey(kind, size: size)
    #expect(
      machine.longTermKey(key, store: true, admission: .open, at: now)
        == .discard(failure))
    #expect(
      machine.longTermKey(second, store: true, admission: .open, at: now)
        == .discard(nil))
    #expect(machine.pairCompleted(.success, at: now) == .nothing)
    #expect(machine.encrypted(isAuthenticated: false, keySize: 16) == false)
  }

  @Test("With --allow-legacy a bond is whole when the phone's own key has come, in either order")
  func legacy() throws {
    let irk = try Sample.identityResolvingKey()
    let central = try Sample.longTermKey(.legacy, isCentral: true)
    let peripheral = try Sample.longTermKey(.legacy)
    var one = machine(allowsLegacy: true)
    _ = one.identityResolvingKey(irk, store: true, isTaken: false, at: now)
    #expect(one.longTermKey(central, store: true, admission: .open, at: now) == .nothing)
    #expect(
      one.longTermKey(peripheral, store: true, admission: .open, at: now)
        == .save(
          Bond(
            identity: phone, longTermKeys: [central, peripheral], identityResolvingKey: irk),
          isNew: true))
    var two = machine(allowsLegacy: true)
    #expect(
      two.longTermKey(peripheral, store: true, admission: .open, at: now)
        == .save(Bond(identity: phone, longTermKeys: [peripheral]), isNew: true))
    #expect(
      two.longTermKey(central, store: true, admission: .closed, at: now)
        == .save(Bond(identity: phone, longTermKeys: [peripheral, central]), isNew: false))
  }

  @Test("An identity that comes after the key still becomes the bond's")
  func lateIdentity() throws {
    var machine = machine(peer: Sample.privateAddress)
    let early = try Sample.longTermKey(.secure, peer: Sample.privateAddress)
    #expect(
      machine.longTermKey(early, store: true, admission: .open, at: now)
        == .save(Bond(identity: Sample.privateAddress, longTermKeys: [early]), isNew: true))
    let irk = try Sample.identityResolvingKey()
    let bond = Bond(
      identity: phone, longTermKeys: [try Sample.longTermKey(.secure)], identityResolvingKey: irk)
    #expect(
      machine.identityResolvingKey(irk, store: true, isTaken: false, at: now)
        == .save(bond, isNew: false))
  }

  @Test("A bonded phone that forgot the board can pair again while pairing is open")
  func pairsAnew() throws {
    var machine = machine(isBonded: true)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .open, at: now)
        == .accept(.userConfirmReply(phone)))
    #expect(machine.timePassed(to: now + .seconds(6)) == .nothing)
    let ltk = try Sample.longTermKey(.secure)
    #expect(
      machine.longTermKey(ltk, store: true, admission: .open, at: now)
        == .save(Bond(identity: phone, longTermKeys: [ltk]), isNew: true))
  }

  @Test(
    "While pairing is closed, a bonded phone that forgot the board is told apart from a stranger")
  func forgotten() {
    var machine = machine(isBonded: true, isWindowOpen: false)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .closed, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .bondLost))
    #expect(machine.authenticationFailed(.authenticationFailed, at: now) == .nothing)
    #expect("\(PairingFailure.bondLost)".contains("ancsd pair"))
  }

  @Test("A secured phone that asks again while pairing is closed keeps its session")
  func securedAsksAgain() {
    var machine = machine(isBonded: true, isWindowOpen: false)
    #expect(machine.encrypted(isAuthenticated: false, keySize: 16) == true)
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .closed, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .bondLost))
    #expect(machine.isSecured && machine.deadline == nil)
  }

  @Test("A phone that begins to pair by itself, and then refuses, is a failure")
  func refusesWhatItBegan() {
    var machine = machine(isBonded: true)
    _ = machine.userConfirmRequest(
      hint: true, number: Passkey(value: 0), admission: .open, at: now)
    let later = now + .seconds(3)
    #expect(
      machine.authenticationFailed(.authenticationFailed, at: later) == .failed(.refusedByPhone))
    #expect(machine.authenticationFailed(.authenticationFailed, at: later) == .nothing)
  }

  @Test(
    "A kernel that fails as soon as a bonded phone may pair anew is to be without the phone's key")
  func kernelCannotPairAnew() {
    var machine = machine(isBonded: true)
    _ = machine.userConfirmRequest(
      hint: true, number: Passkey(value: 0), admission: .open, at: now)
    let failed = now + .milliseconds(60)
    #expect(
      machine.authenticationFailed(.authenticationFailed, at: failed)
        == .withhold(.kernelCannotPairAnew))
    #expect(machine.timePassed(to: failed) == .disconnect(.kernelCannotPairAnew))
  }

  @Test("A phone that keeps no bond leaves none here, and does not stay")
  func unbonded() throws {
    var machine = machine()
    #expect(
      machine.longTermKey(
        try Sample.longTermKey(.secure), store: false, admission: .open, at: now)
        == .discard(.notBonded))
    #expect(machine.state == .failed(.notBonded, until: now + PairingMachine.patience))
  }

  @Test("A phone that has agreed and sends no key fails after a time, and may not begin again")
  func withoutKeys() throws {
    var machine = machine()
    #expect(machine.pairCompleted(.success, at: now) == .nothing)
    let deadline = try #require(machine.deadline)
    #expect(deadline == now + PairingMachine.patience)
    #expect(machine.timePassed(to: deadline) == .failed(.notBonded))
    let question = machine.userConfirmRequest(
      hint: true, number: Passkey(value: 0), admission: .closed, at: deadline)
    #expect(question == .refuse(.userConfirmNegativeReply(phone), nil))
    #expect(machine.timePassed(to: deadline) == .disconnect(.notBonded))
  }

  @Test("A phone that pairs once more on the same link is reported as paired once")
  func pairsTwice() throws {
    var machine = machine()
    let ltk = try Sample.longTermKey(.secure)
    let bond = Bond(identity: phone, longTermKeys: [ltk])
    #expect(
      machine.longTermKey(ltk, store: true, admission: .open, at: now)
        == .save(bond, isNew: true))
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .open, at: now)
        == .accept(.userConfirmReply(phone)))
    #expect(
      machine.longTermKey(ltk, store: true, admission: .open, at: now)
        == .save(bond, isNew: false))
  }

  @Test("The window: for the first phone, for a time, always, and by hand for one phone")
  func window() {
    let later = now + .seconds(60)
    var window = PairingWindow(.firstPhone(until: later))
    #expect(window.isOpen(at: now, wasBonded: false))
    #expect(!window.isOpen(at: now, wasBonded: true))
    #expect(!window.isOpen(at: later, wasBonded: false))
    #expect(window.deadline(after: now) == later)
    window.lastBondForgotten(at: later)
    #expect(window.isOpen(at: later, wasBonded: false))
    #expect(window.deadline(after: later) == later + PairingWindow.firstPhoneTime)
    window.open(until: later)
    #expect(window.isOpen(at: now, wasBonded: true))
    #expect(window.deadline(after: now) == later)
    #expect(!window.isOpen(at: later, wasBonded: true))
    window.open(until: later)
    window.phonePaired()
    #expect(!window.isOpen(at: now, wasBonded: true))
    window.close()
    #expect(!window.isOpen(at: now, wasBonded: false))
    #expect(window.deadline(after: now) == nil)
    var timed = PairingWindow(.until(later))
    timed.phonePaired()
    timed.lastBondForgotten(at: later)
    #expect(timed.isOpen(at: now, wasBonded: true))
    #expect(timed.deadline(after: now) == later)
    #expect(!timed.isOpen(at: later, wasBonded: false))
    #expect(PairingWindow(.always).isOpen(at: later, wasBonded: true))
  }

  // MARK: Who may not pair, and which key is not believed

  @Test("Where somebody can be asked, a phone that shows no number waits for a yes")
  func consent() throws {
    for (agrees, capability) in [(true, IOCapability.displayYesNo), (false, .keyboardOnly)] {
      var machine = machine(capability)
      let asked = machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .open, at: now)
      #expect(asked == .askForConsent)
      #expect(machine.state == .pairing(accepted: false, .consent(until: now + .seconds(30))))
      let answer = machine.confirm(agrees, at: now)
      #expect(
        answer
          == (agrees
            ? .accept(.userConfirmReply(phone))
            : .refuse(.userConfirmNegativeReply(phone), .declinedHere)))
    }
  }

  @Test("--require-mitm refuses what nobody compared, when it is asked and when the key comes")
  func requiresAuthentication() throws {
    var asked = machine(.displayYesNo, requiresAuthentication: true)
    #expect(
      asked.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .open, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .notAuthenticated))
    var told = machine(.displayYesNo, requiresAuthentication: true)
    #expect(
      told.longTermKey(
        try Sample.longTermKey(.secure), store: true, admission: .open, at: now)
        == .discard(.notAuthenticated))
    var good = machine(.displayYesNo, requiresAuthentication: true)
    let key = try Sample.longTermKey(.secureAuthenticated)
    #expect(
      good.longTermKey(key, store: true, admission: .open, at: now)
        == .save(Bond(identity: phone, longTermKeys: [key]), isNew: true))
  }

  @Test("A stranger who names a bonded phone's identity is refused, in any order of the keys")
  func identityTaken() throws {
    let irk = try Sample.identityResolvingKey()
    let failure = PairingFailure.identityTaken(phone.address)
    var stranger = machine(peer: Sample.privateAddress)
    #expect(
      stranger.identityResolvingKey(irk, store: true, isTaken: true, at: now)
        == .discard(failure))
    #expect(stranger.peer == Sample.privateAddress)
    let deadline = try #require(stranger.deadline)
    #expect(deadline - now <= .seconds(1))
    // From now on the kernel calls the stranger by that identity.
    let key = try Sample.longTermKey(.secure)
    #expect(stranger.concerns(.newLongTermKey(key, store: true)) && stranger.hasPaired)
    #expect(
      stranger.longTermKey(key, store: true, admission: .open, at: now) == .discard(nil))
    #expect(!stranger.isSecured)
    #expect(stranger.timePassed(to: deadline) == .disconnect(failure))
    // The phone itself is known by its identity from the start, and may renew its bond.
    var phone = machine(isBonded: true)
    #expect(phone.identityResolvingKey(irk, store: true, isTaken: true, at: now) == .nothing)
  }

  @Test("A bond that a number protects is not replaced by one without")
  func weaker() throws {
    let bond = Bond(
      identity: phone, longTermKeys: [try Sample.longTermKey(.secureAuthenticated)])
    var machine = machine(bond: bond)
    #expect(
      machine.longTermKey(
        try Sample.longTermKey(.secure), store: true, admission: .open, at: now)
        == .discard(.weakerThanBond))
  }

  @Test("Encryption by a key that is not the bond's is not believed")
  func otherKey() throws {
    let bond = Bond(
      identity: phone, longTermKeys: [try Sample.longTermKey(.secureAuthenticated)])
    var machine = machine(bond: bond, isWindowOpen: false)
    #expect(machine.encrypted(isAuthenticated: false, keySize: 16) == false)
    #expect(machine.encrypted(isAuthenticated: true, keySize: 7) == false)
    #expect(!machine.isSecured)
    #expect(machine.encrypted(isAuthenticated: true, keySize: 16) == true)
  }

  @Test("While one phone pairs, another waits, and is told to leave after a while")
  func oneAtATime() {
    var machine = PairingMachine(
      peer: phone, bond: nil, admission: .busy, policy: .init(capability: .noInputNoOutput),
      at: now)
    #expect(machine.state == .closedOut(.busy, until: now + .seconds(10)))
    #expect(
      machine.userConfirmRequest(
        hint: true, number: Passkey(value: 0), admission: .busy, at: now)
        == .refuse(.userConfirmNegativeReply(phone), .busy))
    var patient = PairingMachine(
      peer: phone, bond: nil, admission: .busy, policy: .init(capability: .noInputNoOutput),
      at: now)
    let command = patient.windowOpened()
    #expect(command != nil)
    #expect(patient.state == .pairing(accepted: true, .phone))
  }
}
