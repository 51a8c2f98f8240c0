// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import OnLoop
import Mgmt
import System
import TestLoop
import Testing
import Wire

@testable import Daemon

@Suite("What is waited for")
struct WaitTests {
  /// One of each; the texts in them as in docs/troubleshooting.md.
  static let samples: [Wait] = [
    .noAdapter("hci1"), .noAdapter(nil), .settingUp, .blocked(byHardware: false),
    .blocked(byHardware: true), .bluetoothd, .lost(.removed, ControllerIndex(0)),
    .lost(.switchedOff, ControllerIndex(0)), .lost(.changed(.connectable), ControllerIndex(0)),
    .lost(.advertisingRemoved, ControllerIndex(0)), .failing("WHY"), .silent("WHY"), .firstPhone,
    .anyPhone, .bondedPhone, .nobody, .oneSided(.lostByPhone, phone: "PHONE"),
    .oneSided(.lostHere, phone: "PHONE"), .oneSided(.keysDiffer, phone: "PHONE"),
    .nobodyListens(path: "PATH", "WHY"), .dialling, .channel, .mtu, .encryption,
    .securityRequest(phone: "PHONE"), .confirmationThere, .entryThere, .confirmationHere,
    .entryHere, .pairingFailed(.refusedByPhone), .closedOut, .unencrypted, .discovery,
    .subscription, .unpublished, .incomplete, .refused("WHY"), .permission, .forbidden,
    .stale("WHAT"), .news,
  ]

  @Test("Each wait comes about", arguments: WaitScene.all)
  func comesAbout(scene: WaitScene) async throws {
    let name = try await onLoop { try await scene.play()?.name }
    #expect(name == scene.name)
  }

  @Test("Every name in the code has a sample and a scene here")
  func complete() throws {
    let source = String(
      decoding: try Files.read("\(Self.root)/Sources/Daemon/Waits/Wait.swift"), as: UTF8.self)
    let names = source.split(separator: "\n").compactMap { line -> String? in
      guard line.contains("case ."), line.hasSuffix("\"") else { return nil }
      return line.split(separator: "\"").last.map(String.init)
    }
    #expect(names.count > 30)
    #expect(Set(names) == Set(Self.samples.map(\.name)))
    #expect(Set(names) == Set(WaitScene.all.map { $0.name }))
    #expect(Wait.fineNames.isSubset(of: names))
  }

  @Test("docs/troubleshooting.md has a row for each, word for word")
  func documented() throws {
    let page = String(
      decoding: try Files.read("\(Self.root)/docs/troubleshooting.md"), as: UTF8.self)
    let rows = Set(page.split(separator: "\n").filter { $0.hasPrefix("| `") }.map(String.init))
    let wanted = Set(Self.samples.map { "| `\($0.name)` | \($0.sentence(name: "NAME")) |" })
    #expect(wanted.subtracting(rows).sorted().joined(separator: "\n") == "")
    #expect(rows.filter { !$0.hasPrefix("| `doctor") }.count == wanted.count)
  }

  private static var root: String {
    String(#filePath.prefix(#filePath.count - "/Tests/DaemonTests/Waits/WaitTests.swift".count))
  }

  @Test("A change is told at once, and again, once, when it has lasted")
  func board() async throws {
    try await onLoop {
      let clock = HandClock()
      let board = WaitBoard(scheduler: clock)
      var now: [WaitBoard.Standing] = []
      var changes: [String] = []
      var lasting: [String] = []
      board.current = { now }
      board.onChange = { changes.append($0.wait.name) }
      board.onLasting = { lasting.append($0.wait.name) }
      @LoopActor func become(_ waits: Wait..., lasting seconds: Int = 0) {
        now = waits.map { .init(.init(adapter: "hci0"), $0) }
        board.mayHaveChanged()
        board.mayHaveChanged()
        let end = clock.now + .seconds(seconds)
        var isOver = false
        _ = clock.schedule(at: end) { isOver = true }
        while !isOver { _ = clock.turn() }
      }
      become(.settingUp)
      become(.firstPhone, lasting: 10)
      become(.firstPhone, lasting: 10)
      #expect(changes == ["setting-up", "first-phone"])
      #expect(lasting == ["first-phone"])
      // A blip is not worth a line, nor is the way back.
      become(lasting: 1)
      become(.firstPhone, lasting: 10)
      #expect(lasting == ["first-phone"])
      // What is urgent is not waited for.
      become(.bluetoothd)
      #expect(lasting == ["first-phone", "bluetoothd"])
      become(.bluetoothd, lasting: 10)
      become(lasting: 10)
      become(.bluetoothd, lasting: 10)
      #expect(lasting == ["first-phone", "bluetoothd", "bluetoothd"])
      // What is to last for hours needs no timer.
      become(.bondedPhone)
      #expect(lasting.last == "bonded-phone")
      // Nothing is left that would wake anybody up.
      #expect(clock.scheduled == 0)
    }
  }

  @Test("A link that is gone leaves nothing behind, and who it was may be learned late")
  func links() async throws {
    try await onLoop {
      let clock = HandClock()
      let board = WaitBoard(scheduler: clock)
      var now = [WaitBoard.Standing(.init(adapter: "hci0", link: 1), .discovery)]
      var changes = 0
      board.current = { now }
      board.onChange = { _ in changes += 1 }
      board.mayHaveChanged()
      _ = clock.turn()
      now[0].subject.phone = Address(1)
      board.mayHaveChanged()
      _ = clock.turn()
      #expect(changes == 1)
      now = []
      board.mayHaveChanged()
      _ = clock.turn()
      #expect(clock.scheduled == 0)
    }
  }
}
