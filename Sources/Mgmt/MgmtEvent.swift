// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// An event of the kernel: an answer to a command, or something it reports by itself (BlueZ
/// doc/mgmt-protocol, Events).
public enum MgmtEvent: Hashable, Sendable {
  /// A command has ended; `reply` is what follows the status.
  case commandComplete(MgmtOpcode, MgmtStatus, reply: [UInt8])
  /// A command has ended without a reply, usually because it failed.
  case commandStatus(MgmtOpcode, MgmtStatus)
  /// An adapter was plugged in; its settings are the defaults.
  case indexAdded
  /// An adapter is gone.
  case indexRemoved
  /// An adapter was plugged in that needs configuration, such as an address, before it can be used.
  case unconfiguredIndexAdded
  case newSettings(ControllerSettings)
  /// `store`: whether the key is to be kept. Without that there is no bond.
  case newLongTermKey(LongTermKey, store: Bool)
  /// `privateAddress`: the address on the air that belongs to the key's owner.
  case newIdentityResolvingKey(IdentityResolvingKey, privateAddress: Address, store: Bool)
  /// `data`: the advertising data, if this side connected.
  case deviceConnected(DeviceAddress, ConnectionFlags, data: [UInt8])
  case deviceDisconnected(DeviceAddress, DisconnectReason)
  /// Do both sides show this number? With `hint` a yes or no is enough, and there is no number.
  case userConfirmRequest(DeviceAddress, hint: Bool, Passkey)
  /// Which number does the other side show?
  case userPasskeyRequest(DeviceAddress)
  /// A pairing failed that another socket, or the phone, started.
  case authenticationFailed(DeviceAddress, MgmtStatus)
  case deviceFound(DeviceAddress, rssi: Int8?, ConnectionFlags, data: [UInt8])
  /// A scan has begun or ended.
  case discovering(Bool)
  /// The number to type on the other side; `entered` is how many digits of it have been typed.
  case passkeyNotify(DeviceAddress, Passkey, entered: UInt8)
  case advertisingRemoved(instance: UInt8)
  /// Any other event. Its bytes may hold keys, so its description does not show them.
  case other(Packet)

  /// Decodes an event. The body must have exactly the length of its layout (`struct mgmt_ev_*`).
  public init(decoding packet: Packet) throws(DecodeError) {
    var reader = ByteReader(packet.body)
    // Not `??`: its rethrowing autoclosure loses the typed error (Swift 6.3.1 crashes).
    if let event = try Self.aboutAdapter(packet.code, &reader) {
      self = event
    } else if let event = try Self.aboutDevice(packet.code, &reader) {
      self = event
    } else {
      self = .other(packet)
      return
    }
    try reader.end()
  }

  private static func aboutAdapter(
    _ code: UInt16, _ reader: inout ByteReader
  ) throws(DecodeError) -> MgmtEvent? {
    switch code {
    case 0x0001:
      let opcode = MgmtOpcode(rawValue: try reader.u16())
      let status = MgmtStatus(rawValue: try reader.u8())
      return .commandComplete(opcode, status, reply: Array(reader.rest()))
    case 0x0002:
      let opcode = MgmtOpcode(rawValue: try reader.u16())
      return .commandStatus(opcode, MgmtStatus(rawValue: try reader.u8()))
    case 0x0004: return .indexAdded
    case 0x0005: return .indexRemoved
    case 0x0006: return .newSettings(try reader.settings())
    case 0x0013:
      _ = try reader.u8()  // address types
      return .discovering(try reader.u8() != 0)
    case 0x001D: return .unconfiguredIndexAdded
    case 0x0024: return .advertisingRemoved(instance: try reader.u8())
    default: return nil
    }
  }

  private static func aboutDevice(
    _ code: UInt16, _ reader: inout ByteReader
  ) throws(DecodeError) -> MgmtEvent? {
    switch code {
    case 0x000A:
      let store = try reader.u8() != 0
      return .newLongTermKey(try LongTermKey(from: &reader), store: store)
    case 0x000B:
      let peer = try reader.deviceAddress()
      let flags = ConnectionFlags(rawValue: try reader.u32())
      return .deviceConnected(peer, flags, data: try reader.counted())
    case 0x000C:
      let peer = try reader.deviceAddress()
      return .deviceDisconnected(peer, DisconnectReason(rawValue: try reader.u8()))
    case 0x000F:
      let peer = try reader.deviceAddress()
      let hint = try reader.u8() != 0
      return .userConfirmRequest(peer, hint: hint, Passkey(value: try reader.u32()))
    case 0x0010: return .userPasskeyRequest(try reader.deviceAddress())
    case 0x0011:
      let peer = try reader.deviceAddress()
      return .authenticationFailed(peer, MgmtStatus(rawValue: try reader.u8()))
    case 0x0012:
      let peer = try reader.deviceAddress()
      let rssi = try reader.decibels()
      let flags = ConnectionFlags(rawValue: try reader.u32())
      return .deviceFound(peer, rssi: rssi, flags, data: try reader.counted())
    case 0x0017:
      let peer = try reader.deviceAddress()
      let passkey = Passkey(value: try reader.u32())
      return .passkeyNotify(peer, passkey, entered: try reader.u8())
    case 0x0018:
      let store = try reader.u8() != 0
      let privateAddress = try reader.address()
      let key = try IdentityResolvingKey(from: &reader)
      return .newIdentityResolvingKey(key, privateAddress: privateAddress, store: store)
    default: return nil
    }
  }

  /// The device that the event is about; for a key, its owner's identity.
  public var device: DeviceAddress? {
    switch self {
    case .deviceConnected(let peer, _, _), .deviceDisconnected(let peer, _),
      .userConfirmRequest(let peer, _, _), .userPasskeyRequest(let peer),
      .authenticationFailed(let peer, _), .deviceFound(let peer, _, _, _),
      .passkeyNotify(let peer, _, _):
      peer
    case .newLongTermKey(let key, _): key.peer
    case .newIdentityResolvingKey(let key, _, _): key.peer
    case .commandComplete, .commandStatus, .indexAdded, .indexRemoved, .unconfiguredIndexAdded,
      .newSettings, .discovering, .advertisingRemoved, .other:
      nil
    }
  }
}

/// The flags of Device Connected and Device Found (BlueZ doc/mgmt-protocol).
public struct ConnectionFlags: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let notConnectable = ConnectionFlags(rawValue: 1 << 2)
  /// This side made the connection.
  public static let initiated = ConnectionFlags(rawValue: 1 << 3)
}

/// Why a link ended, as coarsely as the kernel says it (`MGMT_DEV_DISCONN_*`).
public struct DisconnectReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let unspecified = DisconnectReason(rawValue: 0)
  public static let timeout = DisconnectReason(rawValue: 1)
  public static let localHost = DisconnectReason(rawValue: 2)
  public static let remote = DisconnectReason(rawValue: 3)
  public static let authenticationFailure = DisconnectReason(rawValue: 4)
  public static let suspended = DisconnectReason(rawValue: 5)

  private static let names = [
    "Unspecified Error", "Connection Timeout", "Connection Terminated By Local Host",
    "Remote User Terminated Connection", "Authentication Failure",
    "Connection Terminated By Local Host For Suspend",
  ]

  /// The name of the corresponding HCI error (Core Specification Vol 1 Part F, 1.3).
  public var description: String {
    Int(rawValue) < Self.names.count ? Self.names[Int(rawValue)] : "reason \(rawValue)"
  }
}
