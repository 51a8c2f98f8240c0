// SPDX-License-Identifier: GPL-3.0-or-later
import CMosquitto
public import Fleet
import Glibc

/// A libmosquitto client (libmosquitto(3)) driven by an external loop. The library calls back only during calls to it;
/// the results are kept for `takeInputs`.
final class Mosquitto {
  private let handle: OpaquePointer
  private let identity: BrokerIdentity
  private var inputs: [BrokerConnection.Input] = []
  /// Whether the broker has sent CONNACK.
  private var hasResponded = false
  /// The filters that were subscribed to and are not answered yet, by number.
  private var subscriptions: [Int32: String] = [:]
  /// The last TLS error.
  private var tlsFailure: String?
  /// The error of the socket that TLS has taken, since it starts while the socket still connects.
  private var takenError: Int32 = 0

  /// In seconds: how long the broker keeps the session and delays the will after the link is lost, so a short
  /// interruption goes unnoticed.
  private static let (sessionExpiry, willDelay): (UInt32, UInt32) = (60, 10)
  private static let keepAlive: Int32 = 30
  /// The longest packet to accept, in bytes.
  private static let packetSize: UInt32 = 16_384
  /// The same for a client that sends requests to boards: a list is longer.
  private static let longestResponse: UInt32 = 1 << 20

  private static let isReady = mosquitto_lib_init() == MOSQ_ERR_SUCCESS.rawValue

