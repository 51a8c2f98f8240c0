// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import JSON
import Patterns
import System
import TestLoop
import Testing
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

extension Rule {
  /// A rule that does this with what meets some conditions.
  fileprivate init(_ conditions: (inout Conditions) -> Void, _ outcome: (inout Outcome) -> Void) {
    self.init(name: "rule")
    conditions(&self.conditions)
    outcome(&self.outcome)
  }

  /// A rule that hides what meets some conditions.
  fileprivate static func hiding(_ conditions: (inout Conditions) -> Void) -> Rule {
    Rule(conditions) { $0.display = .hidden }
  }
}

@Suite("Rules on a phone's notifications", .inWorld)
struct RulesInForceTests: InWorld {
  private static func contents(_ category: Category, _ title: String) -> NotificationContents {
    NotificationContents(category, app: "com.apple.MobileSMS", title: title, negative: "Clear")
  }

  @Test(
    "A rule about a phone holds for what it brings to its first session",
    arguments: ["iPhone", nil])
  func ofPhone(name: String?) async throws {
    world.phone.keyOrder = .longTermFirst
    try world.phoneDoes(.add(Self.contents(.social, "Old"), uid: 1))
    let selector = PhoneSelector(name ?? "\(world.phone.kind.identity.address)")
    try await world.serve { $0.live.rules = [.hiding { $0.phone = selector }] }
    try world.phoneDoes(.add(Self.contents(.social, "New"), uid: 2))
    await world.pass(.seconds(10))
    #expect(world.told() == [])
  }

  @Test("The end of a link cuts off a rule's action, which is no error of its own")
  func cutOff() async throws {
    world.phone.transform = { pdu, toPhone in
      // Perform Notification Action.
      guard toPhone, [0x12, 0x52].contains(pdu[0]), pdu.count == 9, pdu[3] == 2 else { return pdu }
      _ = world.clock.schedule(after: .milliseconds(10)) { world.phone.goOutOfRange() }
      return nil
    }
    try await world.serve {
      $0.live.rules = [Rule({ $0.categories = [.incomingCall] }, { $0.action = .negative })]
    }
    try world.phoneDoes(.add(Self.contents(.incomingCall, "Spam"), uid: 5))
    try await world.until(.disconnected)
    await world.pass(.seconds(1))
    #expect(!world.story.contains("error"), "\(world.story)")
  }

  @Test("A rule whose expression exceeds its limit is skipped, which is logged once")
  func beyondLimit() async throws {
    try await world.serve {
      $0.live.logLevel = .warning
      $0.live.rules = [.hiding { $0.title = try? TextPattern("(a+)+$") }]
    }
    let title = String(repeating: "a", count: 40) + "!"
    for _ in 0..<2 { try world.phoneDoes(.add(.message(from: title))) }
    await world.pass(.seconds(5))
    #expect(world.told() == ["added \(title)", "added \(title)"])
    #expect(world.log.count { $0.contains("rule “rule” is skipped") } == 1)
  }

  @Test("A rule with the time of day is judged when something happens to the notification")
  func timeOfDay() async throws {
    // The virtual board's clock begins in the morning.
    let now = TimeOfDay(world.platform.wallTime, zoneOffset: world.platform.wallTime.zoneOffset)
    let later = (now.minutes + 30) % (24 * 60)
    let night = "\(later / 60):\(later % 60)-\(now.minutes / 60):\(now.minutes % 60)"
    try await world.serve { $0.live.rules = [.hiding { $0.time = TimeOfDay.Span(night) }] }
    try world.phoneDoes(.add(.message(from: "Mum"), uid: 1), .add(.message(from: "Dad"), uid: 2))
    await world.pass(.seconds(3600))
    #expect(world.told() == ["added Mum", "added Dad"])
    try world.phoneDoes(.modify(1, .message(from: "Mum (2)")))
    await world.pass(.seconds(5))
    try world.phoneDoes(.remove(2))
    await world.pass(.seconds(5))
    #expect(world.told() == ["added Mum", "added Dad", "removed Mum", "removed Dad"])
  }

  @Test("A rule may have everything fetched where nothing is, and less where all is")
  func fetching() async throws {
    try await world.serve {
      $0.live.fetch = .none
      $0.live.rules = [Rule({ $0.categories = [.email] }, { $0.fetch = [.title] })]
    }
    try world.phoneDoes(.add(Self.contents(.email, "Letter")), .add(Self.contents(.news, "News")))
    await world.pass(.seconds(5))
    #expect(Set(world.told()) == ["added Letter", "added -"])
  }
}

