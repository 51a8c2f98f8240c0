// SPDX-License-Identifier: GPL-3.0-or-later
import Mgmt
import TestLoop
import Testing
import Wire

@testable import Control

@Suite("What is waited for")
struct WaitTests {
  private static let phone = Address(0xC011_2233_4455)

  /// One of each; the texts in them as in docs/troubleshooting.md.
  static let samples: [Wait] = adapters + phones + security + services

  private static let adapters: [Wait] = [
    .absent("hci1"), .absent(nil), .settingUp, .resting, .blocked,
    .blockedBySwitch, .bluetoothd, .lost(.switchedOff, ControllerIndex(0)),
    .lost(.changed(.bondable), ControllerIndex(0)),
    .lost(.advertisingRemoved, ControllerIndex(0)), .failing("WHY"), .notAdvertising("WHY"),
    .silentLinks,
  ]

  private static let phones: [Wait] = [
    .firstPhone, .anyPhone, .bondedPhone, .nobody, .oneSided(.lostByPhone, phone: phone),
    .oneSided(.lostHere, phone: phone), .oneSided(.keysDiffer, phone: phone),
    .unusableBonds, .givenUp(phone: phone), .nobodyListens(path: "PATH", "WHY"), .dialling,
  ]

  private static let security: [Wait] = [
    .channel, .mtu, .encryption, .securityRequest(phone: phone), .confirmationThere, .entryThere,
    .confirmationHere, .entryHere, .pairingFailed(.refusedByPhone),
    .closedOut, .anotherPairs, .consentHere,
  ]

  private static let services: [Wait] = [
    .discovery, .subscription, .unpublished, .incomplete, .refused("WHY"), .permission, .forbidden,
    .stale("WHAT"), .news, .unprovenNews,
  ]

  @Test("Every name has a sample here")
  func complete() {
    #expect(Set(Wait.Name.allCases) == Set(Self.samples.map(\.name)))
  }

  @Test("docs/troubleshooting.md has a row for each, word for word")
  func documented() throws {
    let page = try Repository.text("docs/troubleshooting.md")
    let rows = Set(page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init))
    let wanted = Set(Self.samples.map { "| `\($0.name.rawValue)` | \(Self.sentence($0)) |" })
    #expect(wanted.subtracting(rows).sorted().joined(separator: "\n") == "")
    #expect(rows.filter { !$0.hasPrefix("| `doctor") }.count == wanted.count)
  }

  /// The sentence with PHONE in place of the phone's address.
  private static func sentence(_ wait: Wait) -> String {
    wait.sentence(name: "NAME").split(
      separator: phone.description, omittingEmptySubsequences: false
    )
    .joined(separator: "PHONE")
  }

  @Test(
    "What is well, what passes by itself, and what is logged at once",
    arguments: [
      (.rest, "any-phone bonded-phone news"),
      (
        .progress,
        "setting-up resting dialling channel mtu encryption discovery subscription permission"
      ),
      (.urgent, "no-adapter blocked blocked-by-switch bluetoothd silent-links nobody-listens"),
      (.fault, "switched-off changed advertising-removed failing"),
    ] as [(Wait.Weight, String)])
  func weights(weight: Wait.Weight, words: String) {
    let names = Wait.Name.allCases.filter { $0.weight == weight }.map(\.rawValue)
    #expect(Set(names) == Set(words.split(separator: " ").map(String.init)))
    #expect(names.allSatisfy { Wait.isFine($0) == (weight < .action) })
    #expect(!Wait.isFine("of-a-newer-daemon") && !Wait.isFine(nil))
  }
}
