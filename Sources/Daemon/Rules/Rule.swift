// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Board
import Control
import Patterns
import System
import Wire

/// What is made of the notifications that meet its conditions.
struct Rule: Hashable, Sendable {
  /// What it is called; its place in the list, if it has no name.
  var name: String
  var conditions = Conditions()
  var outcome = Outcome()

  /// All that are given must hold.
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

  /// What is done.
  struct Outcome: Hashable, Sendable {
    var standing = NotificationReport.Standing.usual
    /// What is fetched; nil: as ever, and nothing of what is hidden.
    var fetch: Set<NotificationAttributeID>?
    /// A program that is run when it arrives.
    var program: [String] = []
    /// Whether the program is also run for what was on the phone before.
    var includesPreExisting = false
    /// What the phone is told to do when it arrives.
    var action: NotificationAction?

    /// Whether anything is done besides showing it or not.
    var acts: Bool { !program.isEmpty || action != nil }
  }
}

/// What rules are judged by.
struct RuleFacts {
  var event: NotificationEvent
  var attributes: NotificationAttributes
  /// The phone's address and name, as far as they are known.
  var phone: (address: Address?, name: String?)
  /// By the board's clock; nil: no rule asks for it.
  var time: TimeOfDay?
}

/// Which rule a notification meets.
struct RuleVerdict: Hashable {
  /// The first one that it meets, by its place in the list, if nothing more becomes known: then a condition on what
  /// is missing does not hold.
  var rule: Int?
  /// What that depends on, and was not fetched yet.
  var missing: NotificationAttributeID?
  /// Whether it may turn out to be hidden once that is known.
  var mayBeHidden = false
  /// Those that it does not meet because their expressions went beyond their limit.
  var beyondLimit: [Int] = []
}

extension [Rule] {
  /// The rule that a notification meets: the first whose conditions hold. But a rule that hides by app alone comes
  /// before all that name no app, so that the text of what it hides is never asked for.
  func verdict(on facts: RuleFacts) -> RuleVerdict {
    let isHidden = appRule(on: facts)
    if case .hold(let place) = isHidden { return RuleVerdict(rule: place) }
    var verdict = RuleVerdict()
    for (place, rule) in enumerated() where verdict.rule == nil {
      switch rule.conditions.hold(for: facts) {
      case .hold: verdict.rule = place
      case .dependOn(let attribute):
        verdict.missing = verdict.missing ?? attribute
        if rule.hides { verdict.mayBeHidden = true }
      case .doNotHold: continue
      case .areBeyondLimit: verdict.beyondLimit.append(place)
      }
    }
    if case .needsApp = isHidden { verdict.missing = .appIdentifier }
    if let rule = verdict.rule, self[rule].hides { verdict.mayBeHidden = verdict.missing != nil }
    return verdict
  }

  private enum AppRule {
    /// The rule at this place hides it.
    case hold(Int)
    /// One may, once its app is known.
    case needsApp
    case none
  }

  /// The rule that hides a notification by its app alone, unless one before it is an exception: it names the app, too.
  private func appRule(on facts: RuleFacts) -> AppRule {
    for (place, rule) in enumerated() {
      switch rule.conditions.holdWithoutText(for: facts) {
      case .hold where rule.hidesByApp: return .hold(place)
      case .hold where !rule.conditions.apps.isEmpty: return .none
      case .dependOn where rule.hidesByApp: return .needsApp
      default: continue
      }
    }
    return .none
  }

  /// Whether one of them asks for the time of day.
  var askForTime: Bool { contains { $0.conditions.time != nil } }
}

extension Rule {
  /// Whether nobody is told of what meets it, and nothing of it is fetched.
  fileprivate var hides: Bool { outcome.standing == .hidden && (outcome.fetch ?? []).isEmpty }

  /// Whether it hides what comes from an app, whatever it says.
  var hidesByApp: Bool {
    outcome.standing == .hidden && !conditions.apps.isEmpty && !conditions.askForText
  }
}

extension Rule.Conditions {
  /// Whether they hold for a notification.
  enum Answer {
    case hold
    /// The first that does not.
    case doNotHold(Condition)
    /// The expression for a text, which took too long to search it.
    case areBeyondLimit(NotificationAttributeID)
    case dependOn(NotificationAttributeID)
  }

  /// One of them.
  enum Condition {
    case category, flags, phone, time, app
    case text(NotificationAttributeID)
  }

  /// The expression that a text has to match; nil for none.
  func pattern(for attribute: NotificationAttributeID) -> TextPattern? {
    switch attribute {
    case .title: title
    case .message: message
    default: nil
    }
  }

  /// Whether one of them is about a text.
  fileprivate var askForText: Bool { title != nil || message != nil }

  /// What the phone tells without being asked comes first, then the app, then the texts.
  func hold(for facts: RuleFacts) -> Answer {
    let answer = holdWithoutText(for: facts)
    guard case .hold = answer else { return answer }
    for attribute in [NotificationAttributeID.title, .message] {
      guard let pattern = pattern(for: attribute) else { continue }
      guard let text = facts.attributes[attribute] else { return .dependOn(attribute) }
      do throws(TextPattern.LimitReached) {
        guard try pattern.matches(text) else { return .doNotHold(.text(attribute)) }
      } catch {
        return .areBeyondLimit(attribute)
      }
    }
    return .hold
  }

  /// Whether those hold that are about no text.
  fileprivate func holdWithoutText(for facts: RuleFacts) -> Answer {
    guard categories.isEmpty || categories.contains(facts.event.category) else {
      return .doNotHold(.category)
    }
    guard facts.event.flags.isSuperset(of: flags) else { return .doNotHold(.flags) }
    guard phone?.matches(facts.phone.address, name: facts.phone.name) ?? true else {
      return .doNotHold(.phone)
    }
    guard time.map({ span in facts.time.map(span.contains) ?? false }) ?? true else {
      return .doNotHold(.time)
    }
    guard !apps.isEmpty else { return .hold }
    guard let app = facts.attributes.appIdentifier else { return .dependOn(.appIdentifier) }
    return apps.contains { $0.matches(app) } ? .hold : .doNotHold(.app)
  }
}

/// A time of day, in minutes since midnight.
struct TimeOfDay: Hashable, Comparable, Sendable {
  var minutes: Int

  /// The board's own time of day.
  init(_ time: WallTime, zoneOffset: Int) {
    let day: Int64 = 24 * 60 * 60
    let seconds = (time.seconds + Int64(zoneOffset)) % day
    minutes = Int((seconds + day) % day) / 60
  }

  /// Reads `22:30`.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.utf8.count) }),
      let hours = UInt8(parts[0]), let minutes = UInt8(parts[1]), hours < 24, minutes < 60
    else { return nil }
    self.minutes = Int(hours) * 60 + Int(minutes)
  }

  static func < (one: TimeOfDay, other: TimeOfDay) -> Bool { one.minutes < other.minutes }

  /// From one time to another, which does not belong to it; over midnight if that is the earlier one.
  struct Span: Hashable, Sendable {
    var start: TimeOfDay
    var end: TimeOfDay

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
