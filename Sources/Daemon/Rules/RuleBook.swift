// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Board
import Control
import EventLoop
import System
import Wire

/// The user's rules on a phone's notifications, and what to fetch unless a rule says otherwise.
@LoopActor final class RuleBook {
  var rules: [Rule] { didSet { reported = [] } }
  /// What is fetched by default.
  var selection: AttributeSelection
  private let log: Log
  private let now: () -> WallTime
  /// The indices of the rules whose expressions the log already reported as exceeding the limit.
  private var reported: Set<Int> = []

  init(_ rules: [Rule], _ selection: AttributeSelection, log: Log, now: @escaping () -> WallTime) {
    self.rules = rules
    self.selection = selection
    self.log = log
    self.now = now
  }

  /// Judges a phone's notifications by the rules.
  func judge(for phone: Phone) -> NotificationJudge {
    guard !rules.isEmpty else { return selection.judge }
    return { [self, weak phone] event, known in
      guard let phone else { return Judgement(isFinal: true) }
      return judge(event, known, from: phone)
    }
  }

  /// Judges a notification by the facts known so far. If it is hidden for its app, its texts are never requested.
  private func judge(_ event: NotificationEvent, _ known: NotificationAttributes, from phone: Phone) -> Judgement {
    let facts = facts(event, known, phone)
    let verdict = rules.verdict(on: facts)
    for rule in verdict.beyondLimit where reported.insert(rule).inserted {
      log.warning(
        "rule “\(rules[rule].name)” is skipped if its expression takes too long to search a text, "
          + "as it just did: simplify its repetitions")
    }
    func requests(
      _ attributes: Set<NotificationAttributeID>
    ) -> [ControlPointCommand.AttributeRequest] {
      AttributeSelection(attributes, maximumLengths: selection.maximumLengths)
        .requests(for: event.flags)
    }
    var judgement = Judgement(isFinal: verdict.missing == nil)
    if let rule = verdict.rule.map({ rules[$0] }) {
      let outcome = rule.outcome
      judgement.display = outcome.display
      if outcome.acts { judgement.rule = verdict.rule }
      let wanted = outcome.fetch ?? (outcome.display == .hidden ? [] : selection.attributes)
      judgement.wanted = wanted.isEmpty ? nil : requests(wanted)
    } else {
      judgement.wanted = requests(selection.attributes)
    }
    switch verdict.missing {
    case .appIdentifier?: judgement.wanted = requests([.appIdentifier])
    // If it may have to be hidden, request only what decides that; otherwise one command requests everything.
    case let text? where verdict.mayBeHidden: judgement.wanted = requests([text])
    case let text?: judgement.wanted = requests(selection.attributes.union([text]))
    case nil: break
    }
    return judgement
  }

  private func facts(_ event: NotificationEvent, _ known: NotificationAttributes, _ phone: Phone) -> RuleFacts {
    var facts = RuleFacts(event: event, attributes: known, phone: (phone.identity?.address, phone.cache.name))
    if rules.askForTime {
      let now = now()
      facts.time = TimeOfDay(now, zoneOffset: now.zoneOffset)
    }
    return facts
  }

  /// How each rule applies to a notification now, and why.
  func explain(_ report: NotificationReport, from phone: Phone) -> [RuleExplanation.Rule] {
    rules.explanation(of: facts(report.event, report.attributes, phone))
  }
}
