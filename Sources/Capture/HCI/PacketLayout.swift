// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A packet of a kind that has a number: its name, and the fields at its beginning that are shown.
struct PacketLayout: Sendable, ExpressibleByStringLiteral {
  let name: String
  let fields: [PacketField]
  /// The return parameters in a command's Command Complete event.
  let results: [PacketField]

  /// - Parameter results: the return parameters after the status.
  init(_ name: String, _ fields: PacketField..., returns results: [PacketField] = []) {
    self.name = name
    self.fields = fields.flatMap(\.single)
    self.results = [.status] + results.flatMap(\.single)
  }

  init(stringLiteral name: String) { self.init(name) }
}

/// Layouts by number.
typealias PacketTable = [UInt16: PacketLayout]

/// A field of a packet, with its label. Numbers are little endian.
enum PacketField: Hashable, Sendable {
  /// A controller error code; after a failure the other fields mean nothing and are not shown.
  case status
  /// A connection handle: 12 bits in two bytes.
  case handle
  case u8(String)
  case u16(String)
  /// A number of so many bytes, shown in hexadecimal, with two digits for each by default.
  case hex(String, Int, digits: Int? = nil)
  /// One byte: zero is no, everything else yes.
  case flag(String)
  /// One byte: the number of the following items. If it is zero, the packet ends there.
  case count(String)
  /// A number of so many bytes, divided by a power of ten or the like, with a unit, and the one that means “not known”.
  case measure(
    String, width: Int, isSigned: Bool = false, per: Double = 1, unit: String, absent: Int64? = nil)
  /// A number in units of this many milliseconds.
  case milliseconds(String, Double, width: Int = 2)
  /// One byte that numbers these names from 0; an empty name is a reserved number.
  case choice(String, [String])
  /// One byte whose bits have these names, the lowest first.
  case bits(String, [String])
  /// The type of the address in the `typedAddress` fields that follow.
  case addressType(String)
  case address(String)
  /// An address whose type is in an `addressType` field before it.
  case typedAddress(String)
  /// The address of an advertiser, after a byte with its type.
  case advertiser(String)
  /// A byte with the length, then advertising data.
  case advertisingData(String)
  /// Text up to a zero byte or the end.
  case text(String)
  /// L2CAP channel identifiers, two bytes each, up to the end.
  case channels(String)
  /// Two bytes: 0 is accepted, 1 rejected.
  case acceptance(String)
  /// The opcode of a command.
  case command
  /// A byte with the number of items, then the fields of each.
  case several(String, key: String, [PacketField])
  /// Fields that occur together.
  case group([PacketField])
  /// Bytes that are not shown.
  case skipped(Int)
  /// All that is left, if anything is.
  case data
  /// AuthReq of the Security Manager (Vol 3 Part H, 3.5.1): two bits about bonding, then flags.
  case pairingRequirements

  static func dBm(_ label: String) -> PacketField {
    .measure(label, width: 1, isSigned: true, unit: "dBm")
  }
  static let reason = choice("Reason", ControllerError.names)
  static let advertisingHandle = u8("Advertising Handle")
  static let role = choice("Role", ["Central", "Peripheral"])
  static let encryption = choice("Encryption", ["Off", "On", "On with AES-CCM"])
  static let ownAddressType = choice(
    "Own Address Type", ["Public", "Random", "Resolvable or public", "Resolvable or random"])
  static let advertisingType = choice(
    "Type",
    [
      "Connectable undirected", "Connectable directed, high duty cycle", "Scannable undirected",
      "Non connectable undirected", "Connectable directed, low duty cycle",
    ])
  static let peer = group([.addressType("Peer Address Type"), .typedAddress("Peer Address")])
  /// An entry of the filter accept list or the resolving list.
  static let listedDevice = group([.addressType("Address Type"), .address("Address")])
  /// The parameters of a connection.
  static let connection = group([
    .milliseconds("Interval", 1.25), .u16("Latency"), .milliseconds("Supervision Timeout", 10),
  ])
  /// The parameters that are requested for a connection.
  static let connectionRequest = group([
    .milliseconds("Minimum Interval", 1.25), .milliseconds("Maximum Interval", 1.25),
    .u16("Latency"), .milliseconds("Supervision Timeout", 10),
  ])
  /// The parameters of LE Enhanced Connection Complete.
  static let enhancedConnection = group([
    .status, .handle, .role, .peer, .address("Local RPA"), .typedAddress("Peer RPA"), .connection,
    .hex("Clock Accuracy", 1),
  ])
  /// The reports of an event about advertising, each with these fields.
  static func reports(_ fields: PacketField...) -> PacketField {
    .several("Report", key: "reports", fields)
  }
  /// The data lengths of a link.
  static let sentLength = group([.u16("TX Octets"), .u16("TX Time")])
  static let receivedLength = group([.u16("RX Octets"), .u16("RX Time")])
  /// A part of the data of an extended advertising set.
  static let advertisingFragment = group([
    .advertisingHandle, .hex("Operation", 1), .hex("Fragment Preference", 1),
    .advertisingData("Data"),
  ])
  /// A PHY by its number.
  static func phy(_ label: String) -> PacketField { .choice(label, [""] + phyNames) }
  /// PHYs as bits.
  static func phys(_ label: String) -> PacketField { .bits(label, phyNames) }
  private static let addressTypes = ["Public", "Random", "Public identity, resolved", "Random identity, resolved"]
  private static let pairingFlags = ["MITM", "Secure Connections", "keypress", "CT2"]
  private static let phyNames = ["LE 1M", "LE 2M", "LE Coded"]

  /// The field, or those of a group.
  var single: [PacketField] {
    if case .group(let fields) = self { fields.flatMap(\.single) } else { [self] }
  }
}

