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

  @Test("Power off and the advertising that goes with it are one trouble, after a moment")
  func switchedOff() {
    var watch = AdapterWatch()
    let now = Instant.zero
    watch.receive(.advertisingRemoved(instance: 1), at: now)
    watch.receive(.newSettings(ControllerSettings(rawValue: 0xA12)), at: now)
    #expect(watch.deadline == now + AdapterWatch.moment)
    #expect(watch.timePassed(to: now + .milliseconds(100)) == nil)
    #expect(watch.timePassed(to: now + .milliseconds(250)) == .switchedOff)
    #expect(watch.timePassed(to: now + .milliseconds(500)) == nil)
  }

  @Test("The start of bluetoothd is detected by the settings that it switches off")
  func takenOver() {
    var watch = AdapterWatch()
    watch.receive(.newSettings(ControllerSettings(rawValue: 0xA01)), at: .zero)
    watch.receive(.advertisingRemoved(instance: 1), at: .zero)
    let trouble = watch.timePassed(to: .zero + .seconds(1))
    #expect(trouble == .changed(.bondable))
    #expect(trouble?.sentence(adapter: Sample.hci0).contains("ancsd doctor") == true)
  }

  @Test("The start of bluetoothd is detected where there is nothing to switch off")
  func takenOverQuietly() {
    var watch = AdapterWatch()
    watch.receive(.deviceUnblocked(DeviceAddress(Address(0), .public)), at: .zero)
    #expect(watch.timePassed(to: .zero + .seconds(1)) == .takenOver)
    watch.receive(.deviceUnblocked(DeviceAddress(Address(5), .public)), at: .zero)
    #expect(watch.timePassed(to: .zero + .seconds(1)) == nil)
  }

  @Test("The start of bluetoothd is detected also where our advertising changes right after it")
  func takenOverMeanwhile() {
    var watch = AdapterWatch()
    watch.receive(.advertisingRemoved(instance: 1), at: .zero)
    watch.receive(.deviceUnblocked(DeviceAddress(Address(0), .public)), at: .zero)
    watch.changesAdvertising(true)
    watch.changesAdvertising(false)
    #expect(watch.timePassed(to: .zero + .seconds(1)) == .takenOver)
  }

  @Test("Power off is detected also while we change the advertising")
  func switchedOffMeanwhile() {
    var watch = AdapterWatch()
    watch.changesAdvertising(true)
    watch.receive(.newSettings(ControllerSettings(rawValue: 0xA12)), at: .zero)
    watch.changesAdvertising(false)
    watch.changesAdvertising(true)
    #expect(watch.timePassed(to: .zero + .seconds(1)) == .switchedOff)
  }

  @Test("Our own changes are no trouble, nor are those of others that do no harm")
  func harmless() {
    var watch = AdapterWatch()
    watch.changesAdvertising(true)
    watch.receive(.advertisingRemoved(instance: 1), at: .zero)
    #expect(watch.deadline == nil)
    watch.changesAdvertising(false)
    watch.receive(.newSettings(ControllerSettings(rawValue: 0xA1B)), at: .zero)
    watch.receive(.advertisingRemoved(instance: 2), at: .zero)
    #expect(watch.deadline == nil)
  }
}
