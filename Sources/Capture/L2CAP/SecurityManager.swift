// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Decodes the Security Manager Protocol (Core Specification Vol 3 Part H, 3): the features that are
/// negotiated. Of PDUs with keys, or with values that keys are derived from, only the names are shown.
enum SecurityManager {
  private static let table: PacketTable = [
    0x01: .init("Pairing Request", pairing), 0x02: .init("Pairing Response", pairing), 0x03: "Pairing Confirm",
    0x04: "Pairing Random", 0x05: .init("Pairing Failed", .choice("Reason", reasons)), 0x06: "Encryption Information",
    0x07: "Central Identification", 0x08: "Identity Information",
    0x09: .init(
      "Identity Address Information", .choice("Address Type", ["Public", "Static random"]),
      .address("Address")),
    0x0A: "Signing Information", 0x0B: .init("Security Request", .pairingRequirements),
    0x0C: "Pairing Public Key", 0x0D: "Pairing DHKey Check",
    0x0E: .init("Pairing Keypress Notification", .choice("Type", keypresses)),
  ]

  private static let pairing = PacketField.group([
    .choice("IO Capability", capabilities), .flag("OOB Data"), .pairingRequirements,
    .u8("Maximum Key Size"), .bits("Initiator Keys", keys), .bits("Responder Keys", keys),
  ])

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
    "", "Passkey Entry Failed", "OOB Not Available", "Authentication Requirements", "Confirm Value Failed",
    "Pairing Not Supported", "Encryption Key Size", "Command Not Supported", "Unspecified Reason", "Repeated Attempts",
    "Invalid Parameters", "DHKey Check Failed", "Numeric Comparison Failed", "BR/EDR Pairing In Progress",
    "Cross-transport Key Derivation Not Allowed", "Key Rejected", "Busy",
  ]

  /// Decodes a PDU: a code and its parameters.
  static func decode(_ bytes: [UInt8]) -> DecodedUnit {
    guard let code = bytes.first else {
      return DecodedUnit(layer: .smp, name: "nothing", length: 0, problem: "an SMP PDU without a byte")
    }
    let layout = table[UInt16(code)]
    let name = layout?.name ?? "code \(hexadecimal(code, 2))"
    var unit = DecodedUnit(layer: .smp, name: name, code: UInt16(code), length: bytes.count)
    unit.bytes = bytes
    unit.read(layout?.fields ?? [], from: bytes.dropFirst())
    return unit
  }

  /// The address in an Identity Address Information PDU (3.6.5).
  static func identity(_ bytes: [UInt8]) -> Address? {
    guard bytes.count == 8, bytes[0] == 0x09 else { return nil }
    var reader = ByteReader(bytes.dropFirst(2))
    return try? reader.address()
  }
}
