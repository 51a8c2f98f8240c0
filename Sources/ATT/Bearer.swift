// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// An ATT bearer: one link's PDUs, both directions at once (Vol 3 Part F, 3.2.11 and 3.3).
///
///     bytes from the link ──▶ receive ──▶ responses and confirmations ──▶ whoever waits in `request`
///                                    ├──▶ requests and commands       ──▶ `serve`
///                                    └──▶ notifications, indications   ──▶ `onValue`
///     `request`, `command`, `notify`, `indicate` ──▶ `send` ──▶ bytes for the link
///
/// It keeps the protocol's rules: one outstanding request and one outstanding indication of ours,
/// 30 s for an answer after which the bearer is dead, an MTU between 23 and 517, an answer to every
/// request and none to a command. It owns no socket and no clock and is used from one loop only.
public final class Bearer {
  /// The ATT_MTU that a bearer on LE begins with, and the least there is (Vol 3 Part G, 5.2.1).
  public static let defaultMTU = 23
  /// The most that is of use: the longest value, 512, and a Prepare Write Request's five octets.
  public static let maximumMTU = 517
  /// The time a transaction may take (Vol 3 Part F, 3.3.3).
  public static let transactionTimeout: Duration = .seconds(30)

  /// The MTU that this side can receive and says so.
  public let receiveMTU: Int
  /// The ATT_MTU in force: the most octets that a PDU may have.
  public private(set) var mtu = Bearer.defaultMTU
  /// How many requests this side has sent.
  public private(set) var requestsSent = 0
  /// How many PDUs came in.
  public private(set) var received = 0
  /// Why the bearer is at its end; nil while it is in use.
  public private(set) var end: ATTFailure?
  /// Whether a request waits for its answer.
  public var isWaiting: Bool { requests.outstandingOpcode != nil }
  /// Where the time comes from.
  public let scheduler: any Scheduler

  /// Takes octets for the link. Set it before anything else.
  public var send: ([UInt8]) -> Void = { _ in }
  /// Answers a request (nil for a command): the server. Without one, requests are refused.
  public var serve: (PDU) -> PDU? = { pdu in
    pdu.opcode.role == .request ? .error(.requestNotSupported, to: pdu.opcode) : nil
  }
  /// Takes a value that the peer notified or indicated. An indication is confirmed when it returns.
  public var onValue: (Handle, [UInt8]) -> Void = { _, _ in }
  /// Takes what was dropped, for the log: the octets and what was wrong with them.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }
  /// Called once when the bearer ends by itself (a transaction timed out): the link must be ended.
  public var onDead: (ATTFailure) -> Void = { _ in }
  /// Raises the link's security after it was refused for want of it; says whether that worked. With
  /// it, a request refused with 0x05 or 0x0F is sent once more.
  public var raiseSecurity: ((ErrorCode) async -> Bool)?

  private typealias Answer = (Result<PDU, ATTFailure>) -> Void
  private var requests = TransactionQueue<Answer>()
  private var indications = TransactionQueue<Answer>()
  private var requestTimer: TimerID?
  private var indicationTimer: TimerID?
  /// The alarms that somebody waits for.
  private var alarms: [ObjectIdentifier: Alarm] = [:]

  /// A bearer on a link that is up, with the default MTU until one is exchanged.
  ///
  /// - Parameter receiveMTU: what this side can take, 23 to 517; values outside are clamped.
  public init(scheduler: any Scheduler, receiveMTU: Int = Bearer.maximumMTU) {
    self.scheduler = scheduler
    self.receiveMTU = min(max(receiveMTU, Bearer.defaultMTU), Bearer.maximumMTU)
  }

  // MARK: What this side asks

  /// Sends a request and waits for its response, behind those that were asked before.
  public func request(_ pdu: PDU) async throws(ATTFailure) -> PDU {
    do {
      return try await requestOnce(pdu)
    } catch {
      guard let raiseSecurity, let code = error.code,
        code == .insufficientAuthentication || code == .insufficientEncryption,
        await raiseSecurity(code)
      else { throw error }
      return try await requestOnce(pdu)
    }
  }

