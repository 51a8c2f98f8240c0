// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// One connection of the phone: bearer, server and client.
final class PhoneConnection {
  let bearer: Bearer
  let client: Client
  /// Ends the connection.
  let hangUp: (String) -> Void
  let server: Server
  /// The MTU that was reported last.
  var reportedMTU = Bearer.defaultMTU

  /// Whether the phone has asked for the MTU, which it may do once (Vol 3 Part F, 3.4.2.1).
  var hasAskedForMTU = false
  /// Whether the peer had a bond when the link began.
  let isBonded: Bool
  /// Whether the peer has subscribed to notifications or media on this link.
  var hasSubscribed = false
  /// Whether what arrives waits until the link is encrypted.
  private var isHolding: Bool

  private let database: PhoneDatabase
  private var held: [[UInt8]] = []
  /// The last request that was ignored.
  private var ignored: Opcode?
  private let report: (PhoneEvent) -> Void

  init(of phone: VirtualPhone, isBonded: Bool, send: @escaping ([UInt8]) -> Void, hangUp: @escaping (String) -> Void) {
    bearer = Bearer(scheduler: phone.scheduler, receiveMTU: phone.receiveMTU)
    client = Client(bearer)
    server = Server(bearer, database: phone.database.attributes) { [weak phone] in
      phone?.isEncrypted == true ? .encrypted : .none
    }
    self.isBonded = isBonded
    isHolding = isBonded && phone.profile.holdsRequests && !phone.isEncrypted
    self.hangUp = hangUp
    database = phone.database
    report = { [weak phone] in phone?.onEvent($0) }
    bearer.send = send
    bearer.onDropped = { [report] in report(.dropped($0, $1)) }
    bearer.onDead = { hangUp("\($0)") }
    server.namesEndingHandle = phone.profile.namesEndingHandle
    let serve = bearer.serve
    // Checks the peer's requests to the server, and reports refusals.
    bearer.serve = { [weak self] pdu in
      guard let self, isAllowed(pdu) else { return nil }
      let response = serve(pdu)
      if case .errorResponse(let error) = response { judge(error) }
      return response
    }
  }

  /// Processes a PDU from the link.
  func receive(_ pdu: [UInt8]) {
    if isHolding { held.append(pdu) } else { bearer.receive(pdu) }
  }

  /// The link is encrypted: processes what was held.
  func release() {
    isHolding = false
    while !held.isEmpty { bearer.receive(held.removeFirst()) }
  }

  /// Notifies a value, cut to the MTU, if the peer is subscribed.
  func notify(_ characteristic: PhoneCharacteristic, _ value: [UInt8]) {
    guard let handle = database.handle(of: characteristic) else { return }
    // This fails only if the link has ended.
    _ = try? server.notify(handle, value)
  }

  /// Forgets the peer's subscriptions to characteristics in `range`.
  func forgetSubscriptions(in range: HandleRange) {
    var state = server.client
    state.configurations = state.configurations.filter { !range.contains($0.key) }
    server.recall(state)
  }

  /// Ignores a PDU. A client that sends a request before the response to another is reported.
  func ignore(_ pdu: [UInt8]) {
    guard let opcode = pdu.first.map(Opcode.init(rawValue:)), opcode.role == .request else {
      return
    }
    if let ignored { report(.violation("\(opcode) before the response to \(ignored)")) }
    ignored = opcode
  }

  /// Write Without Response is allowed only if the properties say so.
  private func isAllowed(_ pdu: PDU) -> Bool {
    guard case .writeCommand(let handle, _) = pdu,
      database.properties(at: handle)?.contains(.writeWithoutResponse) != true
    else { return true }
    report(.violation("a Write Command at \(hexadecimal(handle)), where none is allowed"))
    return false
  }

  private func judge(_ error: PDU.ErrorResponse) {
    // Attribute Not Found is the normal end of a discovery, and commands have an event of their own.
    guard error.code != .attributeNotFound, error.handle != database.controlPoint else { return }
    report(.refused(error.request, error.handle, error.code))
    switch error.code {
    case .invalidPDU, .requestNotSupported, .readNotPermitted, .writeNotPermitted, .invalidOffset,
      .invalidAttributeValueLength, .cccdImproperlyConfigured:
      report(.violation("\(error.request) at \(hexadecimal(error.handle)): \(error.code)"))
    default: break
    }
  }
}
