// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Arguments
import Control
import ControlClients
import FakeDaemon
import Glibc
import Mgmt
import Scratch
import System
import Testing
import Wire

@testable import Maintenance

@Suite("Setting a board up")
struct SetupTests {
  /// A board whose files are in a directory, and which records the commands that are run on it.
  final class Board {
    private let scratch: Scratch
    var root: String { scratch.path }
    var isRoot = true
    var user: String? = "pi"
    var host = ServiceHost(
      .systemd, daemon: .init("ancsd", isEnabled: false, isStarted: false), bluetooth: .init("bluetooth"))
    /// The process of bluetoothd.
    var bluetoothd: Int32?
    var adapters = [
      DoctorFacts.AdapterFacts(
        index: ControllerIndex(0), address: Address(0xB827_EB12_3456), supported: [.lowEnergy, .secureConnections],
        current: [.powered])
    ]
    private(set) var commands: [String] = []
    /// Whether a daemon runs outside the service.
    var hasDaemonByHand = false
    /// The settings at the last command.
    private(set) var settingsAtLast: String?
    /// Called when the service is started.
    var onStart = {}
    /// The programs that fail, by a part of their command, with what they say.
    var failing: [String: String] = [:]

    init() throws {
      scratch = try Scratch()
      try Files.makeDirectory(root + "/etc/ancsd")
      write("root:x:0:\nancsd:x:990:anna\n", "/etc/group")
      write("root:x:0:0\nnobody:x:65534:65534\npi:x:1000:1000\nanna:x:1001:1001\n", "/etc/passwd")
    }

    func write(_ text: String, _ path: String, mode: UInt32 = 0o644) {
      if let folder = Files.parent(of: root + path) { try? Files.makeDirectory(folder) }
      try? AtomicFile.save(Array(text.utf8), to: root + path, mode: mode)
    }

    func read(_ path: String) -> String? {
      (try? Files.read(root + path)).map { String(decoding: $0, as: UTF8.self) }
    }

    var surface: SetupEnvironment {
      SetupEnvironment(
        isRoot: isRoot, hostName: "kitchen", user: user, root: root,
        facts: { [unowned self] in
          var facts = DoctorFacts()
          facts.adapters = adapters
          facts.bluetoothd = bluetoothd
          facts.host = host
          facts.clock = 1_795_244_400
          return facts
        },
        run: { [unowned self] command in
          let line = command.joined(separator: " ")
          settingsAtLast = settings
          // Its argument is a file beside the settings; checks of what is there already are not recorded.
          if !line.hasSuffix("config check") {
            commands.append(line.split(separator: root).joined())
          }
          if line.contains("stop bluetooth") || line.contains("disable --now bluetooth") {
            bluetoothd = nil
          }
          guard let failure = failing.first(where: { line.contains($0.key) }) else {
            if line == "systemctl restart ancsd" { onStart() }
            return (.exit(0), [])
          }
          return (.exit(1), [failure.value])
        })
    }

    /// The content of the settings file.
    var settings: String? {
      get { read(SettingsFolder.usualPath) }
      set { write(newValue ?? "", SettingsFolder.usualPath) }
    }
  }

  private let board: Board

  init() throws { board = try Board() }

