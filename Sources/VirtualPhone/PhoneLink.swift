// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// What the phone holds of one connection.
final class PhoneLink {
  let bearer: Bearer
  let client: Client
  let outbox: Outbox
  /// Ends the connection.
  let hangUp: (String) -> Void
  /// Sends bytes past the bearer and its rules.
  let sendRaw: ([UInt8]) -> Void
  private(set) var server: Server
  /// The MTU that was told last.
  var toldMTU = Bearer.defaultMTU

  private let database: PhoneDatabase
  /// The request that was ignored.
  private var unanswered: Opcode?
  private let report: (PhoneEvent) -> Void

  init(
    scheduler: any Scheduler, receiveMTU: Int, database: PhoneDatabase,
    security: @escaping () -> LinkSecurity, send: @escaping ([UInt8]) -> Void,
    hangUp: @escaping (String) -> Void, report: @escaping (PhoneEvent) -> Void
  ) {
    bearer = Bearer(scheduler: scheduler, receiveMTU: receiveMTU)
    client = Client(bearer)
    outbox = Outbox(scheduler: scheduler)
    server = Server(bearer, database: database.attributes, security: security)
    sendRaw = send
    self.hangUp = hangUp
    self.database = database
    self.report = report
    bearer.send = send
    bearer.onDropped = { report(.dropped($0, $1)) }
    bearer.onDead = { hangUp("\($0)") }
    watchServer()
  }

  /// Notifies where the peer subscribed; what the MTU does not hold is cut off.
  func notify(_ characteristic: PhoneCharacteristic, _ value: [UInt8]) {
    guard let handle = database.handle(of: characteristic) else { return }
    // The one failure is a link that is gone.
    _ = try? server.notify(handle, value)
  }

  /// Whether the peer subscribed to notifications of it.
  func isSubscribed(to characteristic: PhoneCharacteristic) -> Bool {
    database.handle(of: characteristic).map {
      server.configuration(of: $0).contains(.notifications)
    } ?? false
  }

  /// Forgets what the peer subscribed to, of the characteristics whose handles are in `range`.
  func forgetSubscriptions(in range: HandleRange) {
    var state = server.client
    state.configurations = state.configurations.filter { !range.contains($0.key) }
    let onSubscribe = server.onSubscribe
    server = Server(
      bearer, database: database.attributes, client: state, security: server.security)
    server.onSubscribe = onSubscribe
    watchServer()
  }

  /// Takes a PDU that nothing comes of. A client that does not wait for the answer to a request before
  /// it sends another is noticed.
  func ignore(_ pdu: [UInt8]) {
    guard let opcode = pdu.first.map(Opcode.init(rawValue:)), opcode.role == .request else {
      return
    }
    if let unanswered {
      report(.violation("\(opcode) before the answer to \(unanswered)"))
    }
    unanswered = opcode
  }

  /// Looks at what goes through the server.
  private func watchServer() {
    let serve = bearer.serve
    bearer.serve = { [unowned self] pdu in
      guard isAllowed(pdu) else { return nil }
      let response = serve(pdu)
      if case .errorResponse(let error) = response { judge(error) }
      return response
    }
  }

  /// A value whose properties do not say so is not written without response.
  private func isAllowed(_ pdu: PDU) -> Bool {
    guard case .writeCommand(let handle, _) = pdu,
      database.properties(at: handle)?.contains(.writeWithoutResponse) != true
    else { return true }
    report(.violation("a Write Command at \(hexadecimal(handle)), where none is allowed"))
    return false
  }

  private func judge(_ error: PDU.ErrorResponse) {
    // This is how a client learns that there is no more; and of commands there is an own event.
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
