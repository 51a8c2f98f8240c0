// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// The number of a management command (BlueZ doc/mgmt-protocol; `MGMT_OP_*` in the kernel).
public struct MgmtOpcode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  public let rawValue: UInt16
  public init(rawValue: UInt16) { self.rawValue = rawValue }
  private init(_ rawValue: UInt16) { self.rawValue = rawValue }

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
  public static let unpairDevice = MgmtOpcode(0x001B)
  public static let userConfirmReply = MgmtOpcode(0x001C)
  public static let userConfirmNegativeReply = MgmtOpcode(0x001D)
  public static let userPasskeyReply = MgmtOpcode(0x001E)
  public static let userPasskeyNegativeReply = MgmtOpcode(0x001F)
  public static let startDiscovery = MgmtOpcode(0x0023)
  public static let stopDiscovery = MgmtOpcode(0x0024)
  public static let setAdvertising = MgmtOpcode(0x0029)
  public static let setClassic = MgmtOpcode(0x002A)
  public static let setStaticAddress = MgmtOpcode(0x002B)
  public static let setSecureConnections = MgmtOpcode(0x002D)
  public static let setPrivacy = MgmtOpcode(0x002F)
  public static let loadIdentityResolvingKeys = MgmtOpcode(0x0030)
  public static let getConnectionInformation = MgmtOpcode(0x0031)
  public static let loadConnectionParameters = MgmtOpcode(0x0035)
  public static let readUnconfiguredIndexList = MgmtOpcode(0x0036)
  public static let readControllerConfiguration = MgmtOpcode(0x0037)
  public static let setPublicAddress = MgmtOpcode(0x0039)
  public static let readAdvertisingFeatures = MgmtOpcode(0x003D)
  public static let addAdvertising = MgmtOpcode(0x003E)
  public static let removeAdvertising = MgmtOpcode(0x003F)
  public static let setDefaultSystemConfiguration = MgmtOpcode(0x004C)
  public static let addAdvertisementMonitor = MgmtOpcode(0x0052)
  public static let removeAdvertisementMonitor = MgmtOpcode(0x0053)
  public static let addExtendedAdvertisingParameters = MgmtOpcode(0x0054)
  public static let addExtendedAdvertisingData = MgmtOpcode(0x0055)

  /// The command's name in the protocol, or its number if it is not listed here.
  public var description: String {
    MgmtNames.command(rawValue) ?? "command 0x" + String(rawValue, digits: 4, radix: 16)
  }
}

/// A command to the kernel: an opcode and its encoded parameters.
///
/// The functions below create the commands, and define the layout of each (`struct mgmt_cp_*`).
public struct MgmtCommand: Hashable, Sendable {
  /// The command's number.
  public let opcode: MgmtOpcode
  /// The encoded parameters.
  public let parameters: [UInt8]

  /// A command with parameters that are already encoded.
  public init(_ opcode: MgmtOpcode, _ parameters: [UInt8] = []) {
    self.opcode = opcode
    self.parameters = parameters
  }

  /// A command whose parameters are written by `write`.
  init(_ opcode: MgmtOpcode, write: (inout ByteWriter) -> Void) {
    var writer = ByteWriter()
    write(&writer)
    self.init(opcode, writer.bytes)
  }

  /// A command whose only parameter is a flag.
  init(_ opcode: MgmtOpcode, _ on: Bool) { self.init(opcode, [on ? 1 : 0]) }

  /// A command about a device: its address, and what follows it.
  init(_ opcode: MgmtOpcode, _ peer: DeviceAddress, _ more: [UInt8] = []) {
    self.init(opcode, peer.encoded + more)
  }

  /// The packet for controller `index`.
  public func packet(index: ControllerIndex) -> Packet {
    Packet(code: opcode.rawValue, index: index, body: parameters)
  }

  /// The packet's length in bytes.
  var packetLength: Int { 6 + parameters.count }

