// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Patterns
import Wire

/// A rule for the notifications that match its conditions.
struct Rule: Hashable, Sendable {
  /// Its name; without one, its index in the list.
  var name: String
  var conditions = Conditions()
  var outcome = Outcome()

  /// All given conditions must hold.
  struct Conditions: Hashable, Sendable {
    /// One of these categories.
    var categories: Set<Category> = []
    /// All of these flags.
    var flags: EventFlags = []
    var phone: PhoneSelector?
    /// By the board's clock.
    var time: TimeOfDay.Span?
    /// The identifier matches one of these.
    var apps: [Glob] = []
    var title: TextPattern?
    var message: TextPattern?
  }

  /// The effect.
  struct Outcome: Hashable, Sendable {
    var display = NotificationReport.Display.usual
    /// The attributes to fetch; nil: the default, and nothing for a hidden notification.
    var fetch: Set<NotificationAttributeID>?
    /// A program to run when it arrives.
    var program: [String] = []
    /// Whether the program also runs for notifications from before the session.
    var includesPreExisting = false
    /// The action to perform on the phone when it arrives.
    var action: NotificationAction?

    /// Whether it has an effect besides showing or hiding.
    var acts: Bool { !program.isEmpty || action != nil }
  }
}

/// The facts that rules are evaluated on.
struct RuleFacts {
  var event: NotificationEvent
  var attributes: NotificationAttributes
  /// The phone's address and name, as far as they are known.
  var phone: (address: Address?, name: String?)
  /// By the board's clock; nil if no rule depends on it.
  var time: TimeOfDay?
}

/// Which rule a notification matches.
struct RuleVerdict: Hashable {
  /// The index of the first rule that matches if nothing more becomes known; conditions on missing facts then do not
  /// hold.
  var rule: Int?
  /// The attribute that the verdict depends on and that is not fetched yet.
  var missing: NotificationAttributeID?
  /// Whether the notification may turn out to be hidden once that is known.
  var mayBeHidden = false
  /// The rules that do not match because their expressions exceeded the limit.
  var beyondLimit: [Int] = []
}

extension [Rule] {
  /// The rule that a notification matches: the first whose conditions hold. But a rule that hides by app alone takes
  /// precedence over all rules that name no app, so the texts of what it hides are never requested.
  func verdict(on facts: RuleFacts) -> RuleVerdict {
    let byApp = verdictByApp(on: facts)
    if byApp.rule != nil { return byApp }
    var verdict = RuleVerdict()
    for (place, rule) in enumerated() where verdict.rule == nil {
      switch rule.conditions.obstacle(for: facts) {
      case nil: verdict.rule = place
      case .unknown(let attribute):
        verdict.missing = verdict.missing ?? attribute
        if rule.hides { verdict.mayBeHidden = true }
      case .beyondLimit: verdict.beyondLimit.append(place)
      default: continue
      }
    }
    verdict.missing = byApp.missing ?? verdict.missing
    if let rule = verdict.rule, self[rule].hides { verdict.mayBeHidden = verdict.missing != nil }
    return verdict
  }

  /// The rule that hides a notification by its app alone, unless an earlier rule that also names the app is an
  /// exception; or that one may once the app is known.
  private func verdictByApp(on facts: RuleFacts) -> RuleVerdict {
    for (place, rule) in enumerated() {
      switch rule.conditions.obstacleBesidesTexts(for: facts) {
      case nil where rule.hidesByApp: return RuleVerdict(rule: place)
      case nil where !rule.conditions.apps.isEmpty: return RuleVerdict()
      case .unknown where rule.hidesByApp: return RuleVerdict(missing: .appIdentifier)
      default: continue
      }
    }
    return RuleVerdict()
  }

  /// Whether any rule is about certain phones.
  var selectPhones: Bool { contains { $0.conditions.phone != nil } }

  /// Whether any rule is about a phone by its name, which has to be read first.
  var askForName: Bool { contains { $0.conditions.phone?.isName == true } }

  /// Whether any rule depends on the time of day.
  var askForTime: Bool { contains { $0.conditions.time != nil } }
}

extension Rule {
  /// Whether it hides matching notifications, so that nothing is fetched for them.
  fileprivate var hides: Bool { outcome.display == .hidden && (outcome.fetch ?? []).isEmpty }

  /// Whether it hides notifications by app, whatever their text.
  var hidesByApp: Bool {
    outcome.display == .hidden && !conditions.apps.isEmpty && !conditions.askForText
  }
}

extension Rule.Conditions {
  /// What keeps them from holding for a notification.
  enum Obstacle {
    /// The first condition that does not hold.
    case category, flags, phone, time, app
    case text(NotificationAttributeID)
    /// The expression for a text took too long to search it.
    case beyondLimit(NotificationAttributeID)
    /// They depend on an attribute that is not fetched yet.
    case unknown(NotificationAttributeID)
  }

  /// The expression that a text has to match; nil for none.
  func pattern(for attribute: NotificationAttributeID) -> TextPattern? {
    switch attribute {
    case .title: title
    case .message: message
    default: nil
    }
  }

  /// Whether any condition is about a text.
  fileprivate var askForText: Bool { title != nil || message != nil }

