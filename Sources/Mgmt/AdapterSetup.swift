// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Setting an adapter up, for phones or as a phone: the commands, in an order that the kernel accepts (docs/kernel.md,
/// “Set-up order”; the reasons are from net/bluetooth/mgmt.c).
///
/// - Privacy, a static address and BR/EDR off are rejected while powered.
/// - BR/EDR off is rejected while LE is off.
/// - Secure Connections is rejected while BR/EDR is on without Secure Simple Pairing, so it comes after
///   BR/EDR off.
/// - Keys must be loaded before the first connection, so they come before power.
/// - A left-over advertising instance is removed first. After a reset by a hardware error, the controller no longer
///   knows the kernel's instance, and powering on would fail.
extension ControllerInformation {
  /// Which end of the links an adapter is.
  public enum Role: Hashable, Sendable {
    /// The peripheral, which phones connect to from its public address.
    case accessory
    /// The central, which connects from private addresses that this key resolves.
    case phone(SecretKey)
  }

  /// The commands that set this adapter up, in order. Advertising is not among them.
  ///
  /// - Parameters:
  ///   - name: the name that phones show.
  ///   - bonds: the devices that are bonded to the adapter.
  ///   - staticAddress: the static random address to use; nil: the public one.
  ///   - interval: the connection intervals that the kernel accepts.
  public func setUpSteps(
    name: String, role: Role = .accessory, capability: IOCapability, bonds: [Bond] = [],
    staticAddress: Address? = nil, interval: ConnectionIntervalRange = .any
  ) -> [MgmtClient.Step] {
    var steps: [MgmtClient.Step] = []
    func must(_ command: MgmtCommand) { steps.append(.init(command)) }
    func may(_ command: MgmtCommand) { steps.append(.init(command, isEssential: false)) }

    may(.removeAdvertising(instance: 0))
    must(.setPowered(false))
    must(.setLowEnergy(true))
    if supported.contains(.classic) { may(.setClassic(false)) }
    if current.contains(.advertising) { may(.setAdvertising(false)) }
    if supported.contains(.secureConnections) { may(.setSecureConnections(true)) }
    must(.setBondable(true))
    switch role {
    case .accessory: if supported.contains(.privacy) { may(.setPrivacyOff) }
    case .phone(let key): must(.setPrivacy(key))
    }
    if let staticAddress {
      must(.setStaticAddress(staticAddress))
    } else if supported.contains(.staticAddress) {
      // With BR/EDR off, a left-over one would be used instead of the public one.
      may(.setStaticAddress(Address(0)))
    }
    must(.setIOCapability(capability))
    must(.setLocalName(LocalName(name, short: name)))
    for command in MgmtCommand.loadKeys(of: bonds) { must(command) }
    may(interval.command)
    // The advertisement has its own connectable flag.
    may(.setConnectable(false))
    must(.setPowered(true))
    return steps
  }

  /// The commands that restore the adapter as it was when this was read, in an order that the kernel accepts. If one
  /// fails, the others are still worth trying.
  ///
  /// The kernel does not report the loaded keys, the IO capability and, on some versions, its default intervals. They
  /// are reset to its defaults: no keys, NoInputNoOutput, connection intervals of 30 to 50 ms, advertising every 1.28
  /// s. Privacy is switched off even if it was on, because its key is unknown.
  public var restoreCommands: [MgmtCommand] {
    var commands: [MgmtCommand] = [
      .removeAdvertising(instance: Advertisement.instance),
      .setPowered(false),
      .loadLongTermKeys([]),
      .loadIdentityResolvingKeys([]),
      .setIOCapability(.noInputNoOutput),
      .setLocalName(localName),
      ConnectionIntervalRange.standard.command,
      .setDefaultSystemConfiguration([
        .minimumAdvertisingInterval: 0x0800, .maximumAdvertisingInterval: 0x0800,
      ]),
      // Before BR/EDR on, after which it would be rejected without Secure Simple Pairing.
      .setSecureConnections(current.contains(.secureConnections)),
    ]
    // An existing one stays.
    if !current.contains(.staticAddress) { commands.append(.setStaticAddress(Address(0))) }
    if supported.contains(.privacy) { commands.append(.setPrivacyOff) }
    if current.contains(.classic) {
      // Switching BR/EDR off cleared its own settings.
      commands.append(.setClassic(true))
      commands.append(.setSecureSimplePairing(current.contains(.secureSimplePairing)))
      if current.contains(.linkSecurity) { commands.append(.setLinkSecurity(true)) }
      if current.contains(.fastConnectable) { commands.append(.setFastConnectable(true)) }
    }
    commands.append(.setBondable(current.contains(.bondable)))
    commands.append(.setConnectable(current.contains(.connectable)))
    if current.contains(.discoverable) { commands.append(.setDiscoverable(true)) }
    if current.contains(.advertising) { commands.append(.setAdvertising(true)) }
    if current.contains(.classic), !current.contains(.lowEnergy) {
      commands.append(.setLowEnergy(false))
    }
    if current.contains(.powered) { commands.append(.setPowered(true)) }
    return commands
  }
}

extension MgmtCommand {
  /// The commands that replace the kernel's keys with those of `bonds`.
  public static func loadKeys(of bonds: [Bond]) -> [MgmtCommand] {
    [
      .loadLongTermKeys(bonds.flatMap(\.longTermKeys)),
      .loadIdentityResolvingKeys(bonds.compactMap(\.identityResolvingKey)),
    ]
  }
}

/// The connection intervals that the kernel accepts, in units of 1.25 ms. On a link with a different interval, it
/// requests one within the range from the phone right after the connection (docs/kernel.md, “Connection parameters”).
/// Its request has the link's own supervision timeout, and an iPhone's 720 ms breaks Apple's rules for requests.
public struct ConnectionIntervalRange: Hashable, Sendable {
  private let minimum: UInt16
  private let maximum: UInt16

  /// The kernel's default: 30 to 50 ms.
  public static let standard = Self(minimum: 24, maximum: 40)
  /// Every possible interval (Vol 4 Part E, 7.8.12), so that the kernel never requests one.
  public static let any = Self(minimum: 6, maximum: 3200)
  /// 45 to 60 ms, within Apple's rules, but no interval that an iPhone starts with: makes the kernel request it, for
  /// controllers that cannot request parameters.
  public static let asked = Self(minimum: 36, maximum: 48)

  /// Sets it, for connections from now on.
  public var command: MgmtCommand {
    .setDefaultSystemConfiguration([
      .minimumConnectionInterval: minimum, .maximumConnectionInterval: maximum,
    ])
  }
}
