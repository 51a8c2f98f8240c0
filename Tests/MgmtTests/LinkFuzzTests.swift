// SPDX-License-Identifier: GPL-3.0-or-later
@testable import Mgmt
import TestLoop
import Testing
import Wire

@Suite("A link, whatever comes")
struct LinkFuzzTests {
  /// Draws inputs.
  struct Source {
    var dice: SeededGenerator
    let keys: [LongTermKey]
    let irk: IdentityResolvingKey

    init(seed: UInt64) throws {
      dice = SeededGenerator(seed: seed)
      keys = [
        try Sample.longTermKey(.secure), try Sample.longTermKey(.legacy),
        try Sample.longTermKey(.legacy, isCentral: true), try Sample.longTermKey(.debug),
        try Sample.longTermKey(.secureAuthenticated),
        try Sample.longTermKey(.init(rawValue: 77), size: 1),
      ]
      irk = try Sample.identityResolvingKey()
    }

    mutating func below(_ bound: Int) -> Int { Int(dice.next() % UInt64(bound)) }
    mutating func coin() -> Bool { below(2) == 0 }

    mutating func event() -> MgmtEvent {
      let passkey = Passkey(value: UInt32(below(4)))
      return switch below(8) {
      case 0: .userConfirmRequest(Sample.phone, hint: coin(), passkey)
      case 1: .userPasskeyRequest(Sample.phone)
      case 2: .passkeyNotify(Sample.phone, passkey, entered: coin() ? 0 : 1)
      case 3:
        .newIdentityResolvingKey(
          irk, privateAddress: Sample.privateAddress.address, store: coin())
      case 4, 5: .newLongTermKey(keys[below(keys.count)], store: below(4) > 0)
      case 6: .authenticationFailed(Sample.phone, MgmtStatus(rawValue: UInt8(below(24))))
      default: .deviceDisconnected(Sample.phone, DisconnectReason(rawValue: UInt8(below(6))))
      }
    }

    mutating func input() -> LinkMachine.Input {
      let readings: [ChannelSecurity?] = [
        nil, .open, .encrypted(isAuthenticated: false, keySize: 16),
        .encrypted(isAuthenticated: true, keySize: 16),
      ]
      let ends: [ChannelEnd] = [
        .disconnected, .timedOut, .authenticationFailed, .keysDiffer, .aborted, .other("x"),
      ]
      return switch below(30) {
      case 0...11: .event(event())
      case 12...14: .attached
      case 15...17: .polled(readings[below(4)])
      case 18: .pairCompleted(MgmtStatus(rawValue: UInt8(below(24))))
      case 19, 20: .answered(accept: coin(), coin() ? Passkey(value: 1) : nil)
      case 21: coin() ? .windowOpened : .windowClosed
      case 22: .securityWanted
      case 23: .parametersChanged(status: UInt8(below(3)))
      case 24: .parametersRefused(status: 0x0C)
      case 25: below(4) > 0 ? .time : .channelClosed(ends[below(ends.count)])
      case 26: below(4) > 0 ? .time : [.adapterLost, .adapterGone, .displaced, .end("x")][below(4)]
      default: .time
      }
    }

    mutating func talk() -> LinkTalk {
      let admissions: [Admission] = [.open, .closed, .busy]
      return LinkTalk(
        coin() ? .keyboardDisplay : .noInputNoOutput, allowsLegacy: coin(),
        requiresAuthentication: below(4) == 0, peer: coin() ? Sample.phone : Sample.privateAddress,
        bonds: coin() ? [Sample.bond()] : [], admission: admissions[below(3)])
    }
  }

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

  @Test("No order of inputs traps or leaves a link without a deadline, and left alone it ends")
  func deadlines() throws {
    var source = try Source(seed: 98)
    for _ in 0..<4_000 {
      var talk = source.talk()
      for _ in 0..<16 {
        talk.now = talk.now + .milliseconds(source.below(4_000))
        if source.below(8) == 0 { talk.terms.admission = [.open, .closed, .busy][source.below(3)] }
        let before = talk.machine.state
        let input = source.input()
        Self.check(talk, since: before, talk.tell(input))
      }
      _ = talk.pass(.seconds(120))
      switch talk.machine.state {
      case .secured, .over: break
      case let state: Issue.record("after two minutes it is still \(state)")
      }
    }
  }
}