@Suite("What was known survives a short break", .inWorld)
struct GraceTests: InWorld {
  /// A world whose phone has two notifications, that were told.
  private func begin(_ change: (inout RunOptions) -> Void = { _ in }) async throws {
    try await world.begin(.paired, change)
    for title in ["Mum", "Dad"] {
      try world.phoneDoes(.add(.message(from: title)))
      try await world.until(.notification)
    }
  }

  @Test("Notifications that the phone announces again are repeats; the others are removed, with app and title")
  func back() async throws {
    try await begin()
    let mark = world.events.count
    try await world.phoneLeaves()
    #expect(try await world.notifications().map(\.report.isStale) == [true, true])
    try world.phoneDoes(.remove(1))
    await world.pass(.seconds(30))
    try await world.phoneComes()
    await world.pass(.seconds(20))
    #expect(world.told(since: mark) == ["added Dad repeat", "removed Mum"])
    let list = try await world.notifications().map(\.report)
    #expect(list.map(\.attributes.title) == ["Dad"] && list.map(\.isStale) == [false])
    #expect(world.lastReport?.attributes.appIdentifier == "com.apple.MobileSMS")
    #expect(world.lastReport?.isStale == true)
  }

  @Test("Without a grace time everything is removed before the end of the link is reported")
  func none() async throws {
    try await begin { $0.live.grace = .zero }
    let mark = world.events.count
    try await world.phoneLeaves()
    #expect(try await world.notifications().isEmpty)
    #expect(world.told(since: mark) == ["removed Mum", "removed Dad"])
    #expect(world.story(since: mark).last == "disconnected")
  }

  @Test(
    "What a phone brought is removed when it is forgotten, here or away", arguments: [true, false])
  func forgotten(isHere: Bool) async throws {
    try await begin()
    if !isHere { try await world.phoneLeaves() }
    let mark = world.events.count
    try await world.forgetPhone()
    await world.pass(.seconds(1))
    #expect(world.told(since: mark) == ["removed Mum", "removed Dad"])
    #expect(try await world.notifications().isEmpty)
    #expect(world.daemon?.feed.recent.events(since: 0).count { $0.event.name == .notification } == 4)
  }

  @Test("A phone that pairs again while its bond can't be read is one phone")
  func pairsAgainUnread() async throws {
    try await begin()
    // The phone leaves with the adapter, which comes back while the disk reads no bond.
    world.platform.disk.failReads(.inputOutput) { $0.hasSuffix(".bond.json") }
    await world.replugLater()
    await world.pass(.seconds(5))
    world.phone.forget(world.adapter)
    try await world.openPairing(seconds: 60)
    try await world.phoneComes()
    await world.pass(.seconds(600))
    #expect(world.daemon?.phoneBook.phones.count == 1)
    #expect(world.told() == ["added Mum", "added Dad", "added Mum repeat", "added Dad repeat"])
    #expect(try await world.notifications().count == 2)
  }

  @Test("The end of the daemon removes nothing", arguments: [.zero, .seconds(120)] as [Duration])
  func exits(grace: Duration) async throws {
    try await begin { $0.live.grace = grace }
    let mark = world.events.count
    try await world.stop()
    #expect(world.told(since: mark) == [])
  }
}

@Suite("Programs that are run for events", .inWorld)
struct HookTests: InWorld {
  private static let lamp = "/usr/local/bin/lamp"

  /// Has the daemon run these for events, and log what comes of it, while the phone is served.
  private func serve(
    _ hooks: String..., change: (inout RunOptions) -> Void = { _ in }
  ) async throws {
    try await world.serve {
      $0.live.logLevel = .notice
      $0.live.hooks = hooks.compactMap { Hook($0) }
      change(&$0)
    }
  }

