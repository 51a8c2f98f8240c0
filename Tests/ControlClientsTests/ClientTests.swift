// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import EventLoop
import FakeDaemon
import JSON
import System
import Testing
import Wire

@testable import Arguments
@testable import ControlClients

@Suite("Clients of the daemon")
struct ClientTests {
  static func notification(
    _ uid: NotificationUID, app: String, _ category: Category = .social, _ flags: EventFlags = []
  ) -> NotificationReport {
    var report = NotificationReport(NotificationEvent(.added, uid, category: category, flags: flags), app: app)
    report.attributes[.appIdentifier] = "com.example.\(app.lowercased())"
    report.attributes[.title] = "Title"
    report.attributes[.message] = "Text"
    return report
  }

  /// A status with one phone on a link, whose notifications are subscribed to.
  static var connected: StatusReport {
    var link = LinkReport()
    link.phone = Address(0xC011_2233_4455)
    link.name = "Anna’s iPhone"
    link.services = [.ancs]
    var status = StatusReport()
    status.links = [link]
    return status
  }

  /// What a daemon with these notifications responds to a request for any of them, or for its status.
  static func response(to request: ReceivedRequest, of all: [NotificationReport]) -> FakeDaemon.Reaction? {
    if let query = request.parameters(of: ControlMethods.listNotifications) {
      return .result(Page(all.filter(query.matches).map { ActiveNotification($0) }))
    }
    if request.calls(ControlMethods.status) { return .result(connected) }
    let wanted = request.parameters(of: ControlMethods.getNotification)
    return all.first { $0.event.uid == wanted?.uid }.map { .result(ActiveNotification($0)) }
  }

  private static let apps = Page([
    AppReport(appID: "com.apple.MobileSMS", name: "Messages", count: 12),
    AppReport(appID: "x\u{1b}[2J", name: "日本", count: 3),
  ])

  /// A daemon that has three notifications, of two other apps, a paused player, and no bonds.
  private func daemon(_ format: OutputFormat = .json) -> FakeDaemon {
    let all = [
      Self.notification(1, app: "Mail", .email, .preExisting),
      Self.notification(2, app: "Chat", .social, [.important, .silent]),
      Self.notification(3, app: "Chess", .social, .positiveAction),
    ]
    var state = MediaState()
    state.player.state = .paused
    state.track.title = "Song"
    return FakeDaemon(format) { [state] request in
      if request.calls(ControlMethods.listApps) { return [.result(Self.apps)] }
      if request.calls(ControlMethods.listPhones) { return [.result(Page<PhoneReport>())] }
      if request.calls(ControlMethods.getMedia) { return [.result(state)] }
      if request.calls(ControlMethods.forgetPhone) { return [.result(true)] }
      return [Self.response(to: request, of: all) ?? .error(.phone("Invalid Parameter", att: 0xA2))]
    }
  }

  @Test(
    "What is printed as text, and how many lines of JSON it is",
    arguments: [
      (Clients.list, "--app mail", 1, "                 Mail Title #1 email pre-existing\n                 Text\n"),
      (Clients.show, "3", 1, "#3\napp       Chess\napp id    com.example.chess\n"),
      (Clients.media, "", 1, "paused Song\n"),
      (Clients.apps, "", 2, "12 Messages com.apple.MobileSMS\n 3 日本     x␛[2J\n"),
      (Clients.phones, "", 0, "no phone is bonded\n"),
      (
        Clients.forget, "Anna", 0,
        "Forgotten here. Now forget this board on the phone: Settings › Bluetooth › (i) next to it › Forget This "
          + "Device.\n"
      ),
    ] as [(ClientCommand, String, Int, String)])
  func printed(command: ClientCommand, arguments: String, lines: Int, text: String) async throws {
    let (people, programs) = (daemon(.text), daemon(.json))
    #expect(try await people.run(command, arguments) == .done)
    #expect(people.output.hasPrefix(text))
    #expect(try await programs.run(command, arguments) == .done)
    #expect(programs.output.split(separator: "\n").count { $0.hasPrefix("{") } == lines)
    #expect(programs.output.isEmpty == (lines == 0))
    #expect(programs.requests == people.requests)
  }

  /// The UID in a line of JSON.
  private static func uid(_ line: Substring) -> Int64? {
    (try? JSONValue(parsing: String(line)))?["uid"]?.int
  }

