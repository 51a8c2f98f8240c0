// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Testing
import Wire

/// A PDU as bytes and as a value.
struct PDUVector: CustomTestStringConvertible, Sendable {
  var hex: String
  var pdu: PDU
  var testDescription: String { "\(pdu.opcode) \(hex)" }

  init(_ hex: String, _ pdu: PDU) {
    self.hex = hex
    self.pdu = pdu
  }

  static let long: UUID = UUID(high: 0x0001_0203_0405_0607, low: 0x0809_0A0B_0C0D_0E0F)
  static let signature: [UInt8] = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]

  static let all = [
    PDUVector("0110341210", .error(.unsupportedGroupType, to: .readByGroupTypeRequest, at: 0x1234)),
    PDUVector("01bf0000a3", .error(.init(0xA3), to: .init(rawValue: 0xBF))),
    PDUVector("020502", .exchangeMTURequest(clientMTU: 517)), PDUVector("031700", .exchangeMTUResponse(serverMTU: 23)),
    PDUVector("040100ffff", .findInformationRequest(.all)),
    PDUVector("0400000000", .findInformationRequest(HandleRange(0, 0))),
    PDUVector(
      "0501010000280200032a",
      .findInformationResponse([.init(handle: 1, type: 0x2800), .init(handle: 2, type: 0x2A03)])),
    PDUVector(
      "050209000f0e0d0c0b0a09080706050403020100",
      .findInformationResponse([.init(handle: 9, type: long)])),
    PDUVector(
      "060100ffff00280f18", .findByTypeValueRequest(.all, type: 0x2800, value: [0x0F, 0x18])),
    PDUVector("060100ffff0028", .findByTypeValueRequest(.all, type: 0x2800, value: [])),
    PDUVector(
      "07010004000500ffff",
      .findByTypeValueResponse([HandleRange(1, 4), HandleRange(5, 0xFFFF)])),
    PDUVector("080100ffff0328", .readByTypeRequest(.all, type: 0x2803)),
    PDUVector(
      "0802000300" + "0f0e0d0c0b0a09080706050403020100",
      .readByTypeRequest(HandleRange(2, 3), type: long)),
    PDUVector(
      "09030500aa0600bb",
      .readByTypeResponse([.init(handle: 5, value: [0xAA]), .init(handle: 6, value: [0xBB])])),
    PDUVector("09020500", .readByTypeResponse([.init(handle: 5, value: [])])),
    PDUVector("0a3412", .readRequest(0x1234)), PDUVector("0b", .readResponse([])),
    PDUVector("0b010203", .readResponse([1, 2, 3])), PDUVector("0c34120001", .readBlobRequest(0x1234, offset: 256)),
    PDUVector("0d", .readBlobResponse([])), PDUVector("0dff", .readBlobResponse([0xFF])),
    PDUVector("0e01000200", .readMultipleRequest([1, 2])), PDUVector("0f0102", .readMultipleResponse([1, 2])),
    PDUVector("100100ffff0028", .readByGroupTypeRequest(.all, type: 0x2800)),
    PDUVector(
      "110610f018f00018ffffffff0a18",
      .readByGroupTypeResponse([
        .init(range: HandleRange(0xF010, 0xF018), value: [0x00, 0x18]),
        .init(range: HandleRange(0xFFFF, 0xFFFF), value: [0x0A, 0x18]),
      ])), PDUVector("1204000100", .writeRequest(4, value: [1, 0])), PDUVector("13", .writeResponse),
    PDUVector("52040001", .writeCommand(4, value: [1])),
    PDUVector(
      "d20400ff" + "000000000102030405060708",
      .signedWriteCommand(4, value: [0xFF], signature: signature)),
    PDUVector(
      "d20400" + "000000000102030405060708",
      .signedWriteCommand(4, value: [], signature: signature)),
    PDUVector("1604001200ff", .prepareWriteRequest(4, offset: 18, value: [0xFF])),
    PDUVector("1704001200", .prepareWriteResponse(4, offset: 18, value: [])),
    PDUVector("1800", .executeWriteRequest(.cancel)), PDUVector("1801", .executeWriteRequest(.write)),
    PDUVector("19", .executeWriteResponse), PDUVector("1b0400", .handleValueNotification(4, value: [])),
    PDUVector("1d040001", .handleValueIndication(4, value: [1])), PDUVector("1e", .handleValueConfirmation),
    PDUVector("2001000200", .readMultipleVariableRequest([1, 2])),
    PDUVector(
      "210000" + "0100aa" + "0500bbcc",
      .readMultipleVariableResponse([
        .init(length: 0, value: []), .init(length: 1, value: [0xAA]),
        .init(length: 5, value: [0xBB, 0xCC]),
      ])),
    PDUVector(
      "2304000100aa" + "05000000",
      .multipleHandleValueNotification([
        .init(handle: 4, value: [0xAA]), .init(handle: 5, value: []),
      ])),
    PDUVector("bf00", .unknown(.init(rawValue: 0xBF), [0])),
    PDUVector("ff", .unknown(.init(rawValue: 0xFF), [])),
  ]

  /// Known opcodes with too little, too much, or an invalid list after them.
  static let malformed = [
    "", "01", "01100100", "011001000a00", "02", "0217", "02170000", "03", "030002ff", "04", "04010002", "0401000200ff",
    "05", "0501", "050101000028ff", "0503010000280000", "0502010000280300", "06", "06010002", "060100020000", "07",
    "07010002", "070100020003", "08", "0801000200", "080100020001", "0801000200000028", "09", "0901", "0901aabb",
    "09030100020304", "0902", "0a", "0a01", "0a010002", "0c010002", "0c0100000000", "0e", "0e0100", "0e0100020003",
    "10", "10010002002800ff", "1001000200" + "0f0e0d0c0b0a090807060504030201", "11", "1103010002", "110601000200",
    "1106010002000028ff", "12", "1201", "1300", "52", "5201", "d2", "d20400", "d20400" + "0102030405060708090a0b", "16",
    "16040000", "17", "17040000", "18", "1802", "180100", "1900", "1b", "1b01", "1d", "1d01", "1e00", "20", "200100",
    "200100020003", "21", "2100", "23", "230400", "2304000200aa", "2304000100aa05",
  ]
}

