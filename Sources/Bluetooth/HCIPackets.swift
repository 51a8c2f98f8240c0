// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// A command to the controller (Core Specification Vol 4 Part E, 5.4.1).
public struct HCICommand: Hashable, Sendable {
  /// Group and command: OGF in the upper six bits, OCF in the lower ten.
  public let opcode: UInt16
  public let parameters: [UInt8]

  public init(_ opcode: UInt16, _ parameters: [UInt8] = []) {
    self.opcode = opcode
    self.parameters = parameters
  }

  /// LE Connection Update (7.8.18). As the peripheral it makes the controller ask the central for
  /// these parameters; `connectionUpdated` tells what came of it.
  public static func connectionUpdate(
    _ handle: UInt16, _ wanted: ConnectionParameters
  ) -> HCICommand {
    var writer = ByteWriter()
    writer.u16(handle)
    writer.bytes(wanted.encoded)
    // The length of a connection event, which is left to the controller.
    writer.u32(0)
    return HCICommand(connectionUpdateOpcode, writer.bytes)
  }

  /// The opcode of LE Connection Update, as its Command Status names it.
  public static let connectionUpdateOpcode: UInt16 = 0x2013

  /// The packet, with the indicator that goes before it on the socket (Vol 4 Part A, 2).
  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.u8(0x01)
    writer.u16(opcode)
    writer.u8(UInt8(truncatingIfNeeded: parameters.count))
    writer.bytes(parameters)
    return writer.bytes
  }
}

/// An event of the controller, as far as this room asks for them (Vol 4 Part E, 7.7).
public enum HCIEvent: Hashable, Sendable {
  /// Command Status (7.7.15): a command has begun (0), or failed at once.
  case commandStatus(opcode: UInt16, status: UInt8)
  /// A link is there: LE Connection Complete (7.7.65.1), Enhanced (7.7.65.10) or not, without an error.
  case connected(handle: UInt16, ConnectionParameters)
  /// LE Connection Update Complete (7.7.65.3): the parameters in force now.
  case connectionUpdated(handle: UInt16, status: UInt8, ConnectionParameters)
  /// Any other: code and parameters.
  case other(code: UInt8, [UInt8])

  /// Reads a packet of the socket, its indicator included.
  public init(decoding packet: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(packet)
    guard try reader.u8() == 0x04 else {
      throw DecodeError(offset: 0, .invalid("not an HCI event"))
    }
    let code = try reader.u8()
    let length = Int(try reader.u8())
    let parameters = try reader.bytes(length)
    var fields = ByteReader(parameters)
    switch (code, parameters.first) {
    case (0x0F, _):
      let status = try fields.u8()
      _ = try fields.u8()
      self = .commandStatus(opcode: try fields.u16(), status: status)
    case (0x3E, 0x01) where parameters.dropFirst().first == 0:
      self = try Self.connected(&fields, skipping: 8)
    case (0x3E, 0x0A) where parameters.dropFirst().first == 0,
      (0x3E, 0x29) where parameters.dropFirst().first == 0:
      self = try Self.connected(&fields, skipping: 20)
    case (0x3E, 0x03):
      _ = try fields.u8()
      let status = try fields.u8()
      self = .connectionUpdated(
        handle: try fields.u16(), status: status, try fields.connectionParameters())
    default:
      self = .other(code: code, Array(parameters))
    }
  }

  /// - Parameter addresses: how many bytes lie between the handle and the interval: the role and who is
  ///   at the other end.
  private static func connected(
    _ fields: inout ByteReader, skipping addresses: Int
  ) throws(DecodeError) -> HCIEvent {
    _ = try fields.bytes(2)  // subevent and status
    let handle = try fields.u16()
    _ = try fields.bytes(addresses)
    return .connected(handle: handle, try fields.connectionParameters())
  }
}

extension ByteReader {
  /// The parameters in force on a connection, six bytes: interval, latency, timeout.
  fileprivate mutating func connectionParameters() throws(DecodeError) -> ConnectionParameters {
    ConnectionParameters(interval: try u16(), latency: try u16(), timeout: try u16())
  }
}
