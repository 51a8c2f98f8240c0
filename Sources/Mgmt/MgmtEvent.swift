// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// An event from the kernel: the reply to a command, or an unsolicited event (BlueZ
/// doc/mgmt-protocol, Events).
public enum MgmtEvent: Hashable, Sendable {
  /// A command has completed; `reply` is the data after the status.
  case commandComplete(MgmtOpcode, MgmtStatus, reply: [UInt8])
  /// A command has completed without data, usually because it failed.
  case commandStatus(MgmtOpcode, MgmtStatus)
  /// An adapter was plugged in; its settings are the defaults.
  case indexAdded
  /// An adapter was removed.
  case indexRemoved
  /// An adapter was plugged in that needs configuration, such as an address, before use.
  case unconfiguredIndexAdded
  case newSettings(ControllerSettings)
  /// `store`: whether to keep the key; otherwise there is no bond.
  case newLongTermKey(LongTermKey, store: Bool)
  /// `privateAddress`: the address on the air that belongs to the key's owner.
  case newIdentityResolvingKey(IdentityResolvingKey, privateAddress: Address, store: Bool)
  /// `data`: the advertising data, if this side connected.
  case deviceConnected(DeviceAddress, ConnectionFlags, data: [UInt8])
  case deviceDisconnected(DeviceAddress, DisconnectReason)
  /// Do both sides show this number? With `hint`, the question is only yes or no, without a number.
  case userConfirmRequest(DeviceAddress, hint: Bool, Passkey)
  /// Which number does the other side show?
  case userPasskeyRequest(DeviceAddress)
  /// A pairing started by another socket, or by the phone, failed.
  case authenticationFailed(DeviceAddress, MgmtStatus)
  /// Device Found, or Advertisement Monitor Device Found. `data`: the advertisement, in an active scan
  /// followed by the scan response.
  case deviceFound(DeviceAddress, rssi: Int8?, ConnectionFlags, data: [UInt8])
  /// A scan has begun or ended.
  case discovering(Bool)
  /// A device may connect again; a zero address means all.
  case deviceUnblocked(DeviceAddress)
  /// The number to type on the other side; `entered` is how many digits of it have been typed.
  case passkeyNotify(DeviceAddress, Passkey, entered: UInt8)
  case advertisingRemoved(instance: UInt8)
  /// Any other event. Its bytes may hold keys, so its description does not show them.
  case other(Packet)

  /// Decodes an event. The body must have exactly the length of its layout (`struct mgmt_ev_*`).
  public init(decoding packet: Packet) throws(DecodeError) {
    var reader = ByteReader(packet.body)
    switch packet.code {
    case 0x0001:
      self = try .commandComplete(reader.opcode(), reader.status(), reply: Array(reader.rest()))
    case 0x0002: self = try .commandStatus(reader.opcode(), reader.status())
    case 0x0004: self = .indexAdded
    case 0x0005: self = .indexRemoved
    case 0x0006: self = try .newSettings(reader.settings())
    case 0x000A:
      let store = try reader.u8() != 0
      self = try .newLongTermKey(LongTermKey(from: &reader), store: store)
    case 0x000B:
      self = try .deviceConnected(
        reader.deviceAddress(), reader.connectionFlags(), data: reader.counted())
    case 0x000C:
      let peer = try reader.deviceAddress()
      self = try .deviceDisconnected(peer, DisconnectReason(rawValue: reader.u8()))
    case 0x000F:
      self = try .userConfirmRequest(
        reader.deviceAddress(), hint: reader.u8() != 0, reader.passkey())
    case 0x0010: self = try .userPasskeyRequest(reader.deviceAddress())
    case 0x0011: self = try .authenticationFailed(reader.deviceAddress(), reader.status())
    case 0x0012, 0x002F:
      // The second one names the monitor whose passive scan it belongs to.
      if packet.code == 0x002F { _ = try reader.u16() }
      self = try .deviceFound(
        reader.deviceAddress(), rssi: reader.decibels(), reader.connectionFlags(), data: reader.counted())
    case 0x0013:
      _ = try reader.u8()  // address types
      self = try .discovering(reader.u8() != 0)
    case 0x0015: self = try .deviceUnblocked(reader.deviceAddress())
    case 0x0017:
      self = try .passkeyNotify(reader.deviceAddress(), reader.passkey(), entered: reader.u8())
    case 0x0018:
      let store = try reader.u8() != 0
      let privateAddress = try reader.address()
      self = try .newIdentityResolvingKey(
        IdentityResolvingKey(from: &reader), privateAddress: privateAddress, store: store)
    case 0x001D: self = .unconfiguredIndexAdded
    case 0x0024: self = try .advertisingRemoved(instance: reader.u8())
    default:
      self = .other(packet)
      return
    }
    try reader.end()
  }

  /// The device that the event is about; for a key, its owner's identity.
  public var device: DeviceAddress? {
    switch self {
    case .deviceConnected(let peer, _, _), .deviceDisconnected(let peer, _),
      .userConfirmRequest(let peer, _, _), .userPasskeyRequest(let peer),
      .authenticationFailed(let peer, _), .deviceFound(let peer, _, _, _),
      .passkeyNotify(let peer, _, _), .deviceUnblocked(let peer):
      peer
    case .newLongTermKey(let key, _): key.peer
    case .newIdentityResolvingKey(let key, _, _): key.peer
    case .commandComplete, .commandStatus, .indexAdded, .indexRemoved, .unconfiguredIndexAdded,
      .newSettings, .discovering, .advertisingRemoved, .other:
      nil
    }
  }
}

extension ByteReader {
  fileprivate mutating func opcode() throws(DecodeError) -> MgmtOpcode {
    MgmtOpcode(rawValue: try u16())
  }

  fileprivate mutating func status() throws(DecodeError) -> MgmtStatus {
    MgmtStatus(rawValue: try u8())
  }

  fileprivate mutating func connectionFlags() throws(DecodeError) -> ConnectionFlags {
    ConnectionFlags(rawValue: try u32())
  }

  fileprivate mutating func passkey() throws(DecodeError) -> Passkey { Passkey(value: try u32()) }
}

/// The flags of Device Connected and Device Found (BlueZ doc/mgmt-protocol).
public struct ConnectionFlags: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let notConnectable = ConnectionFlags(rawValue: 1 << 2)
  /// This side made the connection.
  public static let initiated = ConnectionFlags(rawValue: 1 << 3)
}

/// Why a link ended, as coarsely as the kernel reports it (`MGMT_DEV_DISCONN_*`).
public struct DisconnectReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let timeout = DisconnectReason(rawValue: 1)
  public static let localHost = DisconnectReason(rawValue: 2)
  public static let remote = DisconnectReason(rawValue: 3)
  public static let suspended = DisconnectReason(rawValue: 5)

  private static let names = [
    "Unspecified Error", "Connection Timeout", "Connection Terminated By Local Host",
    "Remote User Terminated Connection", "Authentication Failure", "Connection Terminated By Local Host For Suspend",
  ]

  /// The name of the corresponding HCI error (Core Specification Vol 1 Part F, 1.3).
  public var description: String {
    Int(rawValue) < Self.names.count ? Self.names[Int(rawValue)] : "reason \(rawValue)"
  }
}
