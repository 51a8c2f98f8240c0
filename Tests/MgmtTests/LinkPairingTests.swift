// SPDX-License-Identifier: GPL-3.0-or-later
@testable import Mgmt
import Testing
import Wire

/// A link and the board that it is with, for tests that are conversations.
struct LinkTalk {
  var machine: LinkMachine
  var terms: LinkMachine.Terms
  var now = Instant.zero

  /// A link that is announced, with the sample's phone unless `peer` says otherwise.
  init(
    _ capability: IOCapability = .noInputNoOutput, allowsLegacy: Bool = false, requiresAuthentication: Bool = false,
    peer: DeviceAddress = Sample.phone, bonds: [Bond] = [], admission: Admission = .open
  ) {
    let policy = PairingPolicy(
      capability: capability, allowsLegacy: allowsLegacy, requiresAuthentication: requiresAuthentication)
    machine = LinkMachine(peer: peer, policy: policy, at: .zero)
    terms = LinkMachine.Terms(admission: admission, bonds: bonds)
  }

  /// The same once its ATT channel is there.
  var attached: LinkTalk {
    var talk = self
    _ = talk.tell(.attached)
    return talk
  }

  /// Hands in something, and keeps what is to be saved, as the board does.
  mutating func tell(_ input: LinkMachine.Input) -> [LinkMachine.Action] {
    let actions = machine.handle(input, under: terms, at: now)
    for case .save(let bond, _) in actions {
      terms.bonds.removeAll { $0.identity == bond.identity }
      terms.bonds.append(bond)
    }
    return actions
  }

  mutating func hear(_ event: MgmtEvent) -> [LinkMachine.Action] { tell(.event(event)) }

  /// Lets time pass, deadline by deadline.
  mutating func pass(_ duration: Duration) -> [LinkMachine.Action] {
    let end = now + duration
    var actions: [LinkMachine.Action] = []
    while let due = machine.deadline, due <= end {
      now = max(now, due)
      for action in tell(.time) {
        if action == .poll { actions += tell(.polled(.open)) } else { actions.append(action) }
      }
    }
    now = end
    return actions
  }
}

extension [LinkMachine.Action] {
  /// How the link has ended; nil: it has not.
  var end: LinkEnd? {
    for case .over(let end) in self { return end }
    return nil
  }

  /// The sample's phone is bonded with these keys, and served.
  static func bonded(_ keys: LongTermKey..., identity: IdentityResolvingKey? = nil) -> Self {
    let bond = Bond(identity: Sample.phone, longTermKeys: keys, identityResolvingKey: identity)
    return [.save(bond, isNew: true), .secured(isNew: true)]
  }

  /// Why pairing has failed, as it was reported.
  var failures: [PairingFailure] {
    compactMap { if case .failed(let failure) = $0 { failure } else { nil } }
  }
}

extension MgmtEvent {
  /// Questions of the kernel about the sample's phone.
  static func confirm(_ number: UInt32? = nil, peer: DeviceAddress = Sample.phone) -> MgmtEvent {
    .userConfirmRequest(peer, hint: number == nil, Passkey(value: number ?? 0))
  }
  static func show(_ number: UInt32, entered: UInt8 = 0) -> MgmtEvent {
    .passkeyNotify(Sample.phone, Passkey(value: number), entered: entered)
  }
  static let failed = MgmtEvent.authenticationFailed(Sample.phone, .authenticationFailed)
  static func identity(_ key: IdentityResolvingKey) -> MgmtEvent {
    .newIdentityResolvingKey(key, privateAddress: Sample.privateAddress.address, store: true)
  }
  static func key(_ key: LongTermKey = Sample.longTermKey()) -> MgmtEvent {
    .newLongTermKey(key, store: true)
  }
}

extension LinkMachine.Input {
  /// The channel is encrypted with a key of a pairing without a number.
  static let encrypted = Self.polled(.encrypted(isAuthenticated: false, keySize: 16))
}

@Suite("The pairing rules, as conversations")
struct LinkPairingTests {
  let phone = Sample.phone
  let yes = LinkMachine.Action.send(.userConfirmReply(Sample.phone))
  let no = LinkMachine.Action.send(.userConfirmNegativeReply(Sample.phone))

