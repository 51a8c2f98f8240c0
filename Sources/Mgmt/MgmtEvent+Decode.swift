// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

extension MgmtEvent {
  /// Reads an event. Its body must be exactly as long as its layout (`struct mgmt_ev_*` of the
  /// kernel); only codes that are not known here are kept as bytes.
  public init(decoding packet: Packet) throws(DecodeError) {
    var reader = ByteReader(packet.body)
    // Not chained by `??`: its rethrowing autoclosure loses a typed error (Swift 6.3.1 crashes).
    if let event = try Self.about(adapter: packet.code, &reader) {
      self = event
    } else if let event = try Self.about(pairing: packet.code, &reader) {
      self = event
    } else if let event = try Self.about(device: packet.code, &reader) {
      self = event
    } else {
      self = .unknown(code: packet.code, Array(reader.rest()))
    }
    try reader.end()
  }

  private static func about(
    adapter code: UInt16, _ reader: inout ByteReader
  ) throws(DecodeError) -> MgmtEvent? {
    switch code {
    case 0x0001:
      let opcode = MgmtOpcode(rawValue: try reader.u16())
      let status = MgmtStatus(rawValue: try reader.u8())
      return .commandComplete(opcode, status, reply: Array(reader.rest()))
    case 0x0002:
      let opcode = MgmtOpcode(rawValue: try reader.u16())
      return .commandStatus(opcode, MgmtStatus(rawValue: try reader.u8()))
    case 0x0003: return .controllerError(try reader.u8())
    case 0x0004: return .indexAdded
    case 0x0005: return .indexRemoved
    case 0x0006: return .newSettings(try reader.settings())
    case 0x0008: return .localNameChanged(try LocalName(from: &reader))
    case 0x001D: return .unconfiguredIndexAdded
    case 0x001E: return .unconfiguredIndexRemoved
    case 0x0020: return .extendedIndexAdded(kind: try reader.u8(), bus: try reader.u8())
    case 0x0021: return .extendedIndexRemoved(kind: try reader.u8(), bus: try reader.u8())
    case 0x0023: return .advertisingAdded(instance: try reader.u8())
    case 0x0024: return .advertisingRemoved(instance: try reader.u8())
    case 0x0026: return .phyConfigurationChanged(try reader.u32())
    default: return nil
    }
  }

  private static func about(
    pairing code: UInt16, _ reader: inout ByteReader
  ) throws(DecodeError) -> MgmtEvent? {
    switch code {
    case 0x0009:
      _ = try reader.u8()  // store hint
      let peer = try reader.deviceAddress()
      _ = try reader.bytes(18)  // kind, key, PIN length
      return .newLinkKey(peer)
    case 0x000A:
      let store = try reader.u8() != 0
      return .newLongTermKey(try LongTermKey(from: &reader), store: store)
    case 0x000F:
      let peer = try reader.deviceAddress()
      let hint = try reader.u8() != 0
      return .userConfirmRequest(peer, hint: hint, Passkey(value: try reader.u32()))
    case 0x0010: return .userPasskeyRequest(try reader.deviceAddress())
    case 0x0011:
      let peer = try reader.deviceAddress()
      return .authenticationFailed(peer, MgmtStatus(rawValue: try reader.u8()))
    case 0x0016: return .deviceUnpaired(try reader.deviceAddress())
    case 0x0017:
      let peer = try reader.deviceAddress()
      let passkey = Passkey(value: try reader.u32())
      return .passkeyNotify(peer, passkey, entered: try reader.u8())
    case 0x0018:
      let store = try reader.u8() != 0
      let privateAddress = try reader.address()
      let key = try IdentityResolvingKey(from: &reader)
      return .newIdentityResolvingKey(key, privateAddress: privateAddress, store: store)
    case 0x0019:
      let store = try reader.u8() != 0
      return .newSignatureResolvingKey(try SignatureResolvingKey(from: &reader), store: store)
    default: return nil
    }
  }

  private static func about(
    device code: UInt16, _ reader: inout ByteReader
  ) throws(DecodeError) -> MgmtEvent? {
    switch code {
    case 0x000B:
      let peer = try reader.deviceAddress()
      let flags = ConnectionFlags(rawValue: try reader.u32())
      return .deviceConnected(peer, flags, data: try reader.counted())
    case 0x000C:
      let peer = try reader.deviceAddress()
      return .deviceDisconnected(peer, DisconnectReason(rawValue: try reader.u8()))
    case 0x000D:
      let peer = try reader.deviceAddress()
      return .connectFailed(peer, MgmtStatus(rawValue: try reader.u8()))
    case 0x0012:
      let peer = try reader.deviceAddress()
      let rssi = try reader.decibels()
      let flags = ConnectionFlags(rawValue: try reader.u32())
      return .deviceFound(peer, rssi: rssi, flags, data: try reader.counted())
    case 0x0013: return .discovering(kinds: try reader.u8(), try reader.u8() != 0)
    case 0x0014: return .deviceBlocked(try reader.deviceAddress())
    case 0x0015: return .deviceUnblocked(try reader.deviceAddress())
    case 0x001A: return .deviceAdded(try reader.deviceAddress(), action: try reader.u8())
    case 0x001B: return .deviceRemoved(try reader.deviceAddress())
    case 0x001C:
      // The kernel's structure has the address first; BlueZ's text names the store hint first.
      let peer = try reader.deviceAddress()
      let store = try reader.u8() != 0
      let parameters = try ConnectionParameters(from: &reader)
      return .newConnectionParameters(peer, parameters, store: store)
    default: return nil
    }
  }
}
