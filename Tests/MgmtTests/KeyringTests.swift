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
