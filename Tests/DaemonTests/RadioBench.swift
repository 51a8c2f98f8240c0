// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import OnLoop
import Mgmt
import System
import Wire

@testable import Daemon

/// An adapter of the daemon's over a kernel that answers every command at once.
@LoopActor
final class RadioBench {
  let supervisor: Supervisor
  let radio: Radio
  let adapter: Adapter
  /// What the kernel refuses.
  var refusals: [MgmtOpcode: MgmtStatus] = [:]
  /// What it was told.
  private(set) var commands: [MgmtOpcode] = []

  static let settings: ControllerSettings = [
    .powered, .connectable, .bondable, .lowEnergy, .secureConnections,
  ]
  static let phone = DeviceAddress(Address(0xC011_2233_4455), .random)
  static let stranger = DeviceAddress(Address(0x4ABB_2233_4455), .random)
  /// What goes on behind a test that is over wants them still.
  private static var all: [RadioBench] = []

  init(bonded: Bool = false, _ change: (inout RunOptions) -> Void = { _ in }) throws {
    var options = RunOptions()
    options.stateDirectory = "/dev/null/ancsd"
    options.name = "kitchen"
    options.logLevel = .error
    change(&options)
    supervisor = Supervisor(options)
    radio = Radio(supervisor)
    supervisor.radio = radio
    radio.isRivalled = { false }
    let information = try ControllerInformation(decoding: Self.information)
    adapter = Adapter(ControllerIndex(0), information, radio)
    if bonded, let key = Key([UInt8](repeating: 7, count: 16)) {
      let long = LongTermKey(
        peer: Self.phone, kind: .secure, isCentral: true, size: 16, diversifier: 0, random: 0,
        value: key)
      adapter.bonds = [Bond(identity: Self.phone, longTermKeys: [long])]
    }
    radio.adapters[ControllerIndex(0)] = adapter
    radio.isStarted = true
    radio.mgmt.send = { [unowned self] in
      answer($0)
      return nil
    }
    Self.all.append(self)
  }

  /// The adapter on the air.
  static func ready(
    bonded: Bool = false, _ change: (inout RunOptions) -> Void = { _ in }
  ) async throws -> RadioBench {
    let bench = try RadioBench(bonded: bonded, change)
    try await bench.adapter.setUp()
    return bench
  }

  /// The kernel tells of something.
  func tell(_ event: MgmtEvent) {
    adapter.watchOver(event)
    adapter.receive(event)
  }

  /// A phone connects; its link.
  func connect(_ phone: DeviceAddress) -> RadioLink {
    tell(.deviceConnected(phone, [], data: []))
    return adapter.link(with: phone)
  }

  /// A phone comes and goes a few times.
  func flutter(_ phone: DeviceAddress) {
    for _ in 0..<StaleBondDetector.drops {
      _ = connect(phone)
      tell(.deviceDisconnected(phone, DisconnectReason(rawValue: 3)))
    }
  }

  private func answer(_ packet: [UInt8]) {
    var reader = ByteReader(packet)
    guard let code = try? reader.u16(), let index = try? reader.u16() else { return }
    let opcode = MgmtOpcode(rawValue: code)
    commands.append(opcode)
    // How pairing ends, the test says.
    if opcode == .pairDevice { return }
    let reply: [UInt8] = opcode == .readControllerInformation ? Self.information : []
    var writer = ByteWriter()
    writer.u16(0x0001)  // Command Complete
    writer.u16(index)
    writer.u16(UInt16(3 + reply.count))
    writer.u16(code)
    writer.u8((refusals[opcode] ?? .success).rawValue)
    writer.bytes(reply)
    Loop.shared.later { [mgmt = radio.mgmt] in mgmt.receive(writer.bytes) }
  }

  /// The answer to Read Controller Information.
  private static var information: [UInt8] {
    var writer = ByteWriter()
    writer.bytes([0x13, 0x71, 0xDA, 0x7D, 0x1A, 0x00])
    writer.u8(9)
    writer.u16(2)
    writer.u32(settings.rawValue)
    writer.u32(settings.rawValue)
    writer.bytes([UInt8](repeating: 0, count: 3 + 249 + 11))
    return writer.bytes
  }
}
