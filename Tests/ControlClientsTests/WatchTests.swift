// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import FakeDaemon
import JSON
import System
import Testing
import Wire

@testable import ControlClients

@Suite("Watching")
struct WatchTests {
  private static let mail = ClientTests.notification(1, app: "Mail", .email, .preExisting)
  private static let chat = ClientTests.notification(2, app: "Chat")

  /// A daemon that sends these lines after a subscription, and exits.
  private func daemon(
    _ format: OutputFormat, _ said: [Event.Content], patient: Bool = true, template: String? = nil
  ) -> FakeDaemon {
    FakeDaemon(format, patient: patient, template: template) { request in
      if request.calls(ControlMethods.subscribe) {
        return [.result(true)] + said.map { .event($0) }
          + [.input(.closed("the daemon has exited"))]
      }
      if request.calls(ControlMethods.status) { return [.result(StatusReport())] }
      if request.calls(ControlMethods.listPhones) { return [.result(Page<PhoneReport>())] }
      return []
    }
  }

  /// What a daemon that has said this has been asked, and what `watch` has printed of it.
  private func watch(_ arguments: String, _ said: [Event.Content], _ format: OutputFormat = .json) async -> FakeDaemon {
    let daemon = daemon(format, said)
    _ = try? await daemon.run(Clients.watch, arguments)
    return daemon
  }

  /// What was printed: of notifications what happened to which, of other events their names.
  private func summary(_ daemon: FakeDaemon) -> String {
    daemon.output.split(separator: "\n").map { line -> String in
      let json = try? JSONValue(parsing: String(line))
      let name = json?["event"]?.string ?? ""
      let what = name == "notification" ? json?["change"]?.string ?? "" : name
      return what + (json?["uid"]?.int.map { " \($0)" } ?? "")
    }.joined(separator: ", ")
  }

