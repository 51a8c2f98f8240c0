// SPDX-License-Identifier: GPL-3.0-or-later
import CMosquitto
import EventLoop
public import Fleet
import Glibc
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

  /// How long after the end of a program the broker may publish its will: it first misses the pings, for 1.5 times the
  /// keep-alive time.
  public static let longestWill = Duration.seconds(60)
  private let onInput: (Input) -> Void
  private let identity: BrokerIdentity
  /// Nil: without TLS.
  private var tls: TLSContext?
  private var stage = Stage.closed
  /// When a packet was last sent.
  private var lastSent = Loop.shared.now
  /// When the next address is tried, or the keep-alive time is over.
  private lazy var timer = Deadline(Loop.shared) { [weak self] in self?.timeUp() }

  private enum Stage {
    /// The host's name is being looked up.
    case resolving(NameLookup)
    /// `others`: the addresses to try after this one.
    case connecting(Socket, others: ArraySlice<String>)
    /// The broker has the connection, and sends CONNACK.
    case connected(Socket)
    /// The broker has accepted the connection.
    case open(Socket, BrokerLimits)
    case closed
  }

  /// The library's client, whose socket the loop watches.
  private struct Socket {
    let client: Mosquitto
    let watch: Watch
  }

  /// How long one of several addresses may take.
  private static let addressTime = Duration.seconds(5)

  public init(_ identity: BrokerIdentity, onInput: @escaping (Input) -> Void) {
    self.identity = identity
    self.onInput = onInput
  }

  /// Looks up the host's addresses, and starts to connect. Nothing blocks. What can't be used, such as a certificate file,
  /// is a refusal.
  public func open() {
    let address = identity.address
    do throws(BrokerError) {
      if address.transport == .tls { tls = try TLSContext(identity) }
    } catch { return failed(error, []) }
    guard address.transport != .unix, !NameLookup.isAddress(address.place) else {
      return connect(to: [address.place])
    }
    do throws(SystemError) {
      stage = .resolving(try NameLookup(address.place) { [weak self] in self?.connect(to: $0[...]) })
    } catch { end("can't look up “\(address.place)”: \(error)") }
  }

  /// Ends the connection without DISCONNECT.
  public func close() {
    timer.due = nil
    stage = .closed
  }

  /// Sends DISCONNECT; the broker then ends the connection.
  public func disconnect() {
    socket?.client.disconnect()
    afterTurn()
  }

  /// Publishes.
  public func publish(_ publication: Publication) -> Sent {
    guard case .open(let socket, let limits) = stage else { return .failed }
    let quality = publication.kind == .request ? 0 : limits.quality
    defer { hasSent(on: socket) }
    return socket.client.publish(publication, quality: Int32(quality))
  }

  /// Subscribes to these topics with QoS 0.
  public func subscribe(_ filters: [String], noLocal: Bool = true) {
    guard let socket else { return }
    for filter in filters { socket.client.subscribe(filter, noLocal: noLocal) }
    hasSent(on: socket)
  }

  // MARK: Turns of the loop

  private var socket: Socket? {
    switch stage {
    case .connecting(let socket, _), .connected(let socket), .open(let socket, _): socket
    case .resolving, .closed: nil
    }
  }

  private func connect(to addresses: ArraySlice<String>) {
    guard let address = addresses.first else { return unresolved(identity.address.place) }
    let others = addresses.dropFirst()
    do throws(BrokerError) {
      let client = try Mosquitto(identity, tls)
      try client.connect(to: address)
      stage = .connecting(Socket(client: client, watch: try watch(client)), others: others)
      timer.due = others.isEmpty ? nil : Loop.shared.now + Self.addressTime
      lastSent = Loop.shared.now
    } catch { failed(error, others) }
  }

  private func unresolved(_ host: String) {
    let hint =
      host.hasSuffix(".local")
      ? "names in .local need libnss-mdns and avahi-daemon, or systemd-resolved; or use the address"
      : "see url in [mqtt], and /etc/resolv.conf"
    end("“\(host)” can't be resolved; \(hint)")
  }

  /// An address can't be reached; another one perhaps can.
  private func failed(_ error: BrokerError, _ others: ArraySlice<String>) {
    if case .errno = error, !others.isEmpty {
      close()
      return connect(to: others)
    }
    if case .unusable(let why) = error { return close(and: .refused(why)) }
    end(error.described(identity.address))
  }

  private func watch(_ client: Mosquitto) throws(BrokerError) -> Watch {
    guard let number = client.socket else { throw .closed }
    do throws(SystemError) {
      return try Loop.shared.watch(number: number, for: [.readable, .writable]) { [weak self] in
        self?.turn($0)
      }
    } catch { throw .ended("\(error)") }
  }

  private func turn(_ ready: Readiness) {
    guard let socket else { return }
    var others: ArraySlice<String> = []
    if case .connecting(_, let rest) = stage {
      others = rest
      timer.due = nil
      stage = .connected(socket)
    }
    var failure: BrokerError?
    // Reading drives the TLS handshake, in both directions. For the library, it goes on even if the connection is lost.
    var reads = ready != .writable
    if case .connected = stage {
      if let failure = socket.client.connectionError { return failed(.errno(failure), others) }
      reads = true
    }
    if reads { failure = socket.client.read() }
    if failure == nil, ready.contains(.writable), socket.client.socket != nil {
      failure = socket.client.write()
    }
    afterTurn(failure)
  }

  /// Delivers the inputs, and the end if there was one.
  private func afterTurn(_ failure: BrokerError? = nil) {
    guard let client = socket?.client else { return }
    for input in client.takeInputs() {
      // A handler may close the connection.
      guard let socket else { return }
      switch input {
      case .accepted(let limits):
        stage = .open(socket, limits)
        timer.due = lastSent + limits.longestSilence
      // The process was stopped, and its owner does not know yet: nobody can tell when this was sent.
      case .message where Signal.continued.isPending: continue
      default: break
      }
      onInput(input)
    }
    guard let socket else { return }
    switch failure {
    case .closed?: return close(and: .closed)
    case let failure?: return end(failure.described(identity.address))
    case nil: break
    }
    guard socket.client.socket != nil else { return close(and: .closed) }
    updateWatch(of: socket)
  }

  private func end(_ why: String) { close(and: .lost(why)) }

  private func close(and tell: Input) {
    close()
    onInput(tell)
  }

  private func hasSent(on socket: Socket) {
    lastSent = Loop.shared.now
    updateWatch(of: socket)
  }

  private func updateWatch(of socket: Socket) {
    socket.watch.modify(for: socket.client.wantsWrite ? [.readable, .writable] : .readable)
  }

  // MARK: Time

  private func timeUp() {
    switch stage {
    case .connecting(_, let others): connect(to: others)
    case .open(let socket, let limits):
      var failure: BrokerError?
      if Loop.shared.now - lastSent >= limits.longestSilence {
        failure = socket.client.checkKeepAlive()
        lastSent = Loop.shared.now
      }
      timer.due = lastSent + limits.longestSilence
      afterTurn(failure)
    case .resolving, .connected, .closed: break
    }
  }
}

