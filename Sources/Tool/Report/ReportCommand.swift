// SPDX-License-Identifier: GPL-3.0-or-later
public import Arguments
import Control
import System

/// The options of `ancsd report`.
struct ReportOptions: Sendable {
  /// Nil: standard output.
  var file: String?
  /// The page of the daemon's timeline.
  var html: String?
  var keepsText = false
  var socket: String?
  var stateDirectory: String?
}

extension Command {
  /// `ancsd report`: one file to attach to an issue.
  public static let report = Command(
    "report", "one text to attach to an issue, without names, addresses and texts",
    usage: ["ancsd report [OPTIONS] [FILE]"], grammar: .report, defaults: ReportOptions(),
    notes: [
      "It has versions, the kernel, the controllers with their firmware, what “doctor” finds, and of a "
        + "running daemon its status, the last pairing and session as a timeline (ATT by opcode and "
        + "handle), and the latest events. Without FILE it goes to standard output.",
      "Addresses, names, paths and texts are replaced, each by the same word everywhere; keys are "
        + "never in it. It changes nothing, and works without a daemon and without root as far as it "
        + "goes.",
      "It ends with status 0, also if the doctor finds problems; 64 for a wrong command line, 69 for "
        + "--html without a daemon, 73 for a file that can't be written.",
    ],
    run: { options throws(Failure) in
      let console = Console()
      return console.onLoop { () async throws(Failure) in
        let facts = await ReportFacts.gather(options)
        if let html = options.html {
          guard let page = Report.page(facts, keepsText: options.keepsText) else {
            throw Failure(.unavailable, "drawing the timeline", "there is no daemon that has one")
          }
          try options.write(page, to: html, console)
        }
        if options.html == nil || options.file != nil {
          let text = Report.text(facts, keepsText: options.keepsText)
          try options.write(Array(text.utf8), to: options.file, console)
        }
        return .done
      }
    })
}

extension Grammar<ReportOptions> {
  static let report = Grammar(
    [
      .flag(
        "--keep-text", help: "leave names, paths and texts as they are",
        set: { $0.keepsText = true }),
      .text(
        "--html", value: "FILE", expects: "a file",
        help: "draw the daemon's timeline instead: one page for any browser",
        set: { $0.html = $1 }), .socket(set: { $0.socket = $1 }),
      .text(
        "--state-dir", value: "DIR", kind: .directory, expects: "a directory",
        help: "where bonds are kept (default: \(DefaultPaths.systemState) for root)",
        set: { $0.stateDirectory = $1 }),
    ], operands: "[FILE]", kinds: [.file]
  ) { options, operands throws(Failure) in
    try operands.check(atMost: 1)
    options.file = operands.first == "-" ? nil : operands.first
  }
}

extension ReportOptions {
  /// Writes the report, and says where it is if that is a file.
  func write(_ content: [UInt8], to file: String?, _ console: Console) throws(Failure) {
    guard let file, file != "-" else { return try console.print(content) }
    do throws(SystemError) {
      // With texts in it, it is for its writer alone until he passes it on.
      try Files.create(file, mode: keepsText ? 0o600 : 0o644).writeAll(content)
    } catch {
      throw Failure(writing: file, error)
    }
    try console.print(line: "\(file) is written: read it through, then attach it to the issue")
  }
}
