// SPDX-License-Identifier: GPL-3.0-or-later
import Daemon
import EventLoop
import JSON

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
    .choice(
      "--format", \.format, help: "how it is printed (default: text on a terminal, else JSON)"),
    .value(
      "--socket", value: "PATH", expects: "a path", help: "the daemon's control socket",
      set: { options, text in
        options.socket = text
        return !text.isEmpty
      }),
    .value(
      "--state-dir", value: "DIR", expects: "a directory",
      help: "where bonds are kept (default: /var/lib/ancsd)",
      set: { options, text in
        options.stateDirectory = text
        return !text.isEmpty
      }),
  ])

  @Sendable private static func run(_ options: DoctorOptions) throws(Failure) -> ExitStatus {
    var console = Console()
    if let format = options.format { console.usualFormat = format }
    let printing = console
    Loop.start {
      let facts = await BoardFacts.gather(
        stateDirectory: options.stateDirectory, socket: options.socket)
      var status = facts.findings.status
      do throws(Failure) {
        try show(facts.findings, printing)
      } catch {
        printing.report(error)
        status = error.status
      }
      Loop.shared.stop(status.rawValue)
    }
    return ExitStatus(rawValue: Loop.shared.run()) ?? .software
  }

  /// Prints the findings, a line or two each.
  static func show(_ findings: [Finding], _ console: Console) throws(Failure) {
    for finding in findings {
      switch console.usualFormat {
      case .text: try console.print(line: finding.text(console.style))
      case .json: try console.print(line: finding.json.text)
      }
    }
  }
}
