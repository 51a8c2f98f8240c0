// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@Suite("Wire: cursors, UUIDs, addresses")
struct WireTests {
  @Test("Fields are read little endian and in order")
  func littleEndian() throws {
    var reader = ByteReader([0x01, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12, 0xFF])
    #expect(try reader.u8() == 1)
    #expect(try reader.u16() == 0x1234)
    #expect(try reader.u32() == 0x1234_5678)
    #expect(try reader.i8() == -1)
    try reader.end()
  }

  @Test("A field that is cut short is an error with its offset, and takes nothing")
  func truncated() throws {
    var reader = ByteReader([0xAA, 0x01, 0x02])
    _ = try reader.u8()
    #expect(throws: DecodeError(offset: 1, .truncated(needed: 4, available: 2))) {
      try reader.bytes(4)
    }
    #expect(try reader.u16() == 0x0201)
  }

  @Test("Bytes left over are an error where the packet should end")
  func trailing() {
    let reader = ByteReader([1, 2])
    #expect(throws: DecodeError(offset: 0, .trailing(2))) { try reader.end() }
  }

  @Test("What a writer wrote, a reader reads")
  func roundTrip() throws {
    var writer = ByteWriter()
    writer.u8(7)
    writer.u16(0xBEEF)
    writer.u64(0x0123_4567_89AB_CDEF)
    writer.address(Address(0xF0E1_D2C3_B4A5))
    var reader = ByteReader(writer.bytes)
    #expect(try reader.u8() == 7)
    #expect(try reader.u16() == 0xBEEF)
    #expect(try reader.u64() == 0x0123_4567_89AB_CDEF)
    #expect(try reader.address() == Address(0xF0E1_D2C3_B4A5))
  }

  @Test(
    "A UUID reads in every usual spelling and prints in the shortest",
    arguments: [
      ("180D", "180D"), ("0x180d", "180D"),
      ("0000180D-0000-1000-8000-00805F9B34FB", "180D"),
      ("7905f431b5ce4e99a40f4b1e122d00d0", "7905F431-B5CE-4E99-A40F-4B1E122D00D0"),
    ])
  func uuid(spelling: String, canonical: String) throws {
    #expect(try #require(UUID(spelling)).description == canonical)
  }

  @Test(
    "A UUID's air form is least significant byte first, and two bytes where it has a short form")
  func uuidBytes() throws {
    #expect((0x1801 as UUID).littleEndian == [0x01, 0x18])
    let ancs = try #require(UUID("7905F431-B5CE-4E99-A40F-4B1E122D00D0"))
    #expect(ancs.littleEndian.hex == "d0002d121e4b0fa4994ece b531f40579".filter { $0 != " " })
    #expect(UUID(littleEndian: ancs.littleEndian) == ancs)
    #expect(UUID(littleEndian: (0x1801 as UUID).littleEndian128) == 0x1801)
  }

  @Test("What is no UUID is refused", arguments: ["", "18", "180G", "180D0", "180D180D180D"])
  func notUUID(text: String) { #expect(UUID(text) == nil) }

  @Test("Addresses read and print as people write them")
  func address() throws {
    let address = try #require(Address("c0:11:22:33:44:0f"))
    #expect(address.description == "C0:11:22:33:44:0F")
    #expect(address.littleEndian == [0x0F, 0x44, 0x33, 0x22, 0x11, 0xC0])
    #expect(Address("C0:11:22:33:44") == nil)
    #expect(Address("C0:11:22:33:44:0") == nil)
    let device = try #require(DeviceAddress("4A:11:22:33:44:55/random"))
    #expect(device.isResolvablePrivate)
    #expect(device.description == "4A:11:22:33:44:55/random")
    #expect(DeviceAddress("4A:11:22:33:44:55/other") == nil)
  }

  @Test("Time at the clock's ends does not trap")
  func time() {
    let end = Instant(nanoseconds: .max)
    #expect(end + .seconds(5) == end)
    #expect(Instant.zero + .milliseconds(3) - .zero == .milliseconds(3))
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
  }
}
