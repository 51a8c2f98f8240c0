// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import EventLoop
import System
import Wire

/// The user's rules on a phone's notifications, and what is fetched where no rule says otherwise.
@LoopActor final class RuleBook {
  var rules: [Rule]
  /// What is fetched without being asked for.
  var selection: AttributeSelection
  private let now: () -> WallTime

  init(_ rules: [Rule], _ selection: AttributeSelection, now: @escaping () -> WallTime) {
    self.rules = rules
    self.selection = selection
    self.now = now
  }

  var isEmpty: Bool { rules.isEmpty }

  /// What is fetched next of a notification of which this is known. The text of what is hidden for its app is
  /// never asked for.
  func decide(
    _ event: NotificationEvent, _ known: NotificationAttributes, from phone: Phone
  ) -> FetchDecision {
    switch rules.verdict(on: facts(event, known, phone)) {
    case .meetsNone: return .attributes(selection)
    case .dependsOn(.appIdentifier): return fetching([.appIdentifier])
    case .dependsOn(let text): return fetching(selection.attributes.union([text]))
    case .meets(let place):
      let outcome = rules[place].outcome
      let usual = outcome.standing == .hidden ? [] : selection.attributes
      let wanted = outcome.fetch ?? usual
      return wanted.isEmpty ? .enough : fetching(wanted)
    }
  }

  private func fetching(_ attributes: Set<NotificationAttributeID>) -> FetchDecision {
    .attributes(AttributeSelection(attributes, maximumLengths: selection.maximumLengths))
  }

  /// The rule that a notification meets of which nothing more will be known.
  func rule(for report: NotificationReport, from phone: Phone) -> Rule? {
    let facts = facts(report.event, report.attributes, phone)
    guard case .meets(let place) = rules.verdict(on: facts, isComplete: true) else { return nil }
    return rules[place]
  }

  private func facts(
    _ event: NotificationEvent, _ attributes: NotificationAttributes, _ phone: Phone
  ) -> RuleFacts {
    let now = now()
    return RuleFacts(
      event: event, attributes: attributes, phone: (phone.identity?.address, phone.displayName),
      time: TimeOfDay(now, zoneOffset: now.zoneOffset))
  }
}
