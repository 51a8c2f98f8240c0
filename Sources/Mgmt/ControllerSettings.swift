// SPDX-License-Identifier: GPL-3.0-or-later

/// What a controller can do, or does: the bits of `MGMT_SETTING_*` (BlueZ doc/mgmt-protocol, Read
/// Controller Information). Bits of newer kernels are kept.
public struct ControllerSettings: OptionSet, Hashable, Sendable {
  public let rawValue: UInt32
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let powered = bit(0)
  public static let connectable = bit(1)
  public static let fastConnectable = bit(2)
  public static let discoverable = bit(3)
  public static let bondable = bit(4)
  /// Authentication at link level, BR/EDR's old kind.
  public static let linkSecurity = bit(5)
  public static let secureSimplePairing = bit(6)
  /// BR/EDR.
  public static let classic = bit(7)
  public static let highSpeed = bit(8)
  public static let lowEnergy = bit(9)
  /// Advertising switched on by Set Advertising; no instance of Add Advertising is on air with it.
  public static let advertising = bit(10)
  public static let secureConnections = bit(11)
  public static let debugKeys = bit(12)
  public static let privacy = bit(13)
  public static let configuration = bit(14)
  public static let staticAddress = bit(15)
  public static let phyConfiguration = bit(16)
  public static let widebandSpeech = bit(17)

  private static func bit(_ number: UInt32) -> ControllerSettings {
    ControllerSettings(rawValue: 1 << number)
  }

  private static let names = [
    "powered", "connectable", "fast-connectable", "discoverable", "bondable", "link-security",
    "ssp", "br/edr", "hs", "le", "advertising", "secure-conn", "debug-keys", "privacy",
    "configuration", "static-addr", "phy-configuration", "wide-band-speech",
  ]
}

extension ControllerSettings: CustomStringConvertible {
  /// The settings by name, as `btmgmt info` lists them; a bit without a name as `bit 27`.
  public var names: [String] {
    (0..<32).filter { rawValue >> UInt32($0) & 1 == 1 }.map {
      $0 < Self.names.count ? Self.names[$0] : "bit \($0)"
    }
  }

  public var description: String { names.joined(separator: " ") }
}