  /// How long to wait for the reply.
  ///
  /// Pair Device waits for two people and the phone: a phone that never answered took 32 s, and each
  /// step of SMP may take 30 s (Vol 3 Part H, 3.4). Powering on may load firmware. Everything else
  /// needs at most a few HCI commands of 2 s each.
  public var timeout: Duration {
    switch opcode {
    case .pairDevice: .seconds(120)
    case .setPowered: .seconds(30)
    // Only informational: nobody should wait long for it.
    case .getConnectionInformation: .seconds(2)
    default: .seconds(10)
    }
  }
}

extension MgmtCommand: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The command's name, with the value if that is a single byte. Other parameters may be keys and
  /// are never shown.
  public var description: String {
    parameters.count == 1 ? "\(opcode) \(parameters[0])" : "\(opcode)"
  }
  public var debugDescription: String { description }
  public var customMirror: Mirror { Mirror(self, children: ["opcode": opcode]) }
}

// MARK: - The protocol, and an adapter's settings

// Commands that set something reply with the settings that result (`ControllerSettings`).
extension MgmtCommand {
  /// Reads the commands and events that the kernel supports. Send it to `ControllerIndex.none`.
  public static let readCommands = MgmtCommand(.readCommands)

  /// Lists the controllers. Send it to `ControllerIndex.none`.
  public static let readIndexList = MgmtCommand(.readIndexList)

  /// Lists the controllers that need configuration. Send it to `ControllerIndex.none`.
  public static let readUnconfiguredIndexList = MgmtCommand(.readUnconfiguredIndexList)

  /// Reads what such a controller needs.
  public static let readControllerConfiguration = MgmtCommand(.readControllerConfiguration)

  /// Reads the controller's address, settings and name.
  public static let readControllerInformation = MgmtCommand(.readControllerInformation)

  /// Powers the controller on or off. Powering off ends every connection and removes all advertising
  /// instances.
  public static func setPowered(_ on: Bool) -> Self { .init(.setPowered, on) }

  /// Makes the controller discoverable, without a time limit.
  public static func setDiscoverable(_ on: Bool) -> Self {
    .init(.setDiscoverable) {
      $0.flag(on)
      $0.u16(0)  // timeout: none
    }
  }

  /// Makes the controller connectable.
  public static func setConnectable(_ on: Bool) -> Self { .init(.setConnectable, on) }

  /// Sets the faster page scan of BR/EDR.
  public static func setFastConnectable(_ on: Bool) -> Self { .init(.setFastConnectable, on) }

  /// Requests bonding when pairing, and keeps the keys.
  public static func setBondable(_ on: Bool) -> Self { .init(.setBondable, on) }

  /// Sets link-level authentication of BR/EDR.
  public static func setLinkSecurity(_ on: Bool) -> Self { .init(.setLinkSecurity, on) }

  /// Sets Secure Simple Pairing of BR/EDR. Rejected while BR/EDR is off.
  public static func setSecureSimplePairing(_ on: Bool) -> Self {
    .init(.setSecureSimplePairing, on)
  }

  /// Switches LE on or off. Rejected if neither LE nor BR/EDR would be on.
  public static func setLowEnergy(_ on: Bool) -> Self { .init(.setLowEnergy, on) }

  /// Switches BR/EDR on or off. Switching it off is rejected while powered or with LE off.
  public static func setClassic(_ on: Bool) -> Self { .init(.setClassic, on) }

  /// Allows Secure Connections. Rejected while BR/EDR is on without Secure Simple Pairing.
  public static func setSecureConnections(_ on: Bool) -> Self { .init(.setSecureConnections, on) }

  /// Advertises with the public or static address and not with a private one, which a phone that is
  /// already bonded would not recognise (docs/kernel.md, “Privacy”). Rejected while powered.
  public static let setPrivacyOff = MgmtCommand(.setPrivacy, [UInt8](repeating: 0, count: 17))

  /// Connects from private addresses, which `key` resolves, and gives the key to those that pair.
  /// Rejected while powered.
  public static func setPrivacy(_ key: SecretKey) -> Self { .init(.setPrivacy, [1] + key.bytes) }

