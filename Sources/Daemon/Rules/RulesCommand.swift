// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
public import Arguments
import Board
import Control
import EventLoop
import JSON
import System
import Wire

extension Command {
  /// `ancsd rules`: shows which rule each event matches, and why.
  ///
  /// - Parameters:
  ///   - explain: asks the daemon at a socket about a notification.
  ///   - names: asks it for its phones' names; nothing if there is no daemon.
  public static func rules(
    explaining explain:
      @escaping @Sendable (
        _ socket: String?, NotificationParameters,
        _ print: @escaping @Sendable (RuleExplanation) throws(Failure) -> Void
      ) -> ExitStatus,
    names: @escaping @Sendable @LoopActor (_ socket: String?) async -> [Address: String]
  ) -> Command {
    Command(
      "rules", "shows which rule a notification matches (test), and why no other (explain)",
      usage: ["ancsd rules test [--config FILE] < EVENTS", "ancsd rules explain UID [OPTIONS]"], grammar: .rules,
      defaults: RulesOptions(),
      notes: [
        "EVENTS are lines of JSON, as “ancsd watch” and “ancsd list” print them with --json; events other than "
          + "notifications are skipped. The time of an event is the one in it, or now if it has none. The daemon, if one "
          + "runs, says what the phones are called.",
        "“explain” asks the daemon about an active notification, even a hidden one.",
      ],
      examples: [
        "explain 12",
        "test --config ancsd.toml < events.json",
        "explain 12 --json",
      ]
    ) { options throws(Failure) in
      let console = try Console(options.output)
      if case .explain(let uid) = options.action {
        return explain(options.socket, NotificationParameters(uid, phone: options.phone)) {
          explanation throws(Failure) in
          try console.print(
            line: console.format == .json
              ? String(decoding: explanation.json, as: UTF8.self) : explanation.text(console.style))
        }
      }
      guard let file = try SettingsFile.find(options.config) else {
        throw Failure(
          .noInput, "reading settings", "\(SettingsFolder.usualPath) does not exist",
          remedy: "name a file with --config")
      }
      if let failure = file.failure(named: options.config) { throw failure }
      let rules = file.options.live.rules
      return console.onLoop { () async throws(Failure) in
        let isAboutNames = rules.contains { $0.conditions.phone?.isName == true }
        return try await RuleTester(
          rules: rules, console: console, phone: options.phone?.description,
          names: isAboutNames ? await names(options.socket) : [:]
        ).run()
      }
    }
  }
}

/// The options of `rules`.
struct RulesOptions: PrintingOptions {
  var action = Action.test
  var config: String?
  var socket: String?
  var phone: PhoneSelector?
  var output = OutputOptions()

  enum Action: Sendable {
    case test
    case explain(NotificationUID)
  }
}

extension Grammar<RulesOptions> {
  static let rules = Grammar(
    [
      .config(of: "test: the file with the rules", set: { $0.config = $1 }),
      .phone(
        help:
          "explain: the phone, if there is more than one; test: the name of the phone, if no daemon knows it",
        set: { $0.phone = $1 }),
      .socket(set: { $0.socket = $1 }),
    ] + CommandOption.output, operands: "test | explain UID",
    kinds: [.word(["test", "explain"]), .notification]
  ) { options, operands throws(Failure) in
    switch operands.first {
    case "test":
      try operands.check(atMost: 1)
      options.action = .test
    case "explain":
      try operands.check(atMost: 2)
      guard operands.count == 2 else {
        throw Failure(usage: "rules explain needs the number of a notification (UID)")
      }
      guard let uid = NotificationUID(typed: operands[1]) else {
        throw Failure(usage: "“\(operands[1])” is not the number of a notification (UID)")
      }
      options.action = .explain(uid)
    case let other:
      throw Failure(
        usage: other.map { "unknown subcommand “\($0)”" } ?? "rules needs a subcommand",
        remedy: "use “rules test” or “rules explain UID”")
    }
  }
}

