// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import ControlClients
import Glibc
import JSON
import Scratch
import System
import Testing
import Wire

@testable import Bluetooth
@testable import Mgmt
@testable import Maintenance

@Suite("The doctor")
struct DoctorTests {
  private let scratch: Scratch
  private var root: String { scratch.path }

  init() throws { scratch = try Scratch() }

  private static let able: ControllerSettings = [.powered, .lowEnergy, .secureConnections]

  private static func adapter(
    _ index: UInt16 = 0, _ address: UInt64 = 0x001A_7DDA_7113,
    supported: ControllerSettings = able, current: ControllerSettings = able
  ) -> DoctorFacts.AdapterFacts {
    .init(index: ControllerIndex(index), address: Address(address), supported: supported, current: current)
  }

  /// A board on which all is well.
  private static var healthy: DoctorFacts {
    var facts = DoctorFacts()
    facts.kernelRelease = "6.1.0-47-amd64"
    facts.adapters = [adapter()]
    facts.radios = [0: .unblocked]
    facts.crypto = KernelCrypto(hasP256: true, missing: [])
    facts.stateDirectory = "/var/lib/ancsd"
    facts.clock = 1_795_244_400
    facts.host = ServiceHost(
      .systemd, daemon: .init("ancsd", user: "ancsd"), bluetooth: .init("bluetooth", isEnabled: false))
    facts.daemon = serving { _ in }
    return facts
  }

  /// A daemon that serves hci0, with a bridge and a forwarding.
  private static func serving(_ change: (inout StatusReport) -> Void) -> DaemonState {
    var (status, adapter, bridge) = (StatusReport(), AdapterReport(), BridgeReport())
    adapter.adapter = "hci0"
    (bridge.broker, bridge.user, bridge.state) = ("mqtt://ha.lan", "kitchen", .connected)
    (status.adapters, status.bridges) = ([adapter], [bridge])
    status.forwards = [ForwardReport(name: "mail", to: "mailto")]
    change(&status)
    return .status(status)
  }

  private static func error(_ errno: Errno) -> BluetoothError {
    BluetoothError(SystemError("socket", errno))
  }

  /// A fault: the check that finds it, the words and the command that must be there, and what is changed.
  struct Fault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let check: String
    let verdict: Finding.Verdict
    let words: String
    let command: String?
    let status: Control.ExitStatus
    let change: @Sendable (inout DoctorFacts) -> Void

