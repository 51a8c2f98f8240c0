// SPDX-License-Identifier: GPL-3.0-or-later
import TestLoop
import Testing
import Wire

@testable import Mgmt

@Suite("Link states")
struct LinkMachineTests {
  let phone = Sample.phone
  let encrypted = LinkMachine.Input.polled(.encrypted(isAuthenticated: false, keySize: 16))
  static let refused = LinkMachine.Input.event(
    .deviceDisconnected(Sample.phone, DisconnectReason(rawValue: 4)))
  static let lost = LinkMachine.Input.event(.deviceDisconnected(Sample.phone, .timeout))

  /// The link of a bonded phone.
  func bonded(admission: Admission = .closed) -> LinkTalk {
    LinkTalk(bonds: [Sample.bond()], admission: admission)
  }

  @Test("A bonded phone is expected to encrypt by itself, asked after a pause, and then to leave")
  func neverEncrypts() {
    var talk = bonded()
    #expect(talk.tell(.attached) == [.poll])
    #expect(talk.pass(.milliseconds(4_999)) == [] && talk.machine.holdsPhone)
    #expect(talk.pass(.milliseconds(1)) == [.requestSecurity] && !talk.machine.holdsPhone)
    #expect(talk.pass(.milliseconds(4_999)) == [])
    let actions = talk.pass(.milliseconds(1))
    #expect(actions.first == .send(.disconnect(phone)))
    #expect(actions.end?.reason == "the phone has not encrypted with the bond's key")
    #expect(actions.end?.cause == .unencrypted)
  }

  @Test("A bonded phone that encrypts is served, and not asked", arguments: [0, 4_000, 9_000])
  func encrypts(after milliseconds: Int) {
    var talk = bonded().attached
    _ = talk.pass(.milliseconds(milliseconds))
    #expect(talk.tell(encrypted) == [.secured(isNew: false)])
    #expect(talk.pass(.seconds(3_600)).allSatisfy { $0 != .requestSecurity })
    #expect(talk.machine.isSecured)
  }

  @Test("A phone that refuses a request for lack of security is asked at once, if it is bonded")
  func securityWanted() {
    var talk = bonded().attached
    #expect(talk.tell(.securityWanted) == [.requestSecurity] && talk.machine.isUndecided)
    #expect(talk.tell(.securityWanted) == [])
    #expect(talk.tell(encrypted) == [.secured(isNew: false)] && !talk.machine.isUndecided)
    #expect(talk.tell(.securityWanted) == [])
    var unknown = LinkTalk(admission: .closed).attached
    #expect(unknown.tell(.securityWanted) == [] && unknown.machine.isUndecided)
  }

