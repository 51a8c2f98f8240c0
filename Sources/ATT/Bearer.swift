// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// An ATT bearer: one end of the Attribute Protocol on one link (Vol 3 Part F, 3.2.11 and 3.3).
///
///     bytes from the link ──▶ receive ──▶ responses, confirmations ──▶ the caller of `request`, `indicate`
///                                    ├──▶ requests, commands        ──▶ `serve`
///                                    └──▶ notifications, indications ──▶ `onValue`
///     `request`, `command`, `notify`, `indicate` ──▶ `send` ──▶ bytes for the link
///
/// Requests wait in order, those of the session before others (`Purpose`).
///
/// It keeps the protocol's rules: one outstanding request and one outstanding indication of its own,
/// 30 s for a response, after which the bearer is dead, an MTU between 23 and 517, a response to every request and
/// none to a command. It owns no socket and no clock, and is used on one loop only.
public final class Bearer {
  /// The initial ATT_MTU of an LE bearer, which is also the minimum (Vol 3 Part G, 5.2.1).
  public static let defaultMTU = 23
  /// The greatest useful MTU: the longest value, 512, and the five octets of a Prepare Write Request.
  public static let maximumMTU = 517
  /// The time that a transaction may take (Vol 3 Part F, 3.3.3).
  public static let transactionTimeout: Duration = .seconds(30)

  /// The receive MTU that this side offers.
  public let receiveMTU: Int
  /// The ATT_MTU in force: the maximum octets of a PDU.
  public private(set) var mtu = Bearer.defaultMTU
  /// The number of requests sent.
  public private(set) var requestsSent = 0
  /// The number of responses received.
  public var responsesReceived: Int { requestsSent - (requests.outstandingOpcode == nil ? 0 : 1) }
  /// Why the bearer has ended; nil while it is in use.
  public private(set) var end: ATTFailure?
  /// Whether a request is in progress.
  public var isWaiting: Bool { requests.isBusy }
  /// The clock and timers of the loop.
  public let scheduler: any Scheduler

  /// Called with octets for the link. Set this before anything else.
  public var send: ([UInt8]) -> Void = { _ in }
  /// The server: returns the response to a request; nil for a command. By default requests are refused.
  public var serve: (PDU) -> PDU? = { pdu in
    pdu.opcode.role == .request ? .error(.requestNotSupported, to: pdu.opcode) : nil
  }
  /// Called with a notified or indicated value, a slice of the received PDU. An indication is confirmed when it
  /// returns.
  public var onValue: (Handle, ArraySlice<UInt8>) -> Void = { _, _ in }
  /// Called with octets that were dropped, and the reason, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }
  /// Called once if the bearer ends by itself (a transaction timed out): the link must be disconnected.
  public var onDead: (ATTFailure) -> Void = { _ in }
  /// Raises the link's security after a request was refused with 0x05 or 0x0F, and calls back with whether that worked.
  /// If it did, the request is sent once more; nothing else is sent meanwhile.
  public var raiseSecurity: ((@escaping (_ isRaised: Bool) -> Void) -> Void)?

  /// Called once with the response to a request, or the confirmation of an indication, or why there is none.
  public typealias Completion = (Result<PDU, ATTFailure>) -> Void

  private var requests = TransactionQueue()
  private var indications = TransactionQueue()
  private var requestTimer: TimerID?
  private var indicationTimer: TimerID?
  /// The alarms with a waiter.
  private var alarms: [ObjectIdentifier: Alarm] = [:]

  /// A bearer on a link that is up, with the default MTU until one is exchanged.
  ///
  /// - Parameter receiveMTU: what this side can receive, clamped to 23 to 517.
  public init(scheduler: any Scheduler, receiveMTU: Int = Bearer.maximumMTU) {
    self.scheduler = scheduler
    self.receiveMTU = min(max(receiveMTU, Bearer.defaultMTU), Bearer.maximumMTU)
  }

  // MARK: Requests

  /// Sends a request after the earlier ones, and returns the contents of its response.
  public func request<Response>(
    _ request: ATTRequest<Response>, for purpose: Purpose = .session
  ) async throws(ATTFailure) -> Response {
    guard let response = request.response(try await self.request(request.pdu, for: purpose)) else {
      throw .protocolViolation("wrong response to \(request.pdu.opcode)")
    }
    return response
  }

  /// Sends a request after earlier ones with the same purpose or one with precedence, and returns its response. If it
  /// is cancelled before it is sent, it fails with `cancelled`.
  public func request(_ pdu: PDU, for purpose: Purpose = .session) async throws(ATTFailure) -> PDU {
    try await Self.outcome { request(pdu, for: purpose, $0) }
  }

  /// Waits for the outcome of what `start` starts.
  public static func outcome(_ start: (@escaping Completion) -> Void) async throws(ATTFailure) -> PDU {
    try await withCheckedContinuation { waiter in start { waiter.resume(returning: $0) } }.get()
  }

