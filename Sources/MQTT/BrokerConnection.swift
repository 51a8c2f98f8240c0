// SPDX-License-Identifier: GPL-3.0-or-later
import CMosquitto
import EventLoop
public import Fleet
import System
import Wire

/// A broker's address, and this client's identity there.
public struct BrokerIdentity: Hashable, Sendable {
  public var address: BrokerAddress
  public var clientID: String
  public var user: String?
  public var password: String?
  /// The trusted certificates: a file, or a directory that has each under its hash (openssl-rehash(1)).
  public var authorities: String
  public var certificateFile: String?
  public var keyFile: String?
  /// The message that the broker publishes when the client vanishes without DISCONNECT. Nil: no will, and the broker
  /// keeps no session of this client either.
  public var will: Publication?
  /// The broker's limits for the will: whether it may be retained, and its quality of service.
  public var (willIsRetained, willQuality) = (true, 1)

  public init(_ address: BrokerAddress, clientID: String, will: Publication?, authorities: String) {
    self.address = address
    self.clientID = clientID
    self.will = will
    self.authorities = authorities
  }

  /// Who this client is to the broker.
  public var name: String { user ?? clientID }
}

/// One connection to a broker, from CONNECT to its end. libmosquitto speaks MQTT 5; the event loop watches its socket,
/// and its callbacks become values of `Input`, delivered in order once the library has returned.
///
/// Each connection is a new object, so the library never resends the queue of an earlier one.
public final class BrokerConnection {
  /// What happens on a connection.
  public enum Input: Sendable {
    case accepted(BrokerLimits)
    /// Refused, and a retry would be refused too; the reason.
    case refused(String)
    /// Another client has taken over the session.
    case takenOver
    /// The broker does not support retained messages or QoS 1, so the will has to change.
    case willRefused(retains: Bool)
    /// The connection was lost or could not be made; the reason.
    case lost(String)
    /// The broker has closed it without a reason.
    case closed
    /// A publication was acknowledged.
    case acknowledged(UInt16, ReasonCode)
    case message(IncomingMessage)
    /// All subscriptions so far are answered.
    case subscribed
    /// The broker does not let this client subscribe to a filter.
    case subscriptionRefused(String, ReasonCode)
  }

  /// The result of publishing.
  public enum Sent: Hashable, Sendable {
    /// It will be acknowledged by this number.
    case awaited(UInt16)
    /// Sent without acknowledgement (QoS 0).
    case done
    /// Longer than the broker allows.
    case tooLong
    case failed
  }

  /// In seconds: how long the broker keeps the session and delays the will after the link is lost, so a short
  /// interruption goes unnoticed.
  private static let (sessionExpiry, willDelay): (UInt32, UInt32) = (60, 10)
  private static let keepAlive: Int32 = 30
  /// How long after the end of a program the broker may publish its will: it first misses the pings, for 1.5 times the
  /// keep-alive time.
  public static let longestWill = Duration.seconds(60)
  /// The longest packet to accept, in bytes.
  private static let packetSize: UInt32 = 16_384
  /// The same for a client that sends requests to boards: a list is longer.
  private static let longestResponse: UInt32 = 1 << 20

  private let client: Mosquitto
  private let loop: Loop
  private let onInput: (Input) -> Void
  private let identity: BrokerIdentity
  private var watch: Watch?
  /// The broker's limits; nil until it has accepted the connection.
  private var limits: BrokerLimits?
  /// When a packet was last sent or received.
  private var lastTraffic: Instant
  private var keepAliveTimer: TimerID?

  /// - Throws: if something can't be used, such as a certificate file.
  public init(
    _ identity: BrokerIdentity, loop: Loop = .shared, onInput: @escaping (Input) -> Void
  ) throws(BrokerError) {
    self.identity = identity
    self.loop = loop
    self.onInput = onInput
    lastTraffic = loop.now
    client = try Mosquitto(identity)
    try client.authenticate(user: identity.user, password: identity.password)
    if case .tls = identity.address {
      try client.useTLS(
        authorities: identity.authorities, certificate: identity.certificateFile,
        key: identity.keyFile)
    }
    try client.setWill(identity, delay: Self.willDelay)
  }

  deinit { close() }

