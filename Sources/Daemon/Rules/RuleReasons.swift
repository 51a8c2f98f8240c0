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
      if place == verdict.rule {
        return .init(rule.name, .counts, rule.outcome.words.joined(separator: ", "))
      }
      if let (standing, why) = rule.conditions.obstacle(for: facts) {
        return .init(rule.name, standing, why)
      }
      let first = verdict.rule.map { "“\(self[$0].name)” counts" } ?? "another may count"
      return .init(rule.name, .notReached, "its conditions hold, but \(first)")
    }
  }
}

extension Rule.Conditions {
  /// Why a rule does not apply; nil if all conditions hold.
  fileprivate func obstacle(
    for facts: RuleFacts
  ) -> (standing: RuleExplanation.Standing, why: String)? {
    switch hold(for: facts) {
    case .hold: nil
    case .doNotHold(let condition): (.notMet, contradiction(of: condition, facts))
    case .dependOn(.appIdentifier): (.open, "its app was not fetched")
    case .dependOn(let attribute): (.open, "its \(attribute.word) was not fetched")
    case .areBeyondLimit(let attribute):
      (.notMet, "\(source(for: attribute)) takes too long to search its \(attribute.word)")
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
