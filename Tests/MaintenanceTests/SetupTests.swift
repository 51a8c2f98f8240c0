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
  private final class Board {
    private let scratch: Scratch
    var root: String { scratch.path }
    var isRoot = true
    var user: String? = "pi"
    var host = ServiceHost(
      .systemd, daemon: .init("ancsd", isEnabled: false, isStarted: false),
      bluetooth: .init("bluetooth"))
    /// The process of bluetoothd.
    var bluetoothd: Int32?
    var adapters = [
      DoctorFacts.AdapterFacts(
        index: ControllerIndex(0), address: Address(0xB827_EB12_3456),
        supported: [.lowEnergy, .secureConnections],
        current: [.powered])
    ]
    private(set) var commands: [String] = []
    /// Whether a daemon runs outside the service.
    var hasDaemonByHand = false
    /// Called before each command.
    var onCommand = {}
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
          onCommand()
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
    _ daemon: FakeDaemon = daemon(), _ arguments: String = "", on other: Board? = nil
  ) async throws(Failure) -> Control.ExitStatus {
    let board = other ?? board
    guard let options = try? Self.options(arguments) else { return .usage }
    daemon.client.close()
    daemon.isAbsent = !(board.hasDaemonByHand || board.host.daemon?.isStarted ?? true)
    board.onStart = { daemon.isAbsent = false }
    var setUp = SetUp(options, daemon.client, board.surface)
    return try await setUp.run()
  }

  /// The failure that a run ends with.
  private func failure(
    _ daemon: FakeDaemon = daemon(), _ arguments: String = "", on other: Board? = nil
  ) async throws -> Failure {
    try #require(
      await #expect(throws: Failure.self) { try await run(daemon, arguments, on: other) })
  }

  private static let start = ["systemctl enable ancsd", "systemctl restart ancsd"]

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
    #expect(
      board.commands == ["/proc/self/exe config check /etc/ancsd/ancsd.toml.new"] + Self.start
        + ["usermod -aG ancsd pi"])
    for text in ["hci0", "tap “kitchen”", "paired", "Messages", "Mum", "Done."] {
      #expect(daemon.output.contains(text), "\(text)")
    }
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

  @Test("With --yes it asks nothing, and does nothing that nobody has asked for")
  func silent() async throws {
    let daemon = Self.daemon(typed: [])
    #expect(try await run(daemon, "--yes") == .done)
    #expect(board.settings == nil && board.commands == Self.start)
    #expect(!daemon.output.contains("]: "))
    let named = try Board()
    #expect(
      try await run(Self.daemon(typed: []), "--yes --name a\"b --user pi,anna", on: named)
        == .done)
    #expect(named.settings == "name = \"a\\\"b\"\n")
    #expect(named.commands.last == "usermod -aG ancsd pi")
  }

  @Test(
    "“none” and “nobody” let in nobody, on the command line and when asked",
    arguments: ["none", "nobody", "none,nobody"])
  func nobody(answer: String) async throws {
    #expect(try await run(Self.daemon(typed: ["", "", answer])) == .done)
    let told = try Board()
    #expect(try await run(Self.daemon(typed: ["", ""]), "--user \(answer)", on: told) == .done)
    for board in [board, told] { #expect(board.commands == Self.start) }
  }

  @Test("A user who does not exist is asked for again, or refused before anything is changed")
  func strangers() async throws {
    let daemon = Self.daemon(typed: ["", "", "pa", "pi, anna"])
    #expect(try await run(daemon) == .done)
    #expect(daemon.output.contains("There is no user “pa”"))
    #expect(board.commands == Self.start + ["usermod -aG ancsd pi"])
    let other = try Board()
    _ = try await failure(Self.daemon(), "--user pa", on: other)
    #expect(other.commands.isEmpty)
  }

  @Test("Without the shadow suite, as on Alpine, busybox adds the user")
  func busybox() async throws {
    board.host = ServiceHost(.openRC, daemon: .init("ancsd"), hasShadow: false)
    #expect(try await run(Self.daemon(typed: ["hall", "", ""])) == .done)
    #expect(board.commands.suffix(2) == ["rc-service ancsd restart", "addgroup pi ancsd"])
  }

  @Test(
    "bluetoothd is stopped only after the user has agreed, and only once all is ready",
    arguments: ["yes", "no"])
  func bluetoothd(answer: String) async throws {
    board.bluetoothd = 812
    let daemon = Self.daemon(typed: [answer, "hall", "", ""])
    do throws(Failure) {
      #expect(try await run(daemon) == .done)
      #expect(answer == "yes")
      #expect(board.commands.dropFirst().first == "systemctl disable --now bluetooth")
    } catch {
      #expect(answer == "no" && error.status == .unavailable && board.commands.isEmpty)
      #expect(error.sentence.contains("bluetoothd is running"))
      #expect(error.remedy?.contains("systemctl disable --now bluetooth") == true)
    }
  }

  @Test(
    "If ancsd does not start, bluetoothd runs again, enabled only if it was",
    arguments: [true, false]
  )
  func bluetoothdAgain(isEnabled: Bool) async throws {
    board.bluetoothd = 812
    board.host.bluetooth?.isEnabled = isEnabled
    board.failing = ["restart ancsd": "Job for ancsd.service failed"]
    let daemon = Self.daemon(typed: [])
    _ = try await failure(daemon, "--yes --stop-bluetoothd")
    #expect(
      board.commands == ["systemctl disable --now bluetooth"] + Self.start
        + ["systemctl disable ancsd", "systemctl stop ancsd"]
        + (isEnabled ? ["systemctl enable bluetooth"] : []) + ["systemctl start bluetooth"])
    #expect(daemon.output.contains("restoring the service bluetooth: done."))
  }

  @Test("A change that can't be undone is said, with the commands")
  func notUndone() async throws {
    board.bluetoothd = 812
    board.failing = ["restart ancsd": "failed", "start bluetooth": "it is masked"]
    let daemon = Self.daemon(typed: [])
    _ = try await failure(daemon, "--yes --stop-bluetoothd")
    let report = try #require(daemon.reported.first)
    #expect(report.why.contains("it is masked"))
    #expect(report.remedy == "systemctl enable bluetooth && systemctl start bluetooth")
  }

  @Test("A bluetoothd that no service has started stays, and so does everything else")
  func bluetoothdByHand() async throws {
    board.bluetoothd = 812
    board.host.bluetooth?.isStarted = false
    let failure = try await self.failure(Self.daemon(), "--yes --stop-bluetoothd --name hall")
    #expect(failure.remedy?.contains("kill 812") == true)
    #expect(board.commands.isEmpty && board.settings == nil)
  }

  @Test("Obstacles are reported with the command that helps, and nothing is changed")
  func obstacles() async throws {
    board.adapters = []
    board.bluetoothd = 812
    let daemon = Self.daemon()
    _ = try await failure(daemon, "--stop-bluetoothd")
    #expect(daemon.output.contains("dmesg | grep -i bluetooth"))
    board.isRoot = false
    let failure = try await self.failure(daemon)
    #expect(failure.status == .noPermission && failure.remedy == "sudo ancsd setup")
    #expect(board.commands.isEmpty && board.settings == nil)
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

  @Test("Settings that were wrong before are reported before anything is asked")
  func wrongBefore() async throws {
    board.failing = ["config check": "ancsd.toml:1:1: there is no setting “nome”"]
    let daemon = Self.daemon()
    _ = try await failure(daemon)
    #expect(!daemon.output.contains("]: "))
  }

  @Test("The settings file keeps its line ends and its mode, and a link stays one")
  func settingsFile() async throws {
    board.write("name = \"old\"\r\n# mine\r\n", "/srv/ancsd.toml", mode: 0o640)
    let path = board.root + SettingsFolder.usualPath
    try #require(symlink("../../srv/ancsd.toml", path) == 0)
    #expect(try await run(Self.daemon(typed: ["hall", "/bin/lamp", ""])) == .done)
    #expect(
      board.read("/srv/ancsd.toml")
        == "name = \"hall\"\r\n# mine\r\n\r\n[[hook]]\r\nevent = \"notification\"\r\nrun = \"/bin/lamp\"\r\n"
    )
    #expect(try Files.kind(of: path) == .other)
    var status = stat()
    #expect(lstat(board.root + "/srv/ancsd.toml", &status) == 0 && status.st_mode & 0o777 == 0o640)
  }

  @Test("A name that a later file sets is not asked for, and not overridden without effect")
  func nameElsewhere() async throws {
    board.settings = "name = \"old\"\n"
    board.write("name = \"hall\"\n", "/etc/ancsd/conf.d/name.toml")
    let daemon = Self.daemon(typed: ["", ""])
    #expect(try await run(daemon) == .done)
    #expect(
      daemon.output.contains("The board's name is “hall”, as /etc/ancsd/conf.d/name.toml says."))
    let failure = try await self.failure(Self.daemon(), "--name attic")
    #expect(failure.sentence.contains("/etc/ancsd/conf.d/name.toml"))
    #expect(board.settings == "name = \"old\"\n")
  }

  @Test(
    "If a running service does not start with new settings, it runs again with the old ones",
    arguments: [true, false])
  func serviceFails(wasRunning: Bool) async throws {
    board.settings = "grace = 60\n"
    board.host.daemon = .init("ancsd", isStarted: wasRunning)
    board.failing = ["restart": "Job for ancsd.service failed"]
    var settingsAtLast: String?
    board.onCommand = { [unowned board] in settingsAtLast = board.settings }
    let failure = try await self.failure(Self.daemon(typed: ["hall", nil]))
    #expect(failure.sentence.contains("Job for ancsd.service failed"))
    #expect(failure.remedy == "see journalctl -u ancsd -n 20")
    #expect(board.settings == (wasRunning ? "" : "name = \"hall\"\n") + "grace = 60\n")
    #expect(board.commands.last == "systemctl \(wasRunning ? "restart" : "stop") ancsd")
    #expect(settingsAtLast == board.settings)
  }

  @Test("A service that is started but never responds is stopped again")
  func serviceIsSilent() async throws {
    board.host = ServiceHost(.openRC, daemon: .init("ancsd", isEnabled: false, isStarted: false))
    let daemon = Self.daemon(typed: [], patient: false)
    let failure = try await self.failure(daemon, "--yes")
    #expect(failure.remedy == "see tail /var/log/ancsd.log")
    #expect(
      board.commands == [
        "rc-update add ancsd default", "rc-service ancsd restart", "rc-update --all del ancsd",
        "rc-service ancsd stop",
      ])
  }

  @Test("A service that runs but is not enabled is enabled, without a restart")
  func notEnabled() async throws {
    board.host.daemon = .init("ancsd", isEnabled: false)
    #expect(try await run(Self.daemon(typed: []), "--yes") == .done)
    #expect(board.commands == ["systemctl enable --now ancsd"])
  }

  @Test("The service is not started beside a daemon that was started by hand")
  func besideAnother() async throws {
    board.hasDaemonByHand = true
    let daemon = Self.daemon(typed: [])
    #expect(try await run(daemon, "--yes --name hall") == .done)
    #expect(daemon.output.contains("started by hand"))
    #expect(!board.commands.contains { $0.contains("systemctl") })
  }

  @Test(
    "Without a service manager, or without a service, it says how to start the daemon",
    arguments: [ServiceHost.Manager.none, .systemd])
  func byHand(manager: ServiceHost.Manager) async throws {
    board.host = ServiceHost(manager)
    board.write("", "/etc/group")
    let daemon = Self.daemon(typed: ["hall", nil])
    #expect(try await run(daemon) == .done)
    #expect(daemon.output.contains("ancsd --config /etc/ancsd/ancsd.toml"))
    #expect(daemon.output.contains("There is no group ancsd"))
    #expect(board.commands.count == 1)
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