  @Test("Closing pairing ends neither that of a bonded phone nor one that was agreed to")
  func closedMeanwhile() {
    var talk = LinkTalk(.displayYesNo).attached
    _ = talk.hear(.confirm(1))
    talk.terms.admission = .closed
    var known = talk
    known.terms.bonds = [Sample.bond()]
    #expect(known.tell(.windowClosed) == [])
    #expect(known.tell(.answered(accept: true, nil)) == [yes])
    #expect(talk.tell(.answered(accept: true, nil)) == [yes])
    let key = Sample.longTermKey(.secureAuthenticated)
    #expect(talk.hear(.key(key)) == .bonded(key))
  }

  @Test("A passkey is shown, and the phone's typing followed, which gives it no more time")
  func display() {
    var talk = LinkTalk(.displayOnly).attached
    #expect(talk.hear(.show(42)) == [.ask])
    let due = talk.machine.deadline
    talk.now = talk.now + .seconds(3)
    #expect(talk.hear(.show(42, entered: 3)) == [.typed(3)])
    #expect(talk.machine.pairing?.turn == .asking(.display(Passkey(value: 42), entered: 0)))
    #expect(talk.machine.deadline == due)
    #expect(talk.tell(.pairCompleted(.authenticationFailed)) == [.failed(.refusedByPhone)])
  }

  @Test(
    "Pair Device's answers are failures in words, or none",
    arguments: [
      (MgmtStatus.success, nil), (.busy, nil), (.alreadyPaired, nil), (.failed, .noResponse),
      (.timeout, .noResponse), (.authenticationFailed, .refusedByPhone), (.cancelled, .cancelled),
      (.notConnected, .linkLost), (.disconnected, .linkLost), (.invalidIndex, .adapterGone),
      (.connectFailed, .linkLost), (.notPowered, .adapterGone),
    ] as [(MgmtStatus, PairingFailure?)])
  func completions(status: MgmtStatus, failure: PairingFailure?) {
    #expect(PairingFailure(status) == failure)
    #expect(failure?.description.isEmpty != true)
  }

  @Test("Already Paired, with a key that is not ours: the key is removed, and not believed")
  func alreadyPaired() {
    var talk = LinkTalk().attached
    #expect(talk.tell(.pairCompleted(.alreadyPaired)) == [.failed(.foreignKey), .discardKeys])
    #expect(talk.tell(.encrypted) == [])
    #expect(talk.pass(.seconds(10)).end?.reason == "pairing failed: \(PairingFailure.foreignKey)")
  }

  @Test(
    "A short key, the debug key and those of legacy pairing make no bond, and end a link that they would encrypt",
    arguments: [
      (.legacy, 16, .legacy), (.legacyAuthenticated, 16, .legacy), (.secure, 15, .shortKey(15)),
      (.debug, 16, .debugKey), (.init(rawValue: 77), 16, .legacy),
    ] as [(LongTermKey.Kind, UInt8, PairingFailure)])
  func weakKeys(kind: LongTermKey.Kind, size: UInt8, failure: PairingFailure) {
    let key = Sample.longTermKey(kind, isCentral: true, size: size)
    var talk = LinkTalk().attached
    #expect(talk.hear(.key(key)) == [.failed(failure), .discardKeys])
    #expect(talk.hear(.key(Sample.longTermKey(kind, size: size))) == [.discardKeys])
    #expect(talk.tell(.pairCompleted(.success)) == [] && talk.tell(.encrypted) == [])
    var served = LinkTalk(bonds: [Sample.bond()]).attached
    _ = served.tell(.encrypted)
    let actions = served.hear(.key(key))
    #expect(actions.starts(with: [.failed(failure), .discardKeys]) && actions.end != nil)
  }

  @Test("With --allow-legacy a bond is whole when the phone's own key has come, in either order")
  func legacy() {
    let irk = Sample.identityResolvingKey()
    let central = Sample.longTermKey(.legacy, isCentral: true)
    let peripheral = Sample.longTermKey(.legacy)
    var one = LinkTalk(allowsLegacy: true).attached
    _ = one.hear(.identity(irk))
    #expect(one.hear(.key(central)) == [])
    #expect(one.hear(.key(peripheral)) == .bonded(central, peripheral, identity: irk))
    var two = LinkTalk(allowsLegacy: true).attached
    #expect(two.hear(.key(peripheral)) == .bonded(peripheral))
    two.terms.admission = .closed
    let whole = Bond(identity: phone, longTermKeys: [peripheral, central])
    #expect(two.hear(.key(central)) == [.save(whole, isNew: false)])
  }

