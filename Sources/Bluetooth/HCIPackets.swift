// SPDX-License-Identifier: GPL-3.0-or-later
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
    for field in [
      handle, wanted.minimumInterval, wanted.maximumInterval, wanted.latency, wanted.timeout, 0, 0,
    ] { writer.u16(field) }
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

/// What is asked for in LE Connection Update (Vol 4 Part E, 7.8.18).
public struct ConnectionParameters: Hashable, Sendable {
  /// The shortest interval, in units of 1.25 ms (6 to 3200).
  public let minimumInterval: UInt16
  /// The longest interval, in units of 1.25 ms.
  public let maximumInterval: UInt16
  /// How many events in a row the peripheral may sleep through (0 to 499).
  public let latency: UInt16
  /// After so much silence the link is lost, in units of 10 ms (10 to 3200).
  public let timeout: UInt16

  public init(minimumInterval: UInt16, maximumInterval: UInt16, latency: UInt16, timeout: UInt16) {
    self.minimumInterval = minimumInterval
    self.maximumInterval = maximumInterval
    self.latency = latency
    self.timeout = timeout
  }
}

extension ConnectionParameters: CustomStringConvertible {
  public var description: String {
    "an interval of \(Double(minimumInterval) * 1.25) to \(Double(maximumInterval) * 1.25) ms, "
      + "latency \(latency), lost after \(Int(timeout) * 10) ms"
  }
}

/// An event of the controller, as far as this room asks for them (Vol 4 Part E, 7.7).
public enum HCIEvent: Hashable, Sendable {
  /// Command Status (7.7.15): a command has begun (0), or failed at once.
  case commandStatus(opcode: UInt16, status: UInt8)
  /// A link is there: LE Connection Complete (7.7.65.1), Enhanced (7.7.65.10) or not, without an error.
  /// Units as in `ConnectionParameters`.
  case connected(handle: UInt16, interval: UInt16, latency: UInt16, timeout: UInt16)
  /// LE Connection Update Complete (7.7.65.3): what holds now. Units as in `ConnectionParameters`.
  case connectionUpdated(
    handle: UInt16, status: UInt8, interval: UInt16, latency: UInt16, timeout: UInt16)
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
        handle: try fields.u16(), status: status, interval: try fields.u16(),
        latency: try fields.u16(), timeout: try fields.u16())
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
    return .connected(
      handle: handle, interval: try fields.u16(), latency: try fields.u16(),
      timeout: try fields.u16())
  }
}
