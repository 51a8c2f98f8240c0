// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import JSON

/// The options of `doctor`.
struct DoctorOptions: PrintingOptions {
  var output = OutputOptions()
  var socket: String?
  var stateDirectory: String?
}

extension Command {
  /// `ancsd doctor`: finds what keeps this board from working.
  package static let doctor = Command(
    "doctor", "finds what keeps this board from working, and the command that fixes it",
    grammar: Grammar<DoctorOptions>(
      [
        .socket(set: { $0.socket = $1 }),
        .stateDirectory(default: "\(DefaultPaths.systemState) for root", set: { $0.stateDirectory = $1 }),
      ] + CommandOption.output), defaults: DoctorOptions(),
    notes: [
      "It changes nothing, and works as far as it can without root. JSON is one object per line.",
      "The status is 0 if nothing keeps the board from working (there may be warnings), 69 if "
        + "something does, 77 if only permission is missing.",
      "A Focus or Do Not Disturb on the phone would also hold back notifications; the board can't "
        + "detect that.",
    ],
    examples: [
      "",
      "--json",
      "--socket /run/ancsd/control.sock",
    ]
  ) { options throws(Failure) in
    let console = try Console(options.output)
    return console.onLoop { () async throws(Failure) in
      let findings = await DoctorFacts.gather(stateDirectory: options.stateDirectory, socket: options.socket).findings
      for finding in findings { try console.show(finding) { finding.text($0) } }
      return findings.status
    }
  }
}

/// The result of one of the doctor's checks: the state, and the command that fixes it.
struct Finding: JSONObjectCodable, Hashable, Sendable {
  enum Verdict: String, JSONNamed, Hashable, Sendable {
    static let jsonKind = "a verdict"

    case ok
    /// It works, but not as well as it could, or it could not be checked.
    case warning
    /// It keeps the board from working.
    case problem
  }

  /// What was checked, by a name for programs.
  var check: String
  var verdict: Verdict
  /// A sentence without its full stop.
  var sentence: String
  /// The command that fixes it; nil if there is none.
  var command: String?
  /// Whether only permission is missing.
  var isPermission = false

  init(_ check: String, _ verdict: Verdict, _ sentence: String, command: String? = nil, isPermission: Bool = false) {
    self.check = check
    self.verdict = verdict
    self.sentence = sentence
    self.command = command
    self.isPermission = isPermission
  }

  init() { self.init("", .ok, "") }

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("check", &check)
    try json.required("verdict", &verdict)
    try json.required("message", &sentence)
    try json.optional("command", &command)
  }

  /// As text: a line, and the command on the next.
  func text(_ style: TextStyle) -> String {
    var line = StyledText()
    switch verdict {
    case .ok: line.addWhole("ok     ", .good)
    case .warning: line.addWhole("warning", .attention)
    case .problem: line.addWhole("PROBLEM", .bad)
    }
    line.add("\(check):", .strong)
    line.add(sentence)
    let remedy = StyledText(command.map { "→ \($0)" } ?? "", .attention)
    return [line, remedy].lines(style, indent: 8).joined(separator: "\n")
  }
}

extension [Finding] {
  /// The exit status: 0 if nothing keeps the board from working, 77 if only permission is missing,
  /// else 69.
  var status: ExitStatus {
    let problems = filter { $0.verdict == .problem }
    if problems.isEmpty { return .done }
    return problems.allSatisfy(\.isPermission) ? .noPermission : .unavailable
  }
}
