// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Capture
import Control
import EventLoop
import OnLoop
import Scratch
import System
import Testing
import Wire

@testable import Bluetooth
@testable import CaptureTools

@Suite("trace")
struct TraceTests {
  /// What the kernel's monitor sends.
  private final class FakeMonitor: PacketMonitor {
    var onPacket: ((WallTime, [UInt8]) -> Void)?
    var onClose: ((Errno?) -> Void)?
    var isClosed = false
    /// Packets that were not read yet.
    var waiting: [CaptureRecord] = []

    func send(_ record: CaptureRecord) {
      var writer = ByteWriter()
      for field in [record.opcode.rawValue, record.adapter, UInt16(record.data.count)] {
        writer.u16(field)
      }
      writer.bytes(record.data)
      onPacket?(record.time, writer.bytes)
    }

    func drain() {
      for record in waiting { send(record) }
      waiting = []
    }

    func close() { isClosed = true }
  }

  /// A trace on stubs, and its result.
  @LoopActor private final class Stage {
    let monitor = FakeMonitor()
    var warnings: [String] = []

    /// Runs a trace of `records`; `end` is called when the trace waits for more.
    func run(
      _ arguments: String = "", _ records: [CaptureRecord] = CaptureOutputTests.records, limit: Int64? = nil,
      end: @escaping @LoopActor (Trace, Stage) -> Void = { trace, _ in trace.stop(.interrupted) }
    ) async throws -> (status: Control.ExitStatus, output: [Substring]) {
      var options = CaptureOptions.trace
      try Grammar.trace.parse(arguments.split(separator: " ").map(String.init), into: &options)
      if let limit { options.limit = limit }
      let scratch = try Scratch()
      let path = "\(scratch.path)/out"
      let descriptor = try Files.create(path)
      let trace = try Trace(
        options, Console(.json, TextStyle()) { _ throws(Failure) in },
        Trace.Environment(
          openMonitor: { [monitor] () throws(BluetoothError) in monitor },
          links: { [] }, knownLinks: { _ in [] }, output: LineWriter(descriptor.raw),
          warn: { [unowned self] in warnings.append("\($0): \($1)") }))
      Loop.start { [self] in
        await eventually { monitor.onPacket != nil }
        for record in records { monitor.send(record) }
        end(trace, self)
      }
      let status = try await trace.run()
      return (status, String(decoding: try Files.read(path), as: UTF8.self).split(separator: "\n"))
    }
  }

  @Test("Packets are decoded as they come, up to the signal, and all of them are written")
  func packets() async throws {
    try await onLoop {
      let stage = Stage()
      let records = CaptureOutputTests.records
      let scratch = try Scratch()
      let path = "\(scratch.path)/capture"
      let (status, output) = try await stage.run("--att -w \(path)", records.dropLast(2)) { trace, stage in
        trace.stop(.terminated)
        // These wait in the socket when the signal comes.
        stage.monitor.waiting = records.suffix(2)
      }
      #expect(status == .terminated)
      #expect(try Files.read(path) == CaptureOutputTests.file())
      #expect(output.count == 8)
      #expect(output.allSatisfy { $0.contains(#""layer":"att""#) })
      #expect(stage.monitor.isClosed)
      #expect(stage.warnings.isEmpty)
    }
  }

  @Test("A page is drawn up to the signal, and nothing is printed")
  func page() async throws {
    try await onLoop {
      let stage = Stage()
      let scratch = try Scratch()
      let path = "\(scratch.path)/page"
      let (status, output) = try await stage.run("--html \(path)")
      #expect(status == .interrupted)
      #expect(output.isEmpty)
      let page = String(decoding: try Files.read(path), as: UTF8.self)
      #expect(page.hasSuffix("</html>\n"))
      #expect(page.contains("Notification Source"))
    }
  }

  @Test("A monitor that the kernel closes ends it with 69")
  func closed() async throws {
    try await onLoop {
      let stage = Stage()
      let failure = await #expect(throws: Failure.self) {
        _ = try await stage.run { _, stage in stage.monitor.onClose?(nil) }
      }
      #expect(failure == Failure(.unavailable, "reading the kernel's HCI monitor", "the kernel closed it"))
      #expect(stage.monitor.isClosed)
    }
  }

  @Test("A file that can't be written any more ends it with 73")
  func fullFile() async throws {
    try await onLoop {
      let stage = Stage()
      let scratch = try Scratch()
      let path = "\(scratch.path)/capture"
      let whole = CaptureOutputTests.file(CaptureOutputTests.records.prefix(3))
      let failure = await #expect(throws: Failure.self) {
        _ = try await stage.run("--write \(path)", limit: Int64(whole.count)) { _, _ in }
      }
      #expect(failure?.status == .cannotCreate)
      #expect(failure?.what == "writing \(path)")
      #expect(try Files.read(path) == whole)
    }
  }

  @Test(
    "Without Bluetooth or permission, or a file that can be created, it does not begin",
    arguments: [
      (.addressFamilyNotSupported, .unavailable, "opening the kernel's HCI monitor"),
      (.notPermitted, .noPermission, "opening the kernel's HCI monitor"),
      (Errno(rawValue: 12), .unavailable, "opening the kernel's HCI monitor"),
      (nil, .cannotCreate, "writing /proc/nonexistent/out"),
    ] as [(Errno?, Control.ExitStatus, String)])
  func impossible(errno: Errno?, status: Control.ExitStatus, what: String) async throws {
    try await onLoop {
      var options = CaptureOptions.trace
      options.write = "/proc/nonexistent/out"
      var environment = Trace.Environment()
      environment.openMonitor = { () throws(BluetoothError) in
        if let errno { throw BluetoothError(SystemError("socket", errno)) }
        return FakeMonitor()
      }
      let console = Console(.json, TextStyle()) { _ throws(Failure) in }
      let failure = #expect(throws: Failure.self) { _ = try Trace(options, console, environment) }
      #expect(failure?.status == status && failure?.what == what)
    }
  }
}