  /// Resolves the name and starts to connect. Resolving may block for seconds; connecting does not.
  public func open() {
    let failure = client.connect(
      to: identity.address, keepAlive: Self.keepAlive,
      sessionExpiry: identity.will == nil ? 0 : Self.sessionExpiry,
      packetSize: identity.will == nil ? Self.longestResponse : Self.packetSize)
    if let failure { return report([.lost(failure.described(identity.address))]) }
    watchSocket()
  }

  /// Ends the connection without DISCONNECT.
  public func close() {
    if let keepAliveTimer { loop.cancel(keepAliveTimer) }
    keepAliveTimer = nil
    watch = nil
    client.close()
  }

  /// Sends DISCONNECT; the broker then ends the connection.
  public func disconnect() {
    client.disconnect()
    afterTurn()
  }

  /// Publishes.
  public func publish(_ publication: Publication) -> Sent {
    let quality = publication.kind == .request ? 0 : limits?.quality ?? 1
    let sent = client.publish(publication, quality: Int32(quality))
    lastTraffic = loop.now
    updateWatch()
    return sent
  }

  /// Subscribes to these topics with QoS 0; retained messages keep their mark.
  public func subscribe(_ filters: [String], noLocal: Bool = true) {
    for filter in filters { client.subscribe(filter, noLocal: noLocal) }
    lastTraffic = loop.now
    updateWatch()
  }

  // MARK: Turns of the loop

  private func watchSocket() {
    guard let number = client.socket else { return report([.lost("the connection has ended")]) }
    do throws(SystemError) {
      watch = try loop.watch(number: number, for: [.readable, .writable]) { [unowned self] in
        turn($0)
      }
      updateWatch()
    } catch {
      report([.lost("\(error)")])
    }
  }

  private func turn(_ ready: Readiness) {
    if limits == nil, !ready.isDisjoint(with: [.failed, .hungUp]), let number = client.socket,
      let failure = SocketError.pending(on: number)
    {
      return end(BrokerError.errno(failure).described(identity.address))
    }
    lastTraffic = loop.now
    var failure: BrokerError?
    // Reading drives the TLS handshake, in both directions.
    if ready != .writable || limits == nil { failure = client.read() }
    if failure == nil, ready.contains(.writable), client.socket != nil { failure = client.write() }
    afterTurn(failure)
  }

  /// Delivers the inputs, and the end if there was one.
  private func afterTurn(_ failure: BrokerError? = nil) {
    let inputs = client.takeInputs()
    for case .accepted(let limits) in inputs {
      self.limits = limits
      keepAliveTimer = keepAliveTimer ?? scheduleKeepAlive(limits.keepAlive)
    }
    report(inputs)
    guard client.isOpen else { return }
    switch failure {
    case .closed?: return close(and: .closed)
    case let failure?: return end(failure.described(identity.address))
    case nil: break
    }
    guard client.socket != nil else { return close(and: .closed) }
    updateWatch()
  }

  private func report(_ inputs: [Input]) {
    // A handler may close the connection.
    for input in inputs where client.isOpen { onInput(input) }
  }

  private func end(_ why: String) { close(and: .lost(why)) }

  private func close(and tell: Input) {
    close()
    onInput(tell)
  }

  private func updateWatch() {
    watch?.modify(for: client.wantsWrite ? [.readable, .writable] : .readable)
  }

  // MARK: Keep alive

  /// The library checks the time only when it is called. A call is needed after a keep-alive time without traffic.
  private func scheduleKeepAlive(_ seconds: Int) -> TimerID {
    // The library counts whole seconds, so a call may be too early. A broker waits 1.5 times the keep-alive time.
    let time = Duration.seconds(seconds >= 10 ? seconds + 1 : max(1, seconds / 2))
    return loop.schedule(at: lastTraffic + time) { [weak self] in
      self?.keepAliveDue(seconds, after: time)
    }
  }

  private func keepAliveDue(_ seconds: Int, after time: Duration) {
    keepAliveTimer = nil
    var failure: BrokerError?
    if seconds > 0, loop.now - lastTraffic >= time {
      failure = client.checkKeepAlive()
      lastTraffic = loop.now
    }
    afterTurn(failure)
    if client.isOpen { keepAliveTimer = scheduleKeepAlive(seconds) }
  }
}