  @Test("JSON goes through as the daemon wrote it, and -n counts")
  func plain() async throws {
    let daemon = daemon(.json, [.battery(level: 1), .battery(level: 2), .battery(level: 3)])
    #expect(try await daemon.run(Clients.watch, "-n 2") == .done)
    #expect(
      daemon.output == """
        {"event":"battery","seq":1,"time":"1970-01-01T00:00:00.000Z","adapter":"hci0","level":1}
        {"event":"battery","seq":2,"time":"1970-01-01T00:00:00.000Z","adapter":"hci0","level":2}

        """)
    #expect(daemon.requests == [.call(ControlMethods.subscribe, Subscription())])
  }

  @Test("Text is laid out")
  func text() async throws {
    let daemon = daemon(.text, [.battery(level: 1)])
    #expect(try await daemon.run(Clients.watch, "-n1") == .done)
    #expect(daemon.output == "--- 1970-01-01 ---\n00:00:00 the phone's battery: 1 %\n")
  }

  @Test("With --reconnect it continues where it was, even after the daemon restarted")
  func reconnects() async throws {
    var status = StatusReport()
    (status.life, status.seq) = ("one", 4)
    var connections: [[FakeDaemon.Reaction]] = [
      [.event(.battery(level: 1)), .input(.closed("the daemon has exited"))],
      [
        .event(.ready(address: nil, name: "n", version: "1", life: "two")),
        .input(.closed("the daemon has exited")),
      ],
      [.event(.battery(level: 2))],
    ]
    let daemon = FakeDaemon(.json) { [status] request in
      guard request.calls(ControlMethods.subscribe) else { return [.result(status)] }
      return [.result(true)] + connections.removeFirst()
    }
    #expect(try await daemon.run(Clients.watch, "--reconnect -n 3") == .done)
    #expect(summary(daemon) == "battery, ready, battery")
    let subscriptions = daemon.requests.compactMap { $0.parameters(of: ControlMethods.subscribe) }
    #expect(subscriptions.map(\.since) == [4, 1, 2])
    #expect(subscriptions.map(\.life) == ["one", "one", "two"])
  }

  @Test("Without --reconnect, and after a refusal, it ends with 69")
  func noReconnection() async {
    #expect(await daemon(.json, []).failure(of: Clients.watch)?.status == .unavailable)
    let daemon = FakeDaemon { _ in [.error(.unavailable("not now"))] }
    #expect(await daemon.failure(of: Clients.watch, "--reconnect")?.status == .unavailable)
  }

  @Test("--since accepts a time too, and omits older events")
  func sinceTime() async throws {
    // The events of this daemon are from 1970.
    let daemon = await watch("--since 10m", [.battery(level: 1)])
    #expect(daemon.requests == [.call(ControlMethods.subscribe, Subscription(since: 0))])
    #expect(daemon.output.isEmpty)
  }

  /// 2026-11-21 07:00:00 UTC, on a board that is an hour ahead.
  private static let now = WallTime(seconds: 1_795_244_400)

  @Test(
    "A time is how long ago, the time of day, or a date; anything else is none",
    arguments: [
      ("10m", 600), ("2h", 7_200), ("1d", 86_400), ("90s", 90), ("08:00", 0), ("07:59", 60),
      ("08:01", 86_340), ("2026-11-21", 28_800), ("2026-11-21T07:30", 1_800),
      ("2026-11-20 08:00:00", 86_400), ("1h30m", 5_400), ("1w", 604_800), ("today", 28_800),
      ("Yesterday", 115_200), ("2026-11-21T06:48:52.000Z", 668), ("2026-11-21T06:59:59Z", 1),
      ("2026-11-21T08:00+01:00", 0), ("2026-11-21T04:30:00.5-02:30", 0),
      ("", nil), ("10", nil), ("soon", nil), ("25:00", nil), ("7:00", nil), ("2026-13-01", nil),
      ("-1h", nil), ("2026-11-21Z", nil), ("08:00Z", nil), ("1h30", nil),
      ("2026-11-21T08:00:00.Z", nil), ("2026-11-21T08:00:00.+1Z", nil),
      ("2026-11-21T08:00*01:00", nil),
    ] as [(String, Int64?)])
  func typedTimes(text: String, secondsAgo: Int64?) {
    let time = WallTime(typed: text, now: Self.now, zone: 3_600)
    #expect(time?.seconds == secondsAgo.map { Self.now.seconds - $0 })
  }

  @Test(
    "At the time limit it ends, with 75 if events are missing; also without a daemon",
    arguments: [
      (Clients.watch, "--timeout 5", false, .done), (Clients.watch, "-n 1 --timeout 5", false, .tryAgain),
      (Clients.watch, "--reconnect --timeout 5", true, .done),
      (Clients.watch, "--reconnect -n 1 --timeout 5", true, .tryAgain),
      (Clients.wait, "--category incoming-call --timeout 60", false, .tryAgain),
    ] as [(ClientCommand, String, Bool, Control.ExitStatus)])
  func timeout(
    command: ClientCommand, arguments: String, isAbsent: Bool, status: Control.ExitStatus
  ) async throws {
    let daemon = daemon(.json, [], patient: false)
    daemon.isAbsent = isAbsent
    if isAbsent { daemon.client.close() }
    #expect(try await daemon.run(command, arguments) == status)
  }

  @Test("A daemon that does not respond keeps it no longer than the time limit")
  func mute() async {
    let daemon = FakeDaemon(patient: false) { _ in [] }
    let failure = await daemon.failure(of: Clients.watch, "--timeout 5")
    #expect(failure?.status == .tryAgain)
    #expect(failure?.why == "the daemon did not respond within 5 s")
  }

  @Test(
    "Requests to the daemon",
    arguments: [
      ("--event incoming,Media --since 7 --replay", Subscription(events: [.incoming, .media], replay: true, since: 7)),
      ("--app x", Subscription(events: [.notification])),
    ])
  func subscription(arguments: String, subscription: Subscription) async {
    let daemon = await watch(arguments, [])
    #expect(daemon.requests == [.call(ControlMethods.subscribe, subscription)])
  }

  @Test(
    "A filter lets through what matches, and the removal of what was shown",
    arguments: [
      ("--app chat", "added 2, removed 2"), ("--grep nothing", ""),
      ("--grep ^tit", "added 1, added 2, removed 1, removed 2"),
      ("--grep TEXT", "added 1, added 2, removed 1, removed 2"), ("--not-app mail", "added 2, removed 2"),
      ("--grep text --not-app com.example.chat", "added 1, removed 1"),
      ("--event incoming,battery --category email --no-preexisting", "incoming 4, battery"),
    ])
  func filter(arguments: String, passed: String) async {
    let daemon = await watch(
      arguments,
      [
        .notification(Self.mail), .notification(Self.chat),
        .notification(NotificationReport(NotificationEvent(.removed, 1))),
        .notification(NotificationReport(NotificationEvent(.removed, 2))),
        .notification(NotificationReport(NotificationEvent(.removed, 2))),
        .incoming(NotificationEvent(.added, 3, category: .email, flags: .preExisting)),
        .incoming(NotificationEvent(.added, 4, category: .email)),
        .incoming(NotificationEvent(.added, 5, category: .social)), .battery(level: 5),
      ])
    #expect(summary(daemon) == passed)
  }

  @Test(
    "It remembers what it has shown only if a filter needs that, and no more than a phone can have",
    arguments: [("", 0), ("--app chat", 16_384)])
  func memory(arguments: String, count: Int) throws {
    var options = ClientOptions()
    try Clients.watch.grammar().parse(arguments.split(separator: " ").map(String.init), into: &options)
    var filter = EventFilter(options)
    var chat = Self.chat
    for uid in 0..<UInt32(16_400) {
      chat.event.uid = NotificationUID(rawValue: uid)
      let event = Event(.notification(chat))
      let isWanted = filter.matches(NumberedEvent(seq: 1, time: WallTime(seconds: 0), event))
      #expect(isWanted)
    }
    #expect(filter.shown.count == count)
  }

  @Test("--template prints members, and escapes what could control a terminal")
  func template() async throws {
    var rude = Self.chat
    rude.attributes[.title] = "a\u{1B}[2Jb\n\\c\u{202E}"
    let daemon = daemon(
      .text, [.notification(rude), .battery(level: 3)], template: "{app}|{title}|{flags}|{level}|{none}")
    #expect(try await daemon.run(Clients.watch, "-n2") == .done)
    #expect(daemon.output == "Chat|a\\u001b[2Jb\\n\\\\c\\u202e|||\n|||3|\n")
    for wrong in ["{app", "app}", "{}", "{a..b}", "\\x"] {
      let failure = await daemon.failure(of: Clients.watch, "--template \(wrong)")
      #expect(failure?.status == .usage)
    }
  }

  @Test(
    "wait ends with the first new notification that matches, or another event",
    arguments: [("--category social", "added 2"), ("--event battery", "battery")])
  func waits(arguments: String, printed: String) async throws {
    var modified = Self.chat
    modified.event.change = .modified
    let daemon = daemon(
      .json,
      [
        .battery(level: 1), .notification(modified), .notification(Self.mail),
        .notification(Self.chat),
      ])
    #expect(try await daemon.run(Clients.wait, arguments) == .done)
    #expect(summary(daemon) == printed)
  }

  @Test("A phone is found by its name, and an unknown one is reported")
  func phone() async {
    let failure = await daemon(.json, []).failure(of: Clients.watch, "--phone Anna")
    #expect(failure?.line == "ancsd: watch: no phone “Anna”; “ancsd phones” lists them")
    let other = await watch("--phone C0:11:22:33:44:55", [.battery(level: 3)])
    #expect(other.output.isEmpty)
  }

  @Test(
    "Lost events are reported apart from the kinds that were asked for, and count only if they are one"
  )
  func lost() async throws {
    let events: [Event.Content] = [
      .lost(count: 3, first: 1, last: 3), .notification(Self.chat), .notification(Self.mail),
    ]
    for (arguments, printed) in [
      ("--event notification -n 1 --since 1", "added 2"), ("--app Chat -n 1 --since 1", "added 2"),
      ("--event lost,notification -n 2 --since 1", "lost, added 2"), ("-n 2 --since 1", "lost, added 2"),
    ] {
      let daemon = daemon(.json, events)
      #expect(try await daemon.run(Clients.watch, arguments) == .done)
      #expect(summary(daemon) == printed)
      #expect(
        daemon.reported.map(\.line)
          == (printed.hasPrefix("lost") ? [] : ["ancsd: watch: 3 events from 1 to 3 were not read in time"]))
    }
  }

  @Test(
    "Events that this program does not know are passed on as JSON, and left out as text",
    arguments: [
      (.json, "{\"event\":\"dance\",\"seq\":1}\n"), (.text, ""),
    ] as [(OutputFormat, String)])
  func unknown(format: OutputFormat, output: String) async {
    let daemon = FakeDaemon(format) { request in
      guard request.calls(ControlMethods.subscribe) else { return [.result(StatusReport())] }
      let event = #"{"jsonrpc":"2.0","method":"event","params":{"event":"dance","seq":1}}"#
      return [.result(true), .line(event), .input(.closed(""))]
    }
    _ = try? await daemon.run(Clients.watch)
    #expect(daemon.output == output)
  }

  @Test("status --why prints what each is waiting for, and continues when that changes")
  func why() async throws {
    var adapter = AdapterReport()
    adapter.adapter = "hci0"
    (adapter.waiting.wait, adapter.waiting.why) = ("first-phone", "on the air")
    var status = StatusReport()
    status.adapters = [adapter]
    let daemon = FakeDaemon(.text) { [status] request in
      guard request.calls(ControlMethods.status) else { return [.result(true)] }
      return [
        .result(status), .event(.battery(level: 1)), .event(.why(wait: "mtu", why: "connected")),
        .input(.readerGone),
      ]
    }
    #expect(await daemon.failure(of: Clients.status, "--why") == .readerGone)
    #expect(daemon.output == "hci0: on the air\nhci0: connected\n")
    #expect(daemon.requests.first == .call(ControlMethods.subscribe, Subscription(events: [.why])))
  }
}
