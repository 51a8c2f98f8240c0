// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
public import JSON

/// How each rule applies to a notification: the result of `rules.explain`.
public struct RuleExplanation: JSONObjectCodable, Hashable, Sendable {
  public var uid: NotificationUID = 0
  /// In their order.
  public var rules: [Rule] = []

  public init() {}

  public init(_ uid: NotificationUID, _ rules: [Rule]) {
    self.uid = uid
    self.rules = rules
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("uid", &uid)
    try json.list("rules", &rules)
  }

  /// Whether a rule acts on the notification.
  public enum Standing: String, CaseIterable, JSONNamed, Sendable {
    public static var jsonKind: String { "whether a rule is met" }

    /// It is the rule that counts.
    case counts
    /// One of its conditions does not hold.
    case notMet = "not-met"
    /// It depends on an attribute that was not fetched.
    case open
    /// An earlier rule counts.
    case notReached = "not-reached"
  }

  /// One rule.
  public struct Rule: JSONObjectCodable, Hashable, Sendable {
    public var name = ""
    public var standing = Standing.notReached
    /// What it does, or why it does not.
    public var why = ""

    public init() {}

    public init(_ name: String, _ standing: Standing, _ why: String) {
      self.name = name
      self.standing = standing
      self.why = why
    }

    public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.required("rule", &name)
      try json.required("standing", &standing)
      try json.required("why", &why)
    }
  }

  /// As text, one line per rule.
  public func text(_ style: TextStyle) -> String {
    guard !rules.isEmpty else { return "there are no rules" }
    return rules.map { rule in
      var line = StyledText()
      switch rule.standing {
      case .counts: line.add("counts", .good)
      case .notMet: line.add("not met", .faint)
      case .open: line.add("undecided", .attention)
      case .notReached: line.add("not reached", .faint)
      }
      line.add("“\(rule.name)”:", .strong)
      line.add(rule.why)
      return line.lines(style, indent: 2).joined(separator: "\n")
    }.joined(separator: "\n")
  }
}
