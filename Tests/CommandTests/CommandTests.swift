// SPDX-License-Identifier: GPL-3.0-or-later
import CaptureTools
import Control
import ControlClients
import Daemon
import JSON
import LiveScreen
import Maintenance
import Testing

@testable import Arguments
@testable import CentralTools

@Suite("All commands of the program")
struct CommandTests {
  private static let all: [Command] =
    [.run] + Clients.commands + Clients.phoneCommands + [
      .tui, .setup, .gatt, .trace, .decode, .phone, .doctor, .report,
      .config(asking: { _, _ in .done }),
      .rules(explaining: { _, _, _ in .done }, names: { _ in [:] }),
    ]

  @Test("The help has three examples or more, which the program accepts", arguments: all)
  func examples(command: Command) throws {
    let lines = command.help([], 80).split(separator: "\n", omittingEmptySubsequences: false)
    let examples = lines.drop { $0 != "Examples:" }.dropFirst().prefix { !$0.isEmpty }
    #expect(examples.count >= 3)
    for line in examples {
      // Up to a pipe or a redirection.
      let words = CommandLineWords.split(String(line)).prefix { !["|", ">", "<"].contains($0) }
      #expect(words.prefix(2) == ["ancsd", command.name])
      let invocation = try Invocation(Array(words.dropFirst()), commands: Self.all, width: 80)
      guard case .perform(let named, let arguments) = invocation else {
        Issue.record("it does nothing: \(line)")
        continue
      }
      #expect(named.name == command.name)
      #expect(throws: Never.self, "\(line)") { try command.check(arguments) }
    }
  }

  @Test("What an unknown word suggests is a command that works", arguments: Invocation.otherWords)
  func suggestion(word: String, line: String) throws {
    let invocation = try Invocation(
      line.split(separator: " ").map(String.init), commands: Self.all, width: 80)
    guard case .perform(let command, let arguments) = invocation else {
      Issue.record("it does nothing: \(line)")
      return
    }
    try command.check(arguments)
  }

  @Test("Every option whose value is a file or a directory is completed as one", arguments: all)
  func files(command: Command) {
    for option in command.described()["options"]?.array ?? [] {
      guard let value = option["value"]?.string, let kind = option["kind"]?.string else { continue }
      let isPath = ["FILE", "PATH", "DIR", "unix:PATH"].contains(value)
      #expect(!isPath || ["file", "settings", "directory"].contains(kind), "\(option)")
    }
  }
}

extension Command: CustomTestStringConvertible { public var testDescription: String { name } }
