// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import TestLoop
import Testing
import Wire

@testable import FuzzTargets

@Suite("Capture files")
struct FileTests {
  @Test("All formats give the same packets", arguments: Sample.files.indices)
  func sameRecords(index: Int) {
    let (name, bytes) = Sample.files[index]
    let reading = Sample.read(bytes)
    #expect(reading.error == nil, "\(name)")
    #expect(reading.records.map(\.opcode) == Sample.records.map(\.opcode), "\(name)")
    #expect(reading.records.map(\.data) == Sample.records.map(\.data), "\(name)")
    #expect(reading.records.map(\.time) == Sample.records.map(\.time), "\(name)")
  }

  @Test("A file cut at any byte is read as far as possible", arguments: Sample.files.indices)
  func cuts(index: Int) {
    let bytes = Sample.files[index].bytes
    let whole = Sample.read(bytes).records
    var least = 0
    for length in 0..<bytes.count {
      let reading = Sample.read(Array(bytes.prefix(length)))
      #expect(whole.starts(with: reading.records))
      #expect(reading.records.count >= least)
      least = reading.records.count
      if let error = reading.error {
        #expect(error.offset <= length)
        #expect(!reading.records.isEmpty ? !error.isHopeless : true)
      }
    }
  }

  @Test("The error about a cut file says where it ends and what is missing")
  func cutMessage() {
    let file = Sample.btsnoop()
    let reading = Sample.read(Array(file.dropLast(2)))
    #expect(reading.records.count == 3)
    #expect(
      reading.error
        == CaptureFileError(
          offset: Int64(file.count - 24 - 11),
          .cut("a record", needed: 35, available: 33)))
  }

  @Test("A record of impossible length ends the file; the records before it are read")
  func broken() {
    var file = Sample.btsnoop()
    file += Sample.big(UInt32(0xFFFF_FFFF)) + Sample.big(UInt32(0x7FFF_FFFF))
    file += [UInt8](repeating: 0, count: 16)
    let reading = Sample.read(file)
    #expect(reading.records.count == 4)
    #expect(reading.error?.reason == .broken("a packet of 2147483647 bytes"))
    #expect(reading.error?.isHopeless == false)
  }

  @Test(
    "Other files, and unsupported formats, are refused",
    arguments: [
      ([], .empty), (Array("#!/bin/sh\nexit".utf8), .notACapture), ([0], .notACapture),
      (
        Array("btsnoop\0".utf8) + Sample.big(UInt32(2)) + Sample.big(UInt32(2001)),
        .unsupported("btsnoop version 2")
      ),
      (
        Array("btsnoop\0".utf8) + Sample.big(UInt32(1)) + Sample.big(UInt32(1003)),
        .unsupported("btsnoop datalink 1003")
      ),
      (Sample.pcap(1), .unsupported("pcap link type 1")),
      (Sample.pcapng(1), .unsupported("pcap link type 1")),
      (
        Array("btsnoop\0".utf8) + Sample.big(UInt32(1)),
        .cut("the file header", needed: 16, available: 12)
      ),
      (Array(Sample.pcap(187).prefix(20)), .cut("the file header", needed: 24, available: 20)),
    ] as [([UInt8], CaptureFileError.Reason)])
  func hopeless(bytes: [UInt8], reason: CaptureFileError.Reason) {
    let error = Sample.read(bytes).error
    #expect(error?.reason == reason)
    #expect(error?.isHopeless == true)
  }

  @Test("The number of bytes that were not captured is known")
  func snapped() {
    var record = Sample.records[2]
    record.missing = 7
    #expect(Sample.read(Sample.btsnoop([record])).records == [record])
  }

  @Test("The flags of an H4 packet without direction decide its direction")
  func guessedDirections() {
    let records = Sample.read(Sample.pcap(187)).records
    #expect(records.map(\.isDirectionKnown) == [true, true, false, false])
    let known = Sample.read(Sample.pcapng(187)).records
    #expect(known.map(\.isDirectionKnown) == [true, true, true, true])
  }

  @Test("A pcapng file may have several sections, each in its own byte order")
  func sections() {
    let reading = Sample.read(Sample.pcapng(201) + Sample.pcapng(254, isBig: true))
    #expect(reading.error == nil)
    #expect(reading.records.count == 8)
  }

  @Test("Times before 1970 and extreme times")
  func times() {
    let early = WallTime(microseconds: -1)
    #expect(early == WallTime(seconds: -1, nanoseconds: 999_999_000) && early.microseconds == -1)
    #expect("\(early.civil()).\(early.fraction)" == "1969-12-31T23:59:59.999999")
    #expect(WallTime(seconds: .max).microseconds == .max)
    #expect("\(WallTime(seconds: .min).civil())".isEmpty == false)
  }

  @Test("Packets of the kernel's monitor channel")
  func monitor() {
    let record = CaptureRecord(
      monitorPacket: [3, 0, 1, 0, 3, 0, 0x0E, 0x01, 0x00], time: Sample.time)
    #expect(record == CaptureRecord(.event, [0x0E, 0x01, 0x00], time: Sample.time, adapter: 1))
    #expect(CaptureRecord(monitorPacket: [3, 0, 1, 0, 3], time: Sample.time) == nil)
    let cut = CaptureRecord(monitorPacket: [3, 0, 1, 0, 9, 0, 0x0E], time: Sample.time)
    #expect(cut?.missing == 8)
  }
}

@Suite("Records for ATT alone")
struct LinkRecorderTests {
  @Test("An adapter begins once; simultaneous links have different handles, a single one has 0")
  func handles() {
    var recorder = LinkRecorder()
    let begun = (0..<2).map { _ in recorder.begin(adapter: 0, address: nil, name: "att", at: Sample.time) }
    #expect(begun.map { $0.map(\.opcode) } == [[.newIndex, .openIndex], []])
    let first = recorder.connect(adapter: 0, peer: nil, at: Sample.time).handle
    let second = recorder.connect(adapter: 0, peer: nil, at: Sample.time).handle
    _ = recorder.disconnect(handle: first, adapter: 0, at: Sample.time)
    let third = recorder.connect(adapter: 0, peer: nil, at: Sample.time).handle
    #expect([first, second, third] == [0, 1, 0])
  }
}
