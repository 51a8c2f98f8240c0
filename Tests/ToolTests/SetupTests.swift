// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import Mgmt
import System
import Testing
import Wire

@testable import Tool

@Suite("Setting a board up")
struct SetupTests {
  /// A board whose files are in memory, and which records the commands that are run on it.
  private final class Board {
    var isRoot = true
    var user: String? = "pi"
    var initSystem = InitSystem.systemd
    var files = ["/etc/group": "root:x:0:\nancsd:x:990:anna\n"]
    var hasBluetoothd = false
    var adapters = [
      BoardFacts.AdapterFacts(
        index: ControllerIndex(0), address: Address(0xB827_EB12_3456),
        supported: [.lowEnergy, .secureConnections],
        current: [.powered])
    ]
    private(set) var commands: [String] = []
    /// The programs that fail, by a part of their command, with what they say.
    var failing: [String: String] = [:]

    var surface: SetupBoard {
      SetupBoard(
        isRoot: isRoot, hostName: "kitchen", user: user, initSystem: initSystem,
        facts: { [unowned self] in
          var facts = BoardFacts()
          facts.adapters = adapters
          facts.bluetoothd = hasBluetoothd ? .running : .absent
          facts.clock = 1_795_244_400
          return facts
        }, read: { [unowned self] in files[$0] }, save: { [unowned self] in files[$1] = $0 },
        run: { [unowned self] command in
          let line = command.joined(separator: " ")
          commands.append(line)
          if line.contains("bluetooth") { hasBluetoothd = false }
          guard let failure = failing.first(where: { line.contains($0.key) }) else {
            return (.exit(0), [])
          }
          return (.exit(1), [failure.value])
        })
    }

    var settings: String? { files[SetUp.usualSettings] }
  }

  /// A daemon that knows these phones; a phone that may pair does so.
  private static func daemon(
    phones: [PhoneReport] = [], typed: [String?] = [nil], patient: Bool = true
  ) -> FakeDaemon {
    let daemon = FakeDaemon(.text, patient: patient) { request in
      if request.calls(ControlMethods.status) {
        var status = StatusReport()
        status.phones = phones
        var adapter = AdapterReport()
        adapter.isPowered = true
        status.adapters = [adapter]
        return [.result(status)]
      }
      if request.calls(ControlMethods.openPairing) {
        return [
          .result(PairingReport(name: "kitchen", seconds: 600)), .event(.paired),
          .event(.subscribed([.ancs], mtu: 185, requests: 9)), .event(.authorization(.granted)),
        ]
      }
      guard let wanted = request.parameters(of: ControlMethods.subscribe)?.events,
        wanted.contains(.notification)
      else { return [.result(true)] }
      var report = NotificationReport(NotificationEvent(.added, 7))
      report.app = "Messages"
      report.attributes[.title] = "Mum"
      return [
        .result(true), .event(.why(wait: "news", why: "nothing is missing")),
        .event(.notification(report)),
      ]
    }
    for line in typed { daemon.client.inbox.post(.typed(line)) }
    return daemon
  }

  private static func options(_ arguments: String = "") throws -> SetupOptions {
    var options = SetupOptions()
    try SetUp.grammar.parse(arguments.split(separator: " ").map(String.init), into: &options)
    return options
  }

  private func run(
    _ board: Board, _ daemon: FakeDaemon = daemon(), _ arguments: String = ""
  ) async throws(Failure) -> ExitStatus {
    guard let options = try? Self.options(arguments) else { return .usage }
    var setUp = SetUp(options, daemon.client, board.surface)
    return try await setUp.run()
  }

