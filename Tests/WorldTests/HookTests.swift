// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import JSON
import System
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Programs that are run for events")
struct HookTests {
  private static let lamp = "/usr/local/bin/lamp"

  private static func message(_ title: String) -> NotificationContents {
    NotificationContents(.social, app: "com.apple.MobileSMS", title: title, message: "Hi\0 you")
  }

  /// Has the daemon run these for events, and log what comes of it, while the phone is served.
  @LoopActor private static func serve(
    _ world: World, _ hooks: String..., change: (inout World.Options) -> Void = { _ in }
  ) async throws {
    try await world.serve {
      $0.logLevel = .notice
      $0.hooks = hooks.compactMap { Hook($0) }
      change(&$0)
    }
  }

  /// The phone brings a message, and time passes.
  @LoopActor private static func bring(
    _ world: World, _ title: String = "n", passing: Duration = .seconds(2)
  ) async throws {
    try world.phone.phone.perform(.add(message(title)))
    await world.pass(passing)
  }

  @Test(
    "An option names an event and an absolute path",
    arguments: [
      ("notification=/bin/lamp", true), ("notification+=/bin/lamp", true), ("battery=/a b", true),
      ("notifications=/bin/lamp", false), ("notification=lamp", false), ("notification", false),
      ("=/bin/lamp", false), ("notification=", false), ("notification=/bin/\0", false),
    ])
  func option(_ text: String, _ isGood: Bool) {
    #expect((Hook(text) != nil) == isGood)
  }

  @Test("What variables hold can be printed on a terminal; the JSON is as the phone has sent it")
  func hostile() async throws {
    try await inWorld { world in
      try await Self.serve(world, "notification=\(Self.lamp)")
      try world.phone.phone.perform(
        .add(
          NotificationContents(
            .social, app: "com.apple.MobileSMS", title: "\u{1B}[2J\u{202E}mu\nM",
            message: "one\u{7}\r\ntwo\u{9B}31m")))
      try await world.until(.notification)
      let run = try #require(world.platform.programs.runs.first)
      #expect(run.environment["ANCSD_TITLE"] == "␛[2Jmu M")
      #expect(run.environment["ANCSD_MESSAGE"] == "one␇\ntwo\u{FFFD}31m")
      #expect(run.event?["title"] == "\u{1B}[2J\u{202E}mu\nM")
    }
  }

  @Test("A program gets the event as JSON and as variables")
  func event() async throws {
    try await inWorld { world in
      world.platform.environment = [
        "PATH=/bin", "NOTIFY_SOCKET=/run/x", "ANCSD_TITLE=forged", "WATCHDOG_USEC=1",
      ]
      try await Self.serve(world, "notification=\(Self.lamp)")
      try world.phone.phone.perform(.add(Self.message("Mum=you")))
      try await world.until(.notification)
      let run = try #require(world.platform.programs.runs.first)
      #expect(run.arguments == [Self.lamp])
      #expect(run.event?["title"] == "Mum=you")
      #expect(run.input.last == UInt8(ascii: "\n"))
      #expect(run.environment["ANCSD_EVENT"] == "notification")
      #expect(run.environment["ANCSD_TITLE"] == "Mum=you")
      #expect(run.environment["ANCSD_MESSAGE"] == "Hi\u{2400} you")
      #expect(run.environment["ANCSD_CATEGORY"] == "social")
      #expect(run.environment["PATH"] == "/bin")
      #expect(run.environment["ANCSD_SOCKET"]?.hasSuffix(".sock") == true)
      #expect(run.environment["NOTIFY_SOCKET"] == nil)
      #expect(run.environment["WATCHDOG_USEC"] == nil)
    }
  }

  @Test(
    "What was on the phone before is left out, unless it is asked for", arguments: [false, true])
  func preExisting(_ isAskedFor: Bool) async throws {
    try await inWorld { world in
      try world.phone.phone.perform(.add(Self.message("before")))
      try await Self.serve(world, "notification\(isAskedFor ? "+" : "")=\(Self.lamp)")
      await world.pass(.seconds(10))
      try await Self.bring(world, "after", passing: .seconds(10))
      let titles = world.platform.programs.runs.map { $0.environment["ANCSD_TITLE"] }
      #expect(titles == (isAskedFor ? ["before", "after"] : ["after"]))
    }
  }

  @Test(
    "In a burst of 500, with one program that hangs, the others run, and what was left out is said")
  func burst() async throws {
    try await inWorld { world in
      let hung = "/usr/local/bin/hung"
      world.platform.programs.behaviours[hung] = .hangs(endedBy: [.kill])
      try await Self.serve(world, "subscribed=\(hung)", "notification=\(Self.lamp)") {
        $0.hookLimits.time = .seconds(5)
      }
      for _ in 0..<500 { try world.phone.phone.perform(.add(Self.message("n"))) }
      await world.pass(.seconds(60))
      let programs = world.platform.programs
      let lamps = programs.runs.count { $0.arguments == [Self.lamp] }
      #expect(programs.most == 4)
      #expect(world.events.count { $0.name == .notification } == 500)
      let omitted = world.log.compactMap { line in
        line.contains("were dropped, because")
          ? line.split(separator: " ").compactMap { Int($0) }.first : nil
      }
      #expect(lamps + omitted.reduce(0, +) == 500)
      #expect(lamps >= HookRunner.capacity)
      // First it is asked to end, then it is killed.
      let stuck = try #require(programs.runs.first { $0.arguments == [hung] })
      #expect(stuck.signals.map(\.0) == [.terminate, .kill])
      #expect(
        world.log.contains { $0.contains("\(hung) was killed, because it ran longer than 5 s") })
    }
  }

  @Test("A program's failure is logged once, and its recovery too")
  func failing() async throws {
    try await inWorld { world in
      let programs = world.platform.programs
      programs.behaviours[Self.lamp] = .ends(.exit(3), lines: ["no lamp"])
      try await Self.serve(world, "notification=\(Self.lamp)")
      for _ in 0..<3 { try await Self.bring(world) }
      #expect(world.log.count { $0.hasSuffix("\(Self.lamp) exited with status 3") } == 1)
      #expect(world.log.count { $0.hasSuffix("lamp: no lamp") } == 3)
      programs.behaviours[Self.lamp] = .isMissing
      try await Self.bring(world)
      #expect(world.log.contains { $0.contains("\(Self.lamp) was not started: posix_spawn") })
      programs.behaviours[Self.lamp] = .ends()
      try await Self.bring(world)
      #expect(world.log.count { $0.hasSuffix("\(Self.lamp) works again") } == 1)
    }
  }

  @Test("A program that fails every other time is not logged every time")
  func failsNowAndThen() async throws {
    try await inWorld { world in
      let programs = world.platform.programs
      try await Self.serve(world, "notification=\(Self.lamp)")
      for turn in 0..<100 {
        programs.behaviours[Self.lamp] = turn % 2 == 0 ? .ends(.exit(1)) : .ends()
        try await Self.bring(world, passing: .milliseconds(500))
      }
      let lines = world.log.count { $0.contains("lamp") }
      #expect(lines > 10 && lines <= 31)
    }
  }

  @Test("At the end, programs that run have two seconds to end by themselves")
  func end() async throws {
    try await inWorld { world in
      world.platform.programs.behaviours[Self.lamp] = .hangs()
      try await Self.serve(world, "subscribed=\(Self.lamp)")
      await world.pass(.milliseconds(10))
      let asked = world.clock.now
      try await world.stop()
      #expect(world.clock.now - asked < .seconds(5))
      #expect(world.platform.programs.runs.first?.signals.map(\.0) == [.kill])
    }
  }
}
