// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import Picture
import System

/// The options of `ancsd report`.
struct ReportOptions: Sendable {
  /// Nil or `-`: standard output.
  var file: String?
  /// The page of the daemon's timeline.
  var html: String?
  var keepsText = false
  /// Whether files are replaced that are not of this program.
  var isForced = false
  var socket: String?
  var stateDirectory: String?
}

extension Command {
  /// `ancsd report`: one file to attach to an issue.
  package static let report = Command(
    "report", "writes a report to attach to an issue, without names, addresses and texts",
    usage: ["ancsd report [OPTIONS] [FILE]"], grammar: .report, defaults: ReportOptions(),
    notes: [
      "It has versions, the kernel, the controllers with their firmware, what “doctor” finds, and of a "
        + "running daemon its status, the last pairing and session as a timeline (ATT by opcode and "
        + "handle), and the latest events. Without FILE it goes to standard output.",
      "Addresses, names, paths and texts are replaced, each by the same word everywhere; keys are "
        + "never in it. It changes nothing, and works as far as it can without a daemon and without root.",
      "Exit status: 0, even if the doctor finds problems; 64 for a wrong command line, 69 for "
        + "--html without a daemon, 73 for a file that can't be written.",
    ],
    examples: [
      "report.txt",
      "--keep-text",
      "--html session.html",
    ],
    run: { options throws(Failure) in
      let console = Console()
      for output in [options.page, options.text].compactMap({ $0 }) { try output.check() }
      return console.onLoop { () async throws(Failure) in
        let facts = await ReportFacts.gather(options)
        if let output = options.page {
          guard let page = Report.page(facts, keepsText: options.keepsText) else {
            throw Failure(
              .unavailable, "drawing the timeline", "no daemon responds, and only a daemon has one",
              remedy: "“ancsd doctor” looks for the cause")
          }
          try options.write(page, to: output, console)
        }
        if let output = options.text {
          let text = Report.text(facts, keepsText: options.keepsText)
          try options.write(Array(text.utf8), to: output, console)
        }
        return .done
      }
    })
}

extension Grammar<ReportOptions> {
  static let report = Grammar(
    [
      .flag("--keep-text", help: "leave names, paths and texts as they are", set: { $0.keepsText = true }),
      .file(
        "--html", help: "write the daemon's timeline as one HTML page for any browser instead", set: { $0.html = $1 }),
      .force(set: { $0.isForced = true }), .socket(set: { $0.socket = $1 }),
      .stateDirectory(default: "\(DefaultPaths.systemState) for root", set: { $0.stateDirectory = $1 }),
    ], operands: "[FILE]", kinds: [.file]
  ) { options, operands throws(Failure) in
    try operands.check(atMost: 1)
    options.file = operands.first
  }
}

extension ReportOptions {
  /// The file of the page, if one is wanted.
  var page: OutputFile? {
    html.map { OutputFile($0, beginning: SessionPicture.beginning, isForced: isForced) }
  }

  /// The file of the text; nil: only the page is wanted.
  var text: OutputFile? {
    if html != nil, file == nil { return nil }
    return OutputFile(file ?? "-", beginning: Array(Report.beginning.utf8), isForced: isForced)
  }

  /// Writes the report or its page, and prints the path if it is a file.
  func write(_ content: [UInt8], to output: OutputFile, _ console: Console) throws(Failure) {
    if output.isStandard { return try console.print(content) }
    // If it contains texts, only its owner may read it.
    let file = try output.create(mode: keepsText ? 0o600 : 0o644)
    try attempt(try file.writeAll(content)) { Failure(writing: output.path, $0) }
    try console.print(line: "wrote \(output.path); read it through before you attach it to the issue")
  }
}
