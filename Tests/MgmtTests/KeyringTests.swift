// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import Testing
import Wire

@Suite("The bonds of an adapter, and the keys that the kernel holds")
struct KeyringTests {
  private let strict = PairingPolicy(
    capability: .displayYesNo, allowsLegacy: false, requiresAuthentication: true)
  private let usual = PairingPolicy(capability: .displayYesNo)

  private func keyring(_ bonds: Bond...) -> Keyring {
    var ring = Keyring(usual)
    _ = ring.add(bonds, of: bonds.count)
    return ring
  }

  @Test(
    "What the policy refuses is not used, is told once, and keeps the board closed to strangers")
  func refused() {
    var ring = Keyring(strict)
    #expect(!ring.isBonded)
    let told = ring.add([Sample.bond()], of: 1)
    #expect(told.map(\.1) == [.notAuthenticated])
    #expect(ring.bonds.isEmpty && ring.held.isEmpty && ring[Sample.phone] == nil)
    #expect(ring.isBonded && ring.unusable == 1)
    let again = ring.add([Sample.bond()], of: 1)
    #expect(again.isEmpty)
    let wasUsed = ring.remove(Sample.phone)
    #expect(!wasUsed && !ring.isBonded)
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

  @Test(
    "A key that is withheld is the only one that the kernel lacks, until it is returned or replaced"
  )
  func withheld() {
    var ring = keyring(Sample.bond(), Sample.bond(with: Sample.other))
    #expect(ring.held == ring.bonds)
    ring.withhold(Sample.phone)
    #expect(ring.held.map(\.longTermKeys.count) == [0, 1])
    #expect(ring.bonds.map(\.longTermKeys.count) == [1, 1])
    let (first, second) = (ring.returnKeys(), ring.returnKeys())
    #expect(first && !second)
    #expect(ring.held == ring.bonds)
    ring.withhold(Sample.phone)
    _ = ring.add(Sample.bond(), at: 100)
    #expect(ring.held == ring.bonds)
    let third = ring.returnKeys()
    #expect(!third)
  }

  @Test(
    "Links without a subscription are counted from where the board has left off, as far as it matters"
  )
  func strikes() {
    var ring = Keyring(usual)
    var stored = Sample.bond()
    stored.strikes = 1
    _ = ring.add([stored], of: 1)
    #expect(!ring.isOnLastChance(Sample.phone))
    ring.endedUnsubscribed(Sample.phone)
    #expect(ring.isOnLastChance(Sample.phone) && ring.firstGivenUp == nil)
    for _ in 0..<5 { ring.endedUnsubscribed(Sample.phone) }
    #expect(ring.firstGivenUp == Sample.phone && ring[Sample.phone]?.strikes == Keyring.patience)
    // What is read again has no news.
    _ = ring.add([stored], of: 1)
    #expect(ring.firstGivenUp == Sample.phone)
    ring.subscribed(Sample.phone)
    ring.endedUnsubscribed(Sample.other)
    #expect(ring[Sample.phone]?.strikes == nil && !ring.isOnLastChance(Sample.other))
  }

  @Test("A forgotten phone is suspected no more, and forgotten once")
  func forgotten() {
    var ring = keyring(Sample.bond())
    for second in 0..<3 {
      let now = Instant(nanoseconds: Int64(second) * 1_000_000_000)
      let found = ring.staleBonds.ended(
        Sample.phone, since: now, at: now, .phone, isBonded: { $0 == Sample.phone })
      #expect(found == (second == 2 ? .lostByPhone : nil))
    }
    #expect(ring.staleBonds.firstSuspicion?.phone == Sample.phone)
    let (first, second) = (ring.remove(Sample.phone), ring.remove(Sample.phone))
    #expect(first && !second)
    #expect(ring.staleBonds.suspicions.isEmpty && !ring.isBonded)
  }
}

@Suite("Bonds")
struct BondTests {
  @Test("A bond's description says how well it protects, without the keys")
  func strength() throws {
    let secure = try Sample.longTermKey(.secureAuthenticated)
    let bond = Bond(identity: Sample.phone, longTermKeys: [secure])
    #expect(bond.isAuthenticated && bond.isSecureConnections && bond.keySize == 16)
    #expect(
      bond.description
        == "F0:F1:F2:F3:F4:F5/random (Secure Connections, authenticated, 16-byte key)")
    let legacy = Bond(
      identity: Sample.phone,
      longTermKeys: [
        try Sample.longTermKey(.legacy, size: 7),
        try Sample.longTermKey(.legacy, isCentral: true),
      ])
    #expect(!legacy.isAuthenticated && !legacy.isSecureConnections && legacy.keySize == 7)
    let empty = Bond(identity: Sample.phone, longTermKeys: [])
    #expect(!empty.isAuthenticated && !empty.isSecureConnections && empty.keySize == 0)
    #expect(!"\(legacy) \(String(reflecting: bond))".contains("90"))
  }