  /// The same without a task that waits. The response has the opcode that belongs to the request.
  public func request(_ pdu: PDU, for purpose: Purpose = .session, _ completion: @escaping Completion) {
    let bytes: [UInt8]
    do throws(ATTFailure) {
      bytes = try fitting(pdu)
    } catch { return completion(.failure(error)) }
    guard let cancellation = purpose.cancellation else {
      if let now = requests.begin(pdu.opcode, bytes, completion).now { transmitRequest(now) }
      return
    }
    if cancellation.isCancelled { return completion(.failure(.cancelled)) }
    var action: Int?
    let begun = requests.begin(pdu.opcode, bytes, rank: purpose.rank) { outcome in
      if let action { cancellation.forget(action) }
      completion(outcome)
    }
    if let now = begun.now { return transmitRequest(now) }
    action = cancellation.onCancel { [self] in
      requests.cancel(begun.number)?(.failure(.cancelled))
    }
  }

  /// Exchanges MTUs: sends this side's receive MTU to the server, and uses the smaller of both (3.4.2).
  ///
  /// If the server does not support the request, the MTU stays unchanged; that is not a failure.
  public func exchangeMTU() async throws(ATTFailure) {
    do {
      _ = try await request(.exchangeMTU(UInt16(receiveMTU)))
    } catch {
      guard error.code == nil else { return }
      throw error
    }
  }

  // MARK: Commands, notifications, indications

  /// Sends a command or a notification, which has no response.
  public func command(_ pdu: PDU) throws(ATTFailure) { send(try fitting(pdu)) }

  /// Notifies a value, truncated to the MTU (Vol 3 Part F, 3.4.7.1).
  public func notify(_ handle: Handle, _ value: [UInt8]) throws(ATTFailure) {
    try command(.handleValueNotification(handle, value: Array(value.prefix(mtu - 3))))
  }

  /// Indicates a value, truncated to the MTU, and waits for the confirmation.
  public func indicate(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    _ = try await Self.outcome { indicate(handle, value, $0) }
  }

  /// Indicates a value, truncated to the MTU; `completion` is called once, when it is confirmed or the bearer ends.
  public func indicate(_ handle: Handle, _ value: [UInt8], _ completion: @escaping Completion) {
    if let end { return completion(.failure(end)) }
    let pdu = PDU.handleValueIndication(handle, value: Array(value.prefix(mtu - 3)))
    if let now = indications.begin(pdu.opcode, pdu.encoded, completion).now {
      transmitIndication(now)
    }
  }

  // MARK: Waiting

  /// Waits for `duration`; throws if the bearer ends before.
  public func sleep(for duration: Duration) async throws(ATTFailure) {
    try await Alarm(self).wait(until: scheduler.now + duration)
  }

  /// Retains an alarm while it has a waiter, so that the bearer's end wakes it.
  func hold(_ alarm: Alarm) { alarms[ObjectIdentifier(alarm)] = alarm }

  func drop(_ alarm: Alarm) { alarms[ObjectIdentifier(alarm)] = nil }

  // MARK: Transmission

  private func fitting(_ pdu: PDU) throws(ATTFailure) -> [UInt8] {
    if let end { throw end }
    let bytes = pdu.encoded
    guard bytes.count <= mtu else { throw .tooLong(pdu.opcode, length: bytes.count, mtu: mtu) }
    return bytes
  }

  private func transmitRequest(_ bytes: [UInt8]) {
    requestsSent += 1
    requestTimer = scheduler.schedule(after: Self.transactionTimeout, requestTimedOut)
    send(bytes)
  }

  private func transmitIndication(_ bytes: [UInt8]) {
    indicationTimer = scheduler.schedule(after: Self.transactionTimeout, indicationTimedOut)
    send(bytes)
  }

  // One closure each for all requests and indications. Like `onValue`, they retain the bearer until it is closed: a
  // weak reference to an object triples the cost of every other reference to it.
  private lazy var requestTimedOut: () -> Void = { [self] in timedOut(requests.outstandingOpcode) }
  private lazy var indicationTimedOut: () -> Void = { [self] in
    timedOut(indications.outstandingOpcode)
  }

  private func timedOut(_ opcode: Opcode?) {
    guard let opcode else { return }
    close(.timedOut(opcode))
    onDead(.timedOut(opcode))
  }

  private func stop(_ timer: inout TimerID?) {
    if let timer { scheduler.cancel(timer) }
    timer = nil
  }

  // MARK: PDUs from the peer

  /// Processes one PDU from the link.
  public func receive(_ bytes: [UInt8]) { receive(bytes[...]) }

  /// Processes one PDU from the link, a slice of the received data.
  public func receive(_ bytes: ArraySlice<UInt8>) {
    guard end == nil, let first = bytes.first else { return }
    let opcode = Opcode(rawValue: first)
    // Nearly all PDUs from a phone are values, which are passed on without a copy.
    if opcode == .handleValueNotification, bytes.count >= 3 {
      let start = bytes.startIndex
      let handle = UInt16(bytes[start + 1]) | UInt16(bytes[start + 2]) << 8
      return onValue(handle, bytes[(start + 3)...])
    }
    do {
      dispatch(try PDU(decoding: bytes), bytes)
    } catch { rejectMalformed(opcode, bytes, error) }
  }