/// Reads events, and prints which rule each matches.
struct RuleTester: Sendable {
  let rules: [Rule]
  let console: Console
  /// The name of the phones that `names` does not have.
  var phone: String?
  /// The phones' names.
  var names: [Address: String] = [:]

  /// Reads standard input to its end.
  @LoopActor func run() async throws(Failure) -> ExitStatus {
    let lines = Mailbox<[UInt8]>()
    let reader = LineReader()
    reader.onEnd = { _ in lines.close() }
    reader.onOverlong = { lines.post([]) }
    reader.onLine = { lines.post($0) }
    defer { reader.close() }
    var number = 0
    while let line = await lines.next() {
      number += 1
      let event = try attempt(try Self.event(line)) { (error: JSONError) in
        Failure(
          .refused, "line \(number)", "it is not an event: \(error)",
          remedy: "“ancsd watch --json” and “ancsd list --json” print valid input")
      }
      if let verdict = verdict(on: event) { try console.print(line: verdict) }
    }
    return .done
  }

  /// The event in a line from `watch`, or the one that a line from `list` stands for now.
  private static func event(_ line: [UInt8]) throws(JSONError) -> NumberedEvent {
    let json = try JSONValue(parsing: line)
    if json["event"] != nil { return try NumberedEvent(reading: json) }
    let listed = try ActiveNotification(reading: json)
    let event = Event(.notification(listed.report), adapter: listed.adapter, phone: listed.phone)
    return NumberedEvent(seq: 0, time: .now, event)
  }

  /// The output line for an event; nil if it is not about an active notification.
  func verdict(on event: NumberedEvent) -> String? {
    guard case .notification(let report) = event.event.content, report.event.change != .removed
    else {
      return nil
    }
    let facts = RuleFacts(
      event: report.event, attributes: report.attributes,
      phone: (event.event.phone, event.event.phone.flatMap { names[$0] } ?? phone),
      time: TimeOfDay(event.time, zoneOffset: event.time.zoneOffset))
    let verdict = rules.verdict(on: facts)
    let rule = verdict.rule.map { rules[$0] }
    guard console.format == .text else {
      let verdict: JSONObject = [
        "uid": .number(report.event.uid.rawValue),
        "app_id": report.attributes.appIdentifier.map { .string($0) },
        "title": report.attributes.title.map { .string($0) },
        "rule": rule.map { .string($0.name) } ?? .null,
        "does": .strings(rule?.outcome.words ?? []),
        "beyond_limit": verdict.beyondLimit.isEmpty ? nil : .strings(verdict.beyondLimit.map { rules[$0].name }),
      ]
      return String(decoding: JSONValue.object(verdict).json, as: UTF8.self)
    }
    let subject = [report.attributes.appIdentifier, report.attributes.title.map { "“\($0)”" }]
    let words = ["#\(report.event.uid)", "\(report.event.category)"] + subject.compactMap { $0 }
    let met = rule.map { "rule “\($0.name)”: \($0.outcome.words.joined(separator: ", "))" }
    let passedOver = verdict.beyondLimit.map { "; “\(rules[$0].name)” takes too long to search" }
    return "\(words.joined(separator: " ")): \(met ?? "no rule")\(passedOver.joined())".printable
  }
}

extension Rule.Outcome {
  /// The effect, for people.
  var words: [String] {
    var words: [String] =
      switch display {
      case .usual: ["show"]
      case .urgent: ["show as urgent"]
      case .hidden: ["hide"]
      }
    if let fetch {
      let names = NotificationAttributeID.all.filter(fetch.contains).compactMap(\.name)
      words.append("fetch \(names.isEmpty ? "nothing" : names.joined(separator: ","))")
    }
    if let path = program.first { words.append("run \(path)") }
    if let action { words.append("act \(action)") }
    return words
  }
}
