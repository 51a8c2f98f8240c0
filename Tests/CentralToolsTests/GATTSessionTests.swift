// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import GATT
import JSON
import TestLoop
import Testing
import Wire

@testable import CentralTools

/// A session, and the device at the other end of its link.
private final class Bench {
  let link: GATTLink
  let session: GATTSession
  let device: Server
  let deviceBearer: Bearer
  private let output = Output()

  var lines: [String] { output.lines }
  var reports: [String] { output.reports }
  /// The lines as JSON.
  var events: [JSONValue] { output.lines.compactMap { try? JSONValue(parsing: $0) } }

  private final class Output {
    var lines: [String] = []
    var reports: [String] = []
  }

  init(
    _ loop: isolated TestLoop, _ format: OutputFormat = .text, mtu: Int = 517,
    indications: Bool = false, _ services: [ServiceDefinition]
  ) throws {
    let database = AttributeDatabase()
    for service in services { try database.add(service) }
    let bearer = Bearer(scheduler: loop.clock, receiveMTU: mtu)
    deviceBearer = bearer
    device = Server(bearer, database: database)
    link = GATTLink(
      to: .socket("x"), scheduler: loop.clock, mtu: 517, name: "board", send: { [weak bearer] in bearer?.receive($0) })
    bearer.send = { [weak link] in link?.receive($0[...]) }
    let output = output
    session = GATTSession(
      link, GATTPrinter(format: format, write: { output.lines.append($0) }),
      prefersIndications: indications, report: { output.reports.append($0.line) })
  }

  /// Performs a typed command; returns the failure, if any.
  func type(_ line: String) async -> Failure? {
    do throws(Failure) {
      try await session.perform(try GATTCommand(CommandLineWords.split(line), prompt: true))
      return nil
    } catch { return error }
  }
}

@Suite("ancsd gatt: commands on a link")
struct GATTSessionTests {
  private static let long = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
  private static var services: [ServiceDefinition] {
    [
      ServiceDefinition(0x1800, at: 1, characteristics: [.init(0x2A00, [.read], value: .stored([0x41, 0x1B]))]),
      ServiceDefinition(
        0x180F, at: 0x10,
        characteristics: [
          .init(0x2A19, [.read, .notify], value: .stored([87])),
          .init(0x2A6E, [.read, .notify, .indicate], value: .stored([0x66, 0x08])),
        ]),
      ServiceDefinition(
        UUID(high: 0x6E40_0001_B5A3_F393, low: 0xE0A9_E50E_24DC_CA9E), at: 0x20,
        characteristics: [
          .init(0x2A19, [.read], permissions: Permissions(read: .encrypted)),
          .init(0x2ABC, [.read, .write], value: .stored(Self.long)),
          .init(0x2A19, [.read], value: .stored([5])),
          .init(0x2A06, [.writeWithoutResponse]),
        ]),
    ]
  }

  private func run(
    _ format: OutputFormat = .text, mtu: Int = 517, indications: Bool = false,
    _ body: @escaping @Sendable (isolated TestLoop, Bench) async throws -> Void
  ) throws {
    try TestLoop.run { loop in
      let bench = try Bench(loop, format, mtu: mtu, indications: indications, Self.services)
      try await bench.session.begin(.low)
      try await body(loop, bench)
      bench.link.close("over")
    }
  }

  private static let batteries = [
    "0x0012 Battery Level (2A19): 57  Battery: 87 %",
    "0x0026 Battery Level (2A19): 05  Battery: 5 %",
  ]

