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
  /// `ancsd rules test`: which rule each of some events meets.
  public static var rules: Command {
    Command(
      "rules", "which rule each of the events on standard input meets (test)",
      usage: ["ancsd rules test [--config FILE] < EVENTS"], grammar: .rules,
      defaults: RulesOptions(),
      notes: [
        "EVENTS are lines of JSON, as “ancsd watch --format json” prints them; other events than "
          + "notifications are passed over. The time of an event is the one that is in it."
      ]
    ) { options throws(Failure) in
      guard let file = try SettingsFile.find(options.config) else {
        throw Failure(
          .noInput, "reading settings", "\(SettingsFile.usualPath) is not there",
          remedy: "name a file with --config")
      }
      if let failure = file.failure(named: options.config) { throw failure }
      let console = try Console(options.output, inPipe: .json)
      let tester = RuleTester(rules: file.options.live.rules, console: console)
      return tester.console.onLoop { () async throws(Failure) in try await tester.run() }
    }
  }
}

/// The options of `rules`.
struct RulesOptions: PrintingOptions {
  var config: String?
  var output = OutputOptions()
}

extension Grammar<RulesOptions> {
  static let rules = Grammar(
    [
      .text(
        "--config", value: "FILE", expects: "a file",
        help: "the file with the rules (default: \(SettingsFile.usualPath))",
        set: { $0.config = $1 })
    ] + CommandOption.output(inPipe: .json), operands: "test"
  ) { _, operands throws(Failure) in
    guard operands == ["test"] else {
      throw Failure(usage: "rules needs the word test", remedy: "it is “ancsd rules test”")
    }
  }
}

/// Reads events, and tells which rule each meets.
struct RuleTester: Sendable {
  let rules: [Rule]
  let console: Console

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
      guard let json = try? JSONValue(parsing: line), let event = try? NumberedEvent(reading: json)
      else {
        throw Failure(.refused, "line \(number)", "it is no event")
      }
      if let answer = answer(to: event) { try console.print(line: answer) }
    }
    return .done
  }

  /// The line about an event; nil if it is not about a notification that is there.
  func answer(to event: NumberedEvent) -> String? {
    guard case .notification(let report) = event.event.content, report.event.change != .removed
    else {
      return nil
    }
    let facts = RuleFacts(
      event: report.event, attributes: report.attributes, phone: (event.event.phone, nil),
      time: TimeOfDay(event.time, zoneOffset: event.time.zoneOffset))
    let verdict = rules.verdict(on: facts)
    let rule = verdict.rule.map { rules[$0] }
    guard console.format == .text else {
      let answer: JSONObject = [
        "uid": .number(report.event.uid.rawValue),
        "app_id": report.attributes.appIdentifier.map { .string($0) },
        "title": report.attributes.title.map { .string($0) },
        "rule": rule.map { .string($0.name) } ?? .null,
        "does": .strings(rule?.outcome.words ?? []),
        "beyond_limit": verdict.beyondLimit.isEmpty
          ? nil : .strings(verdict.beyondLimit.map { rules[$0].name }),
      ]
      return String(decoding: JSONValue.object(answer).json, as: UTF8.self)
    }
    let subject = [report.attributes.appIdentifier, report.attributes.title.map { "“\($0)”" }]
    let words = ["#\(report.event.uid)", "\(report.event.category)"] + subject.compactMap { $0 }
    let met = rule.map { "rule “\($0.name)”: \($0.outcome.words.joined(separator: ", "))" }
    let passedOver = verdict.beyondLimit.map { "; “\(rules[$0].name)” takes too long to search" }
    return "\(words.joined(separator: " ")): \(met ?? "no rule")\(passedOver.joined())".printable
  }
}

extension Rule.Outcome {
  /// What is done, for people.
  fileprivate var words: [String] {
    var words: [String] =
      switch standing {
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