  @Test("It writes what is typed, starts the service, pairs the phone and shows the notification")
  func whole() async throws {
    let board = Board()
    board.files[SetUp.usualSettings] = "# Settings.\n\n#name = \"example\"\ngrace = 60\n"
    let daemon = Self.daemon(typed: ["hall", "/usr/local/bin/lamp", ""])
    // The daemon that runs has the old settings.
    #expect(try await run(board, daemon) == .done)
    #expect(
      board.settings == """
        # Settings.

        name = "hall"
        grace = 60

        [[hook]]
        event = "notification"
        run = "/usr/local/bin/lamp"

        """)
    #expect(
      board.commands == [
        "/proc/self/exe config check /etc/ancsd/ancsd.toml", "usermod -aG ancsd pi",
        "systemctl enable ancsd", "systemctl restart ancsd",
      ])
    for text in ["hci0", "tap “kitchen”", "paired", "Messages", "Mum", "Done."] {
      #expect(daemon.output.contains(text), "\(text)")
    }
  }

  @Test("A second run changes nothing, starts nothing again, and pairs no phone")
  func again() async throws {
    let board = Board()
    board.user = "anna"
    var phone = PhoneReport()
    phone.name = "Anna's iPhone"
    let daemon = Self.daemon(phones: [phone])
    #expect(try await run(board, daemon) == .done)
    #expect(board.commands.isEmpty && board.settings == nil)
    #expect(daemon.output.contains("Paired already: Anna's iPhone"))
    #expect(!daemon.requests.contains { $0.calls(ControlMethods.openPairing) })
  }

  @Test("It does not ask for given options, and with --yes it asks for nothing")
  func silent() async throws {
    let board = Board()
    let daemon = Self.daemon(typed: [])
    let arguments = "--yes --name a\"b --run none --user none"
    #expect(try await run(board, daemon, arguments) == .done)
    #expect(board.settings == "name = \"a\\\"b\"\n")
    #expect(!daemon.output.contains("]: ") && !board.commands.contains { $0.contains("usermod") })
  }

  @Test("bluetoothd is stopped only after the user has agreed", arguments: ["yes", "no"])
  func bluetoothd(answer: String) async throws {
    let board = Board()
    board.hasBluetoothd = true
    let daemon = Self.daemon(typed: [answer, nil])
    do throws(Failure) {
      #expect(try await run(board, daemon) == .done)
      #expect(answer == "yes")
      #expect(board.commands.first == "systemctl disable --now bluetooth")
    } catch {
      #expect(answer == "no" && error.status == .unavailable && board.commands.isEmpty)
      #expect(error.sentence.contains("bluetoothd is running"))
    }
  }

  @Test("Obstacles are reported with the command that helps, and nothing is changed")
  func obstacles() async throws {
    let board = Board()
    board.adapters = []
    let daemon = Self.daemon()
    await #expect(throws: Failure.self) { try await run(board, daemon) }
    #expect(daemon.output.contains("dmesg | grep -i bluetooth"))
    board.isRoot = false
    do throws(Failure) { _ = try await run(board, daemon) } catch {
      #expect(error.status == .noPermission && error.remedy == "sudo ancsd setup")
    }
    #expect(board.commands.isEmpty && board.settings == nil)
  }

  @Test("Refused settings are restored")
  func refused() async throws {
    let board = Board()
    board.files[SetUp.usualSettings] = "grace = 60\n"
    board.failing = ["config check": "3:7: there is no such program"]
    do throws(Failure) {
      _ = try await run(board, Self.daemon(typed: ["", "/nothing", nil]))
      Issue.record("they were taken")
    } catch {
      #expect(error.sentence.contains("there is no such program"))
    }
    #expect(board.settings == "grace = 60\n")
  }

  @Test("A service that does not start is reported, with where to look")
  func serviceFails() async throws {
    let board = Board()
    board.failing = ["restart": "Job for ancsd.service failed"]
    do throws(Failure) {
      _ = try await run(board, Self.daemon(typed: ["hall", nil]))
      Issue.record("it was not noticed")
    } catch {
      #expect(error.sentence.contains("Job for ancsd.service failed"))
      #expect(error.remedy == "see journalctl -u ancsd -n 20")
    }
  }

  @Test("Without a known init system it says how to start the daemon")
  func byHand() async throws {
    let board = Board()
    board.initSystem = .unknown
    board.files["/etc/group"] = ""
    let daemon = Self.daemon(typed: ["hall", nil])
    #expect(try await run(board, daemon) == .done)
    #expect(daemon.output.contains("ancsd --config /etc/ancsd/ancsd.toml"))
    #expect(daemon.output.contains("There is no group ancsd"))
  }

  @Test("If no notification arrives it says what to do")
  func silence() async throws {
    var phone = PhoneReport()
    phone.name = "Anna's iPhone"
    let daemon = FakeDaemon(.text, patient: false) { request in
      var status = StatusReport()
      status.phones = [phone]
      return [request.calls(ControlMethods.status) ? .result(status) : .result(true)]
    }
    daemon.client.inbox.post(.typed(nil))
    do throws(Failure) {
      _ = try await run(Board(), daemon)
      Issue.record("it waits for ever")
    } catch {
      #expect(error.status == .tryAgain && error.remedy?.contains("ancsd status") == true)
    }
  }

  @Test(
    "A key is set in its own line, in its example's, or in a new one before the first table",
    arguments: [
      ("", "name = \"x\"\n"), ("name=\"y\" # old\ngrace = 1\n", "name = \"x\"\ngrace = 1\n"),
      ("# a\n#  name = \"y\"\n", "# a\nname = \"x\"\n"),
      ("# a\n\n[quirks]\nname = 1\n", "# a\nname = \"x\"\n\n[quirks]\nname = 1\n"),
      ("names = 1\n", "name = \"x\"\nnames = 1\n"), ("[a]", "name = \"x\"\n[a]\n"),
    ])
  func keys(before: String, after: String) {
    var settings = SettingsText(before)
    settings.set("name", to: "x")
    #expect(settings.text == after)
    settings.set("name", to: "x")
    #expect(settings.text == after)
  }
}
