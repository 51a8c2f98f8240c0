// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

/// A GATT client: the procedures of Vol 3 Part G, 4 over one bearer.
///
/// It keeps no server state except the handlers of notified values; its caller keeps the results. Every procedure
/// throws when the link is lost, and none trusts the server: handles out of order end a discovery with an error
/// instead of an endless loop.
public final class Client {
  /// The longest value that an attribute may have (Vol 3 Part F, 3.2.9).
  public static let longestValue = 512

  public let bearer: Bearer
  /// The purpose of its requests.
  public let purpose: Purpose

  /// A value that was notified or indicated.
  public struct Arrival: Hashable, Sendable {
    /// A slice of the received PDU.
    public var value: ArraySlice<UInt8>
    /// The number of responses received when it arrived: later responses are newer than the value.
    public var responsesBefore: Int

    /// A copy to keep, without the rest of the received buffer.
    fileprivate var alone: Arrival {
      Arrival(value: Array(value)[...], responsesBefore: responsesBefore)
    }
  }

  /// Those of all clients on the bearer.
  private let longWrites: LongWrites

  private struct ValueHandler {
    let handle: Handle
    let receive: (Arrival) -> Void
  }

  /// A few at most, so a linear search is enough.
  private var handlers: [ValueHandler] = []
  /// Values that arrived before their handlers were set; nil while none are kept.
  private var early: FIFO<(handle: Handle, arrival: Arrival)>?
  /// Called with values without a handler, such as those of an earlier subscription.
  public var onUnclaimedValue: (Handle, [UInt8]) -> Void = { _, _ in }

  /// A client on `bearer`; until the bearer is closed, it receives the values that are notified and indicated there.
  public init(_ bearer: Bearer) {
    self.bearer = bearer
    purpose = .session
    longWrites = LongWrites(bearer)
    bearer.onValue = { [self] handle, value in received(value, at: handle) }
  }

  private init(_ other: Client, for purpose: Purpose) {
    bearer = other.bearer
    longWrites = other.longWrites
    self.purpose = purpose
  }

  /// A client on the same bearer that only sends requests, for this purpose; notified values still go to this one.
  public func acting(for purpose: Purpose) -> Client { Client(self, for: purpose) }

  /// Sends a request for this client's purpose.
  func request<Response>(_ request: ATTRequest<Response>) async throws(ATTFailure) -> Response {
    try await bearer.request(request, for: purpose)
  }

  private func received(_ value: ArraySlice<UInt8>, at handle: Handle) {
    let arrival = Arrival(value: value, responsesBefore: bearer.responsesReceived)
    for index in handlers.indices where handlers[index].handle == handle {
      return handlers[index].receive(arrival)
    }
    if early == nil {
      onUnclaimedValue(handle, Array(value))
    } else if let oldest = early?.append((handle, arrival.alone)) {
      onUnclaimedValue(oldest.handle, Array(oldest.arrival.value))
    }
  }

  // MARK: Notified and indicated values (4.10, 4.11)

  /// Calls `handler` with every value that is notified or indicated at `handle`, and with those that
  /// were kept for it.
  public func setHandler(for handle: Handle, _ handler: @escaping ([UInt8]) -> Void) {
    setArrivalHandler(for: handle) { handler(Array($0.value)) }
  }

  /// The same, for a handler that needs the time of arrival, or the value without a copy.
  public func setArrivalHandler(for handle: Handle, _ handler: @escaping (Arrival) -> Void) {
    removeHandler(for: handle)
    handlers.append(ValueHandler(handle: handle, receive: handler))
    let kept = early?.filter { $0.handle == handle } ?? []
    early?.removeAll { $0.handle == handle }
    for entry in kept { handler(entry.arrival) }
  }

  /// Starts to keep values that have no handler yet, the last 64 of them: a server may remember subscriptions, and
  /// send values before its handles are known here.
  public func keepEarlyValues() { early = FIFO(limit: 64) }

  /// Stops keeping values without a handler, and drops the kept ones: all possible sources are known.
  public func dropEarlyValues() {
    let unclaimed = early
    early = nil
    for entry in unclaimed ?? FIFO() { onUnclaimedValue(entry.handle, Array(entry.arrival.value)) }
  }

  /// Removes the handler for the value at `handle`.
  public func removeHandler(for handle: Handle) { handlers.removeAll { $0.handle == handle } }