  private func requestOnce(_ pdu: PDU) async throws(ATTFailure) -> PDU {
    let bytes = try fitting(pdu)
    let answer: Result<PDU, ATTFailure> = await withCheckedContinuation { waiter in
      // The loop may have turned, and the link ended, on the way here.
      if let end { return waiter.resume(returning: .failure(end)) }
      let now = requests.begin(pdu.opcode, bytes) { waiter.resume(returning: $0) }
      if let now { transmitRequest(now) }
    }
    let response = try answer.get()
    if case .errorResponse(let error) = response { throw .refused(error) }
    return response
  }

  /// Sends a command or a notification, which nobody answers.
  public func command(_ pdu: PDU) throws(ATTFailure) {
    send(try fitting(pdu))
  }

  /// Notifies a value; one longer than the MTU allows is cut to it (Vol 3 Part F, 3.4.7.1).
  public func notify(_ handle: Handle, _ value: [UInt8]) throws(ATTFailure) {
    try command(.handleValueNotification(handle, value: Array(value.prefix(mtu - 3))))
  }

  /// Indicates a value and waits for the confirmation.
  public func indicate(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    let answer = await withCheckedContinuation { waiter in
      indicate(handle, value) { waiter.resume(returning: $0) }
    }
    try answer.get()
  }

  /// Indicates a value; `confirmed` is called once, when it was confirmed or never will be.
  public func indicate(
    _ handle: Handle, _ value: [UInt8],
    _ confirmed: @escaping (Result<Void, ATTFailure>) -> Void
  ) {
    if let end { return confirmed(.failure(end)) }
    let pdu = PDU.handleValueIndication(handle, value: Array(value.prefix(mtu - 3)))
    let now = indications.begin(pdu.opcode, pdu.encoded) { confirmed($0.map { _ in }) }
    if let now { transmitIndication(now) }
  }

  /// Tells the server what this side can receive, and takes the smaller of both as the MTU (3.4.2).
  ///
  /// A server that does not know the request keeps the MTU as it is, which is no failure.
  public func exchangeMTU() async throws(ATTFailure) {
    let response: PDU
    do {
      response = try await request(.exchangeMTURequest(clientMTU: UInt16(receiveMTU)))
    } catch {
      guard error.code == nil else { return }
      throw error
    }
    guard case .exchangeMTUResponse(let serverMTU) = response else { return }
    agree(on: serverMTU)
  }

  /// Waits, as long as the link is there: a lost link ends the wait with an error.
  public func sleep(for duration: Duration) async throws(ATTFailure) {
    try await Alarm(self).wait(until: scheduler.now + duration)
  }

  /// Keeps an alarm while somebody waits for it, so that the link's end is told there.
  func hold(_ alarm: Alarm) { alarms[ObjectIdentifier(alarm)] = alarm }

  func drop(_ alarm: Alarm) { alarms[ObjectIdentifier(alarm)] = nil }

  private func fitting(_ pdu: PDU) throws(ATTFailure) -> [UInt8] {
    if let end { throw end }
    let bytes = pdu.encoded
    guard bytes.count <= mtu else {
      throw .tooLong(pdu.opcode, length: bytes.count, mtu: mtu)
    }
    return bytes
  }

  private func transmitRequest(_ bytes: [UInt8]) {
    requestsSent += 1
    requestTimer = deadline(for: requests.outstandingOpcode)
    send(bytes)
  }

  private func transmitIndication(_ bytes: [UInt8]) {
    indicationTimer = deadline(for: indications.outstandingOpcode)
    send(bytes)
  }

  private func deadline(for opcode: Opcode?) -> TimerID {
    scheduler.schedule(after: Self.transactionTimeout) { [weak self] in
      guard let self, let opcode else { return }
      close(.timedOut(opcode))
      onDead(.timedOut(opcode))
    }
  }

