// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import FakeDaemon
import System
import Testing

@testable import ControlClients

@Suite("act")
struct ActTests {
  /// A message that can be cleared, a call, something without actions, and a mail.
  private static func notifications(isLabelled: Bool = true) -> [NotificationReport] {
    func one(
      _ uid: NotificationUID, _ app: String, _ category: Category, positive: String? = nil, negative: String? = nil
    ) -> NotificationReport {
      var report = ClientTests.notification(uid, app: app, category)
      if positive != nil { report.event.flags.insert(.positiveAction) }
      if negative != nil { report.event.flags.insert(.negativeAction) }
      report.attributes[.positiveActionLabel] = isLabelled ? positive : nil
      report.attributes[.negativeActionLabel] = isLabelled ? negative : nil
      return report
    }
    return [
      one(12, "Chat", .social, negative: "Clear"), one(14, "News", .news),
      one(13, "Phone", .incomingCall, positive: "Answer", negative: "Decline it"),
      one(15, "Mail", .email, positive: "Reply"),
    ]
  }

  /// A daemon that has them, and lists their labels unless it is lazy; the phone refuses to act on what is not there.
  private func daemon(isLazy: Bool = false) -> FakeDaemon {
    let (listed, fetched) = (Self.notifications(isLabelled: !isLazy), Self.notifications())
    return FakeDaemon(.text) { request in
      let acted = request.parameters(of: ControlMethods.act)
      if listed.contains(where: { $0.event.uid == acted?.uid }) { return [.result(true)] }
      let isFetched = request.calls(ControlMethods.getNotification)
      let response = ClientTests.response(to: request, of: isFetched ? fetched : listed)
      return [response ?? .error(.phone("Invalid Parameter", att: 0xA2))]
    }
  }

  /// The requested actions.
  private func acts(_ daemon: FakeDaemon) -> [String] {
    daemon.requests.compactMap { $0.parameters(of: ControlMethods.act) }
      .map { "\($0.uid) \($0.action)" }
  }

  @Test(
    "Numbers as they are printed, several of them, and actions by name or label",
    arguments: [
      ("12 negative", ["12 negative"]), ("#12 Negative", ["12 negative"]), ("12 clear", ["12 negative"]),
      ("13 ANSWER", ["13 positive"]), ("13 decline it", ["13 negative"]),
      ("12 #13 negative", ["12 negative", "13 negative"]), ("--all negative", ["12 negative", "13 negative"]),
      ("--all answer", ["13 positive"]), ("--app chat --all negative", ["12 negative"]),
      ("--all --category Incoming-Call negative", ["13 negative"]),
    ] as [(String, [String])])
  func acts(line: String, done: [String]) async throws {
    let daemon = daemon()
    #expect(try await daemon.run(Clients.act, line) == .done)
    #expect(acts(daemon) == done)
    #expect(daemon.requests.count { $0.calls(ControlMethods.listNotifications) } == 1)
    let isAll = line.contains("--all")
    let label = line.split(separator: " ").last ?? ""
    let words = label == "answer" ? "answered" : "\(label): done on"
    #expect(daemon.output == (isAll ? "\(words) \(done.count)\n" : ""))
  }

  @Test("--all leaves out what is stale, whose number may be another's by now") func stale() async throws {
    var notifications = Self.notifications()
    notifications[2].isStale = true
    let daemon = FakeDaemon(.text) { [notifications] request in
      request.calls(ControlMethods.act)
        ? [.result(true)] : [ClientTests.response(to: request, of: notifications)].compactMap(\.self)
    }
    #expect(try await daemon.run(Clients.act, "--all negative") == .done)
    #expect(acts(daemon) == ["12 negative"])
    let why = "act: no matching notification that is not stale has the action “negative”"
    #expect(await daemon.failure(of: Clients.act, "--all --app Phone negative")?.sentence == why)
  }

  @Test("--dry-run lists what it would do, and does nothing") func dryRun() async throws {
    let daemon = daemon()
    #expect(try await daemon.run(Clients.act, "--all --dry-run negative") == .done)
    #expect(acts(daemon).isEmpty)
    #expect(daemon.output.contains("#12") && daemon.output.contains("#13"))
    #expect(!daemon.output.contains("#14"))
  }

