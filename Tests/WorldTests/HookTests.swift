// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import JSON
import System
import TestLoop
import Testing
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

@Suite("Programs that are run for events", .inWorld)
struct HookTests: InWorld {
  private static let lamp = "/usr/local/bin/lamp"

  private static func message(_ title: String) -> NotificationContents {
    NotificationContents(.social, app: "com.apple.MobileSMS", title: title, message: "Hi\0 you")
  }

  /// Has the daemon run these for events, and log what comes of it, while the phone is served.
  private func serve(
    _ hooks: String..., change: (inout World.Options) -> Void = { _ in }
  ) async throws {
    try await world.serve {
      $0.logLevel = .notice
      $0.hooks = hooks.compactMap { Hook($0) }
      change(&$0)
    }
  }

  /// The phone brings a message, and time passes.
  private func bring(_ title: String = "n", passing: Duration = .seconds(2)) async throws {
    try world.phoneDoes(.add(Self.message(title)))
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
    try await serve("notification=\(Self.lamp)")
    try world.phoneDoes(
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

  @Test("A program gets the event as JSON and as variables")
  func event() async throws {
    world.platform.environment = [
      "PATH=/bin", "NOTIFY_SOCKET=/run/x", "ANCSD_TITLE=forged", "WATCHDOG_USEC=1",
    ]
    try await serve("notification=\(Self.lamp)")
    try world.phoneDoes(.add(Self.message("Mum=you")))
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

  @Test(
    "What was on the phone before is left out, unless it is asked for", arguments: [false, true])
  func preExisting(_ isAskedFor: Bool) async throws {
    try world.phoneDoes(.add(Self.message("before")))
    try await serve("notification\(isAskedFor ? "+" : "")=\(Self.lamp)")
    await world.pass(.seconds(10))
    try await bring("after", passing: .seconds(10))
    let titles = world.platform.programs.runs.map { $0.environment["ANCSD_TITLE"] }
    #expect(titles == (isAskedFor ? ["before", "after"] : ["after"]))
  }

  @Test(
    "In a burst of 500, with one program that hangs, the others run, and what was left out is said")
  func burst() async throws {
    let hung = "/usr/local/bin/hung"
    world.platform.programs.behaviours[hung] = .hangs(endedBy: [.kill])
    try await serve("subscribed=\(hung)", "notification=\(Self.lamp)") {
      $0.hookLimits.time = .seconds(5)
    }
    for _ in 0..<500 { try world.phoneDoes(.add(Self.message("n"))) }
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

  @Test("A program's failure is logged once, and its recovery too")
  func failing() async throws {
    let programs = world.platform.programs
    programs.behaviours[Self.lamp] = .ends(.exit(3), lines: ["no lamp"])
    try await serve("notification=\(Self.lamp)")
    for _ in 0..<3 { try await bring() }
    #expect(world.log.count { $0.hasSuffix("\(Self.lamp) exited with status 3") } == 1)
    #expect(world.log.count { $0.hasSuffix("lamp: no lamp") } == 3)
    programs.behaviours[Self.lamp] = .isMissing
    try await bring()
    #expect(world.log.contains { $0.contains("\(Self.lamp) was not started: posix_spawn") })
    programs.behaviours[Self.lamp] = .ends()
    try await bring()
    #expect(world.log.count { $0.hasSuffix("\(Self.lamp) works again") } == 1)
  }

  @Test("A program that fails every other time is not logged every time")
  func failsNowAndThen() async throws {
    let programs = world.platform.programs
    try await serve("notification=\(Self.lamp)")
    for turn in 0..<100 {
      programs.behaviours[Self.lamp] = turn % 2 == 0 ? .ends(.exit(1)) : .ends()
      try await bring(passing: .milliseconds(500))
    }
    let lines = world.log.count { $0.contains("lamp") }
    #expect(lines > 10 && lines <= 31)
  }

  @Test("At the end, programs that run have two seconds to end by themselves")
  func end() async throws {
    world.platform.programs.behaviours[Self.lamp] = .hangs()
    try await serve("subscribed=\(Self.lamp)")
    await world.pass(.milliseconds(10))
    let asked = world.clock.now
    try await world.stop()
    #expect(world.clock.now - asked < .seconds(5))
    #expect(world.platform.programs.runs.first?.signals.map(\.0) == [.kill])
  }
}

@Suite("The helper that keeps the history", .inWorld)
struct HistoryHelperTests: InWorld {
  @Test(
    "It is started where the settings ask for a history, again where it ends, and with pauses that grow"
  )
  func helper() async throws {
    try await world.start(settings: "[log]\nage = '7d'\ntexts = true")
    await world.pass(.seconds(1))
    let runs = world.platform.programs.runs
    #expect(runs.count == 1)
    #expect(runs[0].arguments.prefix(2) == ["/proc/self/exe", "history-helper"])
    var history = HistoryReport()
    history.file = "\(try #require(world.daemon).bonds.directory.path)/log.db"
    (history.age, history.size, history.hasTexts) = (604_800, 16, true)
    #expect(runs[0].input == HistoryTask(history).json)
    #expect(try await world.status().history == history)
    await world.pass(.seconds(3_600))
    let count = world.platform.programs.runs.count
    #expect(count > 1 && count < 16)
  }

  @Test(
    "Clients read the history through a helper, page by page; without a history they learn why there is none"
  )
  func read() async throws {
    try await world.start(settings: "[log]")
    world.platform.programs.behaviours["/proc/self/exe"] = .ends(
      lines: [#"{"events":[{"event":"battery","seq":1}],"next":"7"}"#])
    let page = try await world.call(
      ControlMethods.readHistory, HistoryQuery(since: WallTime(seconds: 5)))
    #expect(page.next == "7")
    #expect(page.elements.map(\.json) == [Array(#"{"event":"battery","seq":1}"#.utf8)])
    let task = try HistoryTask(
      reading: JSONValue(parsing: try #require(world.platform.programs.runs.last).input))
    #expect(task.query == HistoryQuery(since: WallTime(seconds: 5)))
    world.platform.programs.behaviours["/proc/self/exe"] = .ends(
      .exit(66), lines: ["reading the history: it is damaged"])
    #expect(await refusal()?.contains("it is damaged") == true)
    try await world.stop()
    try await world.start()
    #expect(await refusal()?.contains("[log]") == true)
  }

  /// Why the history can't be read.
  private func refusal() async -> String? {
    await #expect(throws: RPCError.self) {
      try await world.call(ControlMethods.readHistory, HistoryQuery())
    }?.message
  }

  @Test("Nothing starts unless requested", arguments: ["", "[log]\non = false"])
  func none(settings: String) async throws {
    try await world.start(settings: settings)
    await world.pass(.seconds(60))
    #expect(world.platform.programs.runs.isEmpty)
  }
}
