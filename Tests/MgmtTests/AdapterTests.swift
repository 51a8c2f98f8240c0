// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import TestLoop
import Testing
import Wire

@Suite("Setting an adapter up, and leaving it as it was found")
struct AdapterTests {
  static let lowEnergyOnly: ControllerSettings = [
    .powered, .connectable, .discoverable, .bondable, .lowEnergy, .advertising, .secureConnections,
    .privacy, .staticAddress,
  ]
  static let dualMode = lowEnergyOnly.union([
    .classic, .secureSimplePairing, .linkSecurity, .fastConnectable,
  ])

  @Test("The order is that of docs/kernel.md, with BR/EDR off between LE on and Secure Connections")
  func order() throws {
    let lab = try Sample.adapter(
      supported: [.powered, .connectable, .bondable, .lowEnergy, .secureConnections],
      current: .lowEnergy)
    #expect(
      lab.setUpSteps(name: "board", capability: .noInputNoOutput).map(\.command) == [
        .removeAdvertising(instance: 0), .setPowered(false), .setLowEnergy(true),
        .setSecureConnections(true), .setBondable(true),
        .setIOCapability(.noInputNoOutput), .setLocalName(LocalName("board", short: "board")),
        .loadLongTermKeys([]), .loadIdentityResolvingKeys([]),
        .setDefaultSystemConfiguration([
          .minimumConnectionInterval: 6, .maximumConnectionInterval: 3200,
        ]), .setConnectable(false), .setPowered(true),
      ])
    let laptop = try Sample.adapter(
      supported: Self.dualMode, current: [.powered, .classic, .lowEnergy, .advertising])
    #expect(
      laptop.setUpSteps(name: "board", capability: .noInputNoOutput).map(\.description) == [
        "Remove Advertising 0 (if it can)", "Set Powered 0", "Set Low Energy 1",
        "Set BR/EDR 0 (if it can)",
        "Set Advertising 0 (if it can)", "Set Secure Connections 1 (if it can)", "Set Bondable 1",
        "Set Privacy (if it can)", "Set Static Address (if it can)", "Set IO Capability 3",
        "Set Local Name", "Load Long Term Keys",
        "Load Identity Resolving Keys", "Set Default System Configuration (if it can)",
        "Set Connectable 0 (if it can)", "Set Powered 1",
      ])
  }

  @Test("As a phone it connects from private addresses, and does not wait to be connected to")
  func asPhone() throws {
    let key = try #require(Sample.key())
    let found = try Sample.adapter(supported: Self.lowEnergyOnly, current: [.lowEnergy])
    let steps = found.setUpSteps(name: "iPhone", role: .phone(key), capability: .keyboardDisplay)
    let commands = steps.map(\.command)
    let privacy = try #require(commands.firstIndex(of: .setPrivacy(key)))
    let power = try #require(commands.firstIndex(of: .setPowered(true)))
    #expect(privacy < power)
    #expect(!commands.contains(.setConnectable(true)))
    var adapter = FakeAdapter(supported: Self.lowEnergyOnly, current: .lowEnergy)
    for step in steps {
      let status = adapter.execute(step.command)
      #expect(status == .success || !step.isEssential, "\(step)")
    }
    #expect(adapter.current.contains(.privacy))
    for command in found.restoreCommands { _ = adapter.execute(command) }
    #expect(adapter.current == .lowEnergy)
  }

  @Test("An adapter without an address gets one before it is powered on")
  func staticAddress() throws {
    let address = Address.static(from: 0x1234_5678_9ABC)
    #expect(address == Address(0xD234_5678_9ABC))
    #expect(Address.locallyAdministered(from: 0xFF34_5678_9ABC) == Address(0xFE34_5678_9ABC))
    #expect(Address.locallyAdministered(from: 0x0134_5678_9ABC) == Address(0x0234_5678_9ABC))
    #expect(address.ofAdapter(Sample.hci0) == address)
    #expect(address.ofAdapter(ControllerIndex(1)) != address)
    #expect(Address(0).isPlaceholder && Address(0xAAAA_AAAA_AAAA).isPlaceholder)
    // A Raspberry Pi's controller without an address of its own.
    #expect(Address(0x4343_A112_1FAC).isPlaceholder)
    // The same of Intel's and Qualcomm's.
    for value: UInt64 in [0x0003_199E_8B00, 0x5AAD, 0x3998_0000_5AAD] {
      #expect(Address(value).isPlaceholder)
    }
    #expect(!Address(0x001A_7DDA_7113).isPlaceholder)
    let bare = try Sample.adapter(supported: Self.lowEnergyOnly, current: [], address: 0)
    var adapter = FakeAdapter(supported: Self.lowEnergyOnly, current: .lowEnergy, hasAddress: false)
    for step in bare.setUpSteps(
      name: "board", capability: .noInputNoOutput, staticAddress: address)
    {
      #expect(adapter.execute(step.command) == .success || !step.isEssential)
    }
    #expect(adapter.current.contains(.powered))
    // One that is left over would be used in place of a public one.
    let usual = try Sample.adapter(supported: Self.lowEnergyOnly, current: [])
    let own = usual.setUpSteps(name: "board", capability: .noInputNoOutput)
    #expect(own.map(\.command).contains(.setStaticAddress(Address(0))))
  }

  @Test(
    "From any state the kernel accepts every command of the set-up and of the restore",
    arguments: [lowEnergyOnly, dualMode])
  func thereAndBack(supported: ControllerSettings) throws {
    var dice = SeededGenerator(seed: 11)
    let bond = Bond(
      identity: Sample.phone, longTermKeys: [try Sample.longTermKey(.secure)],
      identityResolvingKey: try Sample.identityResolvingKey())
    for _ in 0..<2_000 {
      let found = Self.possible(
        ControllerSettings(rawValue: UInt32(truncatingIfNeeded: dice.next())), supported)
      var adapter = FakeAdapter(supported: supported, current: found)
      let information = try Sample.adapter(supported: supported, current: found)
      for step in information.setUpSteps(
        name: "board", capability: .displayYesNo, bonds: [bond])
      {
        let isLeftOver = step.command.opcode == .removeAdvertising
        #expect(adapter.execute(step.command) == .success || isLeftOver, "\(step) from \(found)")
      }
      #expect(
        adapter.current.isSuperset(of: [
          .powered, .bondable, .lowEnergy, .secureConnections,
        ]))
      #expect(adapter.current.isDisjoint(with: [.classic, .advertising, .privacy]))
      #expect(adapter.keys == [1, 1] && adapter.capability == 1)
      adapter.advertised = true

      for command in information.restoreCommands {
        #expect(adapter.execute(command) == .success, "\(command) back to \(found)")
      }
      #expect(adapter.current == found.subtracting(.privacy))
      #expect(adapter.name == LocalName("found") && adapter.keys == [0, 0])
      #expect(adapter.capability == 3 && !adapter.advertised)
    }
  }

  /// The settings that a kernel can have: those that depend on another one are on only with it.
  static func possible(
    _ random: ControllerSettings, _ supported: ControllerSettings
  ) -> ControllerSettings {
    var found = random.intersection(supported).subtracting(.staticAddress)
    if !found.contains(.classic) {
      found.subtract([.secureSimplePairing, .linkSecurity, .fastConnectable])
      found.insert(.lowEnergy)
    }
    if found.contains(.classic), !found.contains(.secureSimplePairing) {
      found.remove(.secureConnections)
    }
    if !found.contains(.lowEnergy) { found.subtract([.advertising, .privacy]) }
    if !found.contains(.connectable) { found.remove(.discoverable) }
    return found
  }

  @Test("A trouble is found once, after a moment")
  func moment() {
    var watch = AdapterWatch()
    watch.receive(.newSettings(ControllerSettings(rawValue: 0xA12)), at: .zero)
    #expect(watch.deadline == Instant.zero + AdapterWatch.moment)
    #expect(watch.timePassed(to: .zero + .milliseconds(100)) == nil)
    #expect(watch.timePassed(to: .zero + .milliseconds(250)) == .switchedOff)
    #expect(watch.timePassed(to: .zero + .milliseconds(500)) == nil)
  }

  /// What an adapter tells while we change its advertising or not, and the trouble that it is.
  struct Signs: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var signs: [Sign]
    var trouble: AdapterTrouble?
  }

  enum Sign: Sendable {
    case advertisingRemoved(UInt8)
    case settings(UInt32)
    case unblocked(UInt64)
    /// We change the advertising from here on, or no more.
    case weAdvertise(Bool)
  }

  static let signs: [Signs] = [
    .init(
      testDescription: "power off, and the advertising that goes with it",
      signs: [.advertisingRemoved(1), .settings(0xA12)], trouble: .switchedOff),
    .init(
      testDescription: "power off while we change the advertising",
      signs: [.weAdvertise(true), .settings(0xA12), .weAdvertise(false), .weAdvertise(true)],
      trouble: .switchedOff),
    .init(
      testDescription: "bluetoothd starts, and switches settings off",
      signs: [.settings(0xA01), .advertisingRemoved(1)], trouble: .changed(.bondable)),
    .init(
      testDescription: "bluetoothd starts where there is nothing to switch off",
      signs: [.unblocked(0)], trouble: .takenOver),
    .init(
      testDescription: "bluetoothd starts, and our advertising changes right after it",
      signs: [.advertisingRemoved(1), .unblocked(0), .weAdvertise(true), .weAdvertise(false)],
      trouble: .takenOver),
    .init(testDescription: "another program unblocks a device", signs: [.unblocked(5)]),
    .init(
      testDescription: "our own change",
      signs: [.weAdvertise(true), .advertisingRemoved(1), .weAdvertise(false)]),
    .init(
      testDescription: "changes of others that do no harm",
      signs: [.settings(0xA1B), .advertisingRemoved(2)]),
  ]

  @Test("What was done to the adapter is known by its signs", arguments: signs)
  func watch(_ signs: Signs) {
    var watch = AdapterWatch()
    for sign in signs.signs {
      switch sign {
      case .advertisingRemoved(let instance):
        watch.receive(.advertisingRemoved(instance: instance), at: .zero)
      case .settings(let bits):
        watch.receive(.newSettings(ControllerSettings(rawValue: bits)), at: .zero)
      case .unblocked(let address):
        watch.receive(.deviceUnblocked(DeviceAddress(Address(address), .public)), at: .zero)
      case .weAdvertise(let changes): watch.changesAdvertising(changes)
      }
    }
    #expect(watch.timePassed(to: .zero + .seconds(1)) == signs.trouble)
  }

  @Test("That bluetoothd has taken an adapter is told with what finds out")
  func words() {
    let sentence = AdapterTrouble.changed(.bondable).sentence(adapter: Sample.hci0)
    #expect(sentence.contains("ancsd doctor"))
  }
}

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
      name = LocalName(String(decoding: command.parameters.prefix { $0 != 0 }, as: UTF8.self))
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
