// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Decodes the Security Manager Protocol (Core Specification Vol 3 Part H, 3): the features that are
/// negotiated. Of PDUs with keys, or with values that keys are derived from, only the names are shown.
enum SecurityManager {
  private static let names = [
    "", "Pairing Request", "Pairing Response", "Pairing Confirm", "Pairing Random",
    "Pairing Failed", "Encryption Information", "Central Identification", "Identity Information",
    "Identity Address Information", "Signing Information", "Security Request",
    "Pairing Public Key", "Pairing DHKey Check", "Pairing Keypress Notification",
  ]

  private static let capabilities = [
    "DisplayOnly", "DisplayYesNo", "KeyboardOnly", "NoInputNoOutput", "KeyboardDisplay",
  ]

  private static let keypresses = [
    "Passkey entry started", "Passkey digit entered", "Passkey digit erased", "Passkey cleared",
    "Passkey entry completed",
  ]

  /// The keys that are distributed (3.6.1).
  private static let keys = ["EncKey", "IdKey", "SignKey", "LinkKey"]

  /// Why pairing failed (3.5.5).
  private static let reasons = [
    "", "Passkey Entry Failed", "OOB Not Available", "Authentication Requirements",
    "Confirm Value Failed", "Pairing Not Supported", "Encryption Key Size",
    "Command Not Supported", "Unspecified Reason", "Repeated Attempts", "Invalid Parameters",
    "DHKey Check Failed", "Numeric Comparison Failed", "BR/EDR Pairing In Progress",
    "Cross-transport Key Derivation Not Allowed", "Key Rejected", "Busy",
  ]

  /// Decodes a PDU: a code and its parameters.
  static func decode(_ bytes: [UInt8]) -> DecodedUnit {
    guard let code = bytes.first else {
      return DecodedUnit(
        layer: .smp, name: "nothing", length: 0, problem: "an SMP PDU without a byte")
    }
    let name = names.name(of: code) ?? "code \(hexadecimal(code, 2))"
    var unit = DecodedUnit(layer: .smp, name: name, code: UInt16(code), length: bytes.count)
    unit.bytes = bytes
    var reader = ByteReader(bytes.dropFirst())
    do {
      unit.details = try details(code, &reader)
    } catch {
      unit.problem = "\(error)"
    }
    return unit
  }

  /// The address in an Identity Address Information PDU (3.6.5).
  static func identity(_ bytes: [UInt8]) -> Address? {
    guard bytes.count == 8, bytes[0] == 0x09 else { return nil }
    var reader = ByteReader(bytes.dropFirst(2))
    return try? reader.address()
  }

  private static func details(
    _ code: UInt8, _ reader: inout ByteReader
  ) throws(DecodeError) -> [Detail] {
    switch code {
    case 0x01, 0x02:
      return [
        .choice("IO Capability", capabilities, try reader.u8()).at(1..<2),
        .flag("OOB Data", try reader.u8() != 0).at(2..<3), requirements(try reader.u8()).at(3..<4),
        .number("Maximum Key Size", try reader.u8()).at(4..<5),
        .bits("Initiator Keys", keys, try reader.u8()).at(5..<6),
        .bits("Responder Keys", keys, try reader.u8()).at(6..<7),
      ]
    case 0x05: return [.choice("Reason", reasons, try reader.u8()).at(1..<2)]
    case 0x09:
      let type = try reader.u8()
      return [
        .named("Address Type", type == 0 ? "Public" : "Static random", type).at(1..<2),
        .text("Address", try reader.address().description).at(2..<8),
      ]
    case 0x0B: return [requirements(try reader.u8()).at(1..<2)]
    case 0x0E: return [.choice("Type", keypresses, try reader.u8()).at(1..<2)]
    default: return []
    }
  }

  /// AuthReq (3.5.1): two bits about bonding, then flags.
  private static func requirements(_ bits: UInt8) -> Detail {
    let flags = ["MITM", "Secure Connections", "keypress", "CT2"]
    let names = flags.indices.filter { bits >> ($0 + 2) & 1 == 1 }.map { flags[$0] }
    return .flags("Authentication", [bits & 3 == 1 ? "bonding" : "no bonding"] + names, bits)
  }
}
