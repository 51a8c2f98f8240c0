// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Sets up an adapter, for phones or as a phone: the commands, in an order that the kernel accepts (docs/kernel.md,
/// “Set-up order”; the reasons are from net/bluetooth/mgmt.c).
///
/// - Privacy, a static address and BR/EDR off are rejected while powered.
/// - BR/EDR off is rejected while LE is off.
/// - Secure Connections is rejected while BR/EDR is on without Secure Simple Pairing, so it comes after
///   BR/EDR off.
/// - Keys must be loaded before the first connection, so they come before power.
/// - A left-over advertising instance is removed first. After a reset by a hardware error, the controller no longer
///   knows the kernel's instance, and powering on would fail.
public struct AdapterSetup: Sendable {
  /// Which end of the links the adapter is.
  public enum Role: Hashable, Sendable {
    /// The peripheral, which phones connect to from its public address.
    case accessory
    /// The central, which connects from private addresses that this key resolves.
    case phone(SecretKey)
  }

  /// The name that phones show.
  public var name: String
  public var role: Role
  public var capability: IOCapability
  /// The devices that are bonded to this adapter.
  public var bonds: [Bond]
  /// The static random address to use; nil: the public one.
  public var staticAddress: Address?
  /// The connection intervals that the kernel accepts.
  public var interval: ConnectionIntervalRange

  public init(
    name: String, role: Role = .accessory, capability: IOCapability, bonds: [Bond] = [],
    staticAddress: Address? = nil, interval: ConnectionIntervalRange = .any
  ) {
    self.interval = interval
    self.name = name
    self.role = role
    self.capability = capability
    self.bonds = bonds
    self.staticAddress = staticAddress
  }

  /// The commands for this adapter, in order. Advertising is not among them.
  public func steps(for adapter: ControllerInformation) -> [MgmtClient.Step] {
    var steps: [MgmtClient.Step] = []
    func must(_ command: MgmtCommand) { steps.append(.init(command)) }
    func may(_ command: MgmtCommand) { steps.append(.init(command, isEssential: false)) }

    may(.removeAdvertising(instance: 0))
    must(.setPowered(false))
    must(.setLowEnergy(true))
    if adapter.supported.contains(.classic) { may(.setClassic(false)) }
    if adapter.current.contains(.advertising) { may(.setAdvertising(false)) }
    if adapter.supported.contains(.secureConnections) { may(.setSecureConnections(true)) }
    must(.setBondable(true))
    switch role {
    case .accessory: if adapter.supported.contains(.privacy) { may(.setPrivacyOff) }
    case .phone(let key): must(.setPrivacy(key))
    }
    if let staticAddress {
      must(.setStaticAddress(staticAddress))
    } else if adapter.supported.contains(.staticAddress) {
      // With BR/EDR off, a left-over one would be used instead of the public one.
      may(.setStaticAddress(Address(0)))
    }
    must(.setIOCapability(capability))
    must(.setLocalName(LocalName(name, short: name)))
    for command in Self.keys(of: bonds) { must(command) }
    may(interval.command)
    // The advertisement has its own connectable flag.
    may(.setConnectable(false))
    must(.setPowered(true))
    return steps
  }

  /// The commands that replace the kernel's keys with those of `bonds`.
  public static func keys(of bonds: [Bond]) -> [MgmtCommand] {
    [
      .loadLongTermKeys(bonds.flatMap(\.longTermKeys)),
      .loadIdentityResolvingKeys(bonds.compactMap(\.identityResolvingKey)),
    ]
  }
}

/// The connection intervals that the kernel accepts, in units of 1.25 ms. On a link with a different interval, it
/// requests one within the range from the phone right after the connection (docs/kernel.md, “Connection parameters”).
/// Its request has the link's own supervision timeout, and an iPhone's 720 ms breaks Apple's rules for requests.
public enum ConnectionIntervalRange: Hashable, Sendable {
  /// The kernel's default: 30 to 50 ms.
  case standard
  /// Every possible interval (Vol 4 Part E, 7.8.12), so that the kernel never requests one.
  case any
  /// 45 to 60 ms, within Apple's rules, but no interval that an iPhone starts with: makes the kernel request it, for
  /// controllers that cannot request parameters.
  case asked

  private var limits: (UInt16, UInt16) {
    switch self {
    case .standard: (24, 40)
    case .any: (6, 3200)
    case .asked: (36, 48)
    }
  }

  /// Sets it, for connections from now on.
  public var command: MgmtCommand {
    .setDefaultSystemConfiguration([
      .minimumConnectionInterval: limits.0, .maximumConnectionInterval: limits.1,
    ])
  }
}

/// The state in which an adapter was found, and how to restore it.
public struct AdapterSnapshot: Hashable, Sendable {
  public let settings: ControllerSettings
  public let localName: LocalName
  private let supportsPrivacy: Bool

  public init(_ adapter: ControllerInformation) {
    settings = adapter.current
    localName = adapter.localName
    supportsPrivacy = adapter.supported.contains(.privacy)
  }

  /// The commands that restore the adapter, in an order that the kernel accepts. If one fails, the
  /// others are still worth trying.
  ///
  /// The kernel does not report the loaded keys, the IO capability and, on some versions, its default intervals. They
  /// are reset to its defaults: no keys, NoInputNoOutput, connection intervals of 30 to 50 ms, advertising every 1.28
  /// s. Privacy is switched off even if it was on, because its key is unknown.
  public var restore: [MgmtCommand] {
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
      .setSecureConnections(settings.contains(.secureConnections)),
    ]
    // An existing one stays.
    if !settings.contains(.staticAddress) { commands.append(.setStaticAddress(Address(0))) }
    if supportsPrivacy { commands.append(.setPrivacyOff) }
    if settings.contains(.classic) {
      // Switching BR/EDR off cleared its own settings.
      commands.append(.setClassic(true))
      commands.append(.setSecureSimplePairing(settings.contains(.secureSimplePairing)))
      if settings.contains(.linkSecurity) { commands.append(.setLinkSecurity(true)) }
      if settings.contains(.fastConnectable) { commands.append(.setFastConnectable(true)) }
    }
    commands.append(.setBondable(settings.contains(.bondable)))
    commands.append(.setConnectable(settings.contains(.connectable)))
    if settings.contains(.discoverable) { commands.append(.setDiscoverable(true)) }
    if settings.contains(.advertising) { commands.append(.setAdvertising(true)) }
    if settings.contains(.classic), !settings.contains(.lowEnergy) {
      commands.append(.setLowEnergy(false))
    }
    if settings.contains(.powered) { commands.append(.setPowered(true)) }
    return commands
  }
}
