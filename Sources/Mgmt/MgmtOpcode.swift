// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Which management command it is (BlueZ doc/mgmt-protocol; numbers as in `MGMT_OP_*`).
public struct MgmtOpcode: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }
  init(_ rawValue: UInt16) { self.rawValue = rawValue }

  public static let readVersion = MgmtOpcode(0x0001)
  public static let readCommands = MgmtOpcode(0x0002)
  public static let readIndexList = MgmtOpcode(0x0003)
  public static let readControllerInformation = MgmtOpcode(0x0004)
  public static let setPowered = MgmtOpcode(0x0005)
  public static let setDiscoverable = MgmtOpcode(0x0006)
  public static let setConnectable = MgmtOpcode(0x0007)
  public static let setFastConnectable = MgmtOpcode(0x0008)
  public static let setBondable = MgmtOpcode(0x0009)
  public static let setLinkSecurity = MgmtOpcode(0x000A)
  public static let setSecureSimplePairing = MgmtOpcode(0x000B)
  public static let setLowEnergy = MgmtOpcode(0x000D)
  public static let setLocalName = MgmtOpcode(0x000F)
  public static let loadLongTermKeys = MgmtOpcode(0x0013)
  public static let disconnect = MgmtOpcode(0x0014)
  public static let getConnections = MgmtOpcode(0x0015)
  public static let setIOCapability = MgmtOpcode(0x0018)
  public static let pairDevice = MgmtOpcode(0x0019)
  public static let cancelPairDevice = MgmtOpcode(0x001A)
  public static let unpairDevice = MgmtOpcode(0x001B)
  public static let userConfirmReply = MgmtOpcode(0x001C)
  public static let userConfirmNegativeReply = MgmtOpcode(0x001D)
  public static let userPasskeyReply = MgmtOpcode(0x001E)
  public static let userPasskeyNegativeReply = MgmtOpcode(0x001F)
  public static let startDiscovery = MgmtOpcode(0x0023)
  public static let stopDiscovery = MgmtOpcode(0x0024)
  public static let blockDevice = MgmtOpcode(0x0026)
  public static let unblockDevice = MgmtOpcode(0x0027)
  public static let setAdvertising = MgmtOpcode(0x0029)
  public static let setClassic = MgmtOpcode(0x002A)
  public static let setStaticAddress = MgmtOpcode(0x002B)
  public static let setSecureConnections = MgmtOpcode(0x002D)
  public static let setPrivacy = MgmtOpcode(0x002F)
  public static let loadIdentityResolvingKeys = MgmtOpcode(0x0030)
  public static let getConnectionInformation = MgmtOpcode(0x0031)
  public static let addDevice = MgmtOpcode(0x0033)
  public static let removeDevice = MgmtOpcode(0x0034)
  public static let loadConnectionParameters = MgmtOpcode(0x0035)
  public static let readAdvertisingFeatures = MgmtOpcode(0x003D)
  public static let addAdvertising = MgmtOpcode(0x003E)
  public static let removeAdvertising = MgmtOpcode(0x003F)
  public static let setAppearance = MgmtOpcode(0x0043)
  public static let setDefaultSystemConfiguration = MgmtOpcode(0x004C)
  public static let addExtendedAdvertisingParameters = MgmtOpcode(0x0054)
  public static let addExtendedAdvertisingData = MgmtOpcode(0x0055)
}

extension MgmtOpcode: CustomStringConvertible {
  /// The command by its name in the protocol; its number where it is none of ours.
  public var description: String {
    Self.names[self] ?? "command 0x" + [UInt8(rawValue >> 8), UInt8(rawValue & 0xFF)].hex
  }

  private static let names: [MgmtOpcode: String] = [
    .readVersion: "Read Version", .readCommands: "Read Commands",
    .readIndexList: "Read Index List", .readControllerInformation: "Read Controller Information",
    .setPowered: "Set Powered", .setDiscoverable: "Set Discoverable",
    .setConnectable: "Set Connectable", .setFastConnectable: "Set Fast Connectable",
    .setBondable: "Set Bondable", .setLinkSecurity: "Set Link Security",
    .setSecureSimplePairing: "Set Secure Simple Pairing", .setLowEnergy: "Set Low Energy",
    .setLocalName: "Set Local Name", .loadLongTermKeys: "Load Long Term Keys",
    .disconnect: "Disconnect", .getConnections: "Get Connections",
    .setIOCapability: "Set IO Capability", .pairDevice: "Pair Device",
    .cancelPairDevice: "Cancel Pair Device", .unpairDevice: "Unpair Device",
    .userConfirmReply: "User Confirm Reply", .userConfirmNegativeReply: "User Confirm Neg Reply",
    .userPasskeyReply: "User Passkey Reply", .userPasskeyNegativeReply: "User Passkey Neg Reply",
    .startDiscovery: "Start Discovery", .stopDiscovery: "Stop Discovery",
    .blockDevice: "Block Device", .unblockDevice: "Unblock Device",
    .setAdvertising: "Set Advertising", .setClassic: "Set BR/EDR",
    .setStaticAddress: "Set Static Address", .setSecureConnections: "Set Secure Connections",
    .setPrivacy: "Set Privacy", .loadIdentityResolvingKeys: "Load Identity Resolving Keys",
    .getConnectionInformation: "Get Connection Information", .addDevice: "Add Device",
    .removeDevice: "Remove Device", .loadConnectionParameters: "Load Connection Parameters",
    .readAdvertisingFeatures: "Read Advertising Features", .addAdvertising: "Add Advertising",
    .removeAdvertising: "Remove Advertising", .setAppearance: "Set Appearance",
    .setDefaultSystemConfiguration: "Set Default System Configuration",
    .addExtendedAdvertisingParameters: "Add Extended Advertising Parameters",
    .addExtendedAdvertisingData: "Add Extended Advertising Data",
  ]
}