  /// What keeps them from holding; nil: they hold. Checks what the phone sends unasked first, then the app, then the texts.
  func obstacle(for facts: RuleFacts) -> Obstacle? {
    if let obstacle = obstacleBesidesTexts(for: facts) { return obstacle }
    for attribute in [NotificationAttributeID.title, .message] {
      guard let pattern = pattern(for: attribute) else { continue }
      guard let text = facts.attributes[attribute] else { return .unknown(attribute) }
      do throws(TextPattern.LimitReached) {
        guard try pattern.matches(text) else { return .text(attribute) }
      } catch { return .beyondLimit(attribute) }
    }
    return nil
  }

  /// The same for the conditions that are not about a text.
  fileprivate func obstacleBesidesTexts(for facts: RuleFacts) -> Obstacle? {
    guard categories.isEmpty || categories.contains(facts.event.category) else { return .category }
    guard facts.event.flags.isSuperset(of: flags) else { return .flags }
    guard phone?.matches(facts.phone.address, name: facts.phone.name) ?? true else { return .phone }
    guard time.map({ span in facts.time.map(span.contains) ?? false }) ?? true else { return .time }
    guard !apps.isEmpty else { return nil }
    guard let app = facts.attributes.appIdentifier else { return .unknown(.appIdentifier) }
    return apps.contains { $0.matches(app) } ? nil : .app
  }
}

/// A time of day, in minutes since midnight.
struct TimeOfDay: Hashable, Comparable, Sendable {
  var minutes: Int

  /// The board's own time of day.
  init(_ time: WallTime, zoneOffset: Int) {
    let local = CivilTime(secondsSince1970: time.seconds + Int64(zoneOffset))
    minutes = local.hour * 60 + local.minute
  }

  /// Reads `22:30`.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ $0.utf8.count <= 2 }), let hours = UInt8(digits: parts[0]),
      let minutes = UInt8(digits: parts[1]), hours < 24, minutes < 60
    else { return nil }
    self.minutes = Int(hours) * 60 + Int(minutes)
  }

  static func < (one: TimeOfDay, other: TimeOfDay) -> Bool { one.minutes < other.minutes }

  /// A half-open span from one time to another; it crosses midnight if the second is earlier.
  struct Span: Hashable, Sendable {
    var start: TimeOfDay
    var end: TimeOfDay

    /// How it is written, for errors.
    static let form = "a span such as \"22:00-07:00\""

    /// Reads `22:30-07:00`.
    init?(_ text: String) {
      let parts = text.split(separator: "-", omittingEmptySubsequences: false)
      guard parts.count == 2, let start = TimeOfDay(parts[0]), let end = TimeOfDay(parts[1]),
        start != end
      else { return nil }
      self.start = start
      self.end = end
    }

    func contains(_ time: TimeOfDay) -> Bool {
      start < end ? start <= time && time < end : time >= start || time < end
    }
  }
}

extension TimeOfDay.Span: CustomStringConvertible {
  /// As in `22:00-07:00`.
  var description: String { "\(start)-\(end)" }
}

extension TimeOfDay: CustomStringConvertible {
  var description: String {
    "\(String(minutes / 60, digits: 2)):\(String(minutes % 60, digits: 2))"
  }
}

// Explains to people why rules match or not.

extension [Rule] {
  /// How each rule applies to a notification, and why.
  func explanation(of facts: RuleFacts) -> [RuleExplanation.Rule] {
    let verdict = verdict(on: facts)
    return enumerated().map { place, rule in
      if place == verdict.rule {
        return .init(rule.name, .counts, rule.outcome.words.joined(separator: ", "))
      }
      if let obstacle = rule.conditions.obstacle(for: facts) {
        let isOpen = if case .unknown = obstacle { true } else { false }
        let why = rule.conditions.explanation(of: obstacle, facts)
        return .init(rule.name, isOpen ? .open : .notMet, why)
      }
      let first = verdict.rule.map { "“\(self[$0].name)” counts" } ?? "another may count"
      return .init(rule.name, .notReached, "its conditions hold, but \(first)")
    }
  }
}

extension Rule.Conditions {
  /// What the notification has instead of what a condition requires.
  fileprivate func explanation(of obstacle: Obstacle, _ facts: RuleFacts) -> String {
    switch obstacle {
    case .category: return "its category is \(facts.event.category)"
    case .flags:
      return "it is not \(flags.subtracting(facts.event.flags).names.joined(separator: ", "))"
    case .phone:
      return "its phone is \(facts.phone.name ?? facts.phone.address?.description ?? "unknown")"
    case .time:
      guard let now = facts.time, let time else { return "the time is not known" }
      return "it is \(now), not \(time)"
    case .app: return "its app is \(facts.attributes.appIdentifier ?? "unknown")"
    case .text(let attribute):
      return "\(source(for: attribute)) is not found in its \(attribute.word)"
    case .beyondLimit(let attribute):
      return "\(source(for: attribute)) takes too long to search its \(attribute.word)"
    case .unknown(.appIdentifier): return "its app was not fetched"
    case .unknown(let attribute): return "its \(attribute.word) was not fetched"
    }
  }

  /// An expression as users write it.
  private func source(for attribute: NotificationAttributeID) -> String {
    "/\(pattern(for: attribute)?.source ?? "")/"
  }
}

extension NotificationAttributeID { fileprivate var word: String { name ?? "text" } }
