// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// What an adapter needs before a phone can come, as commands in an order that the kernel accepts
/// (kernel.md, "Order that works"; the reasons from net/bluetooth/mgmt.c):
///
/// - Privacy, a static address and BR/EDR off are rejected while powered.
/// - BR/EDR off is rejected before LE is on.
/// - Secure Connections are rejected while BR/EDR is on without Secure Simple Pairing: so after it.
/// - Keys must be there before the first connection can be: so before power.
public struct AdapterSetup: Sendable {
  /// The name that phones show.
  public var name: String
  public var capability: IOCapability
  /// The phones that are known to this adapter.
  public var bonds: [Bond]
  /// For a controller without an address of its own; see `staticAddress(from:)`.
  public var staticAddress: Address?

  public init(
    name: String, capability: IOCapability, bonds: [Bond] = [], staticAddress: Address? = nil
  ) {
    self.name = name
    self.capability = capability
    self.bonds = bonds
    self.staticAddress = staticAddress
  }

  /// One command, and whether an adapter is of use on which it failed.
  public struct Step: Hashable, Sendable, CustomStringConvertible {
    public let command: MgmtCommand
    public let isEssential: Bool

    public var description: String { "\(command)\(isEssential ? "" : " (if it can)")" }
  }

  /// The commands for this adapter, in their order. Advertising is not among them.
  public func steps(for adapter: ControllerInformation) -> [Step] {
    var steps: [Step] = []
    func must(_ command: MgmtCommand) { steps.append(Step(command: command, isEssential: true)) }
    func may(_ command: MgmtCommand) { steps.append(Step(command: command, isEssential: false)) }

    must(.setPowered(false))
    must(.setLowEnergy(true))
    if adapter.supported.contains(.classic) { may(.setClassic(false)) }
    if adapter.current.contains(.advertising) { may(.setAdvertising(false)) }
    if adapter.supported.contains(.secureConnections) { may(.setSecureConnections(true)) }
    must(.setBondable(true))
    if adapter.supported.contains(.privacy) { may(.setPrivacyOff) }
    if let staticAddress, needsStaticAddress(adapter) { must(.setStaticAddress(staticAddress)) }
    must(.setIOCapability(capability))
    must(.setLocalName(LocalName(name, short: name)))
    for command in keys { must(command) }
    must(.setPowered(true))
    must(.setConnectable(true))
    return steps
  }

  /// The commands that hand the kernel every bond's keys, in place of those it had.
  public var keys: [MgmtCommand] {
    [
      .loadLongTermKeys(bonds.flatMap(\.longTermKeys)),
      .loadIdentityResolvingKeys(bonds.compactMap(\.identityResolvingKey)),
    ]
  }

  /// Whether the adapter has no address, so that powering it fails until it is given one.
  public func needsStaticAddress(_ adapter: ControllerInformation) -> Bool {
    adapter.address == Address(0) && adapter.supported.contains(.staticAddress)
  }

  /// A static random address made of 46 bits of chance: its top two are set (Vol 6 Part B, 1.3.2.1).
  public static func staticAddress(from random: UInt64) -> Address {
    Address(random | 0xC000_0000_0000)
  }
}

/// How an adapter was found, and the way back there.
public struct AdapterSnapshot: Hashable, Sendable {
  public let settings: ControllerSettings
  public let localName: LocalName

  public init(_ adapter: ControllerInformation) {
    settings = adapter.current
    localName = adapter.localName
  }

  /// The commands that leave the adapter as it was found, in an order that the kernel accepts; each
  /// is worth trying where one before it failed.
  ///
  /// Two things cannot be read beforehand and get the kernel's defaults: no keys loaded, and an IO
  /// capability of NoInputNoOutput. Privacy, if it was on, stays off, since its key is unknown.
  public var restore: [MgmtCommand] {
    var commands: [MgmtCommand] = [
      .removeAdvertising(instance: Advertisement.instance),
      .setPowered(false),
      .loadLongTermKeys([]),
      .loadIdentityResolvingKeys([]),
      .setIOCapability(.noInputNoOutput),
      .setLocalName(localName),
      // While BR/EDR is off: with it on, and Secure Simple Pairing off, it would be rejected.
      .setSecureConnections(settings.contains(.secureConnections)),
    ]
    if settings.contains(.classic) {
      // It was on, and its own settings went with it.
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