  @Test("A phone that begins to pair by itself, and then refuses, is a failure")
  func refusesWhatItBegan() {
    var talk = LinkTalk(bonds: [Sample.bond()]).attached
    _ = talk.hear(.confirm())
    talk.now = talk.now + .seconds(3)
    #expect(talk.hear(.failed) == [.failed(.refusedByPhone)])
    #expect(talk.hear(.failed) == [])
  }

  @Test("A phone that pairs once more on the same link is reported as paired once, and has a new bond")
  func pairsTwice() {
    var talk = LinkTalk().attached
    let ltk = Sample.longTermKey()
    #expect(talk.hear(.key(ltk)) == .bonded(ltk))
    #expect(talk.hear(.confirm()) == [.ask, yes])
    #expect(talk.machine.isSecured && talk.machine.pairing != nil)
    let bond = Bond(identity: phone, longTermKeys: [ltk])
    #expect(talk.hear(.key(ltk)) == [.save(bond, isNew: false), .secured(isNew: true)])
    #expect(talk.machine.isSecured && talk.machine.pairing == nil)
  }

  @Test("A secured phone that asks to pair again keeps its session, however that ends")
  func securedAsksAgain() {
    var talk = LinkTalk(.displayYesNo, bonds: [Sample.bond()], admission: .closed).attached
    #expect(talk.tell(.encrypted) == [.secured(isNew: false)])
    #expect(talk.hear(.confirm()) == [no, .failed(.bondLost)])
    #expect(talk.machine.isSecured)
    talk.terms.admission = .open
    #expect(talk.hear(.confirm(5)) == [.ask])
    #expect(talk.tell(.answered(accept: false, nil)) == [no, .failed(.declinedHere)])
    #expect(talk.machine.isSecured)
    #expect(talk.hear(.confirm(6)) == [.ask])
    let actions = talk.pass(.seconds(120))
    #expect(actions.failures == [.noResponse] && actions.end == nil && talk.machine.isSecured)
  }

  // MARK: Who may not pair, and which key is not believed

  @Test("A Long Term Key under a bonded phone's address waits for the identity that it belongs to")
  func identityAwaited() {
    var old = Sample.bond()
    old.identityResolvingKey = Sample.identityResolvingKey()
    var talk = LinkTalk(bonds: [old]).attached
    #expect(talk.hear(.key()) == [] && !talk.machine.isSecured)
    // The kernel has another phone's key in place of this one's; a second identity on one link is foreign.
    var other = talk
    #expect(other.hear(.identity(Sample.identityResolvingKey(peer: Sample.other))).last == .restoreKeys)
    #expect(other.hear(.identity(Sample.identityResolvingKey())) == [.restoreKeys])
    #expect(other.machine.peer == Sample.other && other.machine.isSecured)
    // Without any identity it is not the phone, which has one.
    let actions = talk.pass(LinkMachine.keyDistribution)
    #expect(actions.failures == [.identityTaken(phone.address)] && actions.contains(.discardKeys))
    #expect(actions.end != nil && talk.terms.bonds == [old])
    // Nor had the one that is bonded.
    var without = LinkTalk(bonds: [Sample.bond()]).attached
    #expect(without.hear(.key()) == [])
    #expect(without.pass(LinkMachine.keyDistribution).last == .secured(isNew: true))
  }

  /// Links with a phone whose key without a number is not kept, its store hint, and why.
  static let unkept: [(LinkTalk, store: Bool, PairingFailure)] = [
    (LinkTalk(), false, .notBonded), (LinkTalk(.displayYesNo, requiresAuthentication: true), true, .notAuthenticated),
    (LinkTalk(bonds: [Sample.bond(.secureAuthenticated)]), true, .weakerThanBond),
  ]

  @Test(
    "A key that the phone does not keep, or that protects less than the policy or its bond wants, is not kept",
    arguments: unkept)
  func keepsNothing(_ link: (talk: LinkTalk, store: Bool, failure: PairingFailure)) {
    var talk = link.talk.attached
    let key = MgmtEvent.newLongTermKey(Sample.longTermKey(), store: link.store)
    #expect(talk.hear(key) == [.failed(link.failure), .discardKeys])
  }

  @Test("While one phone pairs, another may not begin, and is told to leave after a while")
  func oneAtATime() {
    var waits = LinkTalk(admission: .busy).attached
    var begins = waits
    #expect(begins.hear(.confirm()) == [no, .failed(.busy)])
    #expect(waits.pass(.seconds(10)).end?.reason == "another phone is pairing")
  }
}