  /// The phone brings a message, and time passes.
  private func bring(_ title: String = "n", passing: Duration = .seconds(2)) async throws {
    try world.phoneDoes(.add(.message(from: title)))
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

  @Test("A program gets the event as JSON, as the phone has sent it, and as variables that a terminal may print")
  func event() async throws {
    world.platform.environment = [
      "PATH=/bin", "NOTIFY_SOCKET=/run/x", "ANCSD_TITLE=forged", "WATCHDOG_USEC=1",
    ]
    try await serve("notification=\(Self.lamp)")
    let title = "\u{1B}[2J\u{202E}Mum=y\nou"
    try world.phoneDoes(.add(.message(from: title, "Hi\0 \u{7}\r\nyou\u{9B}31m")))
    try await world.until(.notification)
    let run = try #require(world.platform.programs.runs.first)
    #expect(run.arguments == [Self.lamp])
    #expect(run.event?["title"] == .string(title))
    #expect(run.input.last == UInt8(ascii: "\n"))
    #expect(run.environment["ANCSD_EVENT"] == "notification")
    #expect(run.environment["ANCSD_TITLE"] == "␛[2JMum=y ou")
    #expect(run.environment["ANCSD_MESSAGE"] == "Hi\u{2400} ␇\nyou\u{FFFD}31m")
    #expect(run.environment["ANCSD_CATEGORY"] == "social")
    #expect(run.environment["PATH"] == "/bin")
    #expect(run.environment["ANCSD_SOCKET"]?.hasSuffix(".sock") == true)
    #expect(run.environment["NOTIFY_SOCKET"] == nil)
    #expect(run.environment["WATCHDOG_USEC"] == nil)
  }

  @Test(
    "What was on the phone before is left out, unless it is asked for", arguments: [false, true])
  func preExisting(_ isAskedFor: Bool) async throws {
    try world.phoneDoes(.add(.message(from: "before")))
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
      $0.live.hookLimits.time = .seconds(5)
    }
    for _ in 0..<500 { try world.phoneDoes(.add(.message(from: "n"))) }
    await world.pass(.seconds(60))
    let programs = world.platform.programs
    let lamps = programs.runs.count { $0.arguments == [Self.lamp] }
    #expect(programs.most == 4)
    #expect(world.events.count { $0.name == .notification } == 500)
    let omitted = world.log.compactMap { line in
      line.contains("were dropped, because") ? line.split(separator: " ").compactMap { Int($0) }.first : nil
    }
    #expect(lamps + omitted.reduce(0, +) == 500)
    #expect(lamps >= HookRunner.capacity)
    // First it is asked to end, then it is killed.
    let stuck = try #require(programs.runs.first { $0.arguments == [hung] })
    #expect(stuck.signals.map(\.0) == [.terminate, .kill])
    #expect(world.log.contains { $0.contains("\(hung) was killed, because it ran longer than 5 s") })
  }

  @Test("A program's failure is logged once, and its recovery too; one that fails every other time, not every time")
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
    await world.pass(.seconds(60))
    let before = world.log.count
    for turn in 0..<100 {
      programs.behaviours[Self.lamp] = turn % 2 == 0 ? .ends(.exit(1)) : .ends()
      try await bring(passing: .milliseconds(500))
    }
    #expect((11...31).contains(world.log[before...].count { $0.contains("lamp") }))
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

  @Test("Clients read the history through a helper, page by page; without a history they learn why there is none")
  func read() async throws {
    try await world.start(settings: "[log]")
    world.platform.programs.behaviours["/proc/self/exe"] = .ends(
      lines: [#"{"events":[{"event":"battery","seq":1}],"next":"7"}"#])
    let page = try await world.call(
      ControlMethods.readHistory, HistoryQuery(since: WallTime(seconds: 5)))
    #expect(page.next == "7")
    #expect(page.elements.map(\.json) == [Array(#"{"event":"battery","seq":1}"#.utf8)])
    let task = try HistoryTask(reading: JSONValue(parsing: try #require(world.platform.programs.runs.last).input))
    #expect(task.query == HistoryQuery(since: WallTime(seconds: 5)))
    world.platform.programs.behaviours["/proc/self/exe"] = .ends(
      .exit(66), lines: ["reading the history: it is damaged"])
    #expect(await refusal()?.contains("it is damaged") == true)
    try await world.stop()
    try await world.start()
    #expect(await refusal()?.contains("[log]") == true)
  }

  @Test("Helpers that hang while they read are ended, and then others can read")
  func readersThatHang() async throws {
    try await world.start(settings: "[log]")
    let programs = world.platform.programs
    programs.behaviours["/proc/self/exe"] = .hangs(endedBy: [.kill])
    let client = try world.connectClient()
    for id in 1...4 as ClosedRange<Int64> { client.call(ControlMethods.readHistory, HistoryQuery(), id: id) }
    await world.pass(.seconds(60))
    #expect(client.responses.count == 4)
    let error = try RPCError(reading: client.responses.last?["error"] ?? .null)
    #expect(error.code == RPCError.Code.tryAgain && error.message.contains("30 s"), "\(error)")
    programs.behaviours["/proc/self/exe"] = .ends(lines: [#"{"events":[]}"#])
    #expect(try await world.call(ControlMethods.readHistory, HistoryQuery()).elements.isEmpty)
  }

  /// Why the history can't be read.
  private func refusal() async -> String? {
    await #expect(throws: RPCError.self) { try await world.call(ControlMethods.readHistory, HistoryQuery()) }?.message
  }

  @Test("Nothing starts unless requested", arguments: ["", "[log]\non = false"])
  func none(settings: String) async throws {
    try await world.start(settings: settings)
    await world.pass(.seconds(60))
    #expect(world.platform.programs.runs.isEmpty)
  }
}