@Suite("ATT: PDUs")
struct PDUTests {
  @Test("Decoding and encoding are inverses", arguments: PDUVector.all)
  func bothWays(vector: PDUVector) throws {
    let bytes = try #require([UInt8](hex: vector.hex))
    #expect(try PDU(decoding: bytes) == vector.pdu)
    #expect(vector.pdu.encoded == bytes)
  }

  @Test("The vectors cover every known opcode")
  func complete() {
    let known = (0...255).map { Opcode(rawValue: UInt8($0)) }
      .filter { !"\($0)".hasPrefix("opcode") }
    #expect(known.count == 31)
    #expect(Set(known).isSubset(of: PDUVector.all.map(\.pdu.opcode)))
  }

  @Test("Half a length after several values is where the MTU cut them")
  func cutLength() throws {
    let values = [PDU.LengthValue(length: 1, value: [0x64])]
    #expect(try PDU(decoding: [0x21, 1, 0, 0x64, 9]) == .readMultipleVariableResponse(values))
  }

  @Test(
    "An opcode has a role, even an unknown one",
    arguments: [
      (0x0A, .request), (0x0B, .response), (0x01, .response), (0x52, .command),
      (0xD2, .command), (0x1B, .notification), (0x23, .notification), (0x1D, .indication),
      (0x1E, .confirmation), (0xBF, .request), (0x7F, .command), (0xFF, .command), (0x00, .request),
    ] as [(UInt8, Opcode.Role)])
  func roles(opcode: UInt8, role: Opcode.Role) {
    #expect(Opcode(rawValue: opcode).role == role)
  }

  @Test(
    "An error is described by its name, or by its range",
    arguments: [
      (0x01, "Invalid Handle"), (0x0F, "Insufficient Encryption"), (0x12, "Database Out Of Sync"),
      (0x80, "Application Error 0x80"), (0x9F, "Application Error 0x9F"), (0xA2, "Error 0xA2"),
      (0xE0, "Common Profile Error 0xE0"),
      (0xFD, "Client Characteristic Configuration Descriptor Improperly Configured"),
      (0xFF, "Out of Range"),
    ] as [(UInt8, String)])
  func errors(code: UInt8, name: String) {
    #expect(ErrorCode(code).description == name)
  }
}