  /// A daemon that knows these phones; a phone that may pair does so.
  private static func daemon(phones: [PhoneReport] = [], typed: [String?] = [nil], patient: Bool = true) -> FakeDaemon {
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

  private func run(
    _ daemon: FakeDaemon = daemon(), _ arguments: String = ""
  ) async throws(Failure) -> Control.ExitStatus {
    var options = SetupOptions()
    try SetUp.grammar.parse(arguments.split(separator: " ").map(String.init), into: &options)
    daemon.client.close()
    daemon.isAbsent = !(board.hasDaemonByHand || board.host.daemon?.isStarted ?? true)
    board.onStart = { daemon.isAbsent = false }
    var setUp = SetUp(options, daemon.client, board.surface)
    return try await setUp.run()
  }

  /// The failure that a run ends with.
  private func failure(_ daemon: FakeDaemon, _ arguments: String = "") async throws -> Failure {
    try #require(await #expect(throws: Failure.self) { try await run(daemon, arguments) })
  }

  private static let check = ["/proc/self/exe config check /etc/ancsd/ancsd.toml.new"]
  private static let start = ["systemctl enable ancsd", "systemctl restart ancsd"]
  private static let admission = ["usermod -aG ancsd pi"]

  @Test("It writes what is typed, starts the service, pairs the phone and shows the notification")
  func whole() async throws {
    board.settings = "# Settings.\n\n#name = \"example\"\ngrace = 60\n"
    let daemon = Self.daemon(typed: ["hall", "/usr/local/bin/lamp", ""])
    #expect(try await run(daemon) == .done)
    #expect(
      board.settings == """
        # Settings.

        name = "hall"
        grace = 60

        [[hook]]
        event = "notification"
        run = "/usr/local/bin/lamp"

        """)
    #expect(board.commands == Self.check + Self.start + Self.admission)
    for text in ["hci0", "tap “kitchen”", "paired", "Messages", "Mum", "Done."] {
      #expect(daemon.output.contains(text), "\(text)")
    }
  }

  @Test("A time in which no phone could pair is refused before anything is changed")
  func hasty() async throws {
    let failure = try await failure(Self.daemon(typed: ["", "", ""]), "--timeout 0.5")
    #expect(failure.status == .usage && failure.why.contains("5 s") && board.settings == nil)
  }

  @Test("A second run shows what is set, changes nothing, starts nothing again, and pairs no phone")
  func again() async throws {
    board.user = "anna"
    board.host.daemon = .init("ancsd")
    board.settings = "name = 'hall'\r\n"
    var phone = PhoneReport()
    phone.name = "Anna's iPhone"
    let daemon = Self.daemon(phones: [phone], typed: ["", "", ""])
    #expect(try await run(daemon) == .done)
    #expect(board.commands.isEmpty && board.settings == "name = 'hall'\r\n")
    #expect(daemon.output.contains("as the phone shows it [hall]: "))
    #expect(daemon.output.contains("Paired already: Anna's iPhone"))
    #expect(!daemon.requests.contains { $0.calls(ControlMethods.openPairing) })
  }

