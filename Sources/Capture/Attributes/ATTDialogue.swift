// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The ATT traffic of one link. Both ends may be client and server, so there are two servers, and every
/// PDU concerns one of them:
///
///     request, command, confirmation       the server that receives it
///     response, notification, indication   the server that sends it
struct ATTDialogue: Sendable {
  /// The board's attributes.
  private(set) var local = ServerView()
  /// The phone's attributes.
  private(set) var remote = ServerView()

  /// For the same phone's next connection: the attributes stay known, transactions begin anew.
  var reconnected: ATTDialogue {
    var dialogue = ATTDialogue()
    dialogue.local.database = local.database
    dialogue.remote.database = remote.database
    return dialogue
  }

  /// Adds the board's attributes as another phone has discovered them.
  mutating func setBoard(_ database: LearnedDatabase) { local.database = database }

  /// Adds services of both ends that are known from elsewhere.
  mutating func learn(remote services: [LocatedService], local: [LocatedService]) {
    for service in services { remote.database.learn(service) }
    for service in local { self.local.database.learn(service) }
  }

  /// Decodes a PDU.
  ///
  /// - Parameters:
  ///   - bearer: its L2CAP channel. Each has its own transactions; the attributes are common.
  ///   - isWhole: false if only its beginning was captured; nothing is learned from it then.
  mutating func decode(
    _ bytes: [UInt8], _ direction: CaptureDirection, bearer: UInt16 = 4, isWhole: Bool
  ) -> DecodedUnit {
    guard let first = bytes.first else {
      var unit = DecodedUnit(.att, "nothing", length: 0)
      unit.problem = "an ATT PDU without a byte"
      return unit
    }
    let opcode = Opcode(rawValue: first)
    var unit = DecodedUnit(.att, "\(opcode)", code: UInt16(first), length: bytes.count)
    guard isWhole else {
      unit.details = [Detail("Data", .bytes(Array(bytes.dropFirst())))]
      unit.problem = "only its beginning was captured"
      return unit
    }
    local.use(bearer)
    remote.use(bearer)
    let isAboutRemote = Self.isAboutReceiver(opcode) == (direction == .sent)
    do throws(DecodeError) {
      let pdu = try PDU(decoding: bytes)
      if isAboutRemote { remote.read(pdu, into: &unit) } else { local.read(pdu, into: &unit) }
    } catch {
      (isAboutRemote ? remote : local).readMalformed(bytes, &unit)
      unit.problem = "malformed: \(error)"
    }
    for attribute in unit.attributes { unit.profiles.formUnion(attribute.profiles) }
    return unit
  }

  private static func isAboutReceiver(_ opcode: Opcode) -> Bool {
    switch opcode.role {
    case .request, .command, .confirmation: true
    case .response, .notification, .indication: false
    }
  }
}
