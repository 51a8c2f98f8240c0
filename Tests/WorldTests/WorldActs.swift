// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Mgmt
import System
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

/// What has happened in a world when something begins.
enum Beginning {
  case nothing
  /// The daemon advertises.
  case onAir
  /// The phone has paired.
  case paired
  /// The phone has paired, and has left a second ago.
  case phoneLeft
}

/// What happens in many tests.
extension World {
  func begin(
    _ beginning: Beginning, _ change: (inout RunOptions) -> Void = { _ in }
  ) async throws {
    switch beginning {
    case .nothing: break
    case .onAir:
      try await start(change)
      try await until(.advertising)
    case .paired:
      try await serve(change)
      await pass(.seconds(10))
    case .phoneLeft:
      try await begin(.paired, change)
      try await phoneLeaves()
      await pass(.seconds(1))
    }
  }

  /// The phone pairs while the disk takes nothing any more.
  func bondOnFullDisk() async throws {
    try await start()
    platform.disk.fail(.noSpace)
    await pass(.seconds(1))
    try await phoneComes()
  }

  // MARK: The phone

  /// The phone brings three notifications, and leaves.
  func bringMailAndLeave() async throws {
    try phoneDoes(.burst(3, NotificationContents(.email, app: "mail", title: "Mail")))
    await pass(.seconds(10))
    try await phoneLeaves()
  }

  /// The phone connects, once the board is on the air.
  func phoneConnects(after pause: Duration = .seconds(1)) async {
    await pass(pause)
    #expect(phone.connect(to: adapter))
  }

  /// The phone comes back without pairing again.
  func phoneReturnsEncrypted() async throws {
    try await phoneLeaves()
    try await phoneConnectsEncrypted()
  }

  /// The phone connects without pairing again.
  func phoneConnectsEncrypted() async throws {
    await pass(.seconds(1))
    let mark = events.count
    try await phoneComes()
    let story = story(since: mark).filter { $0 != "incoming" }
    #expect(story.starts(with: ["connected", "subscribed"]), "\(story)")
  }

  /// The phone connects, finds that nothing works, and leaves, a few times.
  func phoneFlutters() async {
    for _ in 0..<StaleBondWatch.drops {
      await phoneConnects()
      await pass(.seconds(2))
      phone.leave()
      await pass(.seconds(2))
    }
  }

  /// The phone connects, and the board ends the link after a while.
  func phoneIsLeft() async throws {
    #expect(phone.connect(to: adapter))
    try await until(.disconnected)
    await pass(.seconds(1))
  }

  /// Pairing is opened, and a stranger pairs.
  @discardableResult
  func strangerPairs(_ change: (inout Handset.Kind) -> Void = { _ in }) async throws -> Handset {
    try await openPairing()
    let stranger = await strangerComes(change)
    try await until(.paired)
    await pass(.seconds(5))
    return stranger
  }

  /// The phone's services do something, or its person.
  func phoneDoes(_ commands: PhoneCommand...) throws {
    for command in commands { _ = try phone.phone.perform(command) }
  }

  /// From now on the board does not hear of changes of the phone's services: the phone confirms its own indications.
  func loseServiceChanges() {
    let services = phone.phone
    phone.transform = { pdu, toPhone in
      guard !toPhone, pdu.first == 0x1D else { return pdu }
      services.receive([0x1E])
      return nil
    }
  }

  /// The phone hears none of the board's requests, which have even opcodes below 0x1E.
  func dropRequests() {
    phone.transform = { pdu, toPhone in
      toPhone && pdu.first.map { $0 % 2 == 0 && $0 < 0x1E } == true ? nil : pdu
    }
  }

  // MARK: The board

  /// Forgets the phone.
  func forgetPhone() async throws {
    let selector = PhoneSelector(phone.kind.identity.address.description)
    _ = try await call(ControlMethods.forgetPhone, PhoneParameters(phone: selector))
  }

  /// Answers what the board asks, as a person would over the control socket.
  func answer(accept: Bool = true, passkey: UInt32? = nil) async throws {
    let question = try await question()
    switch question.method {
    case .justWorks where question.seconds != nil: try await respond(.init(accept: accept))
    case .justWorks, .display: break
    case .confirm:
      #expect(question.passkey?.value == phone.shownPasskey)
      try await respond(PairingResponse(accept: accept))
    case .entry:
      let typed = Passkey(value: passkey ?? phone.shownPasskey)
      try await respond(PairingResponse(accept: accept, passkey: typed))
    }
  }

  /// A stranger who connects gets no bond.
  func refusesStranger() async throws {
    let stranger = await strangerComes()
    await pass(.seconds(30))
    #expect(adapter.keyedPeers.isDisjoint(with: [stranger.kind.identity]))
    #expect(!story.contains("paired") || daemon?.phoneReports.count ?? 0 <= 1)
  }

  /// Somebody who uses the address of the phone, and has no key, connects a second later.
  func impostorComes() async -> Handset {
    let impostor = await strangerComes { $0 = phone.kind }
    impostor.consent = .ignores
    return impostor
  }

  /// A second adapter of the same kind.
  func plugSecond() -> VirtualAdapter {
    var kind = adapter.kind
    kind.address = Address(0x0000_5E00_5377)
    return kernel.plug(kind)
  }

  // MARK: What is kept

  nonisolated static func isBond(_ path: String) -> Bool { path.hasSuffix(BondFile.suffix) }

  /// The files of bonds.
  var bondFiles: [String] { platform.disk.paths.filter(Self.isBond) }

  /// What the disk has of the phone's bond, without when it was seen.
  var bondKeys: String? {
    platform.disk.content { $0.hasSuffix("random-c01122334455.bond.json") }.map { String(decoding: $0, as: UTF8.self) }?
      .split(separator: "\"first_seen\"").first.map(String.init)
  }

  /// Whether an adapter's pairing is open.
  var pairable: [Bool] { daemon?.radio?.sortedAdapters.map(\.report.isPairable) ?? [] }
}

extension Handset {
  /// Looks at each PDU that the board sends to the phone.
  func hears(_ look: @escaping (_ pdu: [UInt8]) -> Void) {
    transform = { pdu, toPhone in
      if toPhone { look(pdu) }
      return pdu
    }
  }
}

extension NotificationContents {
  /// A message of somebody's.
  static func message(
    from title: String, app: String = "com.apple.MobileSMS", _ text: String? = nil
  ) -> Self { Self(.social, app: app, title: title, message: text) }
}

extension Event.Content {
  var report: NotificationReport? {
    if case .notification(let report) = self { report } else { nil }
  }
  var question: PairingQuestion? {
    if case .pairing(let question) = self { question } else { nil }
  }
  var pairingFailure: String? { if case .pairingFailed(let reason) = self { reason } else { nil } }
}
