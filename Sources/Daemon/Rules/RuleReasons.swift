// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import Patterns
import Wire

// Why rules are met, or are not: for people.

extension [Rule] {
  /// What each rule makes of a notification, and why.
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

/// Why a rule does not count.
private struct RuleReason {
  var text: String
  /// Whether that may change once more is known.
  var isOpen = false
}

extension Rule.Conditions {
  /// Nil where all hold.
  fileprivate func reason(for facts: RuleFacts) -> RuleReason? {
    if !categories.isEmpty, !categories.contains(facts.event.category) {
      return RuleReason(text: "its category is \(facts.event.category)")
    }
    let lacking = flags.subtracting(facts.event.flags)
    if !lacking.isEmpty {
      return RuleReason(text: "it is not \(lacking.names.joined(separator: ", "))")
    }
    if let phone, !phone.matches(facts.phone.address, name: facts.phone.name) {
      let name = facts.phone.name ?? facts.phone.address?.description ?? "unknown"
      return RuleReason(text: "its phone is \(name)")
    }
    if let time {
      guard let now = facts.time else { return RuleReason(text: "the time is not known") }
      guard time.contains(now) else { return RuleReason(text: "it is \(now), not \(time)") }
    }
    if !apps.isEmpty {
      guard let app = facts.attributes.appIdentifier else {
        return RuleReason(text: "its app was not fetched", isOpen: true)
      }
      guard apps.contains(where: { $0.matches(app) }) else {
        return RuleReason(text: "its app is \(app)")
      }
    }
    return reason(.title, title, facts) ?? reason(.message, message, facts)
  }

  private func reason(
    _ attribute: NotificationAttributeID, _ pattern: TextPattern?, _ facts: RuleFacts
  ) -> RuleReason? {
    guard let pattern else { return nil }
    let name = attribute.name ?? "text"
    guard let text = facts.attributes[attribute] else {
      return RuleReason(text: "its \(name) was not fetched", isOpen: true)
    }
    do throws(TextPattern.LimitReached) {
      if try pattern.matches(text) { return nil }
      return RuleReason(text: "/\(pattern.source)/ is not found in its \(name)")
    } catch {
      return RuleReason(text: "/\(pattern.source)/ takes too long to search its \(name)")
    }
  }
}
