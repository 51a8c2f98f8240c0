// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// Discovers a whole server in the reference's order, which is not the daemon's: that looks only for what
/// it needs (`Client.locate`). The procedures are ours, and so is every handle in their requests.
struct Discovery {
  private(set) var services: [(service: Service, isPrimary: Bool)] = []
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
    services = try await client.primaryServices().map { ($0, true) }
    if isNext(.readByGroupTypeRequest, .secondaryService) {
      services += try await Self.secondaryServices(client, in: .all).map { ($0, false) }
    }
    if isNext(.readByTypeRequest, .include) {
      for range in ranges(player) {
        includes += try await Self.includedServices(client, in: range)
      }
    }
    for range in ranges(player) {
      let known = characteristics.count
      characteristics += try await client.characteristics(in: range)
      for index in characteristics.indices.dropFirst(known) { try await describe(index, client) }
    }
  }

  static func secondaryServices(
    _ client: Client, in range: HandleRange
  ) async throws(ATTFailure) -> [Service] {
    try await client.collect(range) { (rest) throws(ATTFailure) in
      try await client.bearer.request(.readByGroupType(rest, type: .secondaryService)).map {
        ($0.range, Service(uuid: UUID(littleEndian: $0.value) ?? 0, range: $0.range))
      }
    }
  }

  static func includedServices(
    _ client: Client, in range: HandleRange
  ) async throws(ATTFailure) -> [Include] {
    try await client.collect(range) { (rest) throws(ATTFailure) in
      var found: [(HandleRange, Include)] = []
      for entry in try await client.bearer.request(.readByType(rest, type: .include)) {
        found.append((HandleRange(entry.handle, entry.handle), try await client.include(entry)))
      }
      return found
    }
  }

  /// Where to search: all services at once, or one after the other if the transcript does so.
  private func ranges(_ player: TranscriptPlayer) -> [HandleRange] {
    let ranges = services.map(\.service.range)
    guard let start = ranges.map(\.start).min(), let end = ranges.map(\.end).max() else {
      return []
    }
    guard let asked = player.askedRange, asked.end < end else { return [HandleRange(start, end)] }
    return ranges.filter { $0.start < $0.end }
  }

  /// The descriptors of one characteristic; like the reference, it reads the Extended Properties.
  private mutating func describe(_ index: Int, _ client: Client) async throws(ATTFailure) {
    let value = characteristics[index].value
    let service = services.first { $0.service.range.contains(value) }?.service.range.end
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
    var lines: [(Handle, String)] = []
    for (service, _) in services {
      lines.append(
        (
          service.range.start,
          "service \(service.uuid.littleEndian.hex) to \(hexadecimal(service.range.end))"
        ))
    }
    for include in includes {
      var start = ByteWriter()
      start.u16(include.service.range.start)
      lines.append((include.handle, "include \(start.bytes.hex)"))
    }
    for characteristic in characteristics {
      var value = ByteWriter()
      value.u8(characteristic.properties.rawValue)
      value.u16(characteristic.value)
      value.uuid(characteristic.uuid)
      lines.append((characteristic.declaration, "characteristic \(value.bytes.hex)"))
    }
    for descriptor in descriptors {
      lines.append((descriptor.handle, "descriptor \(descriptor.type)"))
    }
    return lines.sorted { $0.0 < $1.0 }.map { "\(hexadecimal($0.0)) \($0.1)" }
  }
}
