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
  static let samples: [Wait] =
    adapters + phones + security + services

  private static let adapters: [Wait] = [
    .absent("hci1"), .absent(nil), .settingUp, .blocked,
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

  @Test("Every name in the code has a sample here")
  func complete() throws {
    let source = try Repository.text("Sources/Control/Wait.swift")
    // In this file a literal of nothing but small letters and dashes is a name, unless it is the
    // end of a longer sentence.
    let pieces = source.split(separator: "\"", omittingEmptySubsequences: false)
    let names = Set(
      zip(pieces, pieces.dropFirst()).filter { code, text in
        !code.hasSuffix("+ ") && !text.isEmpty
          && text.allSatisfy { $0 == "-" || ("a"..."z").contains($0) }
      }.map { String($1) })
    #expect(names.count > 30)
    #expect(names == Set(Self.samples.map(\.name)))
    #expect(Wait.fineNames.isSubset(of: names))
  }

  @Test("docs/troubleshooting.md has a row for each, word for word")
  func documented() throws {
    let page = try Repository.text("docs/troubleshooting.md")
    let rows = Set(page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init))
    let wanted = Set(Self.samples.map { "| `\($0.name)` | \(Self.sentence($0)) |" })
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

  @Test("What is well or logged at once is a matter of the wait")
  func kinds() {
    let urgent = Set(Self.samples.filter(\.isUrgent).map(\.name))
    #expect(
      urgent == [
        "no-adapter", "blocked", "blocked-by-switch", "bluetoothd", "silent-links", "switched-off",
        "changed", "advertising-removed", "failing", "nobody-listens",
      ])
    let rest = Set(Self.samples.filter(\.isRest).map(\.name))
    #expect(rest == ["any-phone", "bonded-phone", "news"])
    #expect(rest.isSubset(of: Wait.fineNames) && urgent.isDisjoint(with: Wait.fineNames))
  }
}
