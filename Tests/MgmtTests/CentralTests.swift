// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Testing
import Wire

@testable import Mgmt

@Suite("What is an accessory, by its advertisement alone")
struct AccessoryTests {
  @Test("Every profile of the board is one, with its name", arguments: AdvertisingProfile.allCases)
  func profiles(profile: AdvertisingProfile) throws {
    let accessory = try #require(Accessory(profile.data(name: "Büro")))
    let signs: Set<Accessory.Sign> =
      switch profile {
      case .solicit, .solicitWithData: [.notificationCenter]
      case .time: [.currentTime]
      case .heartRate: [.heartRate]
      case .solicitHeartRate: [.notificationCenter, .heartRate]
      case .hid: [.humanInterface]
      }
    #expect(accessory.signs == signs)
    // One of them has no room for it.
    #expect("Büro".hasPrefix(accessory.name ?? ""))
    #expect((accessory.name == nil) == (profile == .solicitWithData))
  }

  @Test(
    "A sign counts in the list where it belongs, at any place in it",
    arguments: [
      ("03140518", [.currentTime]), ("05140f180518", [.currentTime]),
      ("05020f180d18", [.heartRate]), ("05030f181218", [.humanInterface]),
      // The same numbers as data of a service, in the other list, across two entries, or cut.
      ("0516051812 18", []), ("03030518", []), ("05141805 1800", []), ("0314 05", []), ("020106", []),
      // ANCS as a service of its own is not a solicitation.
      ("1107d0002d121e4b0fa4994eceb531f40579", []), ("", []),
    ] as [(String, Set<Accessory.Sign>)])
  func signs(hex: String, signs: Set<Accessory.Sign>) {
    let data = AdvertisingData(decoding: Sample.bytes(hex.filter { $0 != " " }))
    #expect(Accessory(data)?.signs ?? [] == signs)
  }
}

@Suite("The life of a phone's link, with this side as the central")
struct CentralTests {
  typealias Action = CentralMachine.Action

  static let board = Sample.other
  static let stranger = DeviceAddress(Address(0xC0FF_EE00_0002), .public)

  /// A machine and its clock, which is turned by hand.
  struct Phone {
    var machine: CentralMachine
    var now = Instant.zero

    init(bonds: [Bond] = [], choice: AccessoryChoice? = nil, asks: Bool = false) {
      machine = CentralMachine(bonds: bonds, choice: choice, asks: asks)
    }

    mutating func sees(
      _ device: DeviceAddress = board, _ profile: AdvertisingProfile = .solicit,
      name: String = "board"
    ) -> [Action] {
      machine.seen(device, rssi: -50, data: profile.data(name: name).encoded, at: now)
    }

    /// Time passes, with everything that is due in it.
    mutating func pass(_ time: Duration) -> [Action] {
      let end = now + time
      var actions: [Action] = []
      while let deadline = machine.deadline, deadline <= end {
        now = deadline
        actions += machine.timePassed(to: now)
      }
      now = end
      return actions
    }

    /// Scans, sees the board, and connects to it.
    mutating func connect() throws {
      _ = try machine.comeBack(at: now)
      var actions = sees()
      actions += pass(CentralMachine.choosing)
      #expect(actions.suffix(3) == [.stopScanning, .report(.connecting(board)), .connect(board)])
      _ = machine.connected(at: now)
    }

    mutating func hear(_ event: MgmtEvent) -> [Action] { machine.receive(event, at: now) }

    mutating func ends(_ end: ChannelEnd) -> [Action] { machine.ended(end, at: now) }
  }

  static let bond = Sample.bond(with: board)
  static let key = MgmtEvent.newLongTermKey(Sample.longTermKey(peer: board), store: true)

