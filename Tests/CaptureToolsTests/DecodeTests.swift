// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Capture
import Control
import FakeDaemon
import Glibc
import Picture
import Scratch
import System
import Testing
import Wire

@testable import CaptureTools

@Suite("decode")
struct DecodeTests {
  private static let capture = CaptureOutputTests.file()

  @Test("The parts of a capture are read in the order of their times, however they are named")
  func parts() throws {
    let scratch = try Scratch()
    let name = "\(scratch.path)/part"
    let records = CaptureOutputTests.records
    let paths = ["\(name)-latest", "\(name)-earlier"]
    for (path, part) in zip(paths, [records.suffix(1), records.prefix(1)]) {
      try Files.create(path).writeAll(CaptureOutputTests.file(part))
    }
    var options = CaptureOptions()
    options.files = paths
    #expect(options.inOrder == [paths[1], paths[0]])
    options.files = paths + ["\(name)-none"]
    #expect(options.inOrder == options.files)
  }

  @Test("Of a pipe, which can be read once, nothing is taken to order the files")
  func pipes() throws {
    let scratch = try Scratch()
    var options = CaptureOptions()
    let path = "\(scratch.path)/part"
    try Files.create(path).writeAll(Self.capture)
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    try #require(Self.capture.count < 4096)
    try #require(write(ends[1], Self.capture, Self.capture.count) == Self.capture.count)
    options.files = ["/dev/fd/\(ends[0])", path]
    #expect(options.inOrder == options.files)
    var rest = [UInt8](repeating: 0, count: 4096)
    #expect(read(ends[0], &rest, rest.count) == Self.capture.count)
  }

  private struct Result {
    var status: Control.ExitStatus?
    var failure: Failure?
    var output = ""
    var warnings: [String] = []
  }

  /// Decodes a file that is read in parts of `step` bytes.
  private static func decode(
    _ arguments: String, _ file: [UInt8], step: Int = 100, error: SystemError? = nil
  ) throws -> Result {
    let printed = FakeDaemon.Printed()
    var options = CaptureOptions()
    try Grammar.decode.parse(arguments.split(separator: " ").map(String.init), into: &options)
    let console = Console(options.output.format ?? .json, TextStyle()) { bytes throws(Failure) in
      printed.append(bytes)
    }
    var result = Result()
    var rest = file[...]
    do throws(Failure) {
      var printer = try CapturePrinter(options, of: options.name, console)
      defer { if result.status == .done { try? printer.page?.finish() } }
      result.status = try printer.decode(
        options.files.first ?? "", to: console, warn: { result.warnings.append("\($0): \($1)") }
      ) { () throws(SystemError) in
        if rest.isEmpty, let error { throw error }
        defer { rest = rest.dropFirst(step) }
        return Array(rest.prefix(step))
      }
    } catch { result.failure = error }
    result.output = printed.text
    return result
  }

  @Test("A page has the output of decode; it mentions a filter and a truncated file")
  func page() throws {
    let result = try Self.decode("--html - --ancs /home/me/day.btsnoop", Self.capture.dropLast(3))
    #expect(result.status == .done)
    #expect(result.output.hasPrefix("<!DOCTYPE html>"))
    #expect(result.output.hasSuffix("</html>\n"))
    #expect(result.output.contains(#""name":"day.btsnoop""#))
    #expect(!result.output.contains("/home/me"))
    #expect(result.output.contains(#""filter":"--ancs""#))
    #expect(result.output.contains("Data Source"))
    #expect(!result.output.contains("New Index"))
    #expect(result.warnings.count == 1)
    #expect(result.output.contains("a record needs 30 bytes"))
  }

  @Test("A page replaces an earlier page, but no other file without --force; a file that is not a capture makes none")
  func replaced() throws {
    let scratch = try Scratch()
    let path = "\(scratch.path)/page"
    // The page's name was forgotten, so the first capture is taken for it.
    try Files.create(path, mode: 0o644).writeAll(Self.capture)
    let refused = try Self.decode("--html \(path) \(path).1", Self.capture)
    #expect(refused.failure?.status == .cannotCreate)
    #expect(refused.failure?.remedy?.contains("--force") == true)
    #expect(try Files.read(path) == Self.capture)
    #expect(try Self.decode("--html \(path) --force -", Self.capture).output.isEmpty)
    let page = try Files.read(path)
    #expect(page.starts(with: SessionPicture.beginning))
    #expect(try Self.decode("--html \(path) -", Array("#!/bin/sh\n".utf8)).status == .noInput)
    #expect(try Files.read(path) == page)
    #expect(try Self.decode("--html \(path) --ancs -", Self.capture).status == .done)
    #expect(try Files.read(path).count < page.count)
  }

