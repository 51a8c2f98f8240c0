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

  /// Why pairing failed (3.5.5).
  private static let reasons = [
    "", "Passkey Entry Failed", "OOB Not Available", "Authentication Requirements",
    "Confirm Value Failed", "Pairing Not Supported", "Encryption Key Size",
    "Command Not Supported", "Unspecified Reason", "Repeated Attempts", "Invalid Parameters",
    "DHKey Check Failed", "Numeric Comparison Failed",
    "BR/EDR Pairing In Progress", "Cross-transport Key Derivation Not Allowed", "Key Rejected",
    "Busy",
  ]

  /// Decodes a PDU: a code and its parameters.
  static func decode(_ bytes: [UInt8]) -> DecodedUnit {
    guard let code = bytes.first else {
      var unit = DecodedUnit(.smp, "nothing", length: 0)
      unit.problem = "an SMP PDU without a byte"
      return unit
    }
    let name = names.name(of: code)
    var unit = DecodedUnit(
      .smp, name ?? "code \(hexadecimal(code, 2))", code: UInt16(code), length: bytes.count)
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
      let capability = try reader.u8()
      let outOfBand = try reader.u8()
      return [
        .choice("IO Capability", capabilities, capability),
        Detail("OOB Data", .flag(outOfBand != 0)),
        requirements(try reader.u8()),
        .number("Maximum Key Size", try reader.u8()),
        distribution("Initiator Keys", try reader.u8()),
        distribution("Responder Keys", try reader.u8()),
      ]
    case 0x05:
      return [.choice("Reason", reasons, try reader.u8())]
    case 0x09:
      let type = try reader.u8()
      return [
        .named("Address Type", type == 0 ? "Public" : "Static random", type),
        .text("Address", try reader.address().description),
      ]
    case 0x0B: return [requirements(try reader.u8())]
    case 0x0E:
      return [.choice("Type", keypresses, try reader.u8())]
    default: return []
    }
  }

  /// AuthReq (3.5.1).
  private static func requirements(_ bits: UInt8) -> Detail {
    var names = [bits & 3 == 1 ? "bonding" : "no bonding"]
    if bits & 0x04 != 0 { names.append("MITM") }
    if bits & 0x08 != 0 { names.append("Secure Connections") }
    if bits & 0x10 != 0 { names.append("keypress") }
    if bits & 0x20 != 0 { names.append("CT2") }
    return .flags("Authentication", names, bits)
  }

  /// The keys that are distributed (3.6.1).
  private static func distribution(_ label: String, _ bits: UInt8) -> Detail {
    .bits(label, ["EncKey", "IdKey", "SignKey", "LinkKey"], bits)
  }
}