  // MARK: What the peer sends

  /// Takes one PDU from the link.
  public func receive(_ bytes: [UInt8]) {
    guard end == nil, let first = bytes.first else { return }
    received += 1
    let opcode = Opcode(rawValue: first)
    do {
      dispatch(try PDU(decoding: bytes), bytes)
    } catch {
      rejectMalformed(opcode, bytes, error)
    }
  }

  private func dispatch(_ pdu: PDU, _ bytes: [UInt8]) {
    switch pdu.opcode.role {
    case .response: take(response: pdu, bytes)
    case .confirmation: takeConfirmation(bytes)
    case .request, .command: answer(pdu)
    case .notification, .indication: deliver(pdu)
    }
  }

  /// A malformed request is answered (Vol 3 Part F, 3.4.1.1: Invalid PDU), a malformed answer ends the
  /// request that it belongs to, and anything else is dropped; all are told.
  private func rejectMalformed(_ opcode: Opcode, _ bytes: [UInt8], _ error: DecodeError) {
    onDropped(bytes, "malformed \(opcode): \(error)")
    switch opcode.role {
    case .request: send(PDU.error(.invalidPDU, to: opcode).encoded)
    case .response
    where requests.outstandingOpcode.map({ [$0.response, .errorResponse].contains(opcode) }) == true:
      finishRequest(.failure(.malformed(opcode, error)))
    case .indication: send(PDU.handleValueConfirmation.encoded)
    case .response, .command, .notification, .confirmation: break
    }
  }

  private func take(response: PDU, _ bytes: [UInt8]) {
    guard let asked = requests.outstandingOpcode else {
      return onDropped(bytes, "\(response.opcode) to no request")
    }
    if case .errorResponse(let error) = response {
      guard error.request == asked else {
        return onDropped(bytes, "Error Response to \(error.request) while \(asked) waits")
      }
    } else if response.opcode != asked.response {
      return onDropped(bytes, "\(response.opcode) while \(asked) waits")
    }
    finishRequest(.success(response))
  }

  private func finishRequest(_ answer: Result<PDU, ATTFailure>) {
    if let timer = requestTimer { scheduler.cancel(timer) }
    requestTimer = nil
    let waiter = requests.finish()
    if let next = requests.next() { transmitRequest(next) }
    waiter?(answer)
  }

  private func takeConfirmation(_ bytes: [UInt8]) {
    guard indications.outstandingOpcode != nil else {
      return onDropped(bytes, "Handle Value Confirmation to no indication")
    }
    if let timer = indicationTimer { scheduler.cancel(timer) }
    indicationTimer = nil
    let waiter = indications.finish()
    if let next = indications.next() { transmitIndication(next) }
    waiter?(.success(.handleValueConfirmation))
  }

  private func answer(_ pdu: PDU) {
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
    case .handleValueNotification(let handle, let value):
      onValue(handle, value)
    case .multipleHandleValueNotification(let values):
      for value in values { onValue(value.handle, value.value) }
    case .handleValueIndication(let handle, let value):
      onValue(handle, value)
      if end == nil { send(PDU.handleValueConfirmation.encoded) }
    default: break
    }
  }

  /// The smaller of both sides' receive MTUs, and never less than the default (3.4.2.2).
  private func agree(on peerMTU: UInt16) {
    mtu = max(Self.defaultMTU, min(receiveMTU, Int(peerMTU)))
  }

  // MARK: The end

  /// Ends the bearer: whoever waits for anything on it gets `why`, and nothing is sent any more.
  public func close(_ why: ATTFailure) {
    guard end == nil else { return }
    end = why
    for timer in [requestTimer, indicationTimer].compactMap({ $0 }) { scheduler.cancel(timer) }
    for waiter in requests.drain() + indications.drain() { waiter(.failure(why)) }
    for alarm in alarms.values { alarm.release() }
    send = { _ in }
  }
}