  /// - Parameter tls: nil: without TLS.
  init(_ identity: BrokerIdentity, _ tls: TLSContext?) throws(BrokerError) {
    guard Self.isReady, let handle = mosquitto_new(identity.clientID, identity.will == nil, nil)
    else { throw .unusable("libmosquitto can't be initialised") }
    self.handle = handle
    self.identity = identity
    mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
    let window = Int32(Outbox.widestWindow)
    mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5)
    mosquitto_int_option(handle, MOSQ_OPT_RECEIVE_MAXIMUM, window)
    mosquitto_int_option(handle, MOSQ_OPT_SEND_MAXIMUM, window)
    mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1)
    if let tls {
      mosquitto_void_option(handle, MOSQ_OPT_SSL_CTX, UnsafeMutableRawPointer(tls.context))
      mosquitto_int_option(handle, MOSQ_OPT_SSL_CTX_WITH_DEFAULTS, 0)
    }
    if let user = identity.user {
      try check(mosquitto_username_pw_set(handle, user, identity.password), "the user name")
    }
    try setWill()
    setCallbacks()
  }

  deinit { mosquitto_destroy(handle) }

  private func setWill() throws(BrokerError) {
    guard let will = identity.will else { return }
    var properties: OpaquePointer?
    mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_WILL_DELAY_INTERVAL.rawValue), Self.willDelay)
    let result = will.payload.withUnsafeBytes {
      mosquitto_will_set_v5(
        handle, will.topic, Int32(clamping: $0.count), $0.baseAddress, Int32(identity.willQuality),
        identity.willIsRetained, properties)
    }
    try check(result, "the will")
  }

  private func check(_ result: Int32, _ what: String) throws(BrokerError) {
    if result != MOSQ_ERR_SUCCESS.rawValue {
      throw .unusable("\(what): \(String(cString: mosquitto_strerror(result)))")
    }
  }

  // MARK: The connection

  /// The socket; nil after it was closed.
  var socket: Int32? {
    let number = mosquitto_socket(handle)
    return number >= 0 ? number : nil
  }

  /// Why the socket is not connected; nil if it is.
  var connectionError: Int32? {
    guard let socket else { return nil }
    var (error, size) = (Int32(0), socklen_t(MemoryLayout<Int32>.size))
    if getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0, error != 0 { return error }
    var (address, length) = (sockaddr(), socklen_t(MemoryLayout<sockaddr>.size))
    guard getpeername(socket, &address, &length) != 0, errno == ENOTCONN else { return nil }
    return takenError == 0 ? ECONNRESET : takenError
  }

  var wantsWrite: Bool { mosquitto_want_write(handle) }

  /// Starts to connect, and queues CONNECT.
  ///
  /// - Parameter address: an IP address, or the path of a socket.
  func connect(to address: String) throws(BrokerError) {
    var properties: OpaquePointer?
    let isBoard = identity.will != nil
    mosquitto_property_add_int32(
      &properties, Int32(MQTT_PROP_SESSION_EXPIRY_INTERVAL.rawValue), isBoard ? Self.sessionExpiry : 0)
    mosquitto_property_add_int32(
      &properties, Int32(MQTT_PROP_MAXIMUM_PACKET_SIZE.rawValue), isBoard ? Self.packetSize : Self.longestResponse)
    defer { mosquitto_property_free_all(&properties) }
    // The library has a blocking connect with properties, and a non-blocking one without. The first stores the
    // properties before it fails because no socket has an empty path.
    mosquitto_connect_bind_v5(handle, "", 0, Self.keepAlive, nil, properties)
    let port = Int32(identity.address.port)
    let result = mosquitto_connect_bind_async(handle, address, port, Self.keepAlive, nil)
    if ![EINPROGRESS, EAGAIN].contains(errno) { takenError = errno }
    if let failure = failure(result) { throw failure }
  }

  func read() -> BrokerError? { failure(mosquitto_loop_read(handle, 1)) }

  func write() -> BrokerError? { failure(mosquitto_loop_write(handle, 16)) }

  func checkKeepAlive() -> BrokerError? { failure(mosquitto_loop_misc(handle)) }

  func disconnect() { mosquitto_disconnect_v5(handle, 0, nil) }

  /// The inputs since the last call.
  func takeInputs() -> [BrokerConnection.Input] {
    defer { inputs = [] }
    return inputs
  }

  private func failure(_ result: Int32) -> BrokerError? {
    let number = errno
    switch mosq_err_t(result) {
    case MOSQ_ERR_SUCCESS, MOSQ_ERR_CONN_PENDING: return nil
    case MOSQ_ERR_ERRNO, MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE:
      let fault = mosq_err_t(result) == MOSQ_ERR_ERRNO ? nil : certificateFault
      return (tlsFailure ?? fault).map { .ended("TLS with \(identity.address): \($0)") } ?? .errno(number)
    case MOSQ_ERR_KEEPALIVE: return .ended("the broker does not respond to pings")
    case MOSQ_ERR_CONN_LOST: return .closed
    // A broker that only speaks MQTT 3 sends a CONNACK without properties.
    case MOSQ_ERR_MALFORMED_PACKET, MOSQ_ERR_PROTOCOL:
      return .ended(
        hasResponded
          ? "the broker sent a malformed packet"
          : "the server at \(identity.address) does not support MQTT 5 (mosquitto does since 1.6)")
    default: return .ended(String(cString: mosquitto_strerror(result)))
    }
  }

  /// Why the broker's certificate was rejected; nil if it is valid.
  private var certificateFault: String? {
    guard let ssl = mosquitto_ssl_get(handle) else { return nil }
    let result = SSL_get_verify_result(OpaquePointer(ssl))
    switch Int32(result) {
    case X509_V_OK: return nil
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "its certificate is for a different host name than url has"
    default: return "its certificate is not trusted: \(String(cString: X509_verify_cert_error_string(result)))"
    }
  }

  // MARK: Messages

  func publish(_ publication: Publication, quality: Int32) -> BrokerConnection.Sent {
    var properties: OpaquePointer?
    defer { mosquitto_property_free_all(&properties) }
    var isRetained = false
    switch publication.kind {
    case .state(let expiry):
      isRetained = true
      if let expiry { Self.expire(after: expiry, &properties) }
    case .event(let position, let expiry):
      Self.expire(after: expiry, &properties)
      mosquitto_property_add_string_pair(&properties, Int32(MQTT_PROP_USER_PROPERTY.rawValue), "life", position.life)
    case .response(let correlation?):
      _ = correlation.withUnsafeBytes {
        mosquitto_property_add_binary(
          &properties, Int32(MQTT_PROP_CORRELATION_DATA.rawValue), $0.baseAddress, UInt16(clamping: $0.count))
      }
    case .response(nil), .request: break
    }
    var number: Int32 = 0
    let result = publication.payload.withUnsafeBytes {
      mosquitto_publish_v5(
        handle, &number, publication.topic, Int32(clamping: $0.count), $0.baseAddress, quality, isRetained, properties)
    }
    switch mosq_err_t(result) {
    case MOSQ_ERR_SUCCESS: return quality > 0 ? .awaited(UInt16(truncatingIfNeeded: number)) : .done
    case MOSQ_ERR_OVERSIZE_PACKET, MOSQ_ERR_PAYLOAD_SIZE: return .tooLong
    default: return .failed
    }
  }

  private static func expire(after seconds: UInt32, _ properties: inout OpaquePointer?) {
    mosquitto_property_add_int32(&properties, Int32(MQTT_PROP_MESSAGE_EXPIRY_INTERVAL.rawValue), seconds)
  }

  func subscribe(_ filter: String, noLocal: Bool) {
    var options = noLocal ? MQTT_SUB_OPT_NO_LOCAL.rawValue : 0
    // A board gets nothing that was retained before, and learns what is retained from now on. To another client, only what
    // was retained before is marked so.
    if identity.will != nil {
      options |= MQTT_SUB_OPT_RETAIN_AS_PUBLISHED.rawValue
      options |= MQTT_SUB_OPT_SEND_RETAIN_NEVER.rawValue
    }
    var number: Int32 = 0
    mosquitto_subscribe_v5(handle, &number, filter, 0, Int32(options), nil)
    subscriptions[number] = filter
  }

  // MARK: Callbacks

  private static func of(_ object: UnsafeMutableRawPointer?) -> Mosquitto? {
    object.map { Unmanaged<Mosquitto>.fromOpaque($0).takeUnretainedValue() }
  }

  private func setCallbacks() {
    mosquitto_connect_v5_callback_set(handle) { _, object, code, _, properties in
      Mosquitto.of(object)?.connected(UInt8(truncatingIfNeeded: code), properties)
    }
    mosquitto_disconnect_v5_callback_set(handle) { _, object, code, properties in
      // The library's own errors are small numbers; the broker's start at 0x80.
      if code >= 0x80 { Mosquitto.of(object)?.ended(UInt8(truncatingIfNeeded: code), properties) }
    }
    mosquitto_publish_v5_callback_set(handle) { _, object, number, code, _ in
      Mosquitto.of(object)?.inputs.append(
        .acknowledged(UInt16(truncatingIfNeeded: number), ReasonCode(UInt8(truncatingIfNeeded: code))))
    }
    mosquitto_message_v5_callback_set(handle) { _, object, message, properties in
      guard let message else { return }
      Mosquitto.of(object)?.received(message.pointee, properties)
    }
    mosquitto_subscribe_v5_callback_set(handle) { _, object, number, count, granted, _ in
      let codes = UnsafeBufferPointer(start: granted, count: Int(count))
      Mosquitto.of(object)?.subscribed(number, codes.first { $0 >= 0x80 })
    }
    mosquitto_log_callback_set(handle) { _, object, level, text in
      // The library reports it first while the connection can still tell what is wrong with the certificate, and then
      // again with another text.
      guard let text, level == MOSQ_LOG_ERR, let client = Mosquitto.of(object) else { return }
      client.tlsFailure = client.tlsFailure ?? client.certificateFault ?? String(cString: text)
    }
  }

  private func connected(_ code: UInt8, _ properties: OpaquePointer?) {
    hasResponded = true
    guard code == 0 else { return refuse(.connecting, ReasonCode(connack: code), properties) }
    func short(_ name: mqtt5_property) -> Int? {
      number(name, properties, mosquitto_property_read_int16).map { Int($0) }
    }
    func byte(_ name: mqtt5_property) -> Int? {
      number(name, properties, mosquitto_property_read_byte).map { Int($0) }
    }
    inputs.append(
      .accepted(
        BrokerLimits(
          receiveMaximum: short(MQTT_PROP_RECEIVE_MAXIMUM) ?? 65_535, quality: min(1, byte(MQTT_PROP_MAXIMUM_QOS) ?? 2),
          retains: byte(MQTT_PROP_RETAIN_AVAILABLE) != 0,
          keepAlive: short(MQTT_PROP_SERVER_KEEP_ALIVE) ?? Int(Self.keepAlive))))
  }

  /// The broker has answered a subscription, which is to one filter each.
  private func subscribed(_ number: Int32, _ refusal: Int32?) {
    guard let filter = subscriptions.removeValue(forKey: number) else { return }
    if let refusal {
      inputs.append(.subscriptionRefused(filter, ReasonCode(UInt8(truncatingIfNeeded: refusal))))
    }
    if subscriptions.isEmpty { inputs.append(.subscribed) }
  }

  private func ended(_ code: UInt8, _ properties: OpaquePointer?) {
    if code == 0x8E { return inputs.append(.takenOver) }
    refuse(.staying, ReasonCode(code), properties)
  }

  private func refuse(
    _ attempt: ReasonCode.Attempt, _ reason: ReasonCode, _ properties: OpaquePointer?
  ) {
    if [0x9A, 0x9B].contains(reason.rawValue) {
      return inputs.append(.willRefused(retains: reason.rawValue == 0x9B))
    }
    let remark =
      text(MQTT_PROP_SERVER_REFERENCE, properties) ?? text(MQTT_PROP_REASON_STRING, properties)
    let why = reason.sentence(attempt, as: identity.name, remark: remark)
    inputs.append(reason.isPersistent ? .refused(why) : .lost(why))
  }

  private func received(_ message: mosquitto_message, _ properties: OpaquePointer?) {
    let payload = UnsafeRawBufferPointer(start: message.payload, count: Int(max(0, message.payloadlen)))
    inputs.append(
      .message(
        IncomingMessage(
          topic: String(cString: message.topic), payload: Array(payload),
          isRetained: message.retain, responseTopic: text(MQTT_PROP_RESPONSE_TOPIC, properties),
          correlation: bytes(MQTT_PROP_CORRELATION_DATA, properties))))
  }

  // MARK: Properties

  private typealias Reader<Number> = (OpaquePointer?, Int32, UnsafeMutablePointer<Number>?, Bool) -> OpaquePointer?

  private func number<Number: FixedWidthInteger>(
    _ name: mqtt5_property, _ properties: OpaquePointer?, _ read: Reader<Number>
  ) -> Number? {
    var value: Number = 0
    return read(properties, Int32(name.rawValue), &value, false) == nil ? nil : value
  }

  private func text(_ name: mqtt5_property, _ properties: OpaquePointer?) -> String? {
    var value: UnsafeMutablePointer<CChar>?
    guard mosquitto_property_read_string(properties, Int32(name.rawValue), &value, false) != nil,
      let value
    else { return nil }
    defer { free(value) }
    return String(cString: value)
  }

  private func bytes(_ name: mqtt5_property, _ properties: OpaquePointer?) -> [UInt8]? {
    var (value, count): (UnsafeMutableRawPointer?, UInt16) = (nil, 0)
    guard
      mosquitto_property_read_binary(properties, Int32(name.rawValue), &value, &count, false) != nil
    else { return nil }
    defer { free(value) }
    return Array(UnsafeRawBufferPointer(start: value, count: Int(count)))
  }
}

extension ReasonCode {
  /// What failed, why in the words of MQTT 5 (2.4), and what to do.
  ///
  /// - Parameters:
  ///   - user: the user that the broker knows this client as.
  ///   - remark: what the broker itself says about it, or the other server that it names.
  public func sentence(_ attempt: Attempt, as user: String, remark: String? = nil) -> String {
    let name = mosquitto_reason_string(Int32(rawValue)).map { String(cString: $0) }
    return sentence(attempt, named: name ?? "", as: user, remark: remark)
  }
}
