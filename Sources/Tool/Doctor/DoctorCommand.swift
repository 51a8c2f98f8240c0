// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control

/// What `doctor` is told.
struct DoctorOptions: Sendable {
  var format: OutputFormat?
  var socket: String?
  var stateDirectory: String?
}

/// `ancsd doctor`: what keeps this board from working.
public enum Doctor {
  /// The command as the program lists it.
  public static let command = Command(
    "doctor", "what keeps this board from working, and the command that mends it",
    grammar: grammar, defaults: DoctorOptions(),
    notes: [
      "It changes nothing, and works without root as far as it goes. JSON is one object a line.",
      "The status is 0 where nothing keeps the board from working (there may be warnings), 69 where "
        + "something does, 77 where that is only a matter of permission.",
      "A Focus or Do Not Disturb on the phone keeps notifications from the board too; nothing here can "
        + "see that.",
    ], run: run)

  private static let grammar = Grammar<DoctorOptions>([
    .format(set: { $0.format = $1 }), .socket(set: { $0.socket = $1 }),
    .text(
      "--state-dir", value: "DIR", expects: "a directory",
      help: "where bonds are kept (default: /var/lib/ancsd)",
      set: { $0.stateDirectory = $1 }),
  ])

  @Sendable private static func run(_ options: DoctorOptions) throws(Failure) -> ExitStatus {
    var console = Console()
    if let format = options.format { console.usualFormat = format }
    let printing = console
    return console.onLoop { () async throws(Failure) in
      let findings = await BoardFacts.gather(
        stateDirectory: options.stateDirectory, socket: options.socket
      ).findings
      for finding in findings { try printing.show(finding) { finding.text($0) } }
      return findings.status
    }
  }
}
