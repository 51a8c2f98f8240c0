// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import JSON
import Testing

/// Not the one of the testing library.
typealias ExitStatus = Control.ExitStatus

@Suite("Which command is meant")
struct InvocationTests {
  private struct Nothing: Sendable {}

  private var options: [CommandOption<Nothing>] {
    [
      .adapterNumber(help: "serve this adapter; may repeat", set: { _, _ in }),
      .value(
        "--pairable", value: "SECONDS", expects: "seconds", help: "anybody may pair for so long", read: { Int($0) },
        set: { _, _ in }),
      .flag("-v", "--verbose", help: "say more; what is said goes to standard error", set: { _ in }),
    ]
  }

  private var commands: [Command] {
    [
      Command(
        "run", "does things", usage: ["ancsd [run] [--hciN]... [OPTIONS]"], grammar: Grammar(options),
        defaults: Nothing(), notes: ["A note that is long enough to need more than one line on a narrow terminal."]
      ) { _ throws(Failure) in .done },
      Command("watch", "says things", grammar: Grammar([]), defaults: Nothing()) { _ throws(Failure) in .refused },
    ]
  }

  private func invocation(_ line: String, width: Int = 80) throws(Failure) -> Invocation {
    try Invocation(line.split(separator: " ").map(String.init), commands: commands, width: width)
  }

  private static func text(_ invocation: Invocation) -> String {
    if case .print(let text) = invocation { text } else { "" }
  }

  private func printed(_ line: String, width: Int = 80) throws(Failure) -> String {
    Self.text(try invocation(line, width: width))
  }

  @Test("All commands with their options can be read as JSON") func catalogue() throws {
    let option = CommandOption<Int>.time("--grace", within: .zero ... .seconds(60), help: "how long", set: { _, _ in })
      .repeated
    let command = Command(
      "run", "runs", grammar: Grammar([option], operands: "FILE", kinds: [.file, .word(["all"])]), defaults: 0
    ) { _ throws(Failure) in .done }
    let help = try Invocation(["help", "--json"], commands: [command], width: 80)
    let json = try JSONValue(parsing: Self.text(help))
    let run = json["commands"]?.array?.first
    #expect(run?["name"] == "run")
    let grace = run?["options"]?.array?.first
    #expect(grace?["names"] == ["--grace"] && grace?["value"] == "TIME")
    #expect(grace?["kind"] == "time" && grace?["repeats"] == true)
    #expect(run?["operands"] == [["kind": "file"], ["kind": "word", "words": ["all"]]])
    #expect(json["environment"]?.array?.contains { $0["name"] == "ANCSD_SOCKET" } == true)
  }

  @Test(
    "The first argument names the command; without a name it is the first command",
    arguments: [
      ("", "run"), ("--hci0", "run"), ("run --hci0", "run"), ("watch -n 5", "watch"),
      ("-- --help", "run"), ("-v watch", "watch"), ("--pairable 60 watch", "watch"),
      ("--pairable watch", "run"), ("--hci0 60", "run"),
    ])
  func command(line: String, name: String) throws {
    guard case .perform(let command, _) = try invocation(line), command.name == name else {
      Issue.record("another command, or none")
      return
    }
  }

  @Test("The version")
  func version() throws {
    // A build without a known commit has only the number.
    #expect(Program.build == Control.version)
    for line in ["--version", "-V", "version"] {
      #expect(try printed(line) == "ancsd \(Program.build)\n")
    }
  }

  @Test(
    "Help lists the commands, and a command's help its options, within the width", arguments: [40, 60, 80, 120, 200])
  func help(width: Int) throws {
    let overview = try printed("--help", width: width)
    #expect(overview.contains("\n  run ") && overview.contains("\n  watch "))
    #expect(overview.split(separator: "\n").allSatisfy { $0.count <= max(width, 80) })
    for line in ["run --help", "--hci0 -h", "help run"] {
      let page = try printed(line, width: width)
      #expect(page.hasPrefix("Usage: ancsd [run] [--hciN]... [OPTIONS]\n"))
      #expect(page.contains("\n  --pairable SECONDS"))
      #expect(page.contains("\n  -v, --verbose"))
      #expect(!page.contains("--exec"))
      #expect(page.split(separator: "\n").allSatisfy { $0.count <= width })
    }
  }

  @Test(
    "An unknown command or option gets an error with a suggestion, an invalid argument one that names the help",
    arguments: [
      ("wacth", "ancsd: unknown command “wacth”; did you mean “ancsd watch”?"),
      ("w", "ancsd: unknown command “w”; see ancsd --help"),
      ("history", "ancsd: unknown command “history”; did you mean “ancsd log”?"),
      ("help nothing", "ancsd: unknown command “nothing”; see ancsd --help"),
      ("--vresion", "ancsd: unknown option “--vresion”; did you mean --version?"),
      ("watch --version", "ancsd: unknown option “--version”; “ancsd --version” prints it"),
      ("watch out", "ancsd: unexpected argument “out”; see ancsd watch --help"),
      ("--hci0=1", "ancsd: --hci0 takes no value; see ancsd run --help"),
    ])
  func unknown(line: String, error: String) {
    let failure = #expect(throws: Failure.self) { try invocation(line).perform { _ in } }
    #expect(failure?.line == error && failure?.status == .usage)
  }

}