  /// Sets the controller's public address, if its driver can; Not Supported otherwise. Rejected while
  /// powered. The kernel then removes the index and adds it again, configured.
  public static func setPublicAddress(_ address: Address) -> Self {
    .init(.setPublicAddress) { $0.address(address) }
  }

  /// Sets a static random address, which is used instead of a public one while BR/EDR is off; zero: none. Rejected
  /// while powered.
  public static func setStaticAddress(_ address: Address) -> Self {
    .init(.setStaticAddress) { $0.address(address) }
  }

  /// Sets the kernel's own advertising, which keeps instances off the air.
  public static func setAdvertising(_ on: Bool) -> Self { .init(.setAdvertising, on) }

  /// Sets what the board can display and input while pairing. The reply is empty.
  public static func setIOCapability(_ capability: IOCapability) -> Self {
    .init(.setIOCapability, [capability.rawValue])
  }

  /// Sets the name and its short form.
  public static func setLocalName(_ name: LocalName) -> Self {
    .init(.setLocalName) { name.write(to: &$0) }
  }

  /// Sets defaults of the controller (BlueZ doc/mgmt-protocol, Read Default System Configuration).
  /// They apply from the next connection on.
  public static func setDefaultSystemConfiguration(_ values: [SystemParameter: UInt16]) -> Self {
    .init(.setDefaultSystemConfiguration) {
      for (parameter, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        $0.u16(parameter.rawValue)
        $0.u8(2)  // the value's length
        $0.u16(value)
      }
    }
  }

  /// Starts an active scan for LE devices with public and random addresses. Each is a Device Found;
  /// the scan ends after about ten seconds with Discovering. Busy if one is running.
  public static let startDiscovery = MgmtCommand(.startDiscovery, [lowEnergy])

  /// Ends the scan. Rejected if none is running.
  public static let stopDiscovery = MgmtCommand(.stopDiscovery, [lowEnergy])

  /// The address types of a scan, as bits: LE public and LE random.
  private static let lowEnergy: UInt8 = 1 << 1 | 1 << 2

  // MARK: Passive scanning

  /// Scans passively, without a time limit, until the monitor is removed: each advertisement is an
  /// Advertisement Monitor Device Found, or on older kernels a Device Found. It contains only the advertisement
  /// itself, because a passive scan requests no scan response.
  ///
  /// The patterns matter only to a controller that compares them itself; otherwise every advertisement
  /// is reported (docs/kernel.md, “As the central”). For kernel 5.10 and newer. The reply is the
  /// monitor's number.
  public static func addAdvertisementMonitor(_ patterns: [AdvertisingStructure]) -> Self {
    .init(.addAdvertisementMonitor) {
      $0.u8(UInt8(clamping: patterns.count))
      for pattern in patterns {
        let value = pattern.value.prefix(31)
        $0.u8(pattern.kind.rawValue)
        $0.u8(0)  // the pattern's offset in the structure
        $0.u8(UInt8(value.count))
        $0.bytes(value)
        $0.bytes(repeatElement(0, count: 31 - value.count))
      }
    }
  }

  /// Ends the scans of all monitors.
  public static let removeAdvertisementMonitors = MgmtCommand(
    .removeAdvertisementMonitor, [0, 0])
}

/// What a board can display and input while pairing (Core Specification Vol 3 Part H, 2.3.2).
public enum IOCapability: UInt8, Hashable, Sendable, CaseIterable {
  case displayOnly = 0
  case displayYesNo = 1
  case keyboardOnly = 2
  case noInputNoOutput = 3
  case keyboardDisplay = 4
}

