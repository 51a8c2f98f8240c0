// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

// Commands about the protocol itself and about an adapter's settings. Those that set something
// answer with the settings afterwards, four bytes (`ControllerSettings`).

extension MgmtCommand {
  /// Which version of the protocol the kernel speaks; to `ControllerIndex.none`.
  public static let readVersion = MgmtCommand(.readVersion)

  /// Which commands and events the kernel has; to `ControllerIndex.none`.
  public static let readCommands = MgmtCommand(.readCommands)

  /// Which controllers there are; to `ControllerIndex.none`.
  public static let readIndexList = MgmtCommand(.readIndexList)

  /// The controller's address, settings and name.
  public static let readControllerInformation = MgmtCommand(.readControllerInformation)

  /// Switches the controller on or off. Off ends every connection and removes every advertising.
  public static func setPowered(_ on: Bool) -> MgmtCommand { .init(.setPowered, on) }

  /// Makes it discoverable, for good (`seconds` 0) or for a time.
  public static func setDiscoverable(_ on: Bool, seconds: UInt16 = 0) -> MgmtCommand {
    .init(.setDiscoverable) {
      $0.flag(on)
      $0.u16(on ? seconds : 0)
    }
  }

  /// Allows connections to it.
  public static func setConnectable(_ on: Bool) -> MgmtCommand { .init(.setConnectable, on) }

  /// BR/EDR's faster page scan.
  public static func setFastConnectable(_ on: Bool) -> MgmtCommand {
    .init(.setFastConnectable, on)
  }

  /// Keeps keys after pairing, and tells the other side so.
  public static func setBondable(_ on: Bool) -> MgmtCommand { .init(.setBondable, on) }

  /// BR/EDR's authentication at link level.
  public static func setLinkSecurity(_ on: Bool) -> MgmtCommand { .init(.setLinkSecurity, on) }

  /// BR/EDR's Secure Simple Pairing; rejected while BR/EDR is off.
  public static func setSecureSimplePairing(_ on: Bool) -> MgmtCommand {
    .init(.setSecureSimplePairing, on)
  }

  /// Switches LE on or off; it cannot go off while BR/EDR is.
  public static func setLowEnergy(_ on: Bool) -> MgmtCommand { .init(.setLowEnergy, on) }

  /// Switches BR/EDR on or off: off only while not powered and with LE on (else Rejected).
  public static func setClassic(_ on: Bool) -> MgmtCommand { .init(.setClassic, on) }

  /// Allows Secure Connections; rejected where BR/EDR is on without Secure Simple Pairing.
  public static func setSecureConnections(_ on: Bool) -> MgmtCommand {
    .init(.setSecureConnections, on)
  }

  /// Uses the public (or static) address on air; only while not powered.
  public static let setPrivacyOff = MgmtCommand(.setPrivacy, [UInt8](repeating: 0, count: 17))

  /// Uses resolvable private addresses made with `key`; only while not powered. A phone that was
  /// bonded before did not know the board then: kernel.md (c).
  public static func setPrivacy(_ key: Key) -> MgmtCommand { .init(.setPrivacy, [1] + key.bytes) }

  /// The address of a controller that has none of its own; only while not powered.
  public static func setStaticAddress(_ address: Address) -> MgmtCommand {
    .init(.setStaticAddress) { $0.address(address) }
  }

  /// The kernel's own advertising, without an instance; keeps instances off the air.
  public static func setAdvertising(_ on: Bool) -> MgmtCommand { .init(.setAdvertising, on) }

  /// What the board can show and take while pairing. Answers with nothing.
  public static func setIOCapability(_ capability: IOCapability) -> MgmtCommand {
    .init(.setIOCapability, [capability.rawValue])
  }

  /// The name, cut at 248 bytes, and a short one, cut at 10.
  public static func setLocalName(_ name: LocalName) -> MgmtCommand {
    .init(.setLocalName) { name.write(to: &$0) }
  }

  /// The appearance (Assigned Numbers, 2.6) that the kernel puts where it is asked for.
  public static func setAppearance(_ appearance: UInt16) -> MgmtCommand {
    .init(.setAppearance) { $0.u16(appearance) }
  }

  /// The controller's defaults, each a number and a 16-bit value (BlueZ doc/mgmt-protocol, Read
  /// Default System Configuration); they hold from the next connection on.
  public static func setDefaultSystemConfiguration(
    _ values: [SystemParameter: UInt16]
  ) -> MgmtCommand {
    .init(.setDefaultSystemConfiguration) {
      for (parameter, value) in values.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
        $0.u16(parameter.rawValue)
        $0.u8(2)
        $0.u16(value)
      }
    }
  }
}

extension MgmtCommand {
  /// Looks for devices, with active scanning, for about ten seconds; each is a Device Found event, and
  /// the end is Discovering. Answers with the kinds, one byte. Busy while it runs already.
  public static func startDiscovery(_ kinds: DiscoveryKinds) -> MgmtCommand {
    .init(.startDiscovery, [kinds.rawValue])
  }

  /// Ends it before its time; rejected where it does not run.
  public static func stopDiscovery(_ kinds: DiscoveryKinds) -> MgmtCommand {
    .init(.stopDiscovery, [kinds.rawValue])
  }
}

/// Which devices are looked for: the bits of the address types (BlueZ doc/mgmt-protocol, Start
/// Discovery).
public struct DiscoveryKinds: OptionSet, Hashable, Sendable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let classic = DiscoveryKinds(rawValue: 1)
  /// Devices of LE, with public and with random addresses.
  public static let lowEnergy = DiscoveryKinds(rawValue: 6)
}

/// What a board can show and take while pairing (Core Specification Vol 3 Part H, 2.3.2).
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
  /// In units of 1.25 ms; outside of it the kernel asks a phone for other parameters by itself.
  case minimumConnectionInterval = 0x0017
  /// In units of 1.25 ms.
  case maximumConnectionInterval = 0x0018
  /// In connection events.
  case connectionLatency = 0x0019
  /// In units of 10 ms.
  case supervisionTimeout = 0x001A
}

/// A controller's name and its short form.
public struct LocalName: Hashable, Sendable {
  /// At most 248 bytes of UTF-8.
  public let name: String
  /// At most 10 bytes of UTF-8; it may be empty.
  public let short: String

  public init(_ name: String, short: String = "") {
    self.name = name
    self.short = short
  }

  init(from reader: inout ByteReader) throws(DecodeError) {
    name = try reader.text(width: 249)
    short = try reader.text(width: 11)
  }

  func write(to writer: inout ByteWriter) {
    writer.text(name, width: 249)
    writer.text(short, width: 11)
  }
}
