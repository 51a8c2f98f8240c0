// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import Wire

/// A GATT client: the procedures of Vol 3 Part G, 4 over one bearer.
///
/// It keeps no state of the server but the handlers of notified values; what it finds, its caller keeps.
/// Every procedure throws when the link is lost, and none trusts the server: handles out of order end a
/// discovery with an error instead of an endless loop.
public final class Client {
  /// The longest value that an attribute may have (Vol 3 Part F, 3.2.9).
  public static let longestValue = 512

  public let bearer: Bearer

  private var handlers: [Handle: ([UInt8]) -> Void] = [:]
  /// Called with values that have no handler, such as those of an earlier subscription.
  public var onUnclaimedValue: (Handle, [UInt8]) -> Void = { _, _ in }

  /// A client on `bearer`; from now on it gets the values that are notified and indicated there.
  public init(_ bearer: Bearer) {
    self.bearer = bearer
    bearer.onValue = { [weak self] handle, value in
      guard let self else { return }
      if let handler = handlers[handle] { handler(value) } else { onUnclaimedValue(handle, value) }
    }
  }

  // MARK: Notified and indicated values (4.10, 4.11)

  /// Calls `handler` with every value that is notified or indicated at `handle`.
  public func setHandler(for handle: Handle, _ handler: @escaping ([UInt8]) -> Void) {
    handlers[handle] = handler
  }

  /// Removes the handler for the value at `handle`.
  public func removeHandler(for handle: Handle) { handlers[handle] = nil }

  /// Removes the handlers for all values in `range`, whose characteristics are gone.
  public func removeHandlers(in range: HandleRange) {
    handlers = handlers.filter { !range.contains($0.key) }
  }

  /// Writes a Client Characteristic Configuration: subscribes, or with `[]` unsubscribes.
  public func configure(
    _ cccd: Handle, _ configuration: ClientConfiguration
  ) async throws(ATTFailure) {
    try await write(cccd, configuration.encoded)
  }

  /// Ends all subscriptions of a service that may exist. A refusal is ignored.
  public func endSubscriptions(of service: LocatedService) async throws(ATTFailure) {
    for cccd in service.characteristics.compactMap(\.cccd) {
      do { try await configure(cccd, []) } catch { if error.isEnd { throw error } }
    }
  }

  /// Subscribes to notifications, repeatedly if refused: phones were seen to refuse right after a
  /// connection and to accept a little later.
  ///
  /// - Parameters:
  ///   - attempts: how often it is tried.
  ///   - pause: the time after the first attempt; doubled after each.
  /// - Throws: the last refusal, or why the link has ended.
  public func enableNotifications(
    _ cccd: Handle, attempts: Int = 3, pause: Duration = .seconds(1)
  ) async throws(ATTFailure) {
    var pause = pause
    for _ in 1..<max(1, attempts) {
      do {
        return try await configure(cccd, .notifications)
      } catch {
        guard error.code != nil else { throw error }
      }
      try await bearer.sleep(for: pause)
      pause = pause + pause
    }
    try await configure(cccd, .notifications)
  }

  // MARK: Reading (4.8)

  /// Read Characteristic Value (4.8.1): at most MTU − 1 octets of it.
  public func read(_ handle: Handle) async throws(ATTFailure) -> [UInt8] {
    try await bearer.request(.read(handle))
  }

  /// Read Long Characteristic Values (4.8.3): the whole value, by Read Blob if one response cannot hold
  /// it.
  ///
  /// - Parameter limit: the most octets to read. Attributes have 512 at most, but some servers make up
  ///   longer values as they are read.
  public func readLong(
    _ handle: Handle, limit: Int = Client.longestValue
  ) async throws(ATTFailure) -> [UInt8] {
    var value = try await read(handle)
    try await readRest(of: &value, at: handle, limit: limit)
    return value
  }

