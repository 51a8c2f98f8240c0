// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import Patterns
import System
import Testing
import Wire

@testable import Daemon

@Suite("Rules: which one a notification meets")
struct RuleTests {
  /// A rule with these conditions.
  private static func rule(_ change: (inout Rule.Conditions) -> Void) -> Rule {
    var rule = Rule(name: "rule")
    change(&rule.conditions)
    return rule
  }

  private static func facts(
    _ category: Category = .social, flags: EventFlags = [], app: String? = nil,
    title: String? = nil, message: String? = nil, time: String = "12:00"
  ) -> RuleFacts {
    var attributes = NotificationAttributes()
    attributes[.appIdentifier] = app
    attributes[.title] = title
    attributes[.message] = message
    return RuleFacts(
      event: NotificationEvent(.added, 1, category: category, flags: flags), attributes: attributes,
      phone: (Address(0x112233445566), "iPhone"),
      time: TimeOfDay(time) ?? TimeOfDay(WallTime(seconds: 0), zoneOffset: 0))
  }

  @Test("The first one is it, and one without conditions is met by all")
  func first() {
    let rules = [
      Self.rule { $0.categories = [.email] }, Self.rule { $0.categories = [.social, .news] },
      Self.rule { _ in }, Self.rule { $0.categories = [.schedule] },
    ]
    #expect(rules.verdict(on: Self.facts(.news)) == RuleVerdict(rule: 1))
    #expect(rules.verdict(on: Self.facts(.schedule)) == RuleVerdict(rule: 2))
    #expect([Rule]().verdict(on: Self.facts()) == RuleVerdict())
    #expect([rules[0]].verdict(on: Self.facts()) == RuleVerdict())
  }

  @Test(
    "Unknown values are requested, the app before the text, and only if the other conditions match")
  func order() throws {
    let pattern = try TextPattern("casino|lottery")
    let rules = [
      Self.rule {
        $0.categories = [.email]
        $0.apps = [Glob("*mail*")]
        $0.title = pattern
      }
    ]
    for (facts, verdict) in [
      (Self.facts(.social), RuleVerdict()), (Self.facts(.email), RuleVerdict(missing: .appIdentifier)),
      (Self.facts(.email, app: "com.whatever"), RuleVerdict()),
      (Self.facts(.email, app: "com.apple.Mail"), RuleVerdict(missing: .title)),
      (Self.facts(.email, app: "com.apple.Mail", title: "The CASINO"), RuleVerdict(rule: 0)),
    ] { #expect(rules.verdict(on: facts) == verdict) }
  }

  @Test("A rule that hides by app alone decides before any text is asked for, but behind exceptions for its app")
  func hiddenByApp() throws {
    let family = Self.rule { $0.title = try? TextPattern("^Mum$") }
    var mute = Self.rule { $0.apps = [Glob("com.casino.*")] }
    mute.outcome.display = .hidden
    let rules = [family, mute]
    #expect(rules.verdict(on: Self.facts()).missing == .appIdentifier)
    #expect(rules.verdict(on: Self.facts(app: "com.casino.One")) == RuleVerdict(rule: 1))
    #expect(rules.verdict(on: Self.facts(app: "com.apple.MobileSMS")).missing == .title)
    // Where only what is told of a notification differs, the order decides as ever.
    #expect(rules.verdict(on: Self.facts(app: "com.casino.One", title: "Mum", message: "")) == RuleVerdict(rule: 1))
    let first = [Self.rule { $0.categories = [.social] }, Self.rule { _ in }, mute]
    #expect(first.verdict(on: Self.facts()).missing == .appIdentifier)
    #expect(first.verdict(on: Self.facts(app: "com.casino.One")) == RuleVerdict(rule: 2))
    #expect(first.verdict(on: Self.facts(app: "com.x")) == RuleVerdict(rule: 0))
    var exception = family
    exception.conditions.apps = [Glob("com.casino.*")]
    #expect([exception, mute].verdict(on: Self.facts(app: "com.casino.One")).missing == .title)
    #expect([exception, mute].verdict(on: Self.facts(app: "com.casino.One", title: "Mum")) == RuleVerdict(rule: 0))
    #expect([exception, mute].verdict(on: Self.facts(app: "com.casino.One", title: "Win")) == RuleVerdict(rule: 1))
  }

  @Test("Each rule is listed as applying, or with the reason why not")
  func explanation() throws {
    var rules = [
      Self.rule { $0.categories = [.email] }, Self.rule { $0.flags = [.important] },
      Self.rule { $0.apps = [Glob("com.x")] }, Self.rule { $0.title = try? TextPattern("^Mum$") },
      Self.rule { $0.message = try? TextPattern("x") }, Self.rule { $0.categories = [.social] }, Self.rule { _ in },
    ]
    for place in rules.indices { rules[place].name = "\(place)" }
    let lines = rules.explanation(of: Self.facts(app: "com.y", title: "Dad"))
      .map { "\($0.name) \($0.standing.rawValue): \($0.why)" }
    #expect(
      lines == [
        "0 not-met: its category is social", "1 not-met: it is not important", "2 not-met: its app is com.y",
        "3 not-met: /^Mum$/ is not found in its title", "4 open: its message was not fetched", "5 counts: show",
        "6 not-reached: its conditions hold, but “5” counts",
      ])
  }

