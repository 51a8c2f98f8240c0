// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Testing
import Wire

@Suite("Advertising data")
struct AdvertisingDataTests {
  private static func read(_ hex: String) throws -> AdvertisingData {
    AdvertisingData(decoding: try #require([UInt8](hex: hex)))
  }

  @Test("Structures are read up to the first incomplete one or the padding")
  func reading() throws {
    let whole = try Self.read("020106 0609626f617264 03190102")
    #expect(whole.structures.map(\.kind) == [.flags, .completeName, .appearance])
    #expect(whole.localName == "board" && whole.cut == nil)
    let cut = try Self.read("020106 0908626f61")
    #expect(cut.structures.count == 1 && cut.localName == nil)
    #expect(cut.cut?.length == 9 && cut.cut?.available == 4)
    #expect(try Self.read("020106 05").cut?.available == 0)
    let padded = try Self.read("020106 00 0609626f617264")
    #expect(padded.structures.count == 1 && padded.cut == nil)
  }

  @Test("The complete local name counts where both are there")
  func bothNames() throws {
    #expect(try Self.read("030862 6f 0609626f617264").localName == "board")
  }

  @Test("A name is complete where it fits, otherwise shortened between two characters")
  func names() {
    typealias Structure = AdvertisingStructure
    #expect(Structure.name("Büro", atMost: 7) == Structure(.completeName, Array("Büro".utf8)))
    #expect(Structure.name("Büro", atMost: 6) == Structure(.shortenedName, Array("Bür".utf8)))
    #expect(Structure.name("Büro", atMost: 4) == Structure(.shortenedName, Array("B".utf8)))
    #expect(Structure.name("Büro", atMost: 2) == nil)
    #expect(Structure.name("", atMost: 31) == nil)
  }
}

@Suite("Connection parameters")
struct ConnectionParametersTests {
  private let parameters = ConnectionParameters(
    minimumInterval: 24, maximumInterval: 40, latency: 4, timeout: 600)

  @Test("They are eight bytes, little endian")
  func bytes() throws {
    #expect(parameters.encoded.hex == "1800280004005802")
    #expect(try ConnectionParameters(decoding: parameters.encoded) == parameters)
    #expect(throws: DecodeError(offset: 6, .truncated(needed: 2, available: 1))) {
      try ConnectionParameters(decoding: parameters.encoded.dropLast())
    }
    #expect(throws: DecodeError(offset: 8, .trailing(1))) {
      try ConnectionParameters(decoding: parameters.encoded + [0])
    }
  }

  @Test("In words they are in milliseconds")
  func words() {
    #expect(
      parameters.description == "an interval of 30.0 to 50.0 ms, latency 4, lost after 6000 ms")
    #expect(
      ConnectionParameters(interval: 12, latency: 0, timeout: 72).description
        == "an interval of 15.0 ms, latency 0, lost after 720 ms")
  }
}

@Suite("Assigned numbers")
struct AssignedNumbersTests {
  @Test(
    "UUIDs have the names that the SIG and Apple gave them",
    arguments: [
      (.genericAccess, "Generic Access"), (.clientConfiguration, "Client Characteristic Configuration"),
      (.batteryLevel, "Battery Level"), (0x2BED, "Battery Level Status"),
      (.notificationCenter, "Apple Notification Center Service"), (.entityAttribute, "Entity Attribute"),
      // Of iOS 26, which Apple has not documented.
      (.unknownAppleService, "Apple Service 410CD5ED"), (.unknownApple, "Characteristic F7DA4085"),
    ] as [(UUID, String)])
  func names(uuid: UUID, name: String) { #expect(AssignedNumbers.name(of: uuid) == name) }

  @Test("Declarations and descriptors are distinguished from other types")
  func attributeTypes() {
    #expect(UUID.include.isDeclaration && !UUID.include.isDescriptor)
    #expect(UUID.clientConfiguration.isDescriptor && !UUID.clientConfiguration.isDeclaration)
    #expect(![UUID.batteryLevel, .notificationSource].contains { $0.isDeclaration || $0.isDescriptor })
  }

  @Test("A title has name and number; without a name it is the number")
  func titles() {
    #expect(AssignedNumbers.title(of: .batteryLevel) == "Battery Level (2A19)")
    #expect(AssignedNumbers.title(of: 0xFFF0) == "FFF0")
    #expect(AssignedNumbers.name(of: UUID(high: 1, low: 2)) == nil)
  }
}
