// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@Suite("The pairing rules, whatever comes")
struct PairingFuzzTests {
  @Test("No order of events traps, and nothing is let in while pairing is closed")
  func closedWindow() throws {
    var dice = Dice(seed: 99)
    let keys = [
      try Sample.longTermKey(.secure), try Sample.longTermKey(.legacy),
      try Sample.longTermKey(.legacy, isCentral: true), try Sample.longTermKey(.debug),
      try Sample.longTermKey(.init(rawValue: 77), size: 1),
    ]
    let irk = try Sample.identityResolvingKey()
    for _ in 0..<3_000 {
      var machine = PairingMachine(
        peer: Sample.privateAddress, bond: nil, admission: .closed,
        policy: .init(capability: .keyboardDisplay, allowsLegacy: dice.next() % 2 == 0), at: .zero)
      for step in 0..<12 {
        let now = Instant.zero + .seconds(step)
        let action = Self.random(&machine, &dice, keys, irk, admission: .closed, at: now)
        #expect(!action.contains("accept") && !action.contains("ask") && !action.contains("save"))
        #expect(!machine.isSecured)
      }
    }
  }

  @Test("No order of events traps while pairing is open, and a phone pairs once")
  func openWindow() throws {
    var dice = Dice(seed: 100)
    let keys = [try Sample.longTermKey(.secure), try Sample.longTermKey(.legacy)]
    let irk = try Sample.identityResolvingKey()
    for _ in 0..<3_000 {
      var machine = PairingMachine(
        peer: Sample.phone, bond: dice.next() % 2 == 0 ? Sample.bond() : nil, admission: .open,
        policy: .init(capability: .keyboardDisplay), at: .zero)
      var announcements = 0
      for step in 0..<12 {
        let now = Instant.zero + .seconds(step)
        let action = Self.random(&machine, &dice, keys, irk, admission: .open, at: now)
        if action.contains("isNew: true") { announcements += 1 }
      }
      #expect(announcements <= 1)
    }
  }

  static func random(
    _ machine: inout PairingMachine, _ dice: inout Dice, _ keys: [LongTermKey],
    _ irk: IdentityResolvingKey, admission: PairingMachine.Admission, at now: Instant
  ) -> String {
    let passkey = Passkey(value: UInt32(truncatingIfNeeded: dice.next()))
    let status = MgmtStatus(rawValue: UInt8(dice.next() % 24))
    let coin = dice.next() % 2 == 0
    let action: Any
    switch dice.next() % 12 {
    case 0:
      action = machine.userConfirmRequest(
        hint: coin, number: passkey, admission: admission, at: now)
    case 1: action = machine.userPasskeyRequest(admission: admission, at: now)
    case 2:
      action = machine.passkeyNotify(
        passkey, entered: coin ? 0 : 1, admission: admission, at: now)
    case 3: action = machine.confirm(coin, at: now) as Any
    case 4: action = machine.enter(coin ? passkey : nil, at: now) as Any
    case 5:
      action = machine.identityResolvingKey(
        irk, store: coin, isTaken: dice.next() % 8 == 0, at: now)
    case 6:
      let key = keys[Int(dice.next() % UInt64(keys.count))]
      action = machine.longTermKey(key, store: coin, admission: admission, at: now)
    case 7: action = machine.pairCompleted(status, at: now)
    case 8: action = machine.authenticationFailed(status, at: now) as Any
    case 9: action = machine.encrypted(isAuthenticated: false, keySize: 16)
    case 10: action = machine.timePassed(to: now)
    default: action = machine.disconnected() as Any
    }
    return "\(action)"
  }
}
