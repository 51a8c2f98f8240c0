// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Wire

/// A controller's details over raw HCI that mgmt does not report. Both commands only read.
public struct ControllerVersion: Hashable, Sendable {
  /// The firmware's version in the manufacturer's own numbering (Core Specification Vol 4 Part E,
  /// 7.4.1).
  public var hciRevision: UInt16
  public var lmpSubversion: UInt16
  /// The version of the link layer, as in the Assigned Numbers.
  public var lmpVersion: UInt8
  /// The LE features (Vol 6 Part B, 4.6); nil without CAP_NET_RAW.
  public var features: UInt64?

  /// Reads the version of a powered adapter; nil if it does not respond within a second.
  @LoopActor public static func read(adapter: UInt16) async -> ControllerVersion? {
    guard let socket = try? RawHCISocket(adapter, completions: true) else { return nil }
    defer { socket.close() }
    guard var fields = await response(to: .readLocalVersion, on: socket),
      (try? fields.skip(1)) != nil, let revision = try? fields.u16(), let lmp = try? fields.u8(),
      (try? fields.skip(2)) != nil, let subversion = try? fields.u16()
    else { return nil }
    var features = await response(to: .readLocalLEFeatures, on: socket)
    return ControllerVersion(
      hciRevision: revision, lmpSubversion: subversion, lmpVersion: lmp, features: try? features?.u64())
  }

  /// The return parameters after the status; nil if there are none, or the command failed.
  @LoopActor private static func response(
    to command: HCICommand, on socket: RawHCISocket
  ) async -> ByteReader? {
    let responses = Mailbox<[UInt8]?>()
    socket.onEvent = { event in
      // Command Complete (7.7.14): number of allowed commands, opcode, return parameters.
      guard case .other(0x0E, let parameters) = event else { return }
      var reader = ByteReader(parameters.dropFirst())
      if (try? reader.u16()) == command.opcode { responses.post(Array(reader.rest())) }
    }
    guard socket.send(command) else { return nil }
    let timer = Loop.shared.schedule(after: .seconds(1)) { responses.post(nil) }
    defer { Loop.shared.cancel(timer) }
    guard let bytes = await responses.next() ?? nil, bytes.first == 0 else { return nil }
    return ByteReader(bytes[1...])
  }
}
