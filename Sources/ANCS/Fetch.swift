// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// A notification whose turn it is to be fetched, until it is settled.
// Not Equatable: comparing an optional one with nil would then copy it.
struct Fetch: Sendable {
  /// The report for clients, as far as known.
  var report: NotificationReport
  /// The index of the rule that acts on it.
  private(set) var rule: Int?
  /// Whether a wanted attribute could not be fetched.
  var hasFailed = false
  /// How it waited.
  let wait: FetchLanes.Wait
  /// Whether its app's name is wanted too.
  private(set) var wantsName = true
  /// The attributes to fetch next.
  private(set) var wanted: [ControlPointCommand.AttributeRequest] = []
  /// The requested attributes, whether the phone had them or not, while the rules are not done with it.
  private var requested: Set<NotificationAttributeID> = []
  /// The version of the rules that are done with it.
  private var judgedBy: Int?

  init(_ report: NotificationReport, _ wait: FetchLanes.Wait) {
    self.report = report
    self.wait = wait
  }

  var uid: NotificationUID { report.event.uid }

  /// Evaluates the rules on what is known, unless they are done with it.
  @discardableResult mutating func judge(by rules: NotificationRules) -> Judgement? {
    if judgedBy == rules.version { return nil }
    let judgement = rules.judge(report.event, report.attributes)
    if report.display != judgement.display { report.display = judgement.display }
    rule = judgement.rule
    judgedBy = judgement.isFinal ? rules.version : nil
    return judgement
  }

  /// Decides what to request next, from the rules' judgement of what is known. Once they are done with it, everything
  /// wanted has been requested.
  mutating func plan(by rules: NotificationRules) {
    guard let judgement = judge(by: rules) else { return wanted = [] }
    wantsName = judgement.wanted != nil
    wanted = judgement.wanted ?? []
    if !requested.isEmpty { wanted.removeAll { requested.contains($0.id) } }
  }

  /// Adds fetched attributes.
  mutating func add(_ attributes: consuming NotificationAttributes) {
    if requested.isEmpty {
      report.attributes = attributes
    } else {
      report.attributes.merge(attributes)
    }
    if judgedBy == nil { requested.formUnion(wanted.map(\.id)) }
  }
}
