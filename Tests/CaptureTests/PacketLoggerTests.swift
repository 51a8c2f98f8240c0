// SPDX-License-Identifier: GPL-3.0-or-later
import Capture
import Testing
import Wire

@testable import FuzzTargets

@Suite("PacketLogger files")
struct PacketLoggerTests {
  private static func later(_ milliseconds: Int64) -> WallTime {
    WallTime(microseconds: Sample.time.microseconds + milliseconds * 1000)
  }

  private static let note = Array("com.apple.bluetoothd: scanning".utf8)

  @Test(
    "Records that are no HCI packets are skipped, also as the first, without type, and of new types",
    arguments: [true, false])
  func skipped(isBig: Bool) {
    let types: [UInt8] = [0x0B, 0xF7, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0x42, 0x04]
    let empty = [UInt32(8), UInt32(Sample.time.seconds), 0].flatMap {
      isBig ? Sample.big($0) : Sample.little($0)
    }
    var file: [UInt8] = []
    for (place, record) in Sample.records.enumerated() {
      for type in types.dropFirst(place) {
        file += Sample.packetLogger(type, Self.note, Self.later(-500), isBig: isBig)
      }
      file += empty + Sample.packetLogger([record], isBig: isBig)
    }
    #expect(Sample.read(file) == Sample.Reading(records: Sample.records, assumedPeer: .accessory))
  }

  @Test(
    "Records come in the order of their times; those with the same time as they are in the file")
  func order() {
    let records = Sample.records.enumerated().map { place, record in
      var record = record
      record.time = Self.later(Int64(place) / 2 * 1500)
      return record
    }
    let file = Sample.packetLogger([records[2], records[0], records[3], records[1]])
    #expect(Sample.read(file) == Sample.Reading(records: records, assumedPeer: .accessory))
  }

  @Test("SCO data in both directions")
  func synchronous() {
    let records: [CaptureRecord] = [
      CaptureRecord(.scoTransmitted, [0x40, 0x00, 0x01, 0x55], time: Sample.time),
      CaptureRecord(.scoReceived, [0x40, 0x00, 0x00], time: Sample.time),
    ]
    #expect(Sample.read(Sample.packetLogger(records)).records == records)
  }

  @Test(
    "A record with an absurd length ends the file; the records before it are read",
    arguments: [
      (0xFFFF_FFFF, "a packet of 4294967287 bytes"), (0x0100_0000, "a packet of 16777208 bytes"),
      (3, "a record shorter than its header"),
    ] as [(UInt32, String)])
  func absurd(length: UInt32, complaint: String) {
    let file = Sample.packetLogger()
    let reading = Sample.read(file + Sample.big(length) + [UInt8](repeating: 0, count: 40))
    #expect(reading.records == Sample.records)
    #expect(reading.error == CaptureFileError(offset: Int64(file.count), .broken(complaint)))
  }

  @Test("A time of impossible microseconds is that of the second's end")
  func microseconds() {
    var file = Sample.packetLogger()
    let broken = ([9 + 3, 7, 4_294_967] as [UInt32]).flatMap(Sample.big) + [0, 3, 0x0C, 0]
    file += broken
    let first = Sample.read(file).records.first
    #expect(first?.time == WallTime(seconds: 7, nanoseconds: 999_999_999))
  }

  @Test(
    "What is no PacketLogger file is not taken for one, whatever its name",
    arguments: [
      [UInt8](repeating: 0, count: 64), [0, 0, 1, 0, 1, 0, 16, 16, 0, 0, 1, 0] + note,
      // An icon and a film, whose first bytes look alike.
      [0, 0, 0, 0x18] + Array("ftypmp42isom".utf8), [0, 0, 0, 12] + [UInt8](repeating: 0xFF, count: 12),
      // Plausible at first, then nothing that is.
      Sample.packetLogger(0x20, note) + [UInt8](repeating: 0x77, count: 40),
    ] as [[UInt8]])
  func other(bytes: [UInt8]) {
    let error = Sample.read(bytes).error
    #expect(error?.isHopeless == true)
    #expect(Sample.read(bytes, step: 1).error == error)
  }
}
