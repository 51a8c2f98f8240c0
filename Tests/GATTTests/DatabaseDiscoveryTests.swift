// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

@testable import GATT

@Suite("GATT: discovery of a whole database, in spite of errors")
struct DatabaseDiscoveryTests {
  private static let own = UUID(high: 0x1234_5678_0000_1000, low: 0x8000_0080_5F9B_34FB)
  private static let other = UUID(high: 0xAAAA_5678_0000_1000, low: 0x8000_0080_5F9B_34FB)

  /// Gaps, 16-bit and 128-bit types mixed, and an included secondary service with a 128-bit type.
  private static var oddServices: [ServiceDefinition] {
    let included = Service(uuid: other, range: HandleRange(0x0040, 0x004F))
    return [
      ServiceDefinition(0x1800, at: 0x0001, characteristics: [.init(0x2A00, [.read])]),
      ServiceDefinition(
        own, at: 0x0010, end: 0x003F, includes: [included],
        characteristics: [
          .init(own, [.read, .notify], at: 0x0020),
          .init(
            0x2A19, [.read, .indicate], at: 0x0030, valueHandle: 0x0033,
            descriptors: [.init(0x2901, value: .stored([0x41]), at: 0x0038)]),
        ]),
      ServiceDefinition(other, isPrimary: false, at: 0x0040, end: 0x004F, characteristics: [.init(0x2A06, [.write])]),
      ServiceDefinition(0x180F, at: 0xFFF0, end: 0xFFFF, characteristics: [.init(0x2A19, [.read, .notify])]),
    ]
  }

  /// Runs a discovery on a server whose responses `errs` replaces if it returns any.
  private func discovery(
    _ loop: isolated TestLoop, errs: @escaping (PDU) -> PDU? = { _ in nil }
  ) async throws -> (discovery: DatabaseDiscovery, failure: ATTFailure?) {
    let pair = try Pair(loop, mtu: 23, database: AttributeDatabase(Self.oddServices))
    pair.intercept(errs)
    let discovery = DatabaseDiscovery(pair.client)
    var failure: ATTFailure?
    do throws(ATTFailure) {
      try await discovery.discoverEverything()
    } catch { failure = error }
    _ = pair.server
    return (discovery, failure)
  }

  private func outline(_ discovery: DatabaseDiscovery) -> [String] {
    discovery.services.flatMap { service in
      ["\(service.service.range) \(service.service.uuid) \(service.isPrimary)"]
        + service.includes.map { "include \($0.service.range) \($0.service.uuid)" }
        + service.characteristics.map { found in
          ([found.uuid.description, hexadecimal(found.value)]
            + service.descriptors(of: found).map { "\(hexadecimal($0.handle)) \($0.type)" })
            .joined(separator: " ")
        }
    }
  }

  private static let whole = [
    "0x0001–0x0003 1800 true", "2A00 0x0003", "0x0010–0x003F \(own) true", "include 0x0040–0x004F \(other)",
    "\(own) 0x0021 0x0022 2902", "2A19 0x0033 0x0034 2902 0x0038 2901", "0x0040–0x004F \(other) false", "2A06 0x0042",
    "0xFFF0–0xFFFF 180F true", "2A19 0xFFF2 0xFFF3 2902",
  ]

  @Test(
    "Whose descriptors are is found without delay, however many there are", .timeLimit(.minutes(1)))
  func many() {
    let handles = stride(from: 1 as Handle, to: 9000, by: 3)
    let service = DiscoveredService(
      service: Service(uuid: 0x180F, range: .all), isPrimary: true,
      characteristics: handles.map {
        Characteristic(declaration: $0, properties: .notify, value: $0 + 1, uuid: 0x2A19, end: $0 + 2)
      }, others: handles.map { .init(handle: $0 + 2, type: 0x2902) })
    #expect(service.characteristics.flatMap { service.descriptors(of: $0) } == service.others)
    #expect(service.descriptors(of: nil).isEmpty)
  }

