// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import TestLoop
import Testing
import VirtualKernel
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

  /// An adapter of a kernel, and a client of that.
  private static func plug(
    _ clock: HandClock, supported: ControllerSettings, found: ControllerSettings = .lowEnergy,
    address: Address = Address(0x1122_3344_5566)
  ) -> (client: MgmtClient, adapter: VirtualAdapter) {
    let kernel = VirtualKernel(scheduler: clock)
    let socket = kernel.openManagement()
    let client = MgmtClient(scheduler: clock)
    client.send = { socket.send($0) ? nil : "malformed" }
    socket.receive = { [weak client] in client?.receive($0) }
    let kind = VirtualAdapter.Kind {
      ($0.supported, $0.settings, $0.address) = (supported, found, address)
    }
    return (client, kernel.plug(kind))
  }

  @Test(
    "The order is that of docs/kernel.md, with BR/EDR off between LE on and Secure Connections",
    arguments: [
      (
        [.powered, .connectable, .bondable, .lowEnergy, .secureConnections], .lowEnergy,
        [
          "Remove Advertising 0 (if it can)", "Set Powered 0", "Set Low Energy 1",
          "Set Secure Connections 1 (if it can)", "Set Bondable 1", "Set IO Capability 3", "Set Local Name",
          "Load Long Term Keys", "Load Identity Resolving Keys", "Set Default System Configuration (if it can)",
          "Set Connectable 0 (if it can)", "Set Powered 1",
        ]
      ),
      (
        dualMode, [.powered, .classic, .lowEnergy, .advertising],
        [
          "Remove Advertising 0 (if it can)", "Set Powered 0", "Set Low Energy 1", "Set BR/EDR 0 (if it can)",
          "Set Advertising 0 (if it can)", "Set Secure Connections 1 (if it can)", "Set Bondable 1",
          "Set Privacy (if it can)", "Set Static Address (if it can)", "Set IO Capability 3", "Set Local Name",
          "Load Long Term Keys", "Load Identity Resolving Keys", "Set Default System Configuration (if it can)",
          "Set Connectable 0 (if it can)", "Set Powered 1",
        ]
      ),
    ] as [(ControllerSettings, ControllerSettings, [String])])
  func order(supported: ControllerSettings, found: ControllerSettings, steps: [String]) throws {
    try TestLoop.run { loop in
      let client = Self.plug(loop.clock, supported: supported, found: found).client
      let setUp = try await client.readControllerInformation(Sample.hci0)
        .setUpSteps(name: "board", capability: .noInputNoOutput)
      #expect(setUp.map(\.description) == steps)
    }
  }

  @Test("As a phone it connects from private addresses, and does not wait to be connected to")
  func asPhone() throws {
    let key = Sample.key
    try TestLoop.run { loop in
      let (client, adapter) = Self.plug(loop.clock, supported: Self.lowEnergyOnly)
      let found = try await client.readControllerInformation(Sample.hci0)
      try await client.perform(
        found.setUpSteps(name: "iPhone", role: .phone(key), capability: .keyboardDisplay), index: Sample.hci0)
      #expect(adapter.settings.isSuperset(of: [.powered, .privacy]))
      #expect(!adapter.settings.contains(.connectable))
      for command in found.restoreCommands {
        _ = try? await client.call(command, index: Sample.hci0)
      }
      #expect(adapter.settings == .lowEnergy)
    }
  }

  @Test("Addresses are made as they should be, and placeholders known")
  func addresses() {
    let address = Address.static(from: 0x1234_5678_9ABC)
    #expect(address == Address(0xD234_5678_9ABC))
    #expect(Address.locallyAdministered(from: 0xFF34_5678_9ABC) == Address(0xFE34_5678_9ABC))
    #expect(Address.locallyAdministered(from: 0x0134_5678_9ABC) == Address(0x0234_5678_9ABC))
    #expect(address.ofAdapter(Sample.hci0) == address)
    #expect(address.ofAdapter(ControllerIndex(1)) != address)
    // The last ones are those of a Raspberry Pi's controller, Intel's and Qualcomm's.
    for value: UInt64 in [
      0, 0xAAAA_AAAA_AAAA, 0x4343_A112_1FAC, 0x0003_199E_8B00, 0x5AAD, 0x3998_0000_5AAD,
    ] { #expect(Address(value).isPlaceholder) }
    #expect(!Address(0x001A_7DDA_7113).isPlaceholder)
  }

  @Test("An adapter without an address gets one before it is powered on, one with an address none")
  func staticAddress() throws {
    try TestLoop.run { loop in
      let own = Address.static(from: 1)
      for (address, expected) in [(Address(0), own), (Address(1), nil)] as [(Address, Address?)] {
        let (client, adapter) = Self.plug(loop.clock, supported: Self.lowEnergyOnly, address: address)
        // One that is left over would be used in place of a public one.
        try await client.call(.setStaticAddress(Address.static(from: 2)), index: Sample.hci0)
        let steps = try await client.readControllerInformation(Sample.hci0)
          .setUpSteps(name: "board", capability: .noInputNoOutput, staticAddress: expected)
        try await client.perform(steps, index: Sample.hci0)
        #expect(adapter.settings.contains(.powered))
        #expect(adapter.address.address == expected ?? address)
      }
    }
  }

  @Test(
    "From any state the kernel accepts every command of the set-up and of the restore",
    arguments: [lowEnergyOnly, dualMode])
  func thereAndBack(supported: ControllerSettings) throws {
    let bond = Bond(
      identity: Sample.phone, longTermKeys: [Sample.longTermKey()], identityResolvingKey: Sample.identityResolvingKey())
    try TestLoop.run { loop in
      var dice = SeededGenerator(seed: 11)
      for _ in 0..<2_000 {
        let found = Self.possible(ControllerSettings(rawValue: UInt32(truncatingIfNeeded: dice.next())), supported)
        let (client, adapter) = Self.plug(loop.clock, supported: supported, found: found)
        try await client.call(.setLocalName(LocalName("found")), index: Sample.hci0)
        let information = try await client.readControllerInformation(Sample.hci0)
        let steps = information.setUpSteps(name: "board", capability: .displayYesNo, bonds: [bond])
        // There is no advertisement to be removed.
        for step in steps.dropFirst() { try await client.call(step.command, index: Sample.hci0) }
        #expect(adapter.settings.isSuperset(of: [.powered, .bondable, .lowEnergy, .secureConnections]))
        #expect(adapter.settings.isDisjoint(with: [.classic, .advertising, .privacy]))
        #expect(adapter.keyedPeers == [Sample.phone] && adapter.capability == .displayYesNo)
        #expect(adapter.intervalRange == 6...3200)
        try await client.call(
          .addAdvertising(instance: 1, flags: [], data: []), index: Sample.hci0)

        for command in information.restoreCommands {
          try await client.call(command, index: Sample.hci0)
        }
        #expect(adapter.settings == found.subtracting(.privacy), "back to \(found)")
        #expect(adapter.name == "found" && adapter.keyedPeers == [])
        #expect(adapter.capability == .noInputNoOutput && adapter.advertisement == nil)
        #expect(adapter.intervalRange == 24...40)
      }
    }
  }

  /// The settings that a kernel can have: those that depend on another one are on only with it.
  static func possible(_ random: ControllerSettings, _ supported: ControllerSettings) -> ControllerSettings {
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
      signs: [.weAdvertise(true), .settings(0xA12), .weAdvertise(false), .weAdvertise(true)], trouble: .switchedOff),
    .init(
      testDescription: "bluetoothd starts, and switches settings off",
      signs: [.settings(0xA01), .advertisingRemoved(1)], trouble: .changed(.bondable)),
    .init(
      testDescription: "bluetoothd starts where there is nothing to switch off",
      signs: [.unblocked(0)], trouble: .takenOver),
    .init(
      testDescription: "bluetoothd starts, and our advertising changes right after it",
      signs: [.advertisingRemoved(1), .unblocked(0), .weAdvertise(true), .weAdvertise(false)], trouble: .takenOver),
    .init(testDescription: "another program unblocks a device", signs: [.unblocked(5)]),
    .init(testDescription: "our own change", signs: [.weAdvertise(true), .advertisingRemoved(1), .weAdvertise(false)]),
    .init(testDescription: "changes of others that do no harm", signs: [.settings(0xA1B), .advertisingRemoved(2)]),
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
    // A trouble is found once, after a moment.
    #expect(watch.deadline == signs.trouble.map { _ in Instant.zero + AdapterWatch.moment })
    #expect(watch.timePassed(to: .zero + .milliseconds(249)) == nil)
    #expect(watch.timePassed(to: .zero + .milliseconds(250)) == signs.trouble)
    #expect(watch.timePassed(to: .zero + .seconds(1)) == nil)
  }
}