  @Test(
    "Lists and counts what matches, with grep's exit status",
    arguments: [
      ("", [1, 2, 3]), ("--app ch*", [2, 3]), ("--app Mail --app *.chess", [1, 3]),
      ("--category social --flag silent", [2]), ("--flag silent --flag important", [2]),
      ("--flag silent --flag positive-action", []), ("--no-preexisting", [2, 3]),
      ("--category 4 --category email", [1, 2, 3]), ("--category news", []), ("--app none", []),
      ("--category Social,EMAIL", [1, 2, 3]), ("--flag silent,important", [2]),
    ] as [(String, [Int])])
  func filters(arguments: String, uids: [Int]) async throws {
    let (lister, counter) = (daemon(), daemon())
    let status = try await lister.run(Clients.list, arguments)
    #expect(status == (uids.isEmpty ? .refused : .done))
    #expect(lister.output.split(separator: "\n").map(Self.uid) == uids.map(Int64.init))
    #expect(try await counter.run(Clients.count, arguments) == status)
    #expect(counter.output == "\(uids.count)\n")
  }

  @Test("A list of several pages is read to its end")
  func pages() async throws {
    let all = (1...10).map { Self.notification(NotificationUID(rawValue: $0), app: "Mail") }
    func daemon() -> FakeDaemon {
      FakeDaemon(.json) { request in
        guard let query = request.parameters(of: ControlMethods.listNotifications) else {
          return []
        }
        var page = Page<ActiveNotification>()
        for report in all.dropFirst(query.after.flatMap { Int($0) } ?? 0) {
          let place = "\(report.event.uid)"
          guard page.add(ActiveNotification(report), at: place, within: 500) else { break }
        }
        return [.result(page)]
      }
    }
    let (lister, counter) = (daemon(), daemon())
    #expect(try await lister.run(Clients.list) == .done)
    #expect(lister.output.split(separator: "\n").map(Self.uid) == (1...10).map { $0 })
    #expect(lister.requests.count > 2)
    #expect(try await counter.run(Clients.count) == .done)
    #expect(counter.output == "10\n")
  }

  @Test("Dates are those of the board, and --since looks at them")
  func since() async throws {
    let now = WallTime.now
    func notification(_ uid: UInt32, secondsAgo: Int64, zone: Int?) -> ActiveNotification {
      var report = Self.notification(NotificationUID(rawValue: uid), app: "Mail")
      let sent = now.seconds - secondsAgo
      report.attributes.fetchedDate = CivilTime(secondsSince1970: sent + Int64(zone ?? 0))
      if zone != nil { report.sent = WallTime(seconds: sent) }
      return ActiveNotification(report)
    }
    let all = [
      notification(1, secondsAgo: 60, zone: 7_200), notification(2, secondsAgo: 60, zone: nil),
      notification(3, secondsAgo: 7_000, zone: -3_600),
    ]
    for (since, count) in [("10m", 2), ("2h", 3), ("30s", 0), ("1d", 3)] {
      let daemon = FakeDaemon { _ in [.result(Page(all))] }
      let status = try await daemon.run(Clients.count, "--since \(since)")
      #expect(daemon.output == "\(count)\n" && status == (count == 0 ? .refused : .done))
    }
  }

  @Test(
    "The daemon's refusals have their statuses; what the phone refuses has the ATT error",
    arguments: [
      (.unavailable("no phone"), .unavailable, "no phone"), (.tryAgain("busy"), .tryAgain, "busy"),
      (
        .methodNotFound("x"), .software,
        "the daemon does not support this; it may be a different version: restart it"
      ),
      (.invalidParams("x"), .usage, "Invalid params: x"),
      (.internalError("x"), .software, "Internal error: x"), (RPCError(99, "x"), .software, "x"),
      (
        .phone("Write Not Permitted", att: 3), .refused,
        "the phone refused: Write Not Permitted (ATT error 0x03); on the phone, turn on Settings › Bluetooth › "
          + "Share System Notifications"
      ),
      (
        .phone("Invalid Parameter", att: 0xA2), .refused,
        "the phone refused: Invalid Parameter (ATT error 0xa2); it no longer exists: “ancsd list” shows what does"
      ),
      (
        .phone("there is no notification 9", att: nil), .refused,
        "there is no notification 9; “ancsd list” shows those that are active"
      ),
    ] as [(RPCError, Control.ExitStatus, String)])
  func refused(error: RPCError, status: Control.ExitStatus, why: String) async {
    let failure = await FakeDaemon { _ in [.error(error)] }.failure(of: Clients.show, "9")
    #expect(failure?.status == status && failure?.line == "ancsd: show 9: \(why)")
  }