  /// Completes a value of which `read` returned the beginning, part by part; an error leaves what was
  /// read before it.
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
        part = try await bearer.request(.readBlob(handle, offset: UInt16(value.count)))
          .prefix(bearer.mtu - 1)
      } catch {
        // The value ended with the part before. Servers say so in two ways.
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
      return try await bearer.request(.readByType(range, type: type))
    } catch {
      guard error.code == .attributeNotFound else { throw error }
      return []
    }
  }

  /// Read Using Characteristic UUID, repeated until no more values are found.
  public func readAll(
    _ type: UUID, in range: HandleRange = .all
  ) async throws(ATTFailure) -> [PDU.AttributeValue] {
    try await walk(range) { (rest) throws(ATTFailure) in
      try await bearer.request(.readByType(rest, type: type)).map {
        (HandleRange($0.handle, $0.handle), $0)
      }
    }
  }

  /// Read Multiple Characteristic Values (4.8.4): the values one after the other.
  public func readMultiple(_ handles: [Handle]) async throws(ATTFailure) -> [UInt8] {
    try await bearer.request(.readMultiple(handles))
  }

  /// Read Multiple Variable Length Characteristic Values (4.8.5); the MTU may cut the last one.
  public func readMultipleVariable(
    _ handles: [Handle]
  ) async throws(ATTFailure) -> [PDU.LengthValue] {
    try await bearer.request(.readMultipleVariable(handles))
  }

  // MARK: Writing (4.9)

  /// Write Characteristic Value (4.9.3): up to MTU − 3 octets, with a response.
  public func write(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    try await bearer.request(.write(handle, value))
  }

  /// Writes a value of any length: in one request if the MTU allows it, otherwise in parts.
  public func writeInFull(_ handle: Handle, _ value: [UInt8]) async throws(ATTFailure) {
    if value.count <= bearer.mtu - 3 {
      try await write(handle, value)
    } else {
      try await writeLong(handle, value)
    }
  }

  /// Write Without Response (4.9.1).
  public func writeCommand(_ handle: Handle, _ value: [UInt8]) throws(ATTFailure) {
    try bearer.command(.writeCommand(handle, value: value))
  }

  /// Signed Write Without Response (4.9.2). On an encrypted link, where a signature adds nothing, it is
  /// a Write Command (Part C, 10.4.1).
  public func writeSigned(
    _ handle: Handle, _ value: [UInt8], by signer: inout Signer, on link: LinkSecurity = .none
  ) throws(ATTFailure) {
    guard !link.encrypted else { return try writeCommand(handle, value) }
    let signature = signer.signature(of: value, at: handle)
    try bearer.command(.signedWriteCommand(handle, value: value, signature: signature))
  }

  /// Write Long Characteristic Values (4.9.4): parts are prepared, then written together.
  public func writeLong(
    _ handle: Handle, _ value: [UInt8], offset: Int = 0
  ) async throws(ATTFailure) {
    try await prepareAndExecute([(handle, value)], offset: offset, isChecked: false)
  }

  /// Reliable Writes (4.9.5): the server echoes every part, which is compared before all are written.
  public func writeReliably(_ writes: [(handle: Handle, value: [UInt8])]) async throws(ATTFailure) {
    try await prepareAndExecute(writes, offset: 0, isChecked: true)
  }

  private func prepareAndExecute(
    _ writes: [(handle: Handle, value: [UInt8])], offset: Int, isChecked: Bool
  ) async throws(ATTFailure) {
    do {
      for (handle, value) in writes {
        try await prepare(handle, value, offset: offset, isChecked: isChecked)
      }
    } catch {
      // What was prepared must not stay in the server's queue for a later write to execute.
      if !error.isEnd { try await bearer.request(.executeWrite(.cancel)) }
      throw error
    }
    try await bearer.request(.executeWrite(.write))
  }

  private func prepare(
    _ handle: Handle, _ value: [UInt8], offset: Int, isChecked: Bool
  ) async throws(ATTFailure) {
    var written = 0
    repeat {
      guard let position = UInt16(exactly: offset + written) else {
        throw .protocolViolation("a value cannot be written at octet \(offset + written)")
      }
      let part = PDU.PreparedPart(
        handle: handle, offset: position, value: Array(value[written...].prefix(bearer.mtu - 5)))
      let echo = try await bearer.request(.prepareWrite(part))
      guard !isChecked || echo == part else {
        throw .protocolViolation("the server did not repeat what was to be written")
      }
      written += part.value.count
    } while written < value.count
  }
}

