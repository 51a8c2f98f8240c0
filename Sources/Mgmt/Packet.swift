// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// One packet of the kernel's Bluetooth management protocol, either way: a header of six bytes and
/// a body (kernel `include/net/bluetooth/mgmt.h`, `struct mgmt_hdr`; BlueZ doc/mgmt-protocol).
///
///     0        2        4        6
///     +--------+--------+--------+---------------
///     |  code  | index  | length | body ...         everything little endian
///     +--------+--------+--------+---------------
public struct Packet: Hashable, Sendable {
  /// The opcode of a command, or the code of an event.
  public let code: UInt16
  /// Which controller it is about: the N of hciN.
  public let index: ControllerIndex
  /// What follows the header.
  public let body: [UInt8]

  /// A packet of these parts; `body` holds at most 65,535 bytes, as its length is 16 bits wide.
  public init(code: UInt16, index: ControllerIndex, body: [UInt8] = []) {
    self.code = code
    self.index = index
    self.body = Array(body.prefix(Int(UInt16.max)))
  }

  /// Reads a packet as the management socket delivers it, one a read.
  public init(decoding bytes: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(bytes)
    code = try reader.u16()
    index = ControllerIndex(try reader.u16())
    body = Array(try reader.bytes(Int(try reader.u16())))
    try reader.end()
  }

  /// The packet as it is written to the management socket.
  public var encoded: [UInt8] {
    var writer = ByteWriter(capacity: 6 + body.count)
    writer.u16(code)
    writer.u16(index.value)
    writer.u16(UInt16(body.count))
    writer.bytes(body)
    return writer.bytes
  }
}

extension Packet: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// Code, controller and length; never the body, which may hold keys.
  public var description: String {
    let hex = [UInt8(code >> 8), UInt8(code & 0xFF)].hex
    return "0x\(hex) \(index) \(body.count) bytes"
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["code": code, "index": index]) }
}

/// The kernel's number of a controller.
public struct ControllerIndex: Hashable, Sendable, Comparable, CustomStringConvertible {
  public let value: UInt16

  public init(_ value: UInt16) { self.value = value }

  /// No controller: for commands about the protocol itself (`MGMT_INDEX_NONE`).
  public static let none = ControllerIndex(0xFFFF)

  /// `hci0`; `none` where it is no controller.
  public var description: String { self == .none ? "none" : "hci\(value)" }

  public static func < (one: ControllerIndex, other: ControllerIndex) -> Bool {
    one.value < other.value
  }
}

extension ByteReader {
  /// An address with the byte behind it that names its kind (`struct mgmt_addr_info`).
  mutating func deviceAddress() throws(DecodeError) -> DeviceAddress {
    let address = try address()
    return DeviceAddress(address, try addressType())
  }

  private mutating func addressType() throws(DecodeError) -> AddressType {
    let start = offset
    let raw = try u8()
    guard let type = AddressType(rawValue: raw) else {
      throw DecodeError(offset: start, .invalid("address type \(raw)"))
    }
    return type
  }

  /// A byte that is 0 or 1.
  mutating func flag(_ name: String) throws(DecodeError) -> Bool {
    let start = offset
    let raw = try u8()
    guard raw <= 1 else { throw DecodeError(offset: start, .invalid("\(name) \(raw)")) }
    return raw == 1
  }

  /// Bytes behind a 16-bit count of them.
  mutating func counted() throws(DecodeError) -> [UInt8] { Array(try bytes(Int(try u16()))) }

  /// A text in a field of `width` bytes that NUL ends; what is not UTF-8 is replaced.
  mutating func text(width: Int) throws(DecodeError) -> String {
    String(decoding: try bytes(width).prefix { $0 != 0 }, as: UTF8.self)
  }
}

extension ByteWriter {
  mutating func deviceAddress(_ device: DeviceAddress) {
    address(device.address)
    u8(device.type.rawValue)
  }

  mutating func flag(_ on: Bool) { u8(on ? 1 : 0) }

  /// A text in a field of `width` bytes, NUL behind it: cut between two characters where it is long.
  mutating func text(_ text: String, width: Int) {
    let utf8 = text.utf8(atMost: width - 1)
    bytes(utf8)
    bytes(repeatElement(0, count: width - utf8.count))
  }
}

extension String {
  /// As much of the text as fits into `limit` bytes of UTF-8 without cutting a character in half;
  /// it ends before the first NUL, which the kernel's fixed fields cannot hold.
  func utf8(atMost limit: Int) -> [UInt8] {
    var fitting: [UInt8] = []
    for scalar in unicodeScalars where scalar != "\0" {
      let bytes = Array(String(scalar).utf8)
      guard fitting.count + bytes.count <= limit else { break }
      fitting += bytes
    }
    return fitting
  }
}