  /// Removes the handlers for all values in `range`, whose characteristics were removed.
  public func removeHandlers(in range: HandleRange) {
    handlers.removeAll { range.contains($0.handle) }
  }

  /// Writes a Client Characteristic Configuration: subscribes, or with `[]` unsubscribes.
  public func configure(_ cccd: Handle, _ configuration: ClientConfiguration) async throws(ATTFailure) {
    try await write(cccd, configuration.encoded)
  }

  /// Ends all subscriptions of a service that may exist. A refusal is ignored.
  public func endSubscriptions(of service: LocatedService) async throws(ATTFailure) {
    for cccd in service.characteristics.compactMap(\.cccd) {
      do { try await configure(cccd, []) } catch { if error.isEnd { throw error } }
    }
  }

  /// Subscribes, repeatedly if refused: phones have been seen to refuse right after connecting and to
  /// accept a little later.
  ///
  /// - Throws: the last refusal, or why the link has ended.
  public func enable(
    _ cccd: Handle, _ configuration: ClientConfiguration = .notifications, attempts: Int = 3
  ) async throws(ATTFailure) {
    // Doubled after each attempt.
    var pause = Duration.seconds(1)
    for _ in 1..<max(1, attempts) {
      do {
        return try await configure(cccd, configuration)
      } catch { guard let code = error.code, !Self.lasting.contains(code) else { throw error } }
      try await bearer.sleep(for: pause)
      pause = pause + pause
    }
    try await configure(cccd, configuration)
  }

  /// The refusals that say that the handle is not that of a CCCD.
  private static let lasting: Set<ErrorCode> = [
    .invalidHandle, .writeNotPermitted, .invalidAttributeValueLength, .attributeNotFound,
    .databaseOutOfSync,
  ]

  // MARK: Reading (4.8)

  /// Read Characteristic Value (4.8.1): at most MTU − 1 octets of it.
  public func read(_ handle: Handle) async throws(ATTFailure) -> [UInt8] {
    try await request(.read(handle))
  }

  /// Read Long Characteristic Values (4.8.3): the whole value, by Read Blob if one response cannot hold
  /// it.
  ///
  /// - Parameter limit: the maximum octets to read. Attributes have at most 512, but some servers generate longer
  ///   values.
  public func readLong(_ handle: Handle, limit: Int = Client.longestValue) async throws(ATTFailure) -> [UInt8] {
    var value = try await read(handle)
    try await readRest(of: &value, at: handle, limit: limit)
    return value
  }

  /// Reads the rest of a value whose beginning `read` returned, part by part; after an error, the parts read before
  /// remain.
  ///
  /// Octets beyond the MTU, which a server may not send, are discarded and read again.
  public func readRest(
    of value: inout [UInt8], at handle: Handle, limit: Int = Client.longestValue
  ) async throws(ATTFailure) {
    value = Array(value.prefix(min(bearer.mtu - 1, limit)))
    var isFull = value.count == bearer.mtu - 1
    while isFull, value.count < min(limit, Int(UInt16.max)) {
      let part: ArraySlice<UInt8>
      do throws(ATTFailure) {
        part = try await request(.readBlob(handle, offset: UInt16(value.count)))
          .prefix(bearer.mtu - 1)
      } catch {
        // The value ended with the previous part. Servers report this in two ways.
        guard error.code == .attributeNotLong || error.code == .invalidOffset else { throw error }
        return
      }
      value += part.prefix(limit - value.count)
      isFull = part.count == bearer.mtu - 1
    }
  }

  /// Read Using Characteristic UUID (4.8.2): the values of `type` in `range` that fit into one response,
  /// or none.
  public func read(
    _ type: UUID, in range: HandleRange = .all
  ) async throws(ATTFailure) -> [PDU.AttributeValue] {
    do {
      return try await request(.readByType(range, type: type))
    } catch {
      guard error.code == .attributeNotFound else { throw error }
      return []
    }
  }

  // MARK: Writing (4.9)

  /// Write Characteristic Value (4.9.3): up to MTU − 3 octets, with a response.
  public func write(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    try await request(.write(handle, value))
  }

  /// Writes a value of any length: in one request if the MTU allows it, otherwise in parts.
  public func writeInFull(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    _ = try await Bearer.outcome { writeInFull(handle, value, $0) }
  }

