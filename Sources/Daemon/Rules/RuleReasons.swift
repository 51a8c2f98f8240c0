// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Patterns
import Wire

// Explains to people why rules match or not.

extension [Rule] {
  /// How each rule applies to a notification, and why.
  func explanation(of facts: RuleFacts) -> [RuleExplanation.Rule] {
    let verdict = verdict(on: facts)
    return enumerated().map { place, rule in
      let reason = rule.conditions.reason(for: facts)
      switch reason {
      case .some(let why) where place != verdict.rule:
        return .init(rule.name, why.isOpen ? .open : .notMet, why.text)
      case _ where place == verdict.rule:
        return .init(rule.name, .counts, rule.outcome.words.joined(separator: ", "))
      default:
        let first = verdict.rule.map { "“\(self[$0].name)” counts" } ?? "another may count"
        return .init(rule.name, .notReached, "its conditions hold, but \(first)")
      }
    }
  }
}

/// Why a rule does not apply.
private struct RuleReason {
  var text: String
  /// Whether that may change once more is known.
  var isOpen = false
}

extension Rule.Conditions {
  /// Nil if all conditions hold.
  fileprivate func reason(for facts: RuleFacts) -> RuleReason? {
    switch hold(for: facts) {
    case .hold: nil
    case .doNotHold(let condition): RuleReason(text: contradiction(of: condition, facts))
    case .dependOn(.appIdentifier): RuleReason(text: "its app was not fetched", isOpen: true)
    case .dependOn(let attribute):
      RuleReason(text: "its \(attribute.word) was not fetched", isOpen: true)
    case .areBeyondLimit(let attribute):
      RuleReason(text: "\(source(for: attribute)) takes too long to search its \(attribute.word)")
    }
  }

  /// What the notification has instead of what a condition requires.
  private func contradiction(of condition: Condition, _ facts: RuleFacts) -> String {
    switch condition {
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
    }
  }

  /// An expression as users write it.
  private func source(for attribute: NotificationAttributeID) -> String {
    "/\(pattern(for: attribute)?.source ?? "")/"
  }
}

extension NotificationAttributeID {
  fileprivate var word: String { name ?? "text" }
}
