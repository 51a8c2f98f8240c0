// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The kernel's number of a controller.
public struct ControllerIndex: Hashable, Sendable, Comparable, CustomStringConvertible {
  public let value: UInt16

  public init(_ value: UInt16) { self.value = value }

  /// No controller: for commands about the protocol itself (`MGMT_INDEX_NONE`).
  public static let none = ControllerIndex(0xFFFF)

  /// As in `hci0`.
  public var description: String { self == .none ? "none" : "hci\(value)" }

  public static func < (one: ControllerIndex, other: ControllerIndex) -> Bool {
    one.value < other.value
  }
}

/// What a controller supports, or has switched on: the bits of `MGMT_SETTING_*` (BlueZ
/// doc/mgmt-protocol, Read Controller Information). Bits of newer kernels are kept.
public struct ControllerSettings: OptionSet, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let powered = bit(0)
  public static let connectable = bit(1)
  public static let fastConnectable = bit(2)
  public static let discoverable = bit(3)
  public static let bondable = bit(4)
  /// Link-level authentication of BR/EDR.
  public static let linkSecurity = bit(5)
  public static let secureSimplePairing = bit(6)
  /// BR/EDR.
  public static let classic = bit(7)
  public static let lowEnergy = bit(9)
  /// The kernel's own advertising (Set Advertising), which keeps instances off the air.
  public static let advertising = bit(10)
  public static let secureConnections = bit(11)
  public static let privacy = bit(13)
  public static let staticAddress = bit(15)

  private static func bit(_ number: UInt32) -> ControllerSettings {
    ControllerSettings(rawValue: 1 << number)
  }

  private static let names = [
    "powered", "connectable", "fast-connectable", "discoverable", "bondable", "link-security",
    "ssp", "br/edr", "hs", "le", "advertising", "secure-conn", "debug-keys", "privacy",
    "configuration", "static-addr", "phy-configuration", "wide-band-speech",
  ]

  /// The settings by name, as `btmgmt info` lists them; a bit without a name as `bit 27`.
  public var names: [String] {
    (0..<32).filter { rawValue >> UInt32($0) & 1 == 1 }.map {
      $0 < Self.names.count ? Self.names[$0] : "bit \($0)"
    }
  }

  public var description: String { names.joined(separator: " ") }
}

/// A controller's name and its short form.
public struct LocalName: Hashable, Sendable {
  /// Cut at 248 bytes of UTF-8 when it is sent.
  public let name: String
  /// Cut at 10 bytes of UTF-8 when it is sent. It may be empty.
  public let short: String

  public init(_ name: String, short: String = "") {
    self.name = name
    self.short = short
  }

  init(from reader: inout ByteReader) throws(DecodeError) {
    name = try reader.text(width: 249)
    short = try reader.text(width: 11)
  }

  func write(to writer: inout ByteWriter) {
    writer.text(name, width: 249)
    writer.text(short, width: 11)
  }
}

/// The reply to Read Controller Information (`struct mgmt_rp_read_info`).
public struct ControllerInformation: Hashable, Sendable {
  /// The public address; zero if the controller has none.
  public let address: Address
  /// The version of HCI, as in the Assigned Numbers: 6 is 4.0, 9 is 5.0.
  public let hciVersion: UInt8
  /// The company identifier of the manufacturer (Assigned Numbers, 7).
  public let manufacturer: UInt16
  /// What the controller supports.
  public let supported: ControllerSettings
  /// What is switched on.
  public let current: ControllerSettings
  public let localName: LocalName

  init(from reader: inout ByteReader) throws(DecodeError) {
    address = try reader.address()
    hciVersion = try reader.u8()
    manufacturer = try reader.u16()
    supported = try reader.settings()
    current = try reader.settings()
    _ = try reader.bytes(3)  // Class of Device
    localName = try LocalName(from: &reader)
  }
}

extension ByteReader {
  mutating func settings() throws(DecodeError) -> ControllerSettings {
    ControllerSettings(rawValue: try u32())
  }

  /// A text in a field of `width` bytes, terminated by NUL. Invalid UTF-8 is replaced.
  fileprivate mutating func text(width: Int) throws(DecodeError) -> String {
    String(decoding: try bytes(width).prefix { $0 != 0 }, as: UTF8.self)
  }
}

extension ByteWriter {
  /// A text in a field of `width` bytes, padded with NUL and cut between two characters.
  fileprivate mutating func text(_ text: String, width: Int) {
    let utf8 = text.utf8(atMost: width - 1)
    bytes(utf8)
    bytes(repeatElement(0, count: width - utf8.count))
  }
}

/// An adapter as it is named on a command line: by its number, as in `hci0`, or by its address.
public struct AdapterChoice: Hashable, Sendable, LosslessStringConvertible {
  public let description: String

  public init(_ index: ControllerIndex) { description = "\(index)" }

  /// Reads `hci0` or `00:1A:7D:DA:71:13`.
  public init?(_ description: String) {
    if let address = Address(description) {
      self.description = "\(address)"
    } else if description.hasPrefix("hci"), let index = UInt16(digits: description.dropFirst(3)),
      index != UInt16.max
    {
      self.description = "hci\(index)"
    } else {
      return nil
    }
  }

  /// Whether it selects this adapter.
  public func matches(_ index: ControllerIndex, _ address: Address) -> Bool {
    description == "\(index)" || description == "\(address)"
  }
}