  /// The same without a task that waits; `completion` is called once.
  public func writeInFull(_ handle: Handle, _ value: [UInt8], _ completion: @escaping Bearer.Completion) {
    if value.count <= bearer.mtu - 3 {
      bearer.request(.writeRequest(handle, value: value), for: purpose, completion)
    } else {
      longWrites.write(handle, value, for: purpose, completion)
    }
  }

  /// Write Without Response (4.9.1).
  public func writeCommand(_ handle: Handle, _ value: [UInt8]) throws(ATTFailure) {
    try bearer.command(.writeCommand(handle, value: value))
  }

  /// Write Long Characteristic Values (4.9.4): parts are prepared, then written together.
  public func writeLong(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    _ = try await Bearer.outcome { longWrites.write(handle, value, for: purpose, $0) }
  }

  // The discovery procedures of Vol 3 Part G, 4.4 to 4.7. `locate` finds known services in fewer requests
  // (Locating.swift), and `DatabaseDiscovery` finds everything, even on servers that make mistakes.

  // MARK: Services (4.4, 4.5)

  /// Discover All Primary Services (4.4.1).
  public func primaryServices() async throws(ATTFailure) -> [Service] {
    try await collect(.all) { (rest) throws(ATTFailure) in
      var found: [(HandleRange, Service)] = []
      for group in try await request(.readByGroupType(rest, type: .primaryService)) {
        guard let uuid = UUID(littleEndian: group.value) else {
          throw .protocolViolation("a service declaration of \(group.value.count) octets")
        }
        found.append((group.range, Service(uuid: uuid, range: group.range)))
      }
      return found
    }
  }

  /// Discover Primary Service by Service UUID (4.4.2): all instances.
  ///
  /// - Parameter wide: requests 128 bits even if the type has a 16-bit form, for servers that declare a service that
  ///   way and do not treat the two forms as equal.
  public func primaryServices(
    _ uuid: UUID, in range: HandleRange = .all, wide: Bool = false
  ) async throws(ATTFailure) -> [Service] {
    try await collect(range) { (rest) throws(ATTFailure) in
      try await servicesInOneRequest(uuid, in: rest, wide: wide).map { ($0.range, $0) }
    }
  }

  /// The first request of Discover Primary Service by Service UUID: the instances that fit into one
  /// response, which is enough for a service that exists once.
  func servicesInOneRequest(
    _ uuid: UUID, in range: HandleRange = .all, wide: Bool = false
  ) async throws(ATTFailure) -> [Service] {
    let value = wide ? uuid.littleEndian128 : uuid.littleEndian
    let found = try await request(
      .findByTypeValue(range, type: .primaryService, value: value))
    return found.map { Service(uuid: uuid, range: $0) }
  }

  /// The service that a declaration includes (4.5.1); a 128-bit type is read from the included service itself.
  public func include(_ entry: PDU.AttributeValue) async throws(ATTFailure) -> Include {
    let declared = try declaration(entry, IncludeDeclaration.init(decoding:))
    var uuid = declared.uuid
    if uuid == nil { uuid = UUID(littleEndian: try await read(declared.range.start)) }
    guard let uuid else { throw .protocolViolation("an included service without a type") }
    return Include(handle: entry.handle, service: Service(uuid: uuid, range: declared.range))
  }

  // MARK: Characteristics and descriptors (4.6, 4.7)

  /// Where the next request of a characteristic discovery begins.
  public enum Resumption: Hashable, Sendable {
    /// After the last declaration, as the specification has it.
    case declaration
    /// After the last value. A value follows its declaration (3.3), so this finds the same, and saves a
    /// request if a service ends with a value or its only descriptor.
    case value
  }

  /// Discover All Characteristics of a Service (4.6.1).
  ///
  /// - Parameter isEnough: called after each response, with everything found so far; true ends the search.
  public func characteristics(
    in range: HandleRange, resumingAfter resumption: Resumption = .declaration,
    until isEnough: ([Characteristic]) -> Bool = { _ in false }
  ) async throws(ATTFailure) -> [Characteristic] {
    // A declaration and its value take two handles.
    let least = resumption == .value ? 2 : 1
    var found = try await collect(range, least: least, until: isEnough) { (rest) throws(ATTFailure) in
      var entries: [(HandleRange, Characteristic)] = []
      for entry in try await request(.readByType(rest, type: .characteristic)) {
        let found = try characteristic(entry, in: range)
        let last = resumption == .value ? found.value : found.declaration
        entries.append((HandleRange(found.declaration, last), found))
      }
      return entries
    }
    found.endBeforeNext()
    return found
  }

