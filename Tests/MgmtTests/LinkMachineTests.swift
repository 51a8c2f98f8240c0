// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@testable import Mgmt

@Suite("Link states")
struct LinkMachineTests {
  let phone = Sample.phone
  static let refused = LinkMachine.Input.event(
    .deviceDisconnected(Sample.phone, DisconnectReason(rawValue: 4)))
  static let lost = LinkMachine.Input.event(.deviceDisconnected(Sample.phone, .timeout))

  /// The link of a bonded phone.
  let bonded = LinkTalk(bonds: [Sample.bond()], admission: .closed)

  @Test("A bonded phone is expected to encrypt by itself, asked after a pause, and then to leave")
  func neverEncrypts() {
    var talk = bonded
    #expect(talk.tell(.attached) == [.poll])
    #expect(talk.pass(.milliseconds(4_999)) == [] && talk.machine.holdsPhone)
    #expect(talk.pass(.milliseconds(1)) == [.requestSecurity] && !talk.machine.holdsPhone)
    #expect(talk.pass(.milliseconds(4_999)) == [])
    let actions = talk.pass(.milliseconds(1))
    #expect(actions.first == .send(.disconnect(phone)))
    #expect(actions.end?.reason == "the phone has not encrypted with the bond's key")
    #expect(actions.end?.cause == .unencrypted)
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
    .init(reports: [.channelClosed(.keysDiffer)], reason: "Connection Terminated due to MIC Failure"),
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
      var talk = bonded.attached
      if isServed { _ = talk.tell(.encrypted) }
      var actions: [LinkMachine.Action] = []
      for report in ending.reports { actions += talk.tell(report) }
      for _ in 0..<3 where actions.end == nil {
        actions += talk.tell(.polled(nil)) + talk.pass(.seconds(1))
      }
      #expect(actions.count == 1 && actions.end?.reason == ending.reason)
      #expect(actions.end?.wasSecured == isServed && talk.machine.wasSecured == isServed)
    }
  }

  @Test("A key that is read after the channel's end is kept")
  func lateKey() {
    var talk = LinkTalk().attached
    _ = talk.tell(.channelClosed(.disconnected))
    #expect(talk.hear(.key()) == .bonded(Sample.longTermKey()))
    let end = talk.pass(.milliseconds(100)).end
    #expect(end?.wasSecured == true && end?.failure == nil)
  }
}