  @Test("The tree, as text")
  func tree() throws {
    try run { _, bench in
      #expect(await bench.type("tree") == nil)
      #expect(
        bench.lines[1] == """
          service 0x0010–0x0016 Battery (180F)
            0x0011 characteristic 0x0012 Battery Level (2A19): read, notify
              0x0013 Client Characteristic Configuration (2902)
            0x0014 characteristic 0x0015 Temperature (2A6E): read, notify, indicate
              0x0016 Client Characteristic Configuration (2902)
          """)
      #expect(bench.lines[2].hasPrefix("service 0x0020–0x0028 6E400001-B5A3-F393-E0A9-E50E24DCCA9E"))
    }
  }

  @Test(
    "What a command prints, and how it fails",
    arguments: [
      ("mtu", ["the MTU is 23"], nil),
      ("primary 1805", [], "primary 1805: the device has no such service"),
      // It cannot control the terminal.
      (
        "read 0x0003 0x0015",
        ["0x0003 Device Name (2A00): 41 1b  “A␛”", "0x0015 Temperature (2A6E): 66 08  Temperature: 21.5 °C"], nil
      ), ("read 0x0999", [], "reading 0x0999: Invalid Handle (0x01)"),
      ("read 1234", [], "reading 1234: the device has no attribute of this type"),
      (
        "read 2A19", batteries,
        "reading 0x0022: Insufficient Authentication (0x05); the device requires a secure link, and "
          + "a socket can't be secured"
      ), ("write 0x0024 text:\(String(repeating: "x", count: 100))", ["wrote 100 bytes to 0x0024"], nil),
      ("write 2ABC 01", ["wrote 1 byte to 0x0024"], nil), ("write-command 2A06 02", ["sent 1 byte to 0x0028"], nil),
      ("write 2A19 01", [], "2A19: 3 attributes have this type; name one by its handle: 0x0012, 0x0022, 0x0026"),
      ("write 0x0012 01", [], "writing 0x0012: Write Not Permitted (0x03)"),
      (
        "write-command 0x0028 \(String(repeating: "00", count: 30))", [],
        "writing 0x0028: Write Command of 33 octets does not fit into the MTU of 23"
      ),
      (
        "subscribe 0x0024", [],
        "subscribing to 0x0024: it has no Client Characteristic Configuration to write to"
      ),
      (
        "subscribe 0x0999", [],
        "subscribing to 0x0999: there is no characteristic; “tree” lists them"
      ),
    ] as [(String, [String], String?)])
  func command(typed: String, printed: [String], failure: String?) throws {
    try run(mtu: 23) { _, bench in
      let line = await bench.type(typed)?.line
      #expect(line == failure.map { "ancsd: \($0)" })
      #expect(bench.lines == printed)
    }
  }

  @Test("A long value is read in full, and printed in rows")
  func long() throws {
    try run(mtu: 23) { _, bench in
      #expect(await bench.type("read 2ABC") == nil)
      let rows = bench.lines[0].split(separator: "\n")
      #expect(rows[0] == "0x0024 TDS Control Point (2ABC): 300 bytes")
      let bytes = (0x20..<0x30).map { "\(String($0, radix: 16))" }.joined(separator: " ")
      #expect(rows[3] == "  020  \(bytes)   !\"#$%&'()*+,-./")
      #expect(rows.count == 20)
    }
  }

  @Test(
    "A type is read in spite of refusals and wrong responses",
    arguments: [
      (1, .error(.requestNotSupported, to: .readByTypeRequest)),
      (1, .readByTypeResponse([0x12, 0x11].map { .init(handle: $0, value: [87]) })),
      (2, .readByTypeResponse([.init(handle: 0x01, value: [1])])),
    ] as [(Int, PDU)])
  func readAround(place: Int, response: PDU) throws {
    try run { _, bench in
      var count = 0
      let serve = bench.deviceBearer.serve
      bench.deviceBearer.serve = { pdu in
        guard case .readByTypeRequest(_, 0x2A19) = pdu else { return serve(pdu) }
        count += 1
        return count == place ? response : serve(pdu)
      }
      let failure = await bench.type("read 2A19")
      #expect(bench.lines == Self.batteries)
      let failures = bench.reports + [failure?.line ?? ""]
      #expect(failures.contains { $0.contains("reading 0x0022: Insufficient Authentication") })
    }
  }

  @Test("A subscription ends by each attribute of its characteristic, as it begins")
  func ending() throws {
    try run(.json) { _, bench in
      for handle in ["0x0011", "0x0012", "0x0013"] {
        #expect(await bench.type("subscribe \(handle) 0x0015") == nil)
        #expect(await bench.type("unsubscribe \(handle)") == nil)
        #expect(bench.session.subscriptions.map(\.handle) == [0x15])
      }
      #expect(await bench.type("unsubscribe 2902") == nil)
      #expect(bench.session.subscriptions.isEmpty)
      #expect(bench.device.client.configurations.values.allSatisfy { $0.isEmpty })
    }
  }

  @Test("Indications if they are preferred")
  func indicate() throws {
    try run(.json, indications: true) { loop, bench in
      #expect(await bench.type("subscribe 0x0015") == nil)
      #expect(bench.events.last?["kind"] == "indications")
      let confirmed = loop.start { try await bench.deviceBearer.indicate(0x15, [1, 0]) }
      await loop.settle()
      #expect(confirmed.result != nil && confirmed.failure == nil)
      #expect(bench.events.last?["event"] == "indication")
    }
  }

  @Test("The device reads this side's name")
  func link() throws {
    try run { loop, bench in
      let asked = loop.start { try await bench.deviceBearer.request(.readRequest(0x0003)) }
      await loop.settle()
      #expect(asked.value == .readResponse(Array("board".utf8)))
    }
  }

  @Test("A silent device times out after 30 s")
  func ends() throws {
    try run { loop, bench in
      bench.deviceBearer.serve = { _ in nil }
      let asked = loop.start { await bench.type("read 0x0003") }
      await loop.settle()
      #expect(asked.result == nil)
      await loop.sleep(for: .seconds(31))
      #expect(asked.value??.status == .tryAgain)
      #expect(await bench.type("read 0x0003")?.status == .tryAgain)
    }
  }
}