  @Test("A phone that pairs again gets new keys and keeps its name and its first day")
  func renewed() throws {
    let irk = try Sample.identityResolvingKey()
    let old = Bond(
      identity: Sample.phone, longTermKeys: [try Sample.longTermKey(.secure)],
      identityResolvingKey: irk, name: "Ada's phone", firstSeen: 100)
    let new = Bond(
      identity: Sample.phone, longTermKeys: [try Sample.longTermKey(.secureAuthenticated)],
      firstSeen: 300)
    let bond = old.renewed(by: new)
    #expect(bond.longTermKeys == new.longTermKeys)
    #expect(bond.identityResolvingKey == irk)
    #expect(bond.name == "Ada's phone" && bond.firstSeen == 100)
  }
}

@Suite("One-sided bonds")
struct StaleBondTests {
  /// A link that begins at `second` and lasts for `life`.
  func link(
    _ watch: inout StaleBondWatch, at second: Int, life: Duration = .seconds(2),
    isSecured: Bool = false, _ cause: LinkEnd.Cause = .phone
  ) -> StaleBond? {
    let start = Instant.zero + .seconds(second)
    guard !isSecured else {
      watch.secured(Sample.phone)
      return nil
    }
    return watch.ended(Sample.phone, since: start, at: start + life, cause) { _ in true }
  }

  @Test("Three fruitless links within a minute are reported, once")
  func found() {
    var watch = StaleBondWatch()
    #expect(link(&watch, at: 0) == nil)
    #expect(link(&watch, at: 20) == nil)
    #expect(link(&watch, at: 40) == .lostByPhone)
    #expect(link(&watch, at: 45) == nil)
    #expect(link(&watch, at: 50) == nil)
    // Repaired, and broken again.
    #expect(link(&watch, at: 60, isSecured: true) == nil)
    for second in [70, 75] { #expect(link(&watch, at: second) == nil) }
    #expect(link(&watch, at: 80, .keysDiffer) == .keysDiffer)
  }

  @Test("Ten quick reconnections with sessions are not reported")
  func reconnections() {
    var watch = StaleBondWatch()
    for cycle in 0..<10 {
      #expect(link(&watch, at: cycle * 3, life: .seconds(1), isSecured: true) == nil)
    }
    for cycle in 0..<10 {  // every other one did not get that far
      #expect(link(&watch, at: 100 + cycle * 3, isSecured: cycle % 2 == 0) == nil)
    }
  }

  @Test("Links that are far apart, last long or were ended here do not count")
  func uncounted() {
    var watch = StaleBondWatch()
    for cycle in 0..<10 { #expect(link(&watch, at: cycle * 40) == nil) }
    watch = StaleBondWatch()
    for cycle in 0..<10 { #expect(link(&watch, at: cycle * 6, life: .seconds(6)) == nil) }
    watch = StaleBondWatch()
    for cycle in 0..<10 { #expect(link(&watch, at: cycle * 3, .board) == nil) }
  }

  @Test(
    "Links that were ended here because the phone did not encrypt count, however long they were")
  func unencrypted() {
    var watch = StaleBondWatch()
    #expect(link(&watch, at: 0, life: .seconds(10), .unencrypted) == nil)
    #expect(link(&watch, at: 12, life: .seconds(10), .unencrypted) == nil)
    #expect(link(&watch, at: 24, life: .seconds(10), .unencrypted) == .lostByPhone)
    watch = StaleBondWatch()
    for second in [0, 20] {  // that the phone ends them afterwards adds nothing
      #expect(link(&watch, at: second, life: .seconds(1), .unencrypted) == nil)
      #expect(link(&watch, at: second) == nil)
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
    for stale in [StaleBond.lostByPhone, .keysDiffer] {
      let remedy = stale.remedy(board: "Kitchen", phone: "Ada's phone")
      #expect(remedy.contains("Kitchen › Forget This Device"))
      #expect(remedy.contains("ancsd forget Ada's phone"))
      #expect(stale.what.contains("without encryption"))
    }
    #expect(!StaleBond.lostHere.remedy(board: "Kitchen", phone: "x").contains("ancsd forget"))
  }
}