  func characteristic(_ entry: PDU.AttributeValue, in range: HandleRange) throws(ATTFailure) -> Characteristic {
    let declared = try declaration(entry, CharacteristicDeclaration.init(decoding:))
    guard declared.value > entry.handle, declared.value <= range.end else {
      throw .protocolViolation(
        "a characteristic at \(hexadecimal(entry.handle)) whose value is at \(hexadecimal(declared.value))")
    }
    return Characteristic(declared, at: entry.handle, end: range.end)
  }

  private func declaration<Value>(
    _ entry: PDU.AttributeValue, _ decode: ([UInt8]) throws(DecodeError) -> Value
  ) throws(ATTFailure) -> Value {
    do { return try decode(entry.value) } catch { throw .malformed(.readByTypeResponse, error) }
  }

  /// Discover All Characteristic Descriptors (4.7.1): the types of all attributes in `range`.
  public func attributes(in range: HandleRange) async throws(ATTFailure) -> [PDU.AttributeInformation] {
    try await collect(range) { (rest) throws(ATTFailure) in try await types(in: rest) }
  }

  /// The types of some attributes in `range`, each with its handle: one request.
  func types(in range: HandleRange) async throws(ATTFailure) -> [(HandleRange, PDU.AttributeInformation)] {
    try await request(.findInformation(range)).map { (HandleRange($0.handle, $0.handle), $0) }
  }
}

extension [Characteristic] {
  /// Each ends where the next one begins.
  mutating func endBeforeNext() {
    for index in indices.dropLast() {
      self[index].end = Swift.max(self[index].value, self[index + 1].declaration &- 1)
    }
  }
}

// MARK: - Walking over a range

extension Client {
  /// Repeats a request over `range`, each time from the end of the previous results, until the server finds nothing
  /// more or fewer than `least` handles are left.
  ///
  /// - Parameters:
  ///   - request: sends one request; returns what it found, each with its handles.
  ///   - recover: called with a refusal or an invalid response, with the rest of the range and with how many there
  ///     were in a row; returns the handle to continue after, or nil at the end.
  ///   - body: called with what each response holds; returns whether to continue.
  public func walk<Found>(
    _ range: HandleRange, least: Int = 1, _ request: (HandleRange) async throws(ATTFailure) -> [(HandleRange, Found)],
    recover: (ATTFailure, HandleRange, _ count: Int) async throws(ATTFailure) -> Handle?,
    body: ([Found]) async throws(ATTFailure) -> Bool
  ) async throws(ATTFailure) {
    var rest = range
    var failures = 0
    while rest.isValid, Int(rest.end) - Int(rest.start) + 1 >= least {
      var failure: ATTFailure?
      var found: [Found] = []
      var next = Int(rest.start)
      do throws(ATTFailure) {
        for (handles, element) in try await request(rest) {
          guard handles.isValid, Int(handles.start) >= next, handles.end <= range.end else {
            throw .protocolViolation("handles \(handles) in a response about \(rest)")
          }
          next = Int(handles.end) + 1
          found.append(element)
        }
      } catch {
        if error.isEnd { throw error }
        failure = error
      }
      if !found.isEmpty {
        guard try await body(found), let start = Handle(exactly: next) else { return }
        rest.start = start
      }
      if let failure {
        failures += 1
        guard let last = try await recover(failure, rest, failures), last < .max else { return }
        rest.start = last + 1
      } else {
        failures = 0
        if found.isEmpty { return }
      }
    }
  }

  /// What such a walk finds. Attribute Not Found ends it, any other failure is thrown.
  ///
  /// - Parameter isEnough: called after each response, with everything found so far; true ends the walk.
  public func collect<Found>(
    _ range: HandleRange, least: Int = 1, until isEnough: ([Found]) -> Bool = { _ in false },
    _ request: (HandleRange) async throws(ATTFailure) -> [(HandleRange, Found)]
  ) async throws(ATTFailure) -> [Found] {
    var all: [Found] = []
    try await walk(range, least: least, request) { (failure, _, _) throws(ATTFailure) in
      guard failure.code == .attributeNotFound else { throw failure }
      return nil
    } body: { (found) throws(ATTFailure) in
      all += found
      return !isEnough(all)
    }
    return all
  }
}