  @Test("Events of mgmt before the ATT channel opens wait for it, up to a limit")
  func early() {
    var talk = LinkTalk()
    let event = MgmtEvent.confirm()
    for _ in 0..<100 { #expect(talk.hear(event) == []) }
    let actions = talk.tell(.attached)
    #expect(actions.first == .pair(.pairDevice(phone, .noInputNoOutput)))
    #expect(actions.dropFirst().allSatisfy { $0 == .receive(event) })
    #expect(actions.count == 1 + LinkMachine.earlyEvents)
  }

  @Test("A link whose ATT channel does not come is ended")
  func withoutChannel() {
    var talk = LinkTalk()
    #expect(talk.pass(.seconds(10)).end?.reason == "its ATT channel did not open")
  }

  /// What the kernel reports of an end, and the reason that is given.
  struct Ending: Sendable, CustomTestStringConvertible {
    var reports: [LinkMachine.Input]
    var reason: String
    var testDescription: String { reason }
  }

  static let endings: [Ending] = [
    .init(reports: [lost, .channelClosed(.disconnected)], reason: "Connection Timeout"),
    .init(reports: [.channelClosed(.disconnected), lost], reason: "Connection Timeout"),
    .init(reports: [.channelClosed(.disconnected)], reason: "Remote User Terminated Connection"),
    .init(
      reports: [.channelClosed(.keysDiffer)], reason: "Connection Terminated due to MIC Failure"),
    .init(reports: [lost, .polled(nil)], reason: "Connection Timeout"),
    .init(reports: [lost, .adapterLost], reason: "Connection Timeout"),
    .init(reports: [.channelClosed(.disconnected), .adapterLost], reason: "the adapter went away"),
    .init(reports: [.channelClosed(.aborted)], reason: "the adapter went away"),
    .init(reports: [.channelClosed(.aborted), refused], reason: "Authentication Failure"),
    .init(reports: [refused, .channelClosed(.aborted)], reason: "Authentication Failure"),
    .init(reports: [.adapterLost, .adapterGone], reason: "the adapter went away"),
    .init(reports: [.displaced], reason: "another link in its name has replaced it"),
    .init(reports: [.channelClosed(.other("Broken pipe"))], reason: "Broken pipe"),
  ]

  @Test(
    "An end is reported once, with its reason, whatever the kernel says of it", arguments: endings)
  func ends(_ ending: Ending) {
    for isServed in [false, true] {
      var talk = bonded().attached
      if isServed { _ = talk.tell(encrypted) }
      var actions: [LinkMachine.Action] = []
      for report in ending.reports { actions += talk.tell(report) }
      for _ in 0..<3 where actions.end == nil {
        actions += talk.tell(.polled(nil)) + talk.pass(.seconds(1))
      }
      #expect(actions.count == 1 && actions.end?.reason == ending.reason)
      #expect(actions.end?.wasSecured == isServed && talk.machine.wasSecured == isServed)
    }
  }

  @Test("Device Disconnected of another link in the phone's name leaves this one as it was")
  func secondLink() {
    var talk = bonded().attached
    _ = talk.tell(encrypted)
    // What the tuner learns meanwhile is not lost.
    var undisturbed = talk.machine
    _ = undisturbed.work(backlog: 0, at: talk.now)
    let state = undisturbed.state
    #expect(talk.tell(Self.lost) == [] && !talk.machine.isSecured)
    _ = talk.machine.work(backlog: 0, at: talk.now)
    talk.now = talk.now + LinkMachine.linger
    #expect(talk.tell(.time) == [.poll])
    #expect(talk.tell(.polled(encryptedReading)) == [.otherEnded])
    #expect(talk.machine.state == state)
  }

  private var encryptedReading: ChannelSecurity {
    .encrypted(isAuthenticated: false, keySize: 16)
  }

  @Test("Where the channel ends because pairing has failed, mgmt may say why, and late")
  func pairingFailed() {
    // A board that was busy meanwhile reads all of it at once, the reply to a command last.
    var busy = LinkTalk().attached
    _ = busy.tell(.channelClosed(.authenticationFailed))
    busy.now = busy.now + .milliseconds(180)
    #expect(busy.tell(Self.lost) == [] && busy.tell(.time) == [])
    #expect(busy.tell(.pairCompleted(.authenticationFailed)).failures == [.refusedByPhone])
    var unexplained = LinkTalk().attached
    #expect(unexplained.tell(.channelClosed(.authenticationFailed)) == [])
    #expect(unexplained.pass(.milliseconds(100)).end?.failure == .linkLost)
  }

  @Test("A key that is read after the channel's end is kept")
  func lateKey() throws {
    var talk = LinkTalk().attached
    _ = talk.tell(.channelClosed(.disconnected))
    let key = try Sample.longTermKey(.secure)
    let actions = talk.hear(.newLongTermKey(key, store: true))
    #expect(actions.first == .save(Bond(identity: phone, longTermKeys: [key]), isNew: true))
    let end = talk.pass(.milliseconds(100)).end
    #expect(end?.wasSecured == true && end?.failure == nil)
  }
}

@Suite("A link, whatever comes")
struct LinkFuzzTests {
  /// What must hold of a link at any time.
  static func check(
    _ talk: LinkTalk, since before: LinkMachine.State, _ actions: [LinkMachine.Action]
  ) {
    switch talk.machine.state {
    case .secured: #expect(talk.machine.isSecured && !talk.machine.isUndecided)
    case .over:
      #expect(talk.machine.deadline == nil)
      if case .over = before { #expect(actions == []) } else { #expect(actions.end != nil) }
    default: #expect(talk.machine.deadline != nil, "\(talk.machine.state) has no deadline")
    }
  }

  /// Those of the exploration, keys of all kinds, all statuses, and time.
  private static func inputs() throws -> [LinkMachine.Input] {
    let keys = [
      try Sample.longTermKey(.legacy), try Sample.longTermKey(.legacy, isCentral: true),
      try Sample.longTermKey(.debug), try Sample.longTermKey(.secureAuthenticated),
      try Sample.longTermKey(.init(rawValue: 77), size: 1),
    ]
    let statuses = (0..<24).map { MgmtStatus(rawValue: $0) }
    return try LinkExplorationTests.inputs() + Array(repeating: .time, count: 16)
      + keys.map { .event(.newLongTermKey($0, store: true)) } + statuses.map { .pairCompleted($0) }
      + statuses.map { .event(.authenticationFailed(Sample.phone, $0)) }
  }

  @Test("No order of inputs traps or leaves a link without a deadline, and left alone it ends")
  func deadlines() throws {
    var dice = SeededGenerator(seed: 98)
    let inputs = try Self.inputs()
    let admissions: [Admission] = [.open, .closed, .busy]
    func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &dice) }
    func coin() -> Bool { below(2) == 0 }
    for _ in 0..<4_000 {
      var talk = LinkTalk(
        coin() ? .keyboardDisplay : .noInputNoOutput, allowsLegacy: coin(),
        requiresAuthentication: below(4) == 0, peer: coin() ? Sample.phone : Sample.privateAddress,
        bonds: coin() ? [Sample.bond()] : [], admission: admissions[below(3)])
      if below(4) > 0 { talk = talk.attached }
      for _ in 0..<16 {
        talk.now = talk.now + .milliseconds(below(4_000))
        if below(8) == 0 { talk.terms.admission = admissions[below(3)] }
        let before = talk.machine.state
        Self.check(talk, since: before, talk.tell(inputs[below(inputs.count)]))
      }
      _ = talk.pass(.seconds(120))
      switch talk.machine.state {
      case .secured, .over: break
      case let state: Issue.record("after two minutes it is still \(state)")
      }
    }
  }
}
