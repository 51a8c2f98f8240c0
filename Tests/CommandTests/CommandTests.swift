// SPDX-License-Identifier: GPL-3.0-or-later
import CaptureTools
import CentralTools
import ControlClients
import Daemon
import JSON
import LiveScreen
import Maintenance
import Testing

@testable import Arguments

@Suite("All commands of the program")
struct CommandTests {
  private static let all: [Command] =
    [.run] + Clients.commands + Clients.phoneCommands
    + [.tui, .setup, .gatt, .trace, .decode, PhoneTool.command, Doctor.command, .report]

  @Test("Every option whose value is a file or a directory is completed as one", arguments: all)
  func files(command: Command) {
    for option in command.described()["options"]?.array ?? [] {
      guard let value = option["value"]?.string, let kind = option["kind"]?.string else { continue }
      let isPath = ["FILE", "PATH", "DIR", "unix:PATH"].contains(value)
      #expect(!isPath || ["file", "directory"].contains(kind), "\(option)")
    }
  }
}

extension Command: CustomTestStringConvertible {
  public var testDescription: String { name }
}