/// The broker's limits, from CONNACK (MQTT 5, 3.2.2.3).
public struct BrokerLimits: Sendable {
  public let receiveMaximum: Int
  /// 0: nothing is acknowledged.
  public let quality: Int
  public let retains: Bool
  /// The broker's keep-alive, in seconds.
  let keepAlive: Int

  /// How long nothing may be sent. The library checks the time only when it is called. It has to send something after a
  /// keep-alive time without anything sent, whatever it receives.
  var longestSilence: Duration {
    // The library's clock has whole seconds, so a call just in time may be too early. A broker waits 1.5 times the keep-alive
    // time (MQTT 5, 3.1.2.10).
    let margin = Duration.milliseconds(min(keepAlive * 250, 1000))
    return keepAlive == 0 ? .seconds(3600) : .seconds(keepAlive) + margin
  }
}

extension Signal {
  /// Whether it was sent to a process that blocks it, and has not read it yet.
  fileprivate var isPending: Bool {
    var set = sigset_t()
    return sigpending(&set) == 0 && sigismember(&set, rawValue) == 1
  }
}

/// Why there is no connection to a broker.
enum BrokerError: Error {
  /// Something on this board can't be used, in words.
  case unusable(String)
  /// The connection to an address has failed. Another address may do.
  case errno(Int32)
  /// The broker has closed the connection.
  case closed
  /// Anything else, in words.
  case ended(String)

  /// A sentence for the user, with the remedy.
  func described(_ address: BrokerAddress) -> String {
    switch self {
    case .unusable(let why), .ended(let why): return why
    case .closed: return "the broker closed the connection"
    case .errno(ECONNREFUSED): return "connection refused: no broker listens at \(address)"
    case .errno(ENOENT): return "there is no socket at \(address)"
    case .errno(0): return "no connection to \(address)"
    case .errno(let number):
      // A port without TLS resets the connection, or sends something that is not TLS.
      let isOther = address.transport == .tls && [ECONNRESET, EPROTO].contains(number)
      let hint = isOther ? "; is this the broker's port for TLS?" : ""
      return "\(address): \(String(cString: strerror(number)))\(hint)"
    }
  }
}
