// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// A command to the controller (Core Specification Vol 4 Part E, 5.4.1).
public struct HCICommand: Hashable, Sendable {
  /// Group and command: OGF in the upper six bits, OCF in the lower ten.
  public let opcode: UInt16
  public let parameters: [UInt8]

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
    return HCICommand(opcode: connectionUpdateOpcode, parameters: writer.bytes)
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

/// An event of the controller, as far as this module asks for them (Vol 4 Part E, 7.7).
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
    let parameters = Array(try reader.bytes(Int(try reader.u8())))
    var fields = ByteReader(parameters.dropFirst(2))
    // Of LE Meta: the subevent and the status.
    switch (code, parameters.first, parameters.dropFirst().first) {
    case (0x0F, let status?, _): self = try .commandStatus(opcode: fields.u16(), status: status)
    case (0x3E, 0x01, 0):
      self = try .connected(handle: fields.u16(), fields.connectionParameters(skipping: 8))
    case (0x3E, 0x0A, 0), (0x3E, 0x29, 0):
      self = try .connected(handle: fields.u16(), fields.connectionParameters(skipping: 20))
    case (0x3E, 0x03, let status):
      self = try .connectionUpdated(
        handle: fields.u16(), status: status ?? 0, fields.connectionParameters())
    default: self = .other(code: code, parameters)
    }
  }
}

extension ByteReader {
  /// The parameters in force on a connection, six bytes: interval, latency, timeout.
  /// - Parameter addresses: how many bytes lie before them: the role and who is at the other end.
  fileprivate mutating func connectionParameters(
    skipping addresses: Int = 0
  ) throws(DecodeError) -> ConnectionParameters {
    try skip(addresses)
    return ConnectionParameters(interval: try u16(), latency: try u16(), timeout: try u16())
  }
}
