// SPDX-License-Identifier: GPL-3.0-or-later

/// Judges a notification by the owner's rules, from what is known so far.
public typealias NotificationJudge = (NotificationEvent, NotificationAttributes) -> Judgement

/// The rules' judgement of a notification.
public struct Judgement: Hashable, Sendable {
  /// How it is shown if nothing more becomes known.
  public var display: NotificationReport.Display
  /// The rule that acts on it, by its place in the list.
  public var rule: Int?
  /// What to fetch, along with the app's name; nil: nothing more, and no name.
  public var wanted: [ControlPointCommand.AttributeRequest]?
  /// Whether the judgement is final, so the rules need not be evaluated again.
  public var isFinal: Bool

  public init(
    _ display: NotificationReport.Display = .usual, rule: Int? = nil,
    wanted: [ControlPointCommand.AttributeRequest]? = nil, isFinal: Bool = false
  ) {
    self.display = display
    self.rule = rule
    self.wanted = wanted
    self.isFinal = isFinal
  }
}

extension AttributeSelection {
  /// Judges all notifications alike, without rules: these attributes are fetched.
  public var judge: NotificationJudge {
    let requests = [[], .positiveAction, .negativeAction, [.positiveAction, .negativeAction]]
      .map { self.requests(for: $0) }
    return { event, _ in
      let number =
        (event.flags.contains(.positiveAction) ? 1 : 0)
        + (event.flags.contains(.negativeAction) ? 2 : 0)
      return Judgement(wanted: requests[number], isFinal: true)
    }
  }
}

/// The owner's rules.
struct NotificationRules {
  /// Judges a notification.
  var judge = AttributeSelection.all.judge
  /// Counts their changes, each of which voids the judgement of a notification that is being fetched.
  var version = 0
}
