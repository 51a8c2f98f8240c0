// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// Discovers a whole server in the reference's order, which is not the daemon's: that looks only for what
/// it needs (`Client.locate`). The procedures are ours, and so is every handle in their requests.
struct Discovery {
  private(set) var services: [Service] = []
  private(set) var includes: [Include] = []
  private(set) var characteristics: [Characteristic] = []
  private(set) var descriptors: [PDU.AttributeInformation] = []

  /// Discovers everything. A stage that the transcript does not have at this point is skipped: later
  /// versions of the reference ask for more than earlier ones.
  mutating func run(_ client: Client, _ player: TranscriptPlayer) async throws(ATTFailure) {
    func isNext(_ opcode: Opcode, _ type: UUID) -> Bool {
      guard let line = player.next, line.isSent, line.bytes.first == opcode.rawValue else {
        return false
      }
      return line.bytes.dropFirst(5).elementsEqual(type.littleEndian)
    }

    for type in [UUID.serverSupportedFeatures, .databaseHash] {
      if isNext(.readByTypeRequest, type) { _ = try await client.read(type) }
    }
    services = try await client.primaryServices()
    if isNext(.readByGroupTypeRequest, .secondaryService) {
      services += try await Self.secondaryServices(client, in: .all)
    }
    let (starts, ends) = (services.map(\.range.start), services.map(\.range.end))
    guard let start = starts.min(), let end = ends.max() else { return }
    let range = HandleRange(start, end)
    if isNext(.readByTypeRequest, .include) {
      includes = try await Self.includedServices(client, in: range)
    }
    characteristics = try await client.characteristics(in: range)
    for index in characteristics.indices { try await describe(index, client) }
  }

  static func secondaryServices(_ client: Client, in range: HandleRange) async throws(ATTFailure) -> [Service] {
    try await client.collect(range) { (rest) throws(ATTFailure) in
      try await client.bearer.request(.readByGroupType(rest, type: .secondaryService)).map {
        ($0.range, Service(uuid: UUID(littleEndian: $0.value) ?? 0, range: $0.range))
      }
    }
  }

  static func includedServices(_ client: Client, in range: HandleRange) async throws(ATTFailure) -> [Include] {
    try await client.collect(range) { (rest) throws(ATTFailure) in
      var found: [(HandleRange, Include)] = []
      for entry in try await client.bearer.request(.readByType(rest, type: .include)) {
        found.append((HandleRange(entry.handle, entry.handle), try await client.include(entry)))
      }
      return found
    }
  }

  /// The descriptors of one characteristic; like the reference, it reads the Extended Properties.
  private mutating func describe(_ index: Int, _ client: Client) async throws(ATTFailure) {
    let value = characteristics[index].value
    let service = services.first { $0.range.contains(value) }?.range.end
    characteristics[index].end = min(characteristics[index].end, service ?? .max)
    guard let range = characteristics[index].descriptors else { return }
    let found = try await client.attributes(in: range)
    descriptors += found
    for descriptor in found where descriptor.type == .extendedProperties {
      _ = try await client.read(descriptor.handle)
    }
    characteristics[index].cccd = found.first { $0.type == .clientConfiguration }?.handle
  }

  /// The configuration of the characteristic whose value is at `handle`.
  func configuration(of handle: Handle) -> Handle? {
    characteristics.first { $0.value == handle }?.cccd
  }

  /// One line for each attribute, in the order of the handles.
  var summary: [String] {
    var lines: [(handle: Handle, text: String)] = services.map {
      ($0.range.start, "service \($0.uuid.littleEndian.hex) to \(hexadecimal($0.range.end))")
    }
    lines += includes.map {
      ($0.handle, "include \(IncludeDeclaration($0.service).encoded.prefix(2).hex)")
    }
    lines += characteristics.map {
      let declared = CharacteristicDeclaration(properties: $0.properties, value: $0.value, uuid: $0.uuid)
      return ($0.declaration, "characteristic \(declared.encoded.hex)")
    }
    lines += descriptors.map { ($0.handle, "descriptor \($0.type)") }
    return lines.sorted { $0.handle < $1.handle }.map { "\(hexadecimal($0.handle)) \($0.text)" }
  }
}
