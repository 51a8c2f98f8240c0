// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

extension Client {
  /// Discover All Primary Services (4.4.1).
  public func primaryServices(in range: HandleRange = .all) async throws(ATTFailure) -> [Service] {
    try await services(GATTType.primaryService, in: range)
  }

  /// The secondary services, which only included ones are (3.1); found as the primary ones are.
  public func secondaryServices(in range: HandleRange = .all) async throws(ATTFailure) -> [Service]
  {
    try await services(GATTType.secondaryService, in: range)
  }

  private func services(
    _ declaration: UUID, in range: HandleRange
  ) async throws(ATTFailure) -> [Service] {
    try await walk(range) { (rest) throws(ATTFailure) in
      var found: [Service] = []
      for group in try await readByGroupType(declaration, in: rest) {
        guard let uuid = UUID(littleEndian: group.value) else {
          throw .nonsense("a service declaration of \(group.value.count) octets")
        }
        found.append(Service(uuid: uuid, range: group.range))
      }
      return found.map { ($0.range, $0) }
    }
  }

  /// Discover Primary Service by Service UUID (4.4.2), all of them.
  ///
  /// - Parameter wide: asks with all 128 bits, also where there are but 16: for servers that declare
  ///   a service that way and do not take one form for the other.
  public func primaryServices(
    _ uuid: UUID, in range: HandleRange = .all, wide: Bool = false
  ) async throws(ATTFailure) -> [Service] {
    try await walk(range) { (rest) throws(ATTFailure) in
      try await servicesInOneRequest(uuid, in: rest, wide: wide).map { ($0.range, $0) }
    }
  }

  /// The first request of Discover Primary Service by Service UUID: all instances that its answer has
  /// room for, which for a service of which there may be but one is enough.
  func servicesInOneRequest(
    _ uuid: UUID, in range: HandleRange = .all, wide: Bool = false
  ) async throws(ATTFailure) -> [Service] {
    let value = wide ? uuid.littleEndian128 : uuid.littleEndian
    let pdu = PDU.findByTypeValueRequest(range, type: 0x2800, value: value)
    guard case .findByTypeValueResponse(let ranges) = try await bearer.request(pdu) else {
      throw unexpected(pdu)
    }
    return ranges.map { Service(uuid: uuid, range: $0) }
  }

  /// Find Included Services (4.5.1); a 128-bit type is read from the included service itself.
  public func includedServices(in range: HandleRange) async throws(ATTFailure) -> [Include] {
    try await walk(range) { (rest) throws(ATTFailure) in
      var includes: [Include] = []
      for entry in try await readByType(GATTType.include, in: rest) {
        includes.append(try await include(entry))
      }
      return includes.map { (HandleRange($0.handle, $0.handle), $0) }
    }
  }

  func include(_ entry: PDU.AttributeValue) async throws(ATTFailure) -> Include {
    var reader = ByteReader(entry.value)
    let range: HandleRange
    var uuid: UUID?
    do {
      range = HandleRange(try reader.u16(), try reader.u16())
      if !reader.isAtEnd { uuid = try reader.uuid(width: reader.remaining) }
    } catch {
      throw .malformed(.readByTypeResponse, error)
    }
    if uuid == nil { uuid = UUID(littleEndian: try await read(range.start)) }
    guard let uuid else { throw .nonsense("an included service without a type") }
    return Include(handle: entry.handle, service: Service(uuid: uuid, range: range))
  }

  /// Discover All Characteristics of a Service (4.6.1).
  ///
  /// - Parameter thrifty: begins each request behind the last value, where the specification begins
  ///   it behind the last declaration; a value follows its declaration (3.3), so that finds the same
  ///   and saves a request wherever a service ends with a value or its one descriptor.
  public func characteristics(
    in range: HandleRange, thrifty: Bool = false
  ) async throws(ATTFailure) -> [Characteristic] {
    var found: [Characteristic] = try await walk(
      range, least: thrifty ? 2 : 1
    ) { (rest) throws(ATTFailure) in
      var characteristics: [Characteristic] = []
      for entry in try await readByType(GATTType.characteristic, in: rest) {
        characteristics.append(try characteristic(entry, in: range))
      }
      return characteristics.map {
        (HandleRange($0.declaration, thrifty ? $0.value : $0.declaration), $0)
      }
    }
    for index in found.indices.dropLast() {
      found[index].end = max(found[index].value, found[index + 1].declaration &- 1)
    }
    return found
  }

  func characteristic(
    _ entry: PDU.AttributeValue, in range: HandleRange
  ) throws(ATTFailure) -> Characteristic {
    var reader = ByteReader(entry.value)
    let found: Characteristic
    do {
      found = Characteristic(
        declaration: entry.handle, properties: .init(rawValue: try reader.u8()),
        value: try reader.u16(), uuid: try reader.uuid(width: reader.remaining), end: range.end)
    } catch {
      throw .malformed(.readByTypeResponse, error)
    }
    guard found.value > entry.handle, found.value <= range.end else {
      throw .nonsense(
        "a characteristic at \(hexadecimal(entry.handle)) whose value is at \(hexadecimal(found.value))"
      )
    }
    return found
  }

  /// Discover All Characteristic Descriptors (4.7.1): the types of all attributes in `range`.
  public func attributes(
    in range: HandleRange
  ) async throws(ATTFailure) -> [PDU.AttributeInformation] {
    try await walk(range) { (rest) throws(ATTFailure) in
      try await findInformation(rest).map { (HandleRange($0.handle, $0.handle), $0) }
    }
  }

  /// One Find Information Request: some of the attributes in `range`.
  func findInformation(
    _ range: HandleRange
  ) async throws(ATTFailure) -> [PDU.AttributeInformation] {
    let pdu = PDU.findInformationRequest(range)
    guard case .findInformationResponse(let entries) = try await bearer.request(pdu) else {
      throw unexpected(pdu)
    }
    return entries
  }

  /// One Read By Group Type Request: some of the groups of `type` in `range`.
  func readByGroupType(
    _ type: UUID, in range: HandleRange
  ) async throws(ATTFailure) -> [PDU.GroupValue] {
    let pdu = PDU.readByGroupTypeRequest(range, type: type)
    guard case .readByGroupTypeResponse(let groups) = try await bearer.request(pdu) else {
      throw unexpected(pdu)
    }
    return groups
  }

  /// One Read By Type Request: some of the attributes of `type` in `range`, with their values.
  func readByType(
    _ type: UUID, in range: HandleRange
  ) async throws(ATTFailure) -> [PDU.AttributeValue] {
    let pdu = PDU.readByTypeRequest(range, type: type)
    guard case .readByTypeResponse(let entries) = try await bearer.request(pdu) else {
      throw unexpected(pdu)
    }
    return entries
  }

  /// Goes through `range` request by request: each begins behind what the last one found, until
  /// nothing more is found (Attribute Not Found) or fewer than `least` handles are left.
  ///
  /// - Parameter step: asks once, from its range's start on; the handles of each thing it found, and
  ///   the thing.
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
      for (handles, thing) in found {
        guard handles.isValid, Int(handles.start) >= next, handles.end <= range.end else {
          throw .nonsense("handles \(handles) in an answer about \(rest)")
        }
        next = Int(handles.end) + 1
        all.append(thing)
      }
      guard let start = Handle(exactly: next), start > rest.start else { return all }
      rest.start = start
    }
    return all
  }

  func unexpected(_ pdu: PDU) -> ATTFailure { .nonsense("\(pdu.opcode) got another answer") }
}