  /// A run on a board: what is typed, and what comes of it.
  struct Run: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var arguments = ""
    var typed: [String?] = []
    var commands: [String] = []
    /// The settings in the end.
    var settings: String?
    /// What it prints, or the sentence and the remedy of the failure that it ends with.
    var words: [String] = []
    var fails = false
    var change: @Sendable (Board) -> Void = { _ in }
  }

  private static let hall = "name = \"hall\"\n"
  private static let endsBluetoothd = ["systemctl disable --now bluetooth"]

  static let runs: [Run] =
    [
      Run(
        testDescription: "asks nothing, and does nothing that nobody has asked for",
        arguments: "--yes", commands: start),
      Run(
        testDescription: "takes everything from the command line",
        arguments: "--yes --name a\"b --user pi,anna",
        commands: check + start + admission, settings: "name = \"a\\\"b\"\n"),
      Run(
        testDescription: "lets nobody in whose name is on the command line",
        arguments: "--user none,nobody",
        typed: ["", ""], commands: start),
      Run(
        testDescription: "lets nobody in if “nobody” is typed", typed: ["", "", "nobody"],
        commands: start),
      Run(
        testDescription: "asks again for a user who does not exist",
        typed: ["", "", "pa", "pi, anna"],
        commands: start + admission, words: ["There is no user “pa”"]),
      Run(
        testDescription: "has busybox add the user where there is no shadow suite", typed: ["hall", "", ""],
        commands: check + ["rc-service ancsd restart", "addgroup pi ancsd"], settings: hall
      ) { $0.host = ServiceHost(.openRC, daemon: .init("ancsd"), hasShadow: false) },
      Run(
        testDescription: "stops bluetoothd if the user agrees, and only once all is ready",
        typed: ["yes", "hall", "", ""], commands: check + endsBluetoothd + start + admission, settings: hall
      ) { $0.bluetoothd = 812 },
      Run(
        testDescription: "does not stop bluetoothd if the user does not agree", typed: ["no"],
        words: ["bluetoothd is running", "systemctl disable --now bluetooth"], fails: true
      ) { $0.bluetoothd = 812 },
      Run(
        testDescription: "leaves a bluetoothd that no service has started, and everything else",
        arguments: "--yes --stop-bluetoothd --name hall", words: ["kill 812"], fails: true
      ) {
        $0.bluetoothd = 812
        $0.host.bluetooth?.isStarted = false
      },
      Run(
        testDescription: "changes nothing on a board that can't work",
        arguments: "--stop-bluetoothd",
        words: ["this keeps the board from working"], fails: true
      ) {
        $0.adapters = []
        $0.bluetoothd = 812
      }, Run(testDescription: "needs root", words: ["sudo ancsd setup"], fails: true) { $0.isRoot = false },
      Run(
        testDescription: "reports settings that were wrong before, before anything is asked", typed: [nil],
        words: ["there is no setting “nome”"], fails: true
      ) { $0.failing = ["config check": "ancsd.toml:1:1: there is no setting “nome”"] },
      Run(
        testDescription: "does not ask for a name that a later file sets", typed: ["", ""], commands: start + admission,
        settings: "name = \"old\"\n", words: ["The board's name is “hall”, as /etc/ancsd/conf.d/name.toml says."],
        change: namedTwice),
      Run(
        testDescription: "does not set a name that a later file overrides", arguments: "--name attic", typed: [nil],
        settings: "name = \"old\"\n", words: ["/etc/ancsd/conf.d/name.toml"], fails: true, change: namedTwice),
      Run(
        testDescription: "enables a service that runs, without a restart", arguments: "--yes",
        commands: ["systemctl enable --now ancsd"]
      ) { $0.host.daemon = .init("ancsd", isEnabled: false) },
      Run(
        testDescription: "does not start the service beside a daemon that was started by hand",
        arguments: "--yes --name hall", commands: check, settings: hall, words: ["started by hand"]
      ) { $0.hasDaemonByHand = true },
      Run(
        testDescription: "has bluetoothd run again, enabled only if it was, if ancsd does not start",
        arguments: "--yes --stop-bluetoothd",
        commands: endsBluetoothd + start
          + ["disable ancsd", "stop ancsd", "start bluetooth"].map { "systemctl \($0)" },
        words: ["Job for ancsd.service failed"], fails: true
      ) {
        $0.bluetoothd = 812
        $0.host.bluetooth?.isEnabled = false
        $0.failing = ["restart ancsd": "Job for ancsd.service failed"]
      },
    ]
    + [(ServiceHost.Manager.none, "service manager"), (.systemd, "service")].map { manager, what in
      Run(
        testDescription: "says how to start the daemon where there is no \(what)", typed: ["hall", nil],
        commands: check, settings: hall, words: ["ancsd --config /etc/ancsd/ancsd.toml", "There is no group ancsd"]
      ) {
        $0.host = ServiceHost(manager)
        $0.write("", "/etc/group")
      }
    }

  @Sendable private static func namedTwice(_ board: Board) {
    board.settings = "name = \"old\"\n"
    board.write("name = \"hall\"\n", "/etc/ancsd/conf.d/name.toml")
  }

  @Test("A set-up", arguments: runs)
  func does(_ run: Run) async throws {
    run.change(board)
    let daemon = Self.daemon(typed: run.typed)
    var said = ""
    if run.fails {
      let failure = try await failure(daemon, run.arguments)
      said = "\(failure.sentence) \(failure.remedy ?? "")"
    } else {
      #expect(try await self.run(daemon, run.arguments) == .done)
      said = daemon.output
    }
    for words in run.words { #expect(said.contains(words), "\(said)") }
    #expect(board.commands == run.commands && board.settings == run.settings)
    // What need not be asked is not.
    if run.typed.compactMap(\.self).isEmpty { #expect(!daemon.output.contains("]: ")) }
  }

  @Test("A change that can't be undone is said, with the commands, and one that is undone")
  func notUndone() async throws {
    board.bluetoothd = 812
    board.failing = ["restart ancsd": "failed", "start bluetooth": "it is masked"]
    let daemon = Self.daemon(typed: [])
    _ = try await failure(daemon, "--yes --stop-bluetoothd")
    let report = try #require(daemon.reported.first)
    #expect(report.why.contains("it is masked"))
    #expect(report.remedy == "systemctl enable bluetooth && systemctl start bluetooth")
    #expect(daemon.output.contains("restoring the service ancsd: done."))
  }

  @Test("Settings that the program refuses are not written", arguments: [nil, "grace = 60\n"])
  func refused(before: String?) async throws {
    if let before { board.settings = before }
    board.failing = ["config check /": "3:7: there is no such program"]
    let failure = try await self.failure(Self.daemon(typed: ["", "/nothing", nil]))
    #expect(failure.sentence.contains("there is no such program"))
    #expect(board.settings == before)
    #expect(try Files.names(in: board.root + "/etc/ancsd").count == (before == nil ? 0 : 1))
  }

  @Test("The settings file keeps its line ends and its mode, and a link stays one")
  func settingsFile() async throws {
    board.write("name = \"old\"\r\n# mine\r\n", "/srv/ancsd.toml", mode: 0o640)
    let path = board.root + SettingsFolder.usualPath
    try #require(symlink("../../srv/ancsd.toml", path) == 0)
    #expect(try await run(Self.daemon(typed: ["hall", "/bin/lamp", ""])) == .done)
    #expect(
      board.read("/srv/ancsd.toml")
        == "name = \"hall\"\r\n# mine\r\n\r\n[[hook]]\r\nevent = \"notification\"\r\nrun = \"/bin/lamp\"\r\n")
    #expect(try Files.kind(of: path) == .other)
    var status = stat()
    #expect(lstat(board.root + "/srv/ancsd.toml", &status) == 0 && status.st_mode & 0o777 == 0o640)
  }

  @Test(
    "If a running service does not start with new settings, it runs again with the old ones", arguments: [true, false])
  func serviceFails(wasRunning: Bool) async throws {
    board.settings = "grace = 60\n"
    board.host.daemon = .init("ancsd", isStarted: wasRunning)
    board.failing = ["restart": "Job for ancsd.service failed"]
    let failure = try await self.failure(Self.daemon(typed: ["hall", nil]))
    #expect(failure.sentence.contains("Job for ancsd.service failed"))
    #expect(failure.remedy == "see journalctl -u ancsd -n 20")
    #expect(board.settings == (wasRunning ? "" : Self.hall) + "grace = 60\n")
    #expect(board.commands.last == "systemctl \(wasRunning ? "restart" : "stop") ancsd")
    #expect(board.settingsAtLast == board.settings)
  }

  @Test("A service that is started but never responds is stopped again")
  func serviceIsSilent() async throws {
    board.host = ServiceHost(.openRC, daemon: .init("ancsd", isEnabled: false, isStarted: false))
    let daemon = Self.daemon(typed: [], patient: false)
    let failure = try await self.failure(daemon, "--yes")
    #expect(failure.remedy == "see tail /var/log/ancsd.log")
    #expect(
      board.commands == [
        "rc-update add ancsd default", "rc-service ancsd restart", "rc-update --all del ancsd", "rc-service ancsd stop",
      ])
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
    let failure = try await self.failure(daemon, "--yes")
    #expect(failure.status == .tryAgain && failure.remedy?.contains("ancsd status") == true)
  }

  @Test(
    "A key is set in its own line, in its example's, or in a new one before the first table",
    arguments: [
      ("", "name = \"x\"\n"), ("name=\"y\" # old\ngrace = 1\n", "name = \"x\"\ngrace = 1\n"),
      ("# a\n#  name = \"y\"\n", "# a\nname = \"x\"\n"),
      ("# a\n\n[quirks]\nname = 1\n", "# a\nname = \"x\"\n\n[quirks]\nname = 1\n"),
      ("names = 1\n", "name = \"x\"\nnames = 1\n"), ("[a]", "name = \"x\"\n[a]\n"),
      ("# a\r\nname = 1\r\n", "# a\r\nname = \"x\"\r\n"),
    ])
  func keys(before: String, after: String) {
    var settings = SettingsText(before)
    settings.set("name", to: "x")
    #expect(settings.text == after)
    settings.set("name", to: "x")
    #expect(settings.text == after)
  }
}
