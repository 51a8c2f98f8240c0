// SPDX-License-Identifier: GPL-3.0-or-later
import Bluetooth
import Capture
import EventLoop
import OnLoop
import Scratch
import System
import Testing
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("run --btsnoop")
struct CaptureWriterTests {
  private static func records(_ file: [UInt8]) throws -> [CaptureRecord] {
    var reader = CaptureReader()
    reader.feed(file)
    var records: [CaptureRecord] = []
    while let record = try reader.next() { records.append(record) }
    reader.finish()
    #expect(try reader.next() == nil)
    return records
  }

  @Test("What was written is read again: the adapter, the link, its PDUs and its end, once")
  func roundTrip() async throws {
    let before = WallTime.now
    let scratch = try Scratch()
    let path = "\(scratch.path)/capture"
    try await onLoop {
      let writer = try CaptureWriter(path)
      let link = stubLink()
      writer.record([0x02, 0x05, 0x02], .sent, on: link)
      writer.record([0x03, 0xB9, 0x00], .received, on: link)
      writer.ended(link)
      writer.ended(link)
    }
    let records = try Self.records(try Files.read(path))
    let after = WallTime.now
    #expect(
      records.map(\.opcode) == [
        .newIndex, .openIndex, .event, .aclTransmitted, .aclReceived, .event,
      ])
    #expect(records[3].data == [0x00, 0x00, 7, 0, 3, 0, 4, 0, 0x02, 0x05, 0x02])
    #expect(records[4].data == [0x00, 0x20, 7, 0, 3, 0, 4, 0, 0x03, 0xB9, 0x00])
    #expect(records[5].data == [0x05, 4, 0x00, 0x00, 0x00, 0x13])
    #expect(records.allSatisfy { $0.adapter == 0 && $0.missing == 0 })
    // The file has microseconds, the clock more.
    let times = records.map(\.time.microseconds)
    #expect(times.allSatisfy { (before.microseconds...after.microseconds).contains($0) })
    #expect(times == times.sorted())
  }

  @Test("At its limit the capture ends with a log line, and the file is readable")
  func limit() async throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/capture"
    let errors = try await onLoop {
      let writer = try CaptureWriter(path, limit: 10_000)
      var errors: [SystemError] = []
      writer.onError = { errors.append($0) }
      let link = stubLink()
      for _ in 0..<1_000 { writer.record([0x02, 0x05, 0x02], .sent, on: link) }
      writer.ended(link)
      return errors
    }
    let error = try #require(errors.first)
    #expect(errors.count == 1)
    #expect(CaptureFile.sentence(error) == "\(path) has reached its maximum size (--capture-limit)")
    let file = try Files.read(path)
    #expect((9_900...10_000).contains(file.count))
    #expect(try Self.records(file).count > 200)
  }

  /// Writes so many PDUs of a link that lasts for this call.
  private static func capture(_ path: String, _ count: Int, limit: Int64 = 1 << 20, files: Int = 1) async throws {
    try await onLoop {
      let writer = try CaptureWriter(path, limit: limit, files: files)
      let link = stubLink()
      for _ in 0..<count { writer.record([0x02, 0x05, 0x02], .sent, on: link) }
      writer.ended(link)
    }
  }

  @Test("An earlier capture is continued, behind its last whole record")
  func continued() async throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/capture"
    try await Self.capture(path, 1)
    let first = try Files.read(path)
    // A crash has left a part of a record.
    try Files.openToContinue(path).writeAll([0, 0, 0, 9, 0, 0, 0, 9, 0])
    try await Self.capture(path, 2)
    let both = try Files.read(path)
    #expect(both.starts(with: first))
    let kinds = try Self.records(both).map(\.opcode)
    let begin: [MonitorOpcode] = [.newIndex, .openIndex, .event]
    #expect(
      kinds == begin + [.aclTransmitted, .event] + begin + [
        .aclTransmitted, .aclTransmitted, .event,
      ])
  }

  @Test("A file that is something else is left alone")
  func foreign() async throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/capture"
    try Files.create(path).writeAll(Array("a letter to somebody".utf8))
    let error = await #expect(throws: SystemError.self) { try await Self.capture(path, 1) }
    #expect(error.map(CaptureFile.sentence) == "\(path) is not a capture, so it stays unchanged")
    #expect(throws: SystemError.self) { try CaptureFile(path) }
    #expect(try Files.read(path) == Array("a letter to somebody".utf8))
  }

  @Test("Full files are rotated, up to a number, and each is readable by itself")
  func rotated() async throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/capture"
    let paths = [path, path + ".1", path + ".2", path + ".3"]
    try await Self.capture(path, 1_000, limit: 10_000, files: 3)
    #expect(try Files.kind(of: paths[3]) == nil)
    for path in paths.dropLast() {
      let file = try Files.read(path)
      #expect(file.count <= 10_000)
      let records = try Self.records(file)
      #expect(records.prefix(3).map(\.opcode) == [.newIndex, .openIndex, .event])
    }
    #expect(try Files.read(paths[1]).count > 9_900)
  }

  @Test("If the disk is full, the capture says so, with the file")
  func fullDisk() async throws {
    let error = await #expect(throws: SystemError.self) {
      try await onLoop { _ = try CaptureWriter("/dev/full") }
    }
    #expect(error?.errno == .noSpace)
    #expect("\(try #require(error))".contains("/dev/full"))
  }
}

/// A link that goes nowhere.
@LoopActor private func stubLink() -> WiredLink {
  WiredLink(VirtualLink(scheduler: Loop.shared), LinkHistory(scheduler: Loop.shared, at: .now))
}