  @Test("A first meeting: seen, chosen after a moment, explored, paired, encrypted, kept")
  func firstMeeting() throws {
    var phone = Phone()
    #expect(try phone.machine.comeBack(at: .zero) == [.report(.scanning(for: nil)), .scan])
    let accessory = try #require(Accessory(AdvertisingProfile.solicit.data(name: "board")))
    #expect(phone.sees() == [.report(.seen(Self.board, accessory, rssi: -50, isBonded: false))])
    #expect(phone.sees() == [], "the same again is no news")
    #expect(
      phone.pass(.seconds(1)) == [
        .stopScanning, .report(.connecting(Self.board)), .connect(Self.board),
      ])
    #expect(phone.machine.connected(at: phone.now) == [.explore])
    #expect(phone.machine.needsSecurity() == [.secure])
    #expect(
      phone.hear(.userConfirmRequest(Self.board, hint: true, Passkey(value: 0)))
        == [.report(.pairing(.consent)), .send(.userConfirmReply(Self.board))])
    #expect(phone.machine.secured() == [.report(.encrypted(isNew: true))])
    #expect(phone.hear(Self.key) == [.save(Self.bond), .report(.paired(Self.board))])
    #expect(phone.machine.needsSecurity() == [])
    #expect(phone.machine.deadline == nil)
  }

  @Test("A bonded phone returns to its accessory at once, and encrypts by itself")
  func comesBack() throws {
    var phone = Phone(bonds: [Self.bond])
    #expect(try phone.machine.comeBack(at: .zero).last == .scan)
    #expect(phone.sees(Self.stranger).count == 1, "a stranger is seen, and no more")
    #expect(phone.pass(.seconds(3)) == [])
    #expect(phone.sees().last == .connect(Self.board))
    #expect(phone.machine.connected(at: phone.now) == [.secure])
    #expect(phone.machine.secured() == [.report(.encrypted(isNew: false))])
    #expect(phone.ends(.timedOut) == [.report(.scanning(for: nil)), .scan])
    #expect(phone.sees().last == .connect(Self.board))
  }

  @Test("The scan starts over every few seconds, and what is no accessory is not even seen")
  func renewal() throws {
    var phone = Phone()
    _ = try phone.machine.comeBack(at: .zero)
    #expect(phone.machine.seen(Self.board, rssi: nil, data: [2, 1, 6], at: .zero) == [])
    #expect(phone.pass(.seconds(12)) == [.scan, .scan])
  }

  @Test("Among several accessories the user chooses, by name or by address")
  func several() throws {
    var phone = Phone()
    _ = try phone.machine.comeBack(at: .zero)
    _ = phone.sees(Self.stranger, name: "other")
    _ = phone.sees()
    #expect(phone.pass(.seconds(4)) == [.report(.undecided([Self.stranger, Self.board]))])
    #expect(phone.sees() == [], "it is said once")
    #expect(
      try phone.machine.comeBack(to: AccessoryChoice("board"), at: phone.now).first
        == .report(.scanning(for: AccessoryChoice("board"))))
    #expect(phone.sees(Self.stranger, name: "other").last != .connect(Self.stranger))
    #expect(phone.sees().last == .connect(Self.board))

    var sure = Phone(choice: AccessoryChoice(Self.board.address.description))
    _ = try sure.machine.comeBack(at: .zero)
    _ = sure.sees(Self.stranger)
    #expect(sure.sees().last == .connect(Self.board))
  }

  @Test("Among more accessories than it can know it chooses none by itself")
  func crowd() throws {
    var phone = Phone()
    _ = try phone.machine.comeBack(at: .zero)
    let crowd = (0...CentralMachine.capacity).map { DeviceAddress(Address(UInt64($0)), .random) }
    for device in crowd { _ = phone.sees(device) }
    #expect(phone.pass(CentralMachine.choosing) == [.report(.undecided(Array(crowd.dropFirst())))])
  }

  @Test("Numbers are confirmed at once, or by the user who is asked")
  func numbers() throws {
    let request = MgmtEvent.userConfirmRequest(Self.board, hint: false, Passkey(value: 123456))
    var sure = Phone()
    try sure.connect()
    #expect(
      sure.hear(request) == [
        .report(.pairing(.comparison(Passkey(value: 123456)))),
        .send(.userConfirmReply(Self.board)),
      ])
    for accept in [true, false] {
      var phone = Phone(asks: true)
      try phone.connect()
      #expect(phone.hear(request) == [.report(.pairing(.comparison(Passkey(value: 123456))))])
      #expect(
        try phone.machine.respond(accept: accept, passkey: nil) == [
          .send(accept ? .userConfirmReply(Self.board) : .userConfirmNegativeReply(Self.board))
        ])
      #expect(throws: CentralRefusal.self) { try phone.machine.respond(accept: true, passkey: nil) }
    }
  }

  @Test("The number that the accessory shows has to be typed, its own is only shown")
  func passkeys() throws {
    var phone = Phone()
    try phone.connect()
    let shown = Passkey(value: 42)
    #expect(phone.hear(.userPasskeyRequest(Self.board)) == [.report(.pairing(.entry))])
    #expect(throws: CentralRefusal.self) { try phone.machine.respond(accept: true, passkey: nil) }
    #expect(
      try phone.machine.respond(accept: true, passkey: shown)
        == [.send(.userPasskeyReply(Self.board, shown))])
    #expect(
      phone.hear(.passkeyNotify(Self.board, shown, entered: 0))
        == [.report(.pairing(.display(shown, entered: 0)))])
    #expect(phone.hear(.passkeyNotify(Self.board, shown, entered: 1)) == [])
    #expect(
      phone.hear(.userPasskeyRequest(Self.stranger)) == [],
      "a question about another link is not this phone's")
  }

  /// How links without encryption end, and whether the phone tries again by itself.
  static let ends: [(ChannelEnd, Bool, [CentralFailure?])] = [
    (.authenticationFailed, true, [.keyMissing]), (.authenticationFailed, false, [.pairing(.refusedByPhone)]),
    (.keysDiffer, true, [nil, nil, .keysDiffer]), (.keysDiffer, false, [nil, nil, .unreachable]),
    (.timedOut, false, [nil, nil, .unreachable]), (.disconnected, false, [.left]),
    (.timedOut, true, [nil, nil, nil, nil]), (.disconnected, true, [nil, nil, nil, nil]),
  ]

  @Test(
    "A link that ends before encryption is tried again, unless only the user can help",
    arguments: ends)
  func tries(end: ChannelEnd, isBonded: Bool, outcomes: [CentralFailure?]) throws {
    var phone = Phone(bonds: isBonded ? [Self.bond] : [])
    try phone.connect()
    for failure in outcomes {
      let actions = phone.ends(end)
      if let failure {
        #expect(actions == [.report(.resting(failure))])
        #expect(phone.sees() == [] && phone.pass(.seconds(100)) == [])
      } else {
        #expect(actions == [])
        #expect(phone.sees() == [], "it pauses")
        #expect(phone.pass(.seconds(4)).contains(.scan))
        let found = phone.sees() + phone.pass(.seconds(1))
        #expect(found.contains(.connect(Self.board)))
        _ = phone.machine.connected(at: phone.now)
      }
    }
    #expect(phone.machine.bonds.count == (isBonded ? 1 : 0), "no bond is given up by itself")
  }

  @Test("An encryption that takes too long ends the link, and is tried again")
  func patience() throws {
    var phone = Phone(bonds: [Self.bond])
    try phone.connect()
    #expect(phone.pass(CentralMachine.patience) == [.hangUp])
    #expect(phone.ends(.disconnected) == [])
    #expect(phone.pass(.seconds(1)).contains(.scan))
  }

  @Test("A pairing that fails ends the link, with the reason, and is not repeated")
  func pairingFails() throws {
    var phone = Phone()
    try phone.connect()
    let failed = MgmtEvent.authenticationFailed(Self.board, .authenticationFailed)
    #expect(phone.hear(failed) == [.hangUp])
    #expect(phone.ends(.disconnected) == [.report(.resting(.pairing(.refusedByPhone)))])
    #expect(try phone.machine.comeBack(at: phone.now).last == .scan)
  }

  @Test("An attempt to connect that fails is reported, and repeated after a pause")
  func connectFails() throws {
    var phone = Phone(bonds: [Self.bond])
    _ = try phone.machine.comeBack(at: .zero)
    _ = phone.sees()
    #expect(
      phone.machine.connectFailed("no response", at: phone.now) == [.report(.connectFailed(Self.board, "no response"))])
    #expect(phone.pass(.seconds(1)) == [.report(.scanning(for: nil)), .scan])
  }

  @Test("The user disconnects, leaves and comes back")
  func user() throws {
    var phone = Phone(bonds: [Self.bond])
    try phone.connect()
    _ = phone.machine.secured()
    #expect(phone.machine.disconnect() == [.hangUp])
    #expect(phone.ends(.disconnected).last == .scan)
    #expect(phone.machine.leave() == [.stopScanning])
    #expect(phone.sees() == [] && phone.pass(.seconds(60)) == [])
    #expect(try phone.machine.comeBack(at: phone.now).last == .scan)
    #expect(phone.sees().last == .connect(Self.board))
    #expect(phone.machine.leave() == [.hangUp])
    #expect(phone.machine.connectFailed("cancelled", at: phone.now) == [])
    #expect(phone.machine.state == .away)
  }

  @Test("A phone that forgets its accessory meets it again when the user wants it")
  func forgets() throws {
    var phone = Phone(bonds: [Self.bond])
    try phone.connect()
    _ = phone.machine.secured()
    #expect(phone.machine.forget() == [.hangUp, .forget([Self.board])])
    #expect(phone.ends(.disconnected) == [.report(.resting(.forgotten))])
    #expect(phone.sees() == [])
    try phone.connect()
    #expect(phone.machine.link?.isBonded == false)
  }

  @Test("The key of a private address belongs to the accessory's identity")
  func privateAccessory() throws {
    var phone = Phone()
    _ = try phone.machine.comeBack(at: .zero)
    _ = phone.sees(Sample.privateAddress)
    _ = phone.pass(.seconds(1))
    _ = phone.machine.connected(at: phone.now)
    let irk = Sample.identityResolvingKey()
    let ltk = Sample.longTermKey()
    _ = phone.machine.receive(
      .newIdentityResolvingKey(irk, privateAddress: Sample.privateAddress.address, store: true), at: phone.now)
    #expect(
      phone.hear(.newLongTermKey(ltk, store: true)).first
        == .save(Bond(identity: Sample.phone, longTermKeys: [ltk], identityResolvingKey: irk)))
    #expect(phone.machine.link?.accessory == Sample.phone)
  }

  @Test("A key that is not to be kept makes no bond; of legacy pairing the central's counts")
  func keys() throws {
    var phone = Phone()
    try phone.connect()
    let ltk = Sample.longTermKey(peer: Self.board)
    #expect(phone.hear(.newLongTermKey(ltk, store: false)) == [])
    for (isCentral, count) in [(false, 0), (true, 2)] {
      let key = Sample.longTermKey(.legacy, isCentral: isCentral, peer: Self.board)
      #expect(phone.hear(.newLongTermKey(key, store: true)).count == count)
    }
  }
}