  @Test("The page of a capture of which a part can't be read is whole, with the other parts")
  func unreadablePart() throws {
    let scratch = try Scratch()
    let (path, page) = ("\(scratch.path)/part", "\(scratch.path)/page")
    try Files.create(path).writeAll(Self.capture)
    let command = try Invocation(["decode", "--html", page, path, "\(path)-none"], commands: [.decode], width: 80)
    let failure = #expect(throws: Failure.self) { try command.perform { _ in } }
    #expect(failure == Failure(.noInput, "reading \(path)-none", "No such file or directory"))
    #expect(String(decoding: try Files.read(page), as: UTF8.self).hasSuffix("</html>\n"))
  }

  @Test("Times count from the first packet, also if a filter hides it")
  func options() throws {
    let result = try Self.decode("--format text --ancs day.btsnoop", Self.capture)
    #expect(
      result.output.hasPrefix("< ACL Data TX: Handle 0 flags 0x00 dlen 27                    #4 [hci0] 0.002500\n"))
    #expect(!result.output.contains("New Index"))
  }

  @Test("A large file of records that are sorted first is printed whole, as the same btsnoop file is")
  func packetLogger() throws {
    let records = (0..<700).map { second in
      CaptureRecord(.command, [0x03, 0x0C, 0x00], time: WallTime(seconds: 1_795_241_100 + second))
    }
    var writer = ByteWriter(order: .bigEndian)
    for record in records.reversed() {
      for number in [UInt32(9 + record.data.count), UInt32(record.time.seconds), 0] {
        writer.u32(number)
      }
      writer.bytes([0x00] + record.data)
    }
    let file = writer.bytes
    let result = try Self.decode("phone.pklg", file)
    #expect(result.status == .done)
    #expect(result.output.split(separator: "\n").count == 700)
    let same = try Self.decode("phone.btsnoop", CaptureOutputTests.file(records))
    #expect(result.output == same.output)
    let cut = try Self.decode("phone.pklg", file.dropLast(1))
    #expect(cut.output.split(separator: "\n").count == 699)
    #expect(cut.warnings == ["phone.pklg: truncated at byte \(file.count - 16): a record needs 16 bytes, 15 are left"])
  }

  @Test("The peer of a central is not called a phone")
  func accessory() throws {
    let event: [UInt8] = [0x3E, 19, 1, 0, 0x40, 0, 0, 0, 6, 5, 4, 3, 2, 1, 24, 0, 0, 0, 72, 0, 0]
    let record = CaptureRecord(.event, event, time: CaptureOutputTests.time)
    let result = try Self.decode("phone.btsnoop", CaptureOutputTests.file([record]))
    #expect(result.output.contains(#""connection":64,"accessory":"01:02:03:04:05:06","#))
  }

  @Test(
    "A file that is not a capture ends it with 66",
    arguments: [("", "it is empty"), ("#!/bin/sh\n", "it is not a btsnoop, pcap, pcapng or PacketLogger file")])
  func noCapture(text: String, fault: String) throws {
    let result = try Self.decode("-", Array(text.utf8))
    #expect(result.status == .noInput)
    #expect(result.output.isEmpty)
    #expect(result.warnings == ["standard input: \(fault)"])
  }

  @Test("What is read before an error is printed")
  func readError() throws {
    let result = try Self.decode(
      "day.btsnoop", Self.capture, error: SystemError("read", .inputOutput))
    #expect(result.output.split(separator: "\n").count == 12)
    #expect(result.failure?.status == .noInput)
    #expect(result.failure?.what == "reading day.btsnoop")
  }

  @Test("A link whose discovery is not in the capture causes a warning, whatever is shown")
  func warning() throws {
    let records = CaptureOutputTests.records.filter { $0.opcode == .aclReceived }.suffix(1)
    let result = try Self.decode("--ams day.btsnoop", CaptureOutputTests.file(records))
    #expect(result.output.isEmpty)
    #expect(result.warnings.count == 1)
    #expect(result.warnings[0].hasPrefix("day.btsnoop: hci0 handle 0: this link was up before"))
  }
}