extension DecodedUnit {
  /// Adds the fields at the beginning of `bytes`. If the packet ends early, it adds the complete
  /// fields, and the problem says what is missing.
  ///
  /// - Returns: what follows the fields; none after a field that ends the packet.
  @discardableResult
  mutating func read(_ fields: [PacketField], from bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var reader = ByteReader(bytes)
    do {
      try fields.read(&reader, into: &details, at: bytes.startIndex)
      return reader.rest()
    } catch {
      problem = "\(error)"
      return []
    }
  }
}

extension [PacketField] {
  /// Reads fields, up to one that ends the packet: behind that, nothing is left.
  ///
  /// - Parameter beginning: where the reader's bytes begin in the unit; nil: the details have no places, as those of one
  ///   of several items, or of an attribute's value.
  func read(_ reader: inout ByteReader, into details: inout [Detail], at beginning: Int? = nil) throws(DecodeError) {
    var addressType: UInt8 = 0
    func add(_ detail: Detail, from start: Int, to end: Int) {
      details.append(detail.at(beginning.map { $0 + start..<$0 + end }))
    }
    for field in self {
      if case .several(let label, let key, let items) = field {
        for _ in 0..<(try reader.u8()) {
          let start = reader.offset
          var below: [Detail] = []
          try items.read(&reader, into: &below)
          add(.several(label, key: key, below), from: start, to: reader.offset)
        }
        continue
      }
      let start = reader.offset
      guard let detail = try field.read(&reader, &addressType) else { continue }
      add(detail, from: start, to: reader.offset)
      switch (field, detail.value) {
      case (.status, .named(_, 1..., _)), (.count, .number(0)): _ = reader.rest()
      default: continue
      }
      return
    }
  }
}

extension PacketField {
  /// Nil for what is not shown.
  fileprivate func read(_ reader: inout ByteReader, _ addressType: inout UInt8) throws(DecodeError) -> Detail? {
    switch self {
    case .status: return .choice("Status", ControllerError.names, try reader.u8())
    case .handle: return .number("Handle", try reader.u16() & 0x0FFF)
    case .u8(let label), .count(let label): return .number(label, try reader.u8())
    case .u16(let label): return .number(label, try reader.u16())
    case .hex(let label, let width, let digits):
      return Detail(label, .named(nil, try reader.number(width), digits: digits ?? 2 * width))
    case .flag(let label): return .flag(label, try reader.u8() != 0)
    case .measure(let label, let width, let isSigned, let divisor, let unit, let absent):
      let number = Int64(truncatingIfNeeded: try reader.number(width))
      let unused = Int64.bitWidth - 8 * width
      let value = isSigned ? (number << unused) >> unused : number
      if value == absent { return .text(label, "not known") }
      // Division by a power of ten is exact where multiplication is not: 2150 / 100 is 21.5.
      return .measure(label, Double(value) / divisor, unit)
    case .milliseconds(let label, let unit, let width):
      return .measure(label, Double(try reader.number(width)) * unit, "ms")
    case .choice(let label, let names): return .choice(label, names, try reader.u8())
    case .bits(let label, let names): return .bits(label, names, try reader.u8())
    case .addressType(let label):
      addressType = try reader.u8()
      return .choice(label, Self.addressTypes, addressType)
    case .address(let label): return .text(label, try reader.address().description)
    case .typedAddress(let label):
      return .text(label, try reader.address().text(type: addressType))
    case .advertiser(let label):
      let type = try reader.u8() & 1
      return .text(label, try reader.address().text(type: type))
    case .advertisingData(let label):
      let length = Int(try reader.u8())
      // The legacy commands always have 31 bytes of data, of which so many count.
      return AdvertisingSummary.detail(label, try reader.bytes(min(length, reader.remaining)))
    case .text(let label): return .text(label, reader.text())
    case .channels(let label):
      var channels: [String] = []
      while reader.remaining >= 2 { channels.append(hexadecimal(try reader.u16(), 4)) }
      return Detail(label, .list(channels))
    case .acceptance(let label):
      let result = try reader.u16()
      guard result < 2 else { return .number(label, result) }
      return .choice(label, ["Accepted", "Rejected"], UInt8(result))
    case .command:
      let opcode = try reader.u16()
      return .named("Command", CommandTable.name(of: opcode), opcode)
    case .several, .group: return nil  // their fields are read one by one
    case .skipped(let count):
      try reader.skip(count)
      return nil
    case .data: return reader.isAtEnd ? nil : .data(reader.rest())
    case .pairingRequirements:
      let bits = try reader.u8()
      let names = Self.pairingFlags.enumerated().filter { bits >> ($0.offset + 2) & 1 == 1 }.map(\.element)
      return .flags("Authentication", [bits & 3 == 1 ? "bonding" : "no bonding"] + names, bits)
    }
  }
}

extension ByteReader {
  /// A number of up to eight bytes, little endian.
  mutating func number(_ width: Int) throws(DecodeError) -> UInt64 {
    try bytes(width).reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Text up to a zero byte or the end.
  mutating func text() -> String { String(cutUTF8: rest().prefix { $0 != 0 }) }

  /// The next byte of a header that may be cut short; zero if it is missing.
  mutating func u8OrZero() -> UInt8 { (try? u8()) ?? 0 }

  /// The next two bytes of a header that may be cut short, little endian; missing bytes are zero.
  mutating func u16OrZero() -> UInt16 { (try? u16()) ?? UInt16(u8OrZero()) }
}

extension Address {
  /// The address; for a random one (type 1) with its kind (Vol 6 Part B, 1.3.2).
  func text(type: UInt8) -> String {
    guard type == 1 else { return description }
    let kinds = ["non-resolvable", "resolvable", "random", "static"]
    return "\(self) (\(kinds[Int(value >> 46)]))"
  }
}
