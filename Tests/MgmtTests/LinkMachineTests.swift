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

  @Test("Device Disconnected of another link in the phone's name leaves this one as it was")
  func secondLink() {
    var talk = bonded.attached
    _ = talk.tell(.encrypted)
    let state = talk.machine.state
    #expect(talk.tell(Self.lost) == [] && !talk.machine.isSecured)
    talk.now = talk.now + LinkMachine.linger
    #expect(talk.tell(.time) == [.poll])
    #expect(talk.tell(.encrypted) == [.otherEnded])
    #expect(talk.machine.state == state)
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
  func lateKey() {
    var talk = LinkTalk().attached
    _ = talk.tell(.channelClosed(.disconnected))
    #expect(talk.hear(.key()) == .bonded(Sample.longTermKey()))
    let end = talk.pass(.milliseconds(100)).end
    #expect(end?.wasSecured == true && end?.failure == nil)
  }
}