  @Test(
    "Media commands print nothing, and have other names; one that is not offered is sent with a warning",
    arguments: [
      ("skip-forward", .skipForward, true), ("Play-Pause", .togglePlayPause, true),
      ("stop", .pause, true), ("prev", .previousTrack, true), ("next", .nextTrack, false),
    ] as [(String, RemoteCommand, Bool)])
  func mediaCommands(name: String, command: RemoteCommand, isOffered: Bool) async throws {
    var state = MediaState()
    state.commands = isOffered ? [command] : [.play, .pause]
    let daemon = FakeDaemon(.text) { [state] request in
      [request.calls(ControlMethods.sendMediaCommand) ? .result(true) : .result(state)]
    }
    #expect(try await daemon.run(Clients.media, name) == .done)
    #expect(
      daemon.requests == [
        .call(ControlMethods.sendMediaCommand, MediaParameters(command, phone: nil)),
        .call(ControlMethods.getMedia, PhoneParameters(phone: nil)),
      ])
    #expect(daemon.output.isEmpty)
    let warning =
      "ancsd: media next: the phone accepted it, but does not offer it now, so it may have had no effect; it offers "
      + "play, pause"
    #expect(daemon.reported.map(\.line) == (isOffered ? [] : [warning]))
  }

  @Test(
    "The daemon's reason for refusing a client is shown, and which group has access",
    arguments: [
      (3, "64 clients", .tryAgain, []),
      (4, "only these may", .noPermission, ["; join the group: sudo ", ", then log in again"]),
    ] as [(Int, String, Control.ExitStatus, [String])])
  func turnedAway(
    code: Int, why: String, status: Control.ExitStatus, remedies: [String]
  ) async {
    let refusal = #"{"jsonrpc":"2.0","id":null,"error":{"code":\#(code),"message":"\#(why)"}}"#
    let daemon = FakeDaemon { _ in [.line(refusal), .input(.closed("the daemon has exited"))] }
    let failure = await daemon.failure(of: Clients.list)
    #expect(failure?.status == status)
    for words in [why] + remedies { #expect(failure?.line.contains(words) == true, "\(words)") }
  }

  @Test("A daemon that says that it does not serve this user is not mute")
  func probed() async {
    let refusal = RPC.error(.forbidden("only root may use this daemon"), id: .null)
    let closed = FakeDaemon { _ in [.line(String(decoding: refusal, as: UTF8.self))] }
    #expect(await DaemonProbe.status(closed.client, at: "@a") == .closed(path: "@a"))
    let mute = FakeDaemon(patient: false) { _ in [] }
    #expect(await DaemonProbe.status(mute.client, at: "@a") == .mute(path: "@a"))
    mute.isAbsent = true
    #expect(await DaemonProbe.status(mute.client, at: "@a") == .none)
  }

  @Test(
    "Without a phone, list, count and apps say so, and end with 69",
    arguments: [
      ("", nil, nil, "no phone is connected; “ancsd doctor” looks for the cause"),
      (
        "--phone Anna", "Anna", nil,
        "the phone “Anna” is not connected; “ancsd status” shows what the daemon waits for, and “ancsd doctor” "
          + "looks for the cause"
      ), ("--phone Bert", nil, nil, "no phone “Bert”; “ancsd phones” lists them"),
      ("--phone Annb", nil, "Anna", "no phone “Annb”; did you mean “Anna”?"),
    ])
  func noPhone(arguments: String, bonded: String?, linked: String?, why: String) async {
    var (status, phone, link) = (StatusReport(), PhoneReport(), LinkReport())
    (phone.name, link.name) = (bonded, linked)
    if bonded != nil { status.phones = [phone] }
    if linked != nil { status.links = [link] }
    for (name, command) in [("list", Clients.list), ("count", Clients.count), ("apps", Clients.apps)] {
      let failure = await Self.empty(status).failure(of: command, arguments)
      #expect(failure?.status == .unavailable && failure?.line == "ancsd: \(name): \(why)")
    }
  }

  /// A daemon with this status that has nothing to list.
  private static func empty(_ status: StatusReport) -> FakeDaemon {
    FakeDaemon(.text) { request in
      [request.calls(ControlMethods.status) ? .result(status) : .result(Page<AppReport>())]
    }
  }

  @Test("A phone that is not subscribed to yet is not reported as having no notifications")
  func unsubscribed() async throws {
    var status = Self.connected
    #expect(try await Self.empty(status).run(Clients.list) == .refused)
    let daemon = Self.empty(status)
    #expect(try await daemon.run(Clients.apps) == .done)
    #expect(daemon.output == "no app has an active notification\n")
    status.links[0].services = []
    status.links[0].waiting.why = "connected, waiting for the phone to encrypt"
    let failure = await Self.empty(status).failure(of: Clients.list)
    #expect(failure?.status == .tryAgain)
    #expect(failure?.remedy == "connected, waiting for the phone to encrypt")
  }

  @Test("A phone that does not respond times out after --timeout, with status 75")
  func patience() async {
    let daemon = FakeDaemon(.text, patient: false) { _ in [] }
    let failure = await daemon.failure(of: Clients.show, "3 --timeout 5")
    #expect(failure?.line == "ancsd: show 3: the phone did not respond within 5 s")
    #expect(failure?.status == .tryAgain)
    let other = FakeDaemon(.text, patient: false) { _ in [] }
    let mute = await other.failure(of: Clients.status, "--timeout 1m")
    #expect(mute?.line == "ancsd: status: the daemon did not respond within 60 s")
  }

  @Test("An unintelligible response is an error, not a crash")
  func nonsense() async {
    for line in [
      "nonsense", "[]", #"{"id":1,"result":7}"#, #"{"id":1,"error":{}}"#, #"{"id":1,"error":3}"#,
      #"{"id":1,"result":[{"uid":"x"}]}"#,
    ] {
      let daemon = FakeDaemon { _ in [.line(line), .input(.closed("the daemon has exited"))] }
      let failure = await daemon.failure(of: Clients.list)
      #expect([.software, .unavailable].contains(failure?.status))
    }
  }

  @Test("A client ends when the daemon exits, and on a signal")
  func ends() async {
    func failure(_ input: ControlClient.Input) async -> Failure? {
      await FakeDaemon { _ in [.input(input)] }.failure(of: Clients.list)
    }
    let left = await failure(.closed("the daemon has exited"))
    #expect(left?.line == "ancsd: the connection to the daemon: the daemon has exited")
    #expect(left?.status == .unavailable)
    #expect(await failure(.signal(.interrupt))?.status == .interrupted)
    #expect(await failure(.signal(.terminate))?.status == .terminated)
  }

  @Test("What a connection has sent is not read on the next one")
  func deadEvents() async throws {
    let daemon = FakeDaemon(patient: false) { request in
      request.calls(ControlMethods.status) ? [.event(.battery(level: 1))] : [.result(true), .event(.battery(level: 2))]
    }
    await #expect(throws: Failure.self) {
      try await daemon.client.call(ControlMethods.status, "status", within: .seconds(5))
    }
    daemon.client.close()
    try daemon.client.connect()
    try await daemon.client.call(ControlMethods.subscribe, Subscription(), "watch")
    let line = try #require(try await daemon.client.nextLine(until: nil))
    #expect(NumberedEvent(line: line)?.event.content == .battery(level: 2))
  }

  @Test("Why the daemon can't be reached, and what to do")
  func connecting() {
    let absent = Failure(connecting: "/run/x", .noSuchFile)
    #expect(absent.status == .unavailable && absent.line.contains("start it with “ancsd --hci0”"))
    #expect(Failure(connecting: "/run/x", .connectionRefused).status == .unavailable)
    let barred = Failure(connecting: "/run/x", .permissionDenied)
    #expect(barred.status == .noPermission && barred.line.contains("join the group: sudo "))
    #expect(Failure(connecting: "/run/x", .wouldBlock).status == .tryAgain)
    let none = #expect(throws: Failure.self) {
      _ = try LineSocket.connect(toFirstOf: ["/nowhere/mine", "/nowhere/system"])
    }
    #expect(none?.what == "reaching the daemon at /nowhere/system")
  }
}
