// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A packet of the kernel's Bluetooth management protocol, in either direction: a header of six bytes
/// and a body (BlueZ doc/mgmt-protocol; `struct mgmt_hdr` in the kernel). All numbers are little endian.
///
///     0        2        4        6
///     +--------+--------+--------+---------------
///     |  code  | index  | length | body ...
///     +--------+--------+--------+---------------
public struct Packet: Hashable, Sendable {
  /// The opcode of a command, or the code of an event.
  public let code: UInt16
  /// The controller.
  public let index: ControllerIndex
  public let body: [UInt8]

  /// A packet with these parts. `body` is truncated to 65,535 bytes, because its length has 16 bits.
  public init(code: UInt16, index: ControllerIndex, body: [UInt8] = []) {
    self.code = code
    self.index = index
    self.body = Array(body.prefix(Int(UInt16.max)))
  }

  /// Decodes a packet as it was read from the management socket.
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
  /// Code, controller and length. The body may hold keys and is never shown.
  public var description: String {
    "0x\(String(code, digits: 4, radix: 16)) \(index) \(body.count) bytes"
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["code": code, "index": index]) }
}

extension ByteReader {
  /// An address and its type (`struct mgmt_addr_info`).
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

  /// A 16-bit count followed by that many bytes.
  mutating func counted() throws(DecodeError) -> [UInt8] { Array(try bytes(Int(try u16()))) }
}

extension DeviceAddress {
  /// The address and its type as they are in a packet (`struct mgmt_addr_info`).
  var encoded: [UInt8] { address.littleEndian + [type.rawValue] }
}

extension ByteWriter {
  mutating func deviceAddress(_ device: DeviceAddress) { bytes(device.encoded) }

  mutating func flag(_ on: Bool) { u8(on ? 1 : 0) }
}