  @Test(
    "An action that a notification does not have is refused without asking the phone",
    arguments: [
      ("12 positive", 1, "#12 has no positive action; it has negative (Clear)"),
      ("14 negative", 1, "#14 has no negative action; it has none"),
      ("13 maybe", 1, "#13 has no action “maybe”; it has positive (Answer) and negative (Decline it)"),
      ("13 negativ", 1, "#13 has no action “negativ”; did you mean “negative”?"),
      (
        "15 reply I am coming", 1,
        "“I am coming” can't be sent: ANCS carries no text; “ancsd act 15 reply” opens the reply on the phone"
      ), ("12 clear now", 64, "unexpected “now” after the action “clear”"),
      ("13 positive now", 64, "unexpected “now” after the action “positive”"),
      ("--app News --all clear", 1, "act: no matching notification has the action “clear”"),
    ] as [(String, Int32, String)])
  func refused(line: String, status: Int32, sentence: String) async {
    let daemon = daemon()
    let failure = await daemon.failure(of: Clients.act, line)
    #expect(failure?.status.rawValue == status)
    #expect(failure?.line == "ancsd: \(sentence)")
    #expect(acts(daemon).isEmpty)
  }

  @Test(
    "With several, each is tried and each failure reported; the status is that of the first",
    arguments: [
      ("99 14 12 negative", ["99 negative", "12 negative"], 2),
      ("13 12 clear", ["12 negative"], 1), ("14 98 13 12 clear", ["12 negative"], 3),
    ])
  func several(line: String, done: [String], failures: Int) async throws {
    let daemon = daemon()
    #expect(try await daemon.run(Clients.act, line) == .refused)
    #expect(acts(daemon) == done)
    #expect(daemon.reported.count == failures)
  }

  @Test("With several, the notifications of another phone are acted on after one phone has left")
  func severalPhones() async throws {
    let daemon = FakeDaemon(.text) { request in
      guard let wanted = request.parameters(of: ControlMethods.act) else {
        return [.result(Page<ActiveNotification>())]
      }
      return [wanted.uid == 12 ? .error(.unavailable("no phone is connected")) : .result(true)]
    }
    #expect(try await daemon.run(Clients.act, "12 13 negative") == .unavailable)
    #expect(acts(daemon) == ["12 negative", "13 negative"])
  }

  @Test("Once the daemon has exited, or a signal has come, the others are not tried")
  func interrupted() async throws {
    for (end, status) in [
      (ControlClient.Input.closed("the daemon has exited"), Control.ExitStatus.unavailable),
      (.signal(.interrupt), .interrupted),
    ] {
      let daemon = FakeDaemon(.text) { _ in [.input(end)] }
      let failure = await daemon.failure(of: Clients.act, "12 13 negative")
      #expect(failure?.status == status && daemon.requests.count == 1)
    }
  }

  @Test(
    "Missing and superfluous operands are named",
    arguments: [
      ("", "act needs the number of a notification (UID); # begins a comment in most shells"),
      ("12", "act needs an action; use positive, negative, or the phone's label"),
      ("two negative", "“two” is not the number of a notification (UID)"),
      ("--app Chat negative", "a filter needs --all; did you mean"),
      ("12 --dry-run negative", "--dry-run needs --all; did you mean"),
      ("--all", "act needs an action"),
      (
        "--category socail --all negative",
        "--category: “socail” is not a category; did you mean social?"
      ),
    ])
  func usage(line: String, sentence: String) async {
    let failure = await daemon().failure(of: Clients.act, line)
    #expect(failure?.status == .usage)
    #expect(failure?.line.hasPrefix("ancsd: \(sentence)") == true, "\(failure?.line ?? "")")
  }

  @Test("Labels that were not fetched are requested")
  func lazy() async throws {
    let daemon = daemon(isLazy: true)
    #expect(try await daemon.run(Clients.act, "12 clear") == .done)
    #expect(acts(daemon) == ["12 negative"])
    #expect(daemon.requests.contains { $0.calls(ControlMethods.getNotification) })
  }
}