// Discovery in two forms: the procedures of Vol 3 Part G, 4.4 to 4.7, and `locate`, which finds known
// services with their characteristics and CCCDs in as few requests as ATT allows: one for each service,
// one for its characteristics, and one for the CCCDs of all of them together, if the MTU has room for
// the responses. `DatabaseDiscovery` finds everything, even on servers that make mistakes.

// MARK: - Services (4.4, 4.5)

extension Client {
  /// Discover All Primary Services (4.4.1).
  public func primaryServices(in range: HandleRange = .all) async throws(ATTFailure) -> [Service] {
    try await services(.primaryService, in: range)
  }

  /// The secondary services, which are of use only where another service includes them (3.1).
  public func secondaryServices(in range: HandleRange = .all) async throws(ATTFailure) -> [Service]
  {
    try await services(.secondaryService, in: range)
  }

  private func services(
    _ declaration: UUID, in range: HandleRange
  ) async throws(ATTFailure) -> [Service] {
    try await walk(range) { (rest) throws(ATTFailure) in
      var found: [Service] = []
      for group in try await bearer.request(.readByGroupType(rest, type: declaration)) {
        guard let uuid = UUID(littleEndian: group.value) else {
          throw .protocolViolation("a service declaration of \(group.value.count) octets")
        }
        found.append(Service(uuid: uuid, range: group.range))
      }
      return found.map { ($0.range, $0) }
    }
  }

  /// Discover Primary Service by Service UUID (4.4.2): all instances.
  ///
  /// - Parameter wide: asks with 128 bits even if the type has a 16-bit form: for servers that declare
  ///   a service that way and do not recognise one form as the other.
  public func primaryServices(
    _ uuid: UUID, in range: HandleRange = .all, wide: Bool = false
  ) async throws(ATTFailure) -> [Service] {
    try await walk(range) { (rest) throws(ATTFailure) in
      try await servicesInOneRequest(uuid, in: rest, wide: wide).map { ($0.range, $0) }
    }
  }

  /// The first request of Discover Primary Service by Service UUID: the instances that fit into one
  /// response, which is enough for a service that exists once.
  func servicesInOneRequest(
    _ uuid: UUID, in range: HandleRange = .all, wide: Bool = false
  ) async throws(ATTFailure) -> [Service] {
    let value = wide ? uuid.littleEndian128 : uuid.littleEndian
    let found = try await bearer.request(
      .findByTypeValue(range, type: .primaryService, value: value))
    return found.map { Service(uuid: uuid, range: $0) }
  }

  /// Find Included Services (4.5.1); a 128-bit type is read from the included service itself.
  public func includedServices(in range: HandleRange) async throws(ATTFailure) -> [Include] {
    try await walk(range) { (rest) throws(ATTFailure) in
      var includes: [Include] = []
      for entry in try await bearer.request(.readByType(rest, type: .include)) {
        includes.append(try await include(entry))
      }
      return includes.map { (HandleRange($0.handle, $0.handle), $0) }
    }
  }

  func include(_ entry: PDU.AttributeValue) async throws(ATTFailure) -> Include {
    let declared: IncludeDeclaration
    do {
      declared = try IncludeDeclaration(decoding: entry.value)
    } catch {
      throw .malformed(.readByTypeResponse, error)
    }
    var uuid = declared.uuid
    if uuid == nil { uuid = UUID(littleEndian: try await read(declared.range.start)) }
    guard let uuid else { throw .protocolViolation("an included service without a type") }
    return Include(handle: entry.handle, service: Service(uuid: uuid, range: declared.range))
  }
}