/// A 16-bit default of the controller (BlueZ doc/mgmt-protocol, Read Default System Configuration).
public enum SystemParameter: UInt16, Hashable, Sendable {
  /// In units of 0.625 ms.
  case minimumAdvertisingInterval = 0x000A
  /// In units of 0.625 ms.
  case maximumAdvertisingInterval = 0x000B
  /// In units of 1.25 ms. On a link with an interval outside the range, the kernel itself requests other parameters
  /// (docs/kernel.md, “Connection parameters”).
  case minimumConnectionInterval = 0x0017
  /// In units of 1.25 ms.
  case maximumConnectionInterval = 0x0018
}

// MARK: - Advertising

// An instance outlives the process that added it.
extension MgmtCommand {
  /// Reads the existing advertising instances.
  public static let readAdvertisingFeatures = MgmtCommand(.readAdvertisingFeatures)

  /// Adds an advertising instance, or replaces the one with this number.
  ///
  /// Legacy advertising has room for 31 bytes of each kind of data, minus the kernel's additions for `flags`. Longer
  /// data is cut to the 255 bytes that the fields can hold.
  public static func addAdvertising(
    instance: UInt8, flags: AdvertisingFlags, data: [UInt8], scanResponse: [UInt8] = []
  ) -> Self {
    .init(.addAdvertising) {
      $0.u8(instance)
      $0.u32(flags.rawValue)
      $0.u16(0)  // duration: the kernel's default, which matters only with several instances
      $0.u16(0)  // timeout: none
      $0.advertisement(data, scanResponse)
    }
  }

  /// Removes an advertising instance; 0 removes all.
  public static func removeAdvertising(instance: UInt8) -> Self {
    .init(.removeAdvertising, [instance])
  }

  /// The first half of an instance with an interval of our own; it goes on the air when its data
  /// follows. For kernel 5.11 and newer.
  ///
  /// - Parameter interval: in units of 0.625 ms.
  public static func addExtendedAdvertisingParameters(
    instance: UInt8, flags: AdvertisingFlags, interval: ClosedRange<UInt32>
  ) -> Self {
    .init(.addExtendedAdvertisingParameters) {
      $0.u8(instance)
      $0.u32(flags.union(.intervals).rawValue)
      $0.u16(0)  // duration
      $0.u16(0)  // timeout
      $0.u32(interval.lowerBound)
      $0.u32(interval.upperBound)
      $0.u8(0x7F)  // transmit power: no preference
    }
  }

  /// The second half: the data.
  public static func addExtendedAdvertisingData(instance: UInt8, data: [UInt8], scanResponse: [UInt8] = []) -> Self {
    .init(.addExtendedAdvertisingData) {
      $0.u8(instance)
      $0.advertisement(data, scanResponse)
    }
  }
}

extension ByteWriter {
  /// Both lengths, then both kinds of data.
  fileprivate mutating func advertisement(_ data: [UInt8], _ scanResponse: [UInt8]) {
    let data = data.prefix(255)
    let scanResponse = scanResponse.prefix(255)
    u8(UInt8(data.count))
    u8(UInt8(scanResponse.count))
    bytes(data)
    bytes(scanResponse)
  }
}

/// How an instance advertises (`MGMT_ADV_FLAG_*`).
public struct AdvertisingFlags: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  /// Connectable, whatever the adapter's setting is.
  public static let connectable = AdvertisingFlags(rawValue: 1 << 0)
  /// General discoverable: the kernel adds the Flags structure, three bytes.
  public static let discoverable = AdvertisingFlags(rawValue: 1 << 1)
  /// The kernel adds the transmit power, three bytes.
  public static let txPower = AdvertisingFlags(rawValue: 1 << 4)
  /// Use the intervals; only in Add Extended Advertising Parameters.
  public static let intervals = AdvertisingFlags(rawValue: 1 << 14)
}

// MARK: - Connections, pairing and keys

// Commands about a device reply with its address, seven bytes. Pair Device replies with the identity
// address, which may differ from the one in the command.
extension MgmtCommand {
  /// Replaces the kernel's list of Long Term Keys.
  public static func loadLongTermKeys(_ keys: [LongTermKey]) -> Self {
    load(.loadLongTermKeys, keys.map(\.entry))
  }