  @Test("All flags must be there; the phone is named by its address or its name")
  func flagsAndPhone() {
    let flags = [Self.rule { $0.flags = [.important, .silent] }]
    #expect(flags.verdict(on: Self.facts(flags: [.important])) == RuleVerdict())
    #expect(flags.verdict(on: Self.facts(flags: [.important, .silent, .preExisting])) == RuleVerdict(rule: 0))
    for (name, isMet) in [("iphone", true), ("11:22:33:44:55:66", true), ("iPad", false)] {
      let rules = [Self.rule { $0.phone = PhoneSelector(name) }]
      #expect(rules.verdict(on: Self.facts()) == (RuleVerdict(rule: isMet ? 0 : nil)))
    }
  }

  @Test("“rules test” knows a phone's name from the daemon, or from the command line")
  func testedNames() throws {
    let address = Address(0x112233445566)
    var report = NotificationReport()
    report.event = NotificationEvent(.added, 7, category: .social)
    let event = NumberedEvent(seq: 1, time: WallTime(seconds: 0), Event(.notification(report), phone: address))
    func verdict(_ phone: String?, _ names: [Address: String]) -> String? {
      let rule = Self.rule { $0.phone = PhoneSelector("Anna") }
      return RuleTester(
        rules: [rule], console: Console(.text, TextStyle()) { _ throws(Failure) in }, phone: phone, names: names
      ).verdict(on: event)
    }
    #expect(verdict(nil, [address: "Anna"])?.contains("“rule”") == true)
    #expect(verdict("Anna", [:])?.contains("“rule”") == true)
    #expect(verdict("Anna", [address: "Bob"])?.contains("no rule") == true)
  }

  @Test(
    "A span of time may go over midnight, and ends before its end",
    arguments: [
      ("09:00-17:30", "09:00", true), ("09:00-17:30", "17:29", true), ("09:00-17:30", "17:30", false),
      ("22:00-7:00", "23:59", true), ("22:00-7:00", "0:00", true), ("22:00-7:00", "7:00", false),
      ("22:00-7:00", "12:00", false),
    ])
  func spans(_ span: String, _ time: String, _ isMet: Bool) throws {
    let span = try #require(TimeOfDay.Span(span))
    let rules = [Self.rule { $0.time = span }]
    #expect(rules.verdict(on: Self.facts(time: time)) == (RuleVerdict(rule: isMet ? 0 : nil)))
  }

  @Test(
    "What is no span of time is refused",
    arguments: [
      "", "9-17", "9:00", "24:00-1:00", "9:60-10:00", "9:00-9:00", "9:00-10:00-11:00", "-1:00-2:00",
      "009:00-10:00", "+9:00-10:00", "9:+5-10:00",
    ])
  func malformedSpans(_ text: String) {
    #expect(TimeOfDay.Span(text) == nil)
  }

  @Test(
    "The time of day is the board's",
    arguments: [(0, 0, 0), (-60, 0, 1439), (3_600, 7_200, 180), (-86_400 * 3, -60, 1439)])
  func timeOfDay(_ seconds: Int, _ zone: Int, _ minutes: Int) {
    #expect(TimeOfDay(WallTime(seconds: Int64(seconds)), zoneOffset: zone).minutes == minutes)
  }
}