// MARK: - Characteristics and descriptors (4.6, 4.7)

extension Client {
  /// Where the next request of a characteristic discovery begins.
  public enum Resumption: Hashable, Sendable {
    /// After the last declaration, as the specification has it.
    case declaration
    /// After the last value. A value follows its declaration (3.3), so this finds the same, and saves a
    /// request if a service ends with a value or its only descriptor.
    case value
  }

  /// Discover All Characteristics of a Service (4.6.1).
  public func characteristics(
    in range: HandleRange, resumingAfter resumption: Resumption = .declaration
  ) async throws(ATTFailure) -> [Characteristic] {
    // A declaration and its value take two handles.
    let least = resumption == .value ? 2 : 1
    var found = try await walk(range, least: least) { (rest) throws(ATTFailure) in
      var entries: [(HandleRange, Characteristic)] = []
      for entry in try await bearer.request(.readByType(rest, type: .characteristic)) {
        let found = try characteristic(entry, in: range)
        let last = resumption == .value ? found.value : found.declaration
        entries.append((HandleRange(found.declaration, last), found))
      }
      return entries
    }
    for index in found.indices.dropLast() {
      found[index].end = max(found[index].value, found[index + 1].declaration &- 1)
    }
    return found
  }

  func characteristic(
    _ entry: PDU.AttributeValue, in range: HandleRange
  ) throws(ATTFailure) -> Characteristic {
    let declared: CharacteristicDeclaration
    do {
      declared = try CharacteristicDeclaration(decoding: entry.value)
    } catch {
      throw .malformed(.readByTypeResponse, error)
    }
    guard declared.value > entry.handle, declared.value <= range.end else {
      throw .protocolViolation(
        "a characteristic at \(hexadecimal(entry.handle)) whose value is at \(hexadecimal(declared.value))"
      )
    }
    return Characteristic(declared, at: entry.handle, end: range.end)
  }

  /// Discover All Characteristic Descriptors (4.7.1): the types of all attributes in `range`.
  public func attributes(
    in range: HandleRange
  ) async throws(ATTFailure) -> [PDU.AttributeInformation] {
    try await walk(range) { (rest) throws(ATTFailure) in
      try await bearer.request(.findInformation(rest)).map {
        (HandleRange($0.handle, $0.handle), $0)
      }
    }
  }

  /// Repeats a request over `range`, each time from behind what it found before, until the server finds
  /// nothing more (Attribute Not Found) or fewer than `least` handles are left.
  ///
  /// - Parameter step: sends one request; returns what it found, each with its handles.
  func walk<Found>(
    _ range: HandleRange, least: Int = 1,
    _ step: (HandleRange) async throws(ATTFailure) -> [(HandleRange, Found)]
  ) async throws(ATTFailure) -> [Found] {
    var all: [Found] = []
    var rest = range
    while rest.isValid, Int(rest.end) - Int(rest.start) + 1 >= least {
      let found: [(HandleRange, Found)]
      do {
        found = try await step(rest)
      } catch {
        guard error.code == .attributeNotFound else { throw error }
        return all
      }
      var next = Int(rest.start)
      for (handles, element) in found {
        guard handles.isValid, Int(handles.start) >= next, handles.end <= range.end else {
          throw .protocolViolation("handles \(handles) in an answer about \(rest)")
        }
        next = Int(handles.end) + 1
        all.append(element)
      }
      guard let start = Handle(exactly: next), start > rest.start else { return all }
      rest.start = start
    }
    return all
  }
}

// MARK: - Locating known services

extension Client {
  /// Which instance of a service is meant if a server has several.
  public enum Instance: Hashable, Sendable {
    case first, last
  }

  /// A service with its characteristics and their CCCDs; nil if the server does not have it (in `range`)
  /// now.
  public func locate(
    _ uuid: UUID, _ instance: Instance = .first, in range: HandleRange = .all
  ) async throws(ATTFailure) -> LocatedService? {
    guard let outline = try await outline(uuid, instance, in: range) else { return nil }
    return try await configured(outline)
  }