  /// Replaces the kernel's list of Identity Resolving Keys.
  public static func loadIdentityResolvingKeys(_ keys: [IdentityResolvingKey]) -> Self {
    load(.loadIdentityResolvingKeys, keys.map(\.entry))
  }

  /// Replaces the kernel's list of connection parameters by device. The central connects with them; on the peripheral
  /// they have no effect (docs/kernel.md, “Connection parameters”).
  public static func loadConnectionParameters(_ parameters: [DeviceAddress: ConnectionParameters]) -> Self {
    let entries = parameters.sorted { $0.key.address < $1.key.address }
    return load(.loadConnectionParameters, entries.map { $0.key.encoded + $0.value.encoded })
  }

  /// Pairs with a device; as the peripheral, by an SMP Security Request on the live link. The reply arrives when
  /// pairing has ended: Already Paired if a key is loaded, and no reply without a link (docs/kernel.md, “Pair
  /// Device”).
  public static func pairDevice(_ peer: DeviceAddress, _ capability: IOCapability) -> Self {
    .init(.pairDevice, peer, [capability.rawValue])
  }

  /// Removes a device's keys from the kernel, and ends its link if `disconnect` is set.
  public static func unpairDevice(_ peer: DeviceAddress, disconnect: Bool) -> Self {
    .init(.unpairDevice, peer, [disconnect ? 1 : 0])
  }

  /// Ends the link at once.
  public static func disconnect(_ peer: DeviceAddress) -> Self { .init(.disconnect, peer) }

  /// Lists the connected devices.
  public static let getConnections = MgmtCommand(.getConnections)

  /// Reads a link's signal strength and transmit power.
  public static func getConnectionInformation(_ peer: DeviceAddress) -> Self {
    .init(.getConnectionInformation, peer)
  }

  /// Answers a User Confirm Request with yes.
  public static func userConfirmReply(_ peer: DeviceAddress) -> Self {
    .init(.userConfirmReply, peer)
  }

  /// Answers a User Confirm Request with no.
  public static func userConfirmNegativeReply(_ peer: DeviceAddress) -> Self {
    .init(.userConfirmNegativeReply, peer)
  }

  /// Answers a User Passkey Request with the six digits that the phone shows.
  public static func userPasskeyReply(_ peer: DeviceAddress, _ passkey: Passkey) -> Self {
    .init(.userPasskeyReply) {
      $0.deviceAddress(peer)
      $0.u32(passkey.value)
    }
  }

  /// Declines a User Passkey Request, which ends the pairing.
  public static func userPasskeyNegativeReply(_ peer: DeviceAddress) -> Self {
    .init(.userPasskeyNegativeReply, peer)
  }

  /// A count and its entries, as many as fit the packet's 16-bit length.
  private static func load(_ opcode: MgmtOpcode, _ entries: [[UInt8]]) -> Self {
    let capacity = (Int(UInt16.max) - 2) / max(entries.first?.count ?? 1, 1)
    let kept = entries.prefix(capacity)
    return .init(opcode) {
      $0.u16(UInt16(kept.count))
      for entry in kept { $0.bytes(entry) }
    }
  }
}

/// The six decimal digits of Passkey Entry and Numeric Comparison.
public struct Passkey: Hashable, Sendable, LosslessStringConvertible {
  /// 0 to 999,999 if the kernel keeps to the specification (Vol 3 Part H, 2.3.5.3).
  public let value: UInt32

  public init(value: UInt32) { self.value = value }

  /// Reads six digits as a person types them; spaces and hyphens between them are ignored.
  public init?(_ description: String) {
    let digits = description.unicodeScalars.filter { $0 != " " && $0 != "-" }
    guard digits.count == 6, digits.allSatisfy({ ("0"..."9").contains($0) }),
      let value = UInt32(String(String.UnicodeScalarView(digits)))
    else { return nil }
    self.value = value
  }

  /// Six digits, with leading zeros.
  public var description: String { String(value, digits: 6) }
}
