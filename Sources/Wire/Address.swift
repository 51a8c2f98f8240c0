// SPDX-License-Identifier: GPL-3.0-or-later

/// A Bluetooth device address: 48 bits (Core Specification Vol 2 Part B, 1.2; Vol 6 Part B, 1.3).
public struct Address: Hashable, Sendable {
  /// The address as a number; its most significant byte is written first.
  public let value: UInt64

  /// The address in the lower 48 bits of `value`.
  public init(_ value: UInt64) { self.value = value & 0xFFFF_FFFF_FFFF }

  /// The six bytes as sent over the air, least significant first.
  public var littleEndian: [UInt8] { (0..<6).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
}

extension Address: LosslessStringConvertible, Comparable {
  /// Reads `AA:BB:CC:DD:EE:FF`, in either case.
  public init?(_ description: String) {
    let fields = description.split(separator: ":", omittingEmptySubsequences: false)
    guard fields.count == 6, fields.allSatisfy({ $0.utf8.count == 2 }),
      let bytes = [UInt8](hex: fields.joined()), bytes.count == 6
    else { return nil }
    self.init(bytes.reduce(0) { $0 << 8 | UInt64($1) })
  }

  /// `AA:BB:CC:DD:EE:FF`.
  public var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(17)
    add(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends `AA:BB:CC:DD:EE:FF`.
  public func add(to text: inout [UInt8]) {
    for shift in stride(from: 40, through: 0, by: -8) {
      text.appendHex(value >> UInt64(shift) & 0xFF, digits: 2)
      if shift > 0 { text.append(UInt8(ascii: ":")) }
    }
  }

  public static func < (one: Address, other: Address) -> Bool { one.value < other.value }
}

/// The type of an address, numbered as in the kernel's mgmt protocol and in `sockaddr_l2`.
public enum AddressType: UInt8, Hashable, Sendable, CustomStringConvertible {
  case classic = 0
  case `public` = 1
  case random = 2

  public var description: String { ["classic", "public", "random"][Int(rawValue)] }
}

/// An address with its type, which together identify a device.
public struct DeviceAddress: Hashable, Sendable {
  public let address: Address
  public let type: AddressType

  public init(_ address: Address, _ type: AddressType) {
    self.address = address
    self.type = type
  }

  /// Whether it is a resolvable private address, which changes regularly (Vol 6 Part B, 1.3.2.2).
  public var isResolvable: Bool { type == .random && address.value >> 46 == 0b01 }
}

extension DeviceAddress: LosslessStringConvertible {
  /// Reads `AA:BB:CC:DD:EE:FF`, followed by `/random` or `/public` (without either: public).
  public init?(_ description: String) {
    let parts = description.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, let address = Address(String(first)), parts.count <= 2 else {
      return nil
    }
    switch parts.count == 2 ? parts[1] : "public" {
    case "public": self.init(address, .public)
    case "random": self.init(address, .random)
    default: return nil
    }
  }

  /// `AA:BB:CC:DD:EE:FF`, followed by `/random` for a random address.
  public var description: String { address.description + (type == .random ? "/random" : "") }
}