  /// The characteristics and CCCDs of a service that was found.
  public func locate(_ service: Service) async throws(ATTFailure) -> LocatedService {
    let characteristics = try await characteristics(in: service.range, resumingAfter: .value)
    return try await configured(LocatedService(service: service, characteristics: characteristics))
  }

  private func configured(_ service: LocatedService) async throws(ATTFailure) -> LocatedService {
    var services = [service]
    try await findConfigurations(of: &services)
    return services.first ?? service
  }

  /// A service with its characteristics, without their CCCDs; nil if the server does not have it (in
  /// `range`) now.
  public func outline(
    _ uuid: UUID, _ instance: Instance = .first, in range: HandleRange = .all
  ) async throws(ATTFailure) -> LocatedService? {
    let services: [Service]
    do {
      services = try await servicesInOneRequest(uuid, in: range)
    } catch {
      guard error.code == .attributeNotFound else { throw error }
      return nil
    }
    let valid = services.filter { $0.range.isValid }
    guard let service = instance == .first ? valid.first : valid.last else { return nil }
    let characteristics = try await characteristics(in: service.range, resumingAfter: .value)
    return LocatedService(service: service, characteristics: characteristics)
  }

  /// Finds the CCCDs of all characteristics of `services` that notify or indicate.
  ///
  /// One Read By Type covers all of them. It may stop short: at an attribute of another service that
  /// may not be read, or on a server that refuses such a range. What it does not find is looked for by
  /// Find Information.
  public func findConfigurations(of services: inout [LocatedService]) async throws(ATTFailure) {
    var missing = services.flatMap(\.characteristics).filter(\.isSubscribable)
    missing.sort { $0.value < $1.value }
    var found = try await configurations(of: &missing)
    for characteristic in missing {
      guard let range = characteristic.descriptors else { continue }
      let types = try await attributes(in: range)
      found[characteristic.value] = types.first { $0.type == .clientConfiguration }?.handle
    }
    for service in services.indices {
      for index in services[service].characteristics.indices {
        let value = services[service].characteristics[index].value
        services[service].characteristics[index].cccd = found[value]
      }
    }
  }

  /// Finds CCCDs by Read By Type, as far as the server allows; removes the characteristics that have
  /// one from `missing`.
  ///
  /// - Parameter missing: in the order of their handles.
  /// - Returns: the CCCDs by the handles of the values that they belong to.
  private func configurations(
    of missing: inout [Characteristic]
  ) async throws(ATTFailure) -> [Handle: Handle] {
    var found: [Handle: Handle] = [:]
    var position: Handle? = missing.first?.value
    let end = missing.map(\.end).max() ?? 0
    var refusals = 0
    while let start = position, start <= end, refusals < 3 {
      let answer = try await configurations(in: HandleRange(start, end))
      for handle in answer.handles {
        guard let owner = missing.first(where: { $0.descriptors?.contains(handle) == true }) else {
          continue
        }
        found[owner.value] = found[owner.value] ?? handle
      }
      missing.removeAll { found[$0.value] != nil }
      if answer.isRefusal { refusals += 1 }
      guard let last = answer.last, last >= start, last < .max,
        let next = missing.first(where: { $0.end > last })
      else { break }
      position = max(last + 1, next.value)
    }
    return found
  }

  /// The CCCDs that one response shows in `range`, the last handle that it covers (nil: there are no
  /// more), and whether the server refused.
  private func configurations(
    in range: HandleRange
  ) async throws(ATTFailure) -> (handles: [Handle], last: Handle?, isRefusal: Bool) {
    do {
      let found = try await bearer.request(.readByType(range, type: .clientConfiguration))
      let handles = found.map(\.handle)
      return (handles, handles.last, false)
    } catch {
      guard case .refused(let refusal) = error else { throw error }
      if refusal.code == .attributeNotFound { return ([], nil, false) }
      return ([], range.contains(refusal.handle) ? refusal.handle : nil, true)
    }
  }
}
