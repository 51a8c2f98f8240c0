// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GATT
import Wire

/// The ATT traffic of one link, followed from outside: both ends may be client and server at once, so
/// there are two servers, and every PDU is about one of them.
///
///     request, command, confirmation    about the server that they go to
///     response, notification, indication   about the server that they come from
struct ATTDialogue: Sendable {
  /// The board's own attributes.
  private(set) var local = ServerView()
  /// The phone's.
  private(set) var remote = ServerView()

  /// The same phone again: its attributes are known, the talk begins anew.
  var reconnected: ATTDialogue {
    var dialogue = ATTDialogue()
    dialogue.local.database = local.database
    dialogue.remote.database = remote.database
    return dialogue
  }

  /// What another phone found on the board.
  mutating func knowBoard(_ database: LearnedDatabase) { local.database = database }

  /// What somebody else knows of both ends' services.
  mutating func know(remote services: [LocatedService], local: [LocatedService]) {
    for service in services { remote.database.learn(service) }
    for service in local { self.local.database.learn(service) }
  }

  /// Reads a PDU that went by.
  ///
  /// - Parameters:
  ///   - bearer: the channel: each has its own requests and answers, about the same attributes.
  ///   - isWhole: false where the capture has only its beginning; then nothing is learned.
  mutating func decode(
    _ bytes: [UInt8], _ direction: CaptureDirection, bearer: UInt16 = 4, isWhole: Bool
  ) -> Unit {
    guard let first = bytes.first else {
      var unit = Unit(.att, "nothing", length: 0)
      unit.problem = "an ATT PDU without a byte"
      return unit
    }
    let opcode = Opcode(rawValue: first)
    var unit = Unit(.att, "\(opcode)", code: UInt16(first), length: bytes.count)
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

/// One of a link's two servers, as the traffic shows it.
struct ServerView: Sendable {
  var database = LearnedDatabase()

  /// A request that waits for its response, with what it was about.
  struct Pending: Sendable {
    var pdu: PDU
    var profiles: Set<Profile>
  }

  /// What waits for its answer on one bearer.
  struct Transactions: Sendable {
    var pending: Pending?
    /// The handle of an indication that waits for its confirmation.
    var indicated: Handle?
  }

  /// Those of the bearer in use.
  var open = Transactions()
  private var bearer: UInt16 = 4
  /// Those of the others.
  private var others: [UInt16: Transactions] = [:]
  var notifications = NotificationExchange()
  var media = MediaExchange()
  /// A value that is being read in parts.
  var reading: (handle: Handle, value: [UInt8])?
  /// Parts of values that wait to be written.
  var prepared: [(handle: Handle, offset: UInt16, value: [UInt8])] = []

  /// So many prepared parts are followed.
  static let mostPrepared = 256

  /// What follows is on this bearer.
  mutating func use(_ bearer: UInt16) {
    guard bearer != self.bearer else { return }
    others[self.bearer] = open
    open = others.removeValue(forKey: bearer) ?? Transactions()
    self.bearer = bearer
  }

  mutating func read(_ pdu: PDU, into unit: inout Unit) {
    switch pdu.opcode.role {
    case .request:
      readRequest(pdu, &unit)
      for attribute in unit.attributes { unit.profiles.formUnion(attribute.profiles) }
      open.pending = Pending(pdu: pdu, profiles: unit.profiles)
    case .response:
      let request = takeRequest(for: pdu)
      unit.profiles.formUnion(request?.profiles ?? [])
      readResponse(pdu, to: request?.pdu, &unit)
    case .command, .notification, .indication, .confirmation:
      readUnasked(pdu, &unit)
    }
  }

  /// The request that a response answers; nil where the capture does not have it.
  private mutating func takeRequest(for response: PDU) -> Pending? {
    guard let request = open.pending else { return nil }
    let answered: Opcode
    if case .errorResponse(let error) = response {
      answered = error.request
    } else {
      answered =
        request.pdu.opcode.response == response.opcode ? request.pdu.opcode : response.opcode
    }
    guard answered == request.pdu.opcode else { return nil }
    open.pending = nil
    return request
  }

  // MARK: What both kinds of PDU need

  /// An attribute that a client writes, and what the value says.
  mutating func add(_ handle: Handle, written value: [UInt8], to unit: inout Unit) {
    var use = database.use(handle, value: value)
    use.meaning = meaning(ofWritten: value, use)
    unit.attributes.append(use)
  }

  /// What a value that a client writes says.
  mutating func meaning(ofWritten value: [UInt8], _ use: AttributeUse) -> [Detail] {
    guard let uuid = use.uuid else { return [] }
    if uuid == .controlPoint { return [notifications.command(value)] }
    if let detail = media.written(value, to: uuid) { return [detail] }
    return ValueDecoder.details(of: value, uuid)
  }

  /// What a value that the server notifies says.
  mutating func meaning(ofNotified value: [UInt8], _ use: AttributeUse) -> [Detail] {
    guard let uuid = use.uuid else { return [] }
    if uuid == .notificationSource {
      guard let event = try? NotificationEvent(decoding: value) else {
        return [.text("ANCS Event", "\(value.count) bytes, eight needed")]
      }
      return [event.detail]
    }
    if uuid == .dataSource { return [notifications.data(value)] }
    if let detail = media.notified(value, by: uuid) { return [detail] }
    return ValueDecoder.details(of: value, uuid)
  }

  /// What a value that was read says.
  func meaning(ofRead value: [UInt8], _ uuid: UUID?) -> [Detail] {
    guard let uuid else { return [] }
    return uuid == .entityAttribute
      ? [media.read(value)] : ValueDecoder.details(of: value, uuid)
  }

  static func range(_ range: HandleRange) -> Detail {
    .text("Handles", ValueDecoder.text(range), key: "range")
  }

  static func type(_ uuid: UUID, _ label: String = "Type") -> Detail {
    .text(label, AssignedNumbers.title(of: uuid))
  }
}
