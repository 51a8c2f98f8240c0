// SPDX-License-Identifier: GPL-3.0-or-later
public import Control
public import JSON

/// One thing that the doctor looked at: how it is, and what mends it.
public struct Finding: JSONObjectCodable, Hashable, Sendable {
  /// How it is.
  public enum Verdict: String, JSONNamed, Hashable, Sendable {
    public static let jsonKind = "a verdict"

    case ok
    /// It works, but not as it might, or it could not be looked at.
    case warning
    /// It keeps the board from working.
    case problem
  }

  /// What was looked at, by a name for programs.
  public var check: String
  public var verdict: Verdict
  /// A sentence without its full stop.
  public var sentence: String
  /// The command that mends it; nil where there is none.
  public var command: String?
  /// Whether it is a matter of permission alone.
  public var isPermission = false

  public init(
    _ check: String, _ verdict: Verdict, _ sentence: String, command: String? = nil,
    isPermission: Bool = false
  ) {
    self.check = check
    self.verdict = verdict
    self.sentence = sentence
    self.command = command
    self.isPermission = isPermission
  }

  public init() { self.init("", .ok, "") }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("check", &check)
    try json.required("verdict", &verdict)
    try json.required("message", &sentence)
    try json.optional("command", &command)
  }

  /// The line as a person reads it, and the command on one of its own.
  public func text(_ style: TextStyle) -> String {
    var line = StyledText()
    switch verdict {
    case .ok: line.addWhole("ok     ", .good)
    case .warning: line.addWhole("warning", .attention)
    case .problem: line.addWhole("PROBLEM", .bad)
    }
    line.add("\(check):", .strong)
    line.add(sentence)
    var lines = line.lines(style, indent: 8)
    if let command {
      lines += StyledText("→ \(command)", .attention).lines(style, indent: 8, hanging: false)
    }
    return lines.joined(separator: "\n")
  }
}

extension [Finding] {
  /// How the program ends: 0 where nothing keeps the board from working, 77 where only permission
  /// does, else 69.
  public var status: ExitStatus {
    let problems = filter { $0.verdict == .problem }
    if problems.isEmpty { return .done }
    return problems.allSatisfy(\.isPermission) ? .noPermission : .unavailable
  }
}