  private func dispatch(_ pdu: PDU, _ bytes: ArraySlice<UInt8>) {
    switch pdu.opcode.role {
    case .response: receiveResponse(pdu, bytes)
    case .confirmation: receiveConfirmation(bytes)
    case .request, .command: respond(to: pdu)
    case .notification, .indication: deliver(pdu)
    }
  }

  /// Responds to a malformed request with Invalid PDU (Vol 3 Part F, 3.4.1.1), fails the request that a malformed
  /// response belongs to, and drops anything else.
  private func rejectMalformed(_ opcode: Opcode, _ bytes: ArraySlice<UInt8>, _ error: DecodeError) {
    onDropped(Array(bytes), "malformed \(opcode): \(error)")
    switch opcode.role {
    case .request: send(PDU.error(.invalidPDU, to: opcode).encoded)
    case .response
    where requests.outstandingOpcode.map({ [$0.response, .errorResponse].contains(opcode) }) == true:
      finishRequest(.failure(.malformed(opcode, error)))
    case .indication: send(PDU.handleValueConfirmation.encoded)
    case .response, .command, .notification, .confirmation: break
    }
  }

  private func receiveResponse(_ response: PDU, _ bytes: ArraySlice<UInt8>) {
    guard let asked = requests.outstandingOpcode else {
      return onDropped(Array(bytes), "\(response.opcode) without a request")
    }
    if case .errorResponse(let refusal) = response {
      guard refusal.request == asked else {
        return onDropped(Array(bytes), "Error Response to \(refusal.request) while \(asked) waits")
      }
      receiveRefusal(refusal)
    } else if response.opcode != asked.response {
      onDropped(Array(bytes), "\(response.opcode) while \(asked) waits")
    } else {
      if case .exchangeMTUResponse(let serverMTU) = response { agree(on: serverMTU) }
      finishRequest(.success(response))
    }
  }

  private func receiveRefusal(_ refusal: PDU.ErrorResponse) {
    let isSecurity =
      refusal.code == .insufficientAuthentication || refusal.code == .insufficientEncryption
    guard isSecurity, let raiseSecurity, requests.suspend() else {
      return finishRequest(.failure(.refused(refusal)))
    }
    stop(&requestTimer)
    raiseSecurity { [self] isRaised in
      guard requests.isSuspended else { return }
      if isRaised, let again = requests.resume() { return transmitRequest(again) }
      finishRequest(.failure(.refused(refusal)))
    }
  }

  private func finishRequest(_ outcome: Result<PDU, ATTFailure>) {
    stop(&requestTimer)
    let waiter = requests.finish()
    if let next = requests.next() { transmitRequest(next) }
    waiter?(outcome)
  }

  private func receiveConfirmation(_ bytes: ArraySlice<UInt8>) {
    guard indications.outstandingOpcode != nil else {
      return onDropped(Array(bytes), "Handle Value Confirmation without an indication")
    }
    stop(&indicationTimer)
    let waiter = indications.finish()
    if let next = indications.next() { transmitIndication(next) }
    waiter?(.success(.handleValueConfirmation))
  }

  private func respond(to pdu: PDU) {
    if case .exchangeMTURequest(let clientMTU) = pdu {
      send(PDU.exchangeMTUResponse(serverMTU: UInt16(receiveMTU)).encoded)
      agree(on: clientMTU)
      return
    }
    let response = serve(pdu)
    if let response, pdu.opcode.role == .request { send(response.encoded) }
  }

  private func deliver(_ pdu: PDU) {
    switch pdu {
    case .multipleHandleValueNotification(let values):
      for value in values { onValue(value.handle, value.value[...]) }
    case .handleValueIndication(let handle, let value):
      onValue(handle, value[...])
      if end == nil { send(PDU.handleValueConfirmation.encoded) }
    default: break
    }
  }

  /// The MTU is the smaller of both sides' receive MTUs, and never below the default (3.4.2.2).
  private func agree(on peerMTU: UInt16) {
    mtu = max(Self.defaultMTU, min(receiveMTU, Int(peerMTU)))
  }

  // MARK: The end

  /// Ends the bearer: all waiters fail with `reason`, and nothing more is sent.
  public func close(_ reason: ATTFailure) {
    guard end == nil else { return }
    end = reason
    stop(&requestTimer)
    stop(&indicationTimer)
    for waiter in requests.drain() + indications.drain() { waiter(.failure(reason)) }
    for alarm in alarms.values { alarm.release() }
    send = { _ in }
    onValue = { _, _ in }
    (requestTimedOut, indicationTimedOut) = ({}, {})
  }
}