    init(
      _ name: String, _ check: String, _ verdict: Finding.Verdict = .problem, says words: String,
      command: String? = nil, status: Control.ExitStatus? = nil,
      _ change: @escaping @Sendable (inout DoctorFacts) -> Void
    ) {
      (testDescription, self.check, self.verdict, self.words) = (name, check, verdict, words)
      self.command = command
      self.status = status ?? (verdict == .warning ? .done : .unavailable)
      self.change = change
    }
  }

  static let faults = [
    Fault("no Bluetooth in the kernel", "kernel", says: "no Bluetooth", command: "modprobe bluetooth") {
      $0.bluetooth = error(.addressFamilyNotSupported)
    },
    Fault("no leave to open it", "kernel", says: "CAP_NET_ADMIN", status: .noPermission) {
      $0.bluetooth = error(.permissionDenied)
    },
    Fault("no capabilities", "permission", says: "CAP_NET_RAW", command: "sudo", status: .noPermission) {
      $0.missingCapabilities = ["CAP_NET_RAW"]
      $0.daemon = .none
    }, Fault("no adapter", "adapter", says: "there is none", command: "dmesg") { $0.adapters = [] },
    Fault("an adapter without LE", "adapter", says: "no Bluetooth LE") {
      $0.adapters = [adapter(supported: [.powered, .classic])]
    },
    Fault(
      "an adapter without Secure Connections", "adapter", says: "without Secure Connections",
      command: "--hci0 --allow-legacy"
    ) { $0.adapters = [adapter(supported: [.powered, .lowEnergy])] },
    Fault(
      "an adapter that only its vendor's tool configures", "adapter",
      says: "hci0 is unconfigured, and needs a tool", command: "dmesg"
    ) {
      $0.adapters = []
      $0.unconfigured = [ControllerIndex(0): false]
    },
    Fault("a controller that refuses link parameters", "parameters", .warning, says: "hci0: ") {
      $0.daemon = serving { $0.adapters[0].parametersRefusal = 0x0C }
    },
    Fault("one of two adapters", "adapter", .warning, says: "no Bluetooth LE") {
      $0.adapters.append(adapter(1, supported: [.powered, .classic]))
    },
    Fault("a radio that software blocks", "radio", says: "blocked by software", command: "rfkill unblock bluetooth") {
      $0.radios = [0: .soft]
    }, Fault("a radio that a switch blocks", "radio", says: "a hardware switch") { $0.radios = [0: .hard] },
    Fault(
      "bluetoothd", "bluetoothd", says: "takes every phone",
      command: "systemctl disable --now bluetooth && systemctl enable --now ancsd"
    ) { $0.bluetoothd = 812 },
    Fault(
      "bluetoothd that was started by hand", "bluetoothd", says: "no service has started it",
      command: "kill 812 && systemctl enable --now ancsd"
    ) {
      $0.bluetoothd = 812
      $0.host.bluetooth?.isStarted = false
    },
    Fault(
      "bluetoothd at the next boot", "bluetoothd", .warning, says: "the next boot may start it",
      command: "systemctl disable --now bluetooth"
    ) { $0.host.bluetooth?.isEnabled = true },
    Fault("a kernel without drbg", "crypto", says: "lacks drbg, without") {
      $0.crypto = KernelCrypto(hasP256: nil, missing: ["drbg"])
    },
    Fault("P-256 that failed its test", "crypto", says: "failed its self-test", command: "modprobe -a") {
      $0.crypto = KernelCrypto(hasP256: nil, missing: [])
    },
    Fault("a kernel of which nothing is known", "crypto", .warning, says: "only once an adapter") {
      $0.crypto = KernelCrypto()
      $0.adapters = [adapter(current: [])]
    },
    Fault(
      "the kernel's bug", "kernel-bug", .warning, says: "never sent a byte", command: "apt install"
    ) { $0.kernelRelease = "6.1.0-56-amd64" },
    Fault(
      "a state directory of somebody else's", "state", says: "not this user's", command: "sudo",
      status: .noPermission
    ) {
      $0.state = .unusable(SystemError("access", .permissionDenied))
      $0.daemon = .none
    },
    Fault("a damaged bond", "state", says: "bond.json.bad", command: "ancsd pair") {
      $0.state = .fine(bonds: 0, unusable: ["/x/random-c0.bond.json.bad"])
    },
    Fault("a state directory that can't be", "state", says: "can't be saved") {
      $0.state = .unusable(SystemError("access", .notDirectory))
    },
    Fault("a state directory that others can write to", "state", says: "chmod 700 /var/lib/ancsd") {
      $0.state = .refused(.isOpen(mode: 0o777))
      $0.daemon = .none
    },
    Fault(
      "notifications that nothing forwards", "forward", .warning,
      says: "“mail” (mailto://…): not running"
    ) { $0.daemon = serving { $0.forwards[0].why = "not running" } },
    Fault(
      "no daemon, and no service", "daemon", .warning, says: "none is running",
      command: "ancsd --hci0"
    ) { ($0.daemon, $0.host.daemon) = (.none, nil) },
    Fault(
      "a stopped service", "daemon", .warning, says: "the service is stopped",
      command: "systemctl enable --now ancsd"
    ) {
      $0.daemon = .none
      $0.host.daemon?.isStarted = false
    },
    Fault(
      "a service that does not come up", "daemon", .warning, says: "although the service is started",
      command: "journalctl -u ancsd"
    ) { $0.daemon = .none },
    Fault(
      "a daemon that lets nobody in", "daemon", says: "refuses this user",
      command: "sudo usermod -aG ancsd $USER", status: .noPermission
    ) { $0.daemon = .closed(path: "/run/ancsd/control.sock") },
    Fault("a daemon that does not answer", "daemon", says: "does not respond", command: "systemctl restart ancsd") {
      $0.daemon = .mute(path: "/run/ancsd/control.sock")
    },
    Fault("a daemon that waits", "daemon", .warning, says: "hci0: on the air, no phone is bonded") {
      $0.daemon = serving { $0.adapters[0].waiting = WaitReport(.firstPhone, name: "kitchen") }
    },
    Fault(
      "a bridge without a broker", "mqtt", .warning,
      says: "not connected to mqtt://ha.lan as “kitchen”: “ha.lan” can't be resolved"
    ) {
      $0.daemon = serving {
        ($0.bridges[0].state, $0.bridges[0].why) = (.connecting, "“ha.lan” can't be resolved")
      }
    },
    Fault(
      "a bridge whose messages are too long for the broker", "mqtt", .warning,
      says: "refuses homeassistant/device/kitchen/board/config"
    ) {
      $0.daemon = serving { $0.bridges[0].refused = ["homeassistant/device/kitchen/board/config"] }
    },
    Fault(
      "a clock that begins in 1970", "clock", .warning, says: "the year 1970",
      command: "timedatectl"
    ) { $0.clock = 100 },
  ]

  @Test("A board on which all is well has nothing but ok")
  func healthy() {
    #expect(Self.healthy.findings.allSatisfy { $0.verdict == .ok })
    #expect(Self.healthy.findings.status == .done)
    // Permission to look is not needed if a daemon is running.
    var other = Self.healthy
    other.missingCapabilities = ["CAP_NET_ADMIN", "CAP_NET_RAW"]
    other.state = .unusable(SystemError("access", .permissionDenied))
    #expect(other.findings.allSatisfy { $0.verdict == .ok })
  }

  @Test("An adapter for which the daemon finds an address is not a fault")
  func addresses() {
    var facts = Self.healthy
    facts.adapters = [Self.adapter(0, 0xAAAA_AAAA_AAAA)]
    facts.unconfigured = [ControllerIndex(1): true]
    let sentences = facts.findings.filter { $0.check == "adapter" }.map(\.sentence)
    #expect(facts.findings.allSatisfy { $0.verdict == .ok })
    #expect(sentences.count == 2)
    #expect(sentences.allSatisfy { $0.contains("the daemon gives it one and keeps it") })
  }

  @Test("Each fault is found, with what fixes it", arguments: faults)
  func found(fault: Fault) throws {
    var facts = Self.healthy
    fault.change(&facts)
    let finding = try #require(facts.findings.first { $0.verdict != .ok })
    #expect(finding.check == fault.check && finding.verdict == fault.verdict)
    #expect(finding.sentence.contains(fault.words), "\(finding.sentence)")
    if let command = fault.command { #expect(finding.command?.contains(command) == true) }
    #expect(facts.findings.status == fault.status)
  }

  @Test("A finding as text and as JSON")
  func shown() {
    let finding = Finding("radio", .problem, "blocked", command: "rfkill unblock bluetooth")
    #expect(
      finding.text(TextStyle()) == """
        PROBLEM radio: blocked
                → rfkill unblock bluetooth
        """)
    #expect(
      String(decoding: finding.json, as: UTF8.self) == #"{"check":"radio","verdict":"problem","message":"blocked","#
        + #""command":"rfkill unblock bluetooth"}"#)
    #expect(Finding("clock", .ok, "set").text(TextStyle()) == "ok      clock: set")
  }

  @Test("Whether the kernel's tables list P-256")
  func crypto() {
    let passed = "name         : ecdh-nist-p256\nselftest     : passed\n\nname  : aes\n"
    #expect(KernelCrypto(algorithms: passed, modules: nil) == KernelCrypto(hasP256: true))
    let before512 = "name         : ecdh\nselftest     : passed\n"
    #expect(KernelCrypto(algorithms: before512, modules: nil) == KernelCrypto(hasP256: true))
    let failed = "name         : ecdh-nist-p256\nselftest     : unknown\n"
    #expect(KernelCrypto(algorithms: failed, modules: nil).hasP256 == false)
    let modules = """
      kernel/crypto/ecdh_generic.ko.xz: kernel/crypto/ecc.ko
      kernel/crypto/hmac.ko:
      kernel/crypto/sha512_generic.ko
      kernel/crypto/cmac.ko
      """
    #expect(KernelCrypto(algorithms: "", modules: modules) == KernelCrypto(hasP256: nil, missing: ["drbg"]))
    #expect(KernelCrypto(algorithms: "\n\n:::\n:", modules: "\n/\n:").missing?.count == 5)
  }

  @Test("Which capabilities are missing")
  func capabilities() {
    #expect(DoctorFacts.missingCapabilities(in: "Name:\tx\nCapEff:\t000001ffffffffff\n") == [])
    let none = DoctorFacts.missingCapabilities(in: "CapEff:\t0000000000000000")
    #expect(none == ["CAP_NET_ADMIN", "CAP_NET_RAW"])
    #expect(DoctorFacts.missingCapabilities(in: "CapEff:\t0000000000001000") == ["CAP_NET_RAW"])
    #expect(DoctorFacts.missingCapabilities(in: "CapEff:") == [])
  }

  @Test("Radio switches and a state directory are read from the disk")
  func files() throws {
    try Files.makeDirectory("\(root)/rfkill3")
    for (file, text) in [("type", "bluetooth"), ("name", "hci1"), ("soft", "1"), ("hard", "0")] {
      try Files.create("\(root)/rfkill3/\(file)").writeAll((text + "\n").utf8)
    }
    #expect(DoctorFacts.radios(in: root) == [1: .soft])
    #expect(DoctorFacts.radios(in: "\(root)/nowhere") == [:])
    #expect(DoctorFacts.state(root) == .fine(bonds: 0))
    let folder = "\(root)/f0f1f2f3f4f5"
    let bond = "\(folder)/random-c01122334455.bond.json"
    let address = "\(root)/static-address.json.bad"
    try Files.makeDirectory(folder)
    for file in [bond, address] { try Files.create(file).writeAll("{".utf8) }
    #expect(DoctorFacts.state(root) == .fine(bonds: 0, unusable: [bond, address]))
    #expect(DoctorFacts.state("\(root)/not/yet") == .missing)
    #expect(DoctorFacts.state("/dev/null/state") != .missing)
    try #require(chmod(root, 0o777) == 0)
    #expect(DoctorFacts.state(root) == .refused(.isOpen(mode: 0o777)))
  }

  @Test(
    "The service's own directory is no fault, whoever looks; a third user's is one",
    .enabled(if: geteuid() == 0, "giving a directory away takes root"))
  func servicesDirectory() throws {
    let systemd = ServiceHost(.systemd, daemon: .init("ancsd", isStarted: false, user: "65534"))
    let openRC = ServiceHost(.openRC, daemon: systemd.daemon)
    func state(_ host: ServiceHost) -> DoctorFacts.StateFacts {
      DoctorFacts.state(root, of: host, isSystem: true)
    }
    // systemd gives the service what root's daemon has left there, OpenRC does not.
    #expect(state(systemd) == .fine(bonds: 0))
    #expect(state(openRC) == .refused(.isAnothers(0)))
    try #require(chown(root, 65_534, 65_534) == 0)
    for host in [systemd, openRC] { #expect(state(host) == .fine(bonds: 0)) }
    #expect(state(ServiceHost(.systemd)) == .refused(.isAnothers(65_534)))
    #expect(DoctorFacts.state(root, of: systemd) == .refused(.isAnothers(65_534)))
    try #require(chown(root, 1_000, 1_000) == 0)
    #expect(state(systemd) == .refused(.isAnothers(1_000)))
  }
}
