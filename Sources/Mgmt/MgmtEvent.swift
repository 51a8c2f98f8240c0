// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What the kernel tells by itself, or in answer to a command (BlueZ doc/mgmt-protocol, Events).
public enum MgmtEvent: Hashable, Sendable {
  /// A command ended; what it answers stands behind its status.
  case commandComplete(MgmtOpcode, MgmtStatus, reply: [UInt8])
  /// A command ended without an answer, mostly because it failed.
  case commandStatus(MgmtOpcode, MgmtStatus)
  /// The controller reported a hardware error.
  case controllerError(UInt8)
  /// An adapter was plugged in; its settings are the defaults.
  case indexAdded
  /// An adapter is gone.
  case indexRemoved
  /// An adapter was plugged in that needs an address or the like before it can be used.
  case unconfiguredIndexAdded
  case unconfiguredIndexRemoved
  /// The same as Index Added, with the kind of controller and its bus as HCI numbers them.
  case extendedIndexAdded(kind: UInt8, bus: UInt8)
  case extendedIndexRemoved(kind: UInt8, bus: UInt8)
  case newSettings(ControllerSettings)
  case localNameChanged(LocalName)
  /// A key of BR/EDR, which this project has no use for; its bytes are not kept.
  case newLinkKey(DeviceAddress)
  /// `store`: whether it is to be kept (there is no bond where it is not).
  case newLongTermKey(LongTermKey, store: Bool)
  /// `privateAddress`: the address on air that turned out to be the key's owner.
  case newIdentityResolvingKey(IdentityResolvingKey, privateAddress: Address, store: Bool)
  case newSignatureResolvingKey(SignatureResolvingKey, store: Bool)
  /// `data`: what it advertised, where this side connected to it.
  case deviceConnected(DeviceAddress, ConnectionFlags, data: [UInt8])
  case deviceDisconnected(DeviceAddress, DisconnectReason)
  case connectFailed(DeviceAddress, MgmtStatus)
  /// Do both sides show this number? With `hint`: yes or no is all that is asked, no number.
  case userConfirmRequest(DeviceAddress, hint: Bool, Passkey)
  /// Which number does the other side show?
  case userPasskeyRequest(DeviceAddress)
  /// Pairing failed that this socket did not begin.
  case authenticationFailed(DeviceAddress, MgmtStatus)
  case deviceFound(DeviceAddress, rssi: Int8?, ConnectionFlags, data: [UInt8])
  /// `kinds`: the bits of the address types that are looked for.
  case discovering(kinds: UInt8, Bool)
  case deviceBlocked(DeviceAddress)
  case deviceUnblocked(DeviceAddress)
  /// Its keys were removed, by somebody else.
  case deviceUnpaired(DeviceAddress)
  /// The number that the other side has to type; `entered`: how many digits of it are typed.
  case passkeyNotify(DeviceAddress, Passkey, entered: UInt8)
  case deviceAdded(DeviceAddress, action: UInt8)
  case deviceRemoved(DeviceAddress)
  case newConnectionParameters(DeviceAddress, ConnectionParameters, store: Bool)
  case advertisingAdded(instance: UInt8)
  case advertisingRemoved(instance: UInt8)
  /// The bits of the PHYs that are used from now on.
  case phyConfigurationChanged(UInt32)
  /// One that this version does not know.
  case unknown(code: UInt16, [UInt8])
}

/// A Connection Signature Resolving Key (`struct mgmt_csrk_info`).
public struct SignatureResolvingKey: Hashable, Sendable {
  public let peer: DeviceAddress
  public let kind: UInt8
  public let value: Key

  init(from reader: inout ByteReader) throws(DecodeError) {
    peer = try reader.deviceAddress()
    kind = try reader.u8()
    value = try reader.key()
  }
}

/// What Device Connected and Device Found say of a device, as bits (BlueZ doc/mgmt-protocol).
public struct ConnectionFlags: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let confirmName = ConnectionFlags(rawValue: 1 << 0)
  public static let legacyPairing = ConnectionFlags(rawValue: 1 << 1)
  public static let notConnectable = ConnectionFlags(rawValue: 1 << 2)
  /// This side connected to it, not it to this side.
  public static let initiated = ConnectionFlags(rawValue: 1 << 3)
  public static let scanResponse = ConnectionFlags(rawValue: 1 << 5)
}

/// Why a link ended, as coarsely as the kernel tells (`MGMT_DEV_DISCONN_*`).
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

  /// The HCI reason (Core Specification Vol 1 Part F, 1.3) that stands for it, by name.
  public var description: String {
    Int(rawValue) < Self.names.count ? Self.names[Int(rawValue)] : "reason \(rawValue)"
  }
}

extension MgmtEvent {
  /// The device that the event is about, if one; for keys its identity.
  public var device: DeviceAddress? {
    switch self {
    case .newLinkKey(let peer), .deviceConnected(let peer, _, _), .deviceDisconnected(let peer, _),
      .connectFailed(let peer, _), .userConfirmRequest(let peer, _, _),
      .userPasskeyRequest(let peer), .authenticationFailed(let peer, _),
      .deviceFound(let peer, _, _, _), .deviceBlocked(let peer), .deviceUnblocked(let peer),
      .deviceUnpaired(let peer), .passkeyNotify(let peer, _, _), .deviceAdded(let peer, _),
      .deviceRemoved(let peer), .newConnectionParameters(let peer, _, _):
      peer
    case .newLongTermKey(let key, _): key.peer
    case .newIdentityResolvingKey(let key, _, _): key.peer
    case .newSignatureResolvingKey(let key, _): key.peer
    case .commandComplete, .commandStatus, .controllerError, .indexAdded, .indexRemoved,
      .unconfiguredIndexAdded, .unconfiguredIndexRemoved, .extendedIndexAdded,
      .extendedIndexRemoved, .newSettings, .localNameChanged, .discovering, .advertisingAdded,
      .advertisingRemoved, .phyConfigurationChanged, .unknown:
      nil
    }
  }
}
