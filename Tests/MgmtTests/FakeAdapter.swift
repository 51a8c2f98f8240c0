// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Wire

/// An adapter that accepts and refuses settings as net/bluetooth/mgmt.c does.
struct FakeAdapter {
  var supported: ControllerSettings
  var current: ControllerSettings
  var hasAddress = true
  var name = LocalName("found")
  var keys = [0, 0]
  var capability: UInt8 = 3
  var advertised = false

  private static let toggles: [MgmtOpcode: ControllerSettings] = [
    .setPowered: .powered, .setConnectable: .connectable, .setBondable: .bondable,
    .setFastConnectable: .fastConnectable, .setDiscoverable: .discoverable,
    .setLinkSecurity: .linkSecurity, .setSecureSimplePairing: .secureSimplePairing,
    .setClassic: .classic, .setLowEnergy: .lowEnergy, .setAdvertising: .advertising,
    .setSecureConnections: .secureConnections, .setPrivacy: .privacy,
  ]

  mutating func execute(_ command: MgmtCommand) -> MgmtStatus {
    let isPowered = current.contains(.powered)
    switch command.opcode {
    case .setDefaultSystemConfiguration: break
    case .loadLongTermKeys: keys[0] = Int(command.parameters[0])
    case .loadIdentityResolvingKeys: keys[1] = Int(command.parameters[0])
    case .setIOCapability: capability = command.parameters[0]
    case .setLocalName:
      name = LocalName(
        String(decoding: command.parameters.prefix { $0 != 0 }, as: UTF8.self))
    case .setStaticAddress:
      if isPowered { return .rejected }
      hasAddress = true
    case .removeAdvertising:
      if !advertised { return .invalidParameters }
      advertised = false
    default:
      guard let setting = Self.toggles[command.opcode] else { return .unknownCommand }
      return set(setting, command.parameters[0] == 1, isPowered)
    }
    return .success
  }

  private mutating func set(
    _ setting: ControllerSettings, _ on: Bool, _ isPowered: Bool
  ) -> MgmtStatus {
    if !supported.contains(setting) { return .notSupported }
    let hasClassic = current.contains(.classic)
    switch setting {
    case .powered where on && !hasAddress: return .failed
    case .classic:
      if !current.contains(.lowEnergy) || (!on && isPowered && hasClassic) { return .rejected }
      if on, !hasClassic, isPowered, current.contains(.secureConnections) { return .rejected }
      if !on {
        current.subtract([.discoverable, .secureSimplePairing, .linkSecurity, .fastConnectable])
      }
    case .lowEnergy where !on && !hasClassic: return .rejected
    case .privacy where isPowered: return .rejected
    case .secureConnections:
      if hasClassic, !current.contains(.secureSimplePairing) { return .rejected }
    case .secureSimplePairing where !hasClassic, .linkSecurity where !hasClassic,
      .fastConnectable where !hasClassic:
      return .rejected
    case .discoverable where on && !current.contains(.connectable): return .rejected
    case .connectable where !on: current.remove(.discoverable)
    default: break
    }
    if on { current.insert(setting) } else { current.remove(setting) }
    if setting == .powered, !on { advertised = false }
    return .success
  }
}