  @Test("Services that cannot be read by group are found by their types", arguments: [true, false])
  func withoutGroups(byValue: Bool) throws {
    try TestLoop.run { loop in
      let (discovery, _) = try await discovery(loop) { pdu in
        switch pdu {
        case .readByGroupTypeRequest: .error(.requestNotSupported, to: pdu.opcode)
        case .findByTypeValueRequest where !byValue: .error(.unlikelyError, to: pdu.opcode)
        default: nil
        }
      }
      // Where nobody tells the end of a service, it is what the next one leaves; secondary services
      // are known by their inclusion.
      #expect(
        outline(discovery).filter { $0.hasPrefix("0x") } == [
          byValue ? "0x0001–0x0003 1800 true" : "0x0001–0x000F 1800 true", "0x0010–0x003F \(Self.own) true",
          "0xFFF0–0xFFFF 180F true", "0x0040–0x004F \(Self.other) false",
        ])
      #expect(discovery.faults.map(\.step) == [.primaryServices, .primaryServices])
      #expect(discovery.faults.allSatisfy { $0.lost == nil })
    }
  }

  @Test(
    "Only a declaration that may not be read stays unknown; what follows it belongs to no characteristic before it",
    arguments: [
      (0x0020, "\(own) ", [0x0021, 0x0022]), (0x0030, "2A19 0x0033", [0x0033, 0x0034, 0x0038]),
    ] as [(Handle, String, [Handle])])
  func unreadableDeclaration(at handle: Handle, missing: String, strays: [Handle]) throws {
    try TestLoop.run { loop in
      let (discovery, _) = try await discovery(loop) { pdu in
        switch pdu {
        case .readByTypeRequest(let range, 0x2803) where range.contains(handle):
          .error(.unlikelyError, to: pdu.opcode, at: handle)
        case .readRequest(handle): .error(.insufficientEncryption, to: pdu.opcode, at: handle)
        default: nil
        }
      }
      #expect(outline(discovery) == Self.whole.filter { !$0.hasPrefix(missing) })
      #expect(discovery.faults.compactMap(\.lost) == [HandleRange(handle, handle)])
      #expect(discovery.faults.count == (handle == 0x0020 ? 1 : 3))
      #expect(discovery.faults.first?.failure.code == .unlikelyError)
      // What it declares is found.
      let found = discovery.services.first { $0.service.uuid == Self.own }?.descriptors(of: nil)
      #expect(found?.map(\.handle) == strays)
    }
  }

  @Test("A protocol violation is worked around, and nothing before it is lost")
  func nonsense() throws {
    try TestLoop.run { loop in
      let (discovery, _) = try await discovery(loop) { pdu in
        guard case .readByGroupTypeRequest(let range, 0x2800) = pdu, range.start == 0x0004 else {
          return nil
        }
        return .readByGroupTypeResponse([
          PDU.GroupValue(range: HandleRange(0x0002, 0x0003), value: [0, 0x18])
        ])
      }
      #expect(outline(discovery) == Self.whole)
      #expect(discovery.faults.map(\.lost) == [nil])
    }
  }

  @Test("What was found before the link was lost remains")
  func cut() throws {
    try TestLoop.run { loop in
      var count = 0
      let (discovery, failure) = try await discovery(loop) { pdu in
        count += 1
        return count > 9 ? .some(.readResponse([])) : nil  // a response to nothing: dropped
      }
      #expect(failure == .timedOut(.readByTypeRequest) || failure == .timedOut(.findInformationRequest))
      #expect(discovery.services.count == 4)
      #expect(discovery.services.filter(\.hasContents).count == 1)
    }
  }

  @Test("A server that refuses everything ends the discovery early")
  func refusal() throws {
    try TestLoop.run { loop in
      var count = 0
      let (discovery, failure) = try await discovery(loop) { pdu in
        count += 1
        return .error(.insufficientAuthentication, to: pdu.opcode, at: 1)
      }
      #expect(failure == nil)
      #expect(discovery.services.isEmpty)
      #expect(!discovery.faults.isEmpty)
      #expect(count < 64)
    }
  }
}
