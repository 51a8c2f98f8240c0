// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import ATT
import EventLoop
import OnLoop
import GATT
import TestLoop
import VirtualPhone
import Wire

@testable import Daemon

/// A session with the virtual phone, on a link and a clock that do as they are told.
@LoopActor
final class SessionBench {
  let clock = HandClock()
  let phone: VirtualPhone
  let wire: VirtualLink
  let link: StubLink
  let session: Session
  /// What was told.
  private(set) var events: [Event] = []

  init(_ configuration: VirtualPhone.Configuration = .init(), isSecured: Bool? = true) {
    phone = VirtualPhone(configuration, scheduler: clock)
    wire = VirtualLink(scheduler: clock)
    link = StubLink(wire.one, isSecured: isSecured)
    let journal = Journal()
    let log = Log(level: .error)
    session = Session(
      link, Phone(identity: nil, adapter: nil),
      Surroundings(
        journal: journal, log: log, name: "kitchen", scheduler: clock,
        database: BoardDatabase.make(name: "kitchen", log: log), fetch: .all, quirks: Quirks(),
        remember: { _ in }))
    _ = journal.listen { [unowned self] in events.append($0.event) }
  }

  /// Brings the link up, with the virtual phone at its other end or with `other`.
  func begin(_ other: ((VirtualLink.End) -> Void)? = nil) {
    if let other { other(wire.other) } else { phone.connect(wire.other) }
    Loop.start { [session] in _ = await session.run() }
  }

  /// Lets time pass.
  func pass(_ duration: Duration) async {
    var isOver = false
    _ = clock.schedule(after: duration) { isOver = true }
    while !isOver {
      await settle()
      _ = clock.turn()
    }
    await settle()
  }
}

/// A link whose security is what the test says.
@LoopActor
final class StubLink: PhoneLink {
  let adapter: String? = "hci0"
  let phone: DeviceAddress? = nil
  let isBonded = true
  var security: LinkSecurity { isSecured == true ? .encrypted : .none }
  var onPacket: ([UInt8]) -> Void = { _ in } { didSet { end.receive = onPacket } }
  var onEnd: (String) -> Void = { _ in } { didSet { end.onClose = onEnd } }
  private let end: VirtualLink.End
  /// nil: it is not decided yet.
  private let isSecured: Bool?

  init(_ end: VirtualLink.End, isSecured: Bool?) {
    self.end = end
    self.isSecured = isSecured
  }

  func send(_ pdu: [UInt8]) { end.send(pdu) }
  func secure() async -> Bool {
    if let isSecured { return isSecured }
    return await withCheckedContinuation { (_: CheckedContinuation<Bool, Never>) in }
  }
  func raiseSecurity() async -> Bool { false }
  func end(_ reason: String) { end.close(reason) }
}
