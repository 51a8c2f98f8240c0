// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@Suite("The bonds of an adapter, and the keys that the kernel holds")
struct KeyringTests {
  private let usual = PairingPolicy(capability: .displayYesNo)

  private func keyring(_ bonds: Bond...) -> Keyring {
    var ring = Keyring(usual)
    _ = ring.add(bonds, of: bonds.count)
    return ring
  }

  @Test("What can be read later takes its place beside what was learnt meanwhile")
  func readAgain() {
    var ring = Keyring(usual)
    _ = ring.add([], of: 2)
    #expect(ring.isBonded && ring.unusable == 2)
    var paired = ring.add(Sample.bond(), at: 100)
    paired.name = "older"
    _ = ring.add([paired, Sample.bond(with: Sample.other)], of: 2)
    #expect(ring.bonds.map(\.identity) == [Sample.phone, Sample.other])
    #expect(ring[Sample.phone]?.name == nil)
    #expect(ring.unusable == 0)
  }

  @Test("A forgotten phone is suspected no more, and forgotten once")
  func forgotten() {
    var ring = keyring(Sample.bond())
    for second in 0..<3 {
      let now = Instant(nanoseconds: Int64(second) * 1_000_000_000)
      let found = ring.staleBonds.ended(Sample.phone, since: now, at: now, .phone, isBonded: { $0 == Sample.phone })
      #expect(found == (second == 2 ? .lostByPhone : nil))
    }
    #expect(ring.staleBonds.firstSuspicion?.phone == Sample.phone)
    #expect(ring.remove(Sample.phone) == true)
    #expect(ring.remove(Sample.phone) == false)
    #expect(ring.staleBonds.suspicions.isEmpty && !ring.isBonded)
  }
}

@Suite("Bonds")
struct BondTests {
  @Test("A bond's description says how well it protects, without the keys")
  func strength() {
    let secure = Sample.longTermKey(.secureAuthenticated)
    let bond = Bond(identity: Sample.phone, longTermKeys: [secure])
    #expect(bond.isAuthenticated && bond.isSecureConnections && bond.keySize == 16)
    #expect(bond.description == "F0:F1:F2:F3:F4:F5/random (Secure Connections, authenticated, 16-byte key)")
    let legacy = Bond(
      identity: Sample.phone,
      longTermKeys: [Sample.longTermKey(.legacy, size: 7), Sample.longTermKey(.legacy, isCentral: true)])
    #expect(!legacy.isAuthenticated && !legacy.isSecureConnections && legacy.keySize == 7)
    let empty = Bond(identity: Sample.phone, longTermKeys: [])
    #expect(!empty.isAuthenticated && !empty.isSecureConnections && empty.keySize == 0)
    #expect(!"\(legacy) \(String(reflecting: bond))".contains("170"))
  }

  @Test("A phone that pairs again gets new keys and keeps its name and its first day")
  func renewed() {
    let irk = Sample.identityResolvingKey()
    let old = Bond(
      identity: Sample.phone, longTermKeys: [Sample.longTermKey()], identityResolvingKey: irk, name: "Ada's phone",
      firstSeen: 100)
    let new = Bond(identity: Sample.phone, longTermKeys: [Sample.longTermKey(.secureAuthenticated)], firstSeen: 300)
    let bond = old.renewed(by: new)
    #expect(bond.longTermKeys == new.longTermKeys)
    #expect(bond.identityResolvingKey == irk)
    #expect(bond.name == "Ada's phone" && bond.firstSeen == 100)
  }
}

@Suite("One-sided bonds")
struct StaleBondTests {
  /// Links that begin at these seconds, how long they last, and what ends them; nil: they are secured.
  struct Links: Sendable {
    var starts: [Int]
    var life = 2
    var cause: LinkEnd.Cause? = .phone
  }

  /// Links with a bonded phone, and the links at whose end something is found, by the seconds of their starts.
  struct History: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var links: [Links]
    var found: [Int: StaleBond] = [:]
  }

  static let histories: [History] = [
    .init(
      testDescription: "Three within a minute are reported, once until the bond works again",
      links: [
        .init(starts: [0, 20, 40, 45, 50]), .init(starts: [60], cause: nil),
        .init(starts: [70, 75, 80], cause: .keysDiffer),
      ], found: [40: .lostByPhone, 80: .keysDiffer]),
    .init(
      testDescription: "Quick reconnections with sessions, at least every other time, are not",
      links: (0..<10).map { .init(starts: [$0 * 3], cause: $0 % 2 == 0 ? nil : .phone) }),
    .init(testDescription: "Links that are far apart do not count", links: [.init(starts: (0..<10).map { $0 * 40 })]),
    .init(testDescription: "Nor do links that last long", links: [.init(starts: (0..<10).map { $0 * 6 }, life: 6)]),
    .init(
      testDescription: "Nor do links that were ended here",
      links: [.init(starts: (0..<10).map { $0 * 3 }, cause: .board)]),
    .init(
      testDescription: "They do if the phone did not encrypt, however long they were",
      links: [.init(starts: [0, 12, 24], life: 10, cause: .unencrypted)], found: [24: .lostByPhone]),
    .init(
      testDescription: "That the phone ends such a link afterwards adds nothing",
      links: [0, 20].flatMap { start -> [Links] in
        [.init(starts: [start], life: 1, cause: .unencrypted), .init(starts: [start])]
      }),
  ]

  @Test("Fruitless links are counted", arguments: histories)
  func found(_ history: History) {
    var watch = StaleBondWatch()
    for links in history.links {
      for second in links.starts {
        guard let cause = links.cause else {
          watch.secured(Sample.phone)
          continue
        }
        let start = Instant.zero + .seconds(second)
        let found = watch.ended(
          Sample.phone, since: start, at: start + .seconds(links.life), cause, isBonded: { _ in true })
        #expect(found == history.found[second], "at \(second)")
      }
    }
  }

  @Test("Too many unknown phones don't drive out the bonded one")
  func capacity() {
    var watch = StaleBondWatch()
    func end(_ phone: DeviceAddress, at second: Int) -> StaleBond? {
      let start = Instant.zero + .seconds(second)
      return watch.ended(phone, since: start, at: start + .seconds(1), .phone) {
        $0 == Sample.phone
      }
    }
    for second in [0, 2] { #expect(end(Sample.phone, at: second) == nil) }
    for number in 0..<1000 { _ = end(DeviceAddress(Address(UInt64(number)), .random), at: 4) }
    #expect(end(Sample.phone, at: 6) == .lostByPhone)
  }

  @Test("The remedy names both sides")
  func words() {
    for stale in [StaleBond.lostByPhone, .keysDiffer, .lostHere] {
      let remedy = stale.remedy(board: "Kitchen", phone: "Ada's phone")
      #expect(remedy.contains("Kitchen › Forget This Device"))
      #expect(remedy.contains("ancsd forget Ada's phone") == (stale != .lostHere))
    }
  }
}
