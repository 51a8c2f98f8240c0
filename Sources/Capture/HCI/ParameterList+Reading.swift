// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

extension ParameterList {
  /// Reads the fields that `bytes` begin with. A packet that ends early ends the list: what is there is
  /// shown, and the error says where it is missing.
  func read(_ bytes: ArraySlice<UInt8>) -> (details: [Detail], error: DecodeError?) {
    var reader = ByteReader(bytes)
    var details: [Detail] = []
    var addressType: UInt8?
    do {
      for field in fields {
        let detail = try field.read(&reader, addressType: &addressType)
        details.append(detail)
        // A refusal has nothing behind it that means something.
        if field.kind == .status, case .named(_, let status, _) = detail.value, status != 0 {
          break
        }
      }
    } catch {
      return (details, error)
    }
    return (details, nil)
  }
}

extension Unit {
  /// Says what the fields in `bytes` are, as far as they are there; nothing where no layout is known.
  mutating func take(_ fields: ParameterList?, from bytes: ArraySlice<UInt8>) {
    guard let fields else { return }
    let (read, error) = fields.read(bytes)
    details += read
    if let error { problem = "\(error)" }
  }
}

extension ParameterList.Field {
  fileprivate func read(
    _ reader: inout ByteReader, addressType: inout UInt8?
  ) throws(DecodeError) -> Detail {
    switch kind {
    case .status, .reason:
      let code = try reader.u8()
      return .named(label, ControllerError(rawValue: code).name, code)
    case .handle: return .number(label, try reader.u16() & 0x0FFF)
    case .role: return choice(["Central", "Peripheral"], try reader.u8())
    case .encryption: return choice(["Off", "On", "On with AES-CCM"], try reader.u8())
    case .u8: return .number(label, try reader.u8())
    case .u16: return .number(label, try reader.u16())
    case .hex8: return .named(label, nil, try reader.u8())
    case .hex16: return .named(label, nil, try reader.u16())
    case .hex24: return .named(label, nil, try u24(&reader))
    case .hex32: return .named(label, nil, try reader.u32())
    case .hex64: return .named(label, nil, try reader.u64())
    case .bool: return Detail(label, .flag(try reader.u8() != 0))
    case .dbm: return Detail(label, .measure(Double(try reader.i8()), "dBm"))
    case .ms125: return milliseconds(Double(try reader.u16()) * 1.25)
    case .ms0625: return milliseconds(Double(try reader.u16()) * 0.625)
    case .ms10: return milliseconds(Double(try reader.u16()) * 10)
    case .slots24: return milliseconds(Double(try u24(&reader)) * 0.625)
    case .addr:
      let address = try reader.address()
      return .text(
        label, DeviceName.text(address, type: label.hasPrefix("Peer") ? addressType : nil))
    case .addrtype:
      let type = try reader.u8()
      addressType = type
      return choice(
        ["Public", "Random", "Public identity, resolved", "Random identity, resolved"], type)
    case .ownaddr:
      return choice(
        ["Public", "Random", "Resolvable or public", "Resolvable or random"], try reader.u8())
    case .advtype:
      return choice(
        [
          "Connectable undirected", "Connectable directed, high duty cycle",
          "Scannable undirected", "Non connectable undirected",
          "Connectable directed, low duty cycle",
        ], try reader.u8())
    case .phy: return choice(["", "LE 1M", "LE 2M", "LE Coded"], try reader.u8())
    case .phys:
      let bits = try reader.u8()
      let names = ["LE 1M", "LE 2M", "LE Coded"]
      return .flags(label, names.indices.filter { bits >> $0 & 1 == 1 }.map { names[$0] }, bits)
    case .ad:
      let length = Int(try reader.u8())
      // On the HCI of the legacy commands, data is always filled up to 31 bytes.
      return AdvertisingSummary.detail(label, try reader.bytes(min(length, reader.remaining)))
    case .text:
      let text = reader.rest().prefix { $0 != 0 }
      return .text(label, String(cutUTF8: text))
    }
  }

  private func choice(_ names: [String], _ value: UInt8) -> Detail {
    let name = value < names.count ? names[Int(value)] : ""
    return .named(label, name.isEmpty ? nil : name, value)
  }

  private func u24(_ reader: inout ByteReader) throws(DecodeError) -> UInt32 {
    let low = UInt32(try reader.u16())
    return low | UInt32(try reader.u8()) << 16
  }

  private func milliseconds(_ value: Double) -> Detail { Detail(label, .measure(value, "ms")) }
}

/// How the address of a device is written.
enum DeviceName {
  /// The address, and behind a random one what kind of random it is (Vol 6 Part B, 1.3.2).
  static func text(_ address: Address, type: UInt8?) -> String {
    guard let type, type == 1 else { return address.description }
    let kind =
      switch address.value >> 46 {
      case 0b11: "static"
      case 0b01: "resolvable"
      case 0b00: "non-resolvable"
      default: "random"
      }
    return "\(address) (\(kind))"
  }
}
