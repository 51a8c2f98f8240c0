// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import EventLoop
import Mgmt
import System
import Wire

/// What the doctor found out about the board, before conclusions are drawn from it.
struct BoardFacts: Hashable, Sendable {
  /// The kernel's release, as in `6.1.0-56-amd64`.
  var kernelRelease = ""
  /// Why the kernel's Bluetooth management can't be opened; nil: it can.
  var bluetooth: BluetoothError?
  /// Which of the capabilities that the daemon needs this process lacks.
  var missingCapabilities: [String] = []
  var adapters: [AdapterFacts] = []
  /// The rfkill state of each adapter, by its number.
  var radios: [UInt16: RFKillState] = [:]
  var bluetoothd = BluetoothdFacts.absent
  /// Whether the daemon is installed as a service.
  var hasService = false
  var crypto = KernelCrypto()
  var state = StateFacts.fine(bonds: 0)
  var stateDirectory = ""
  var daemon = DaemonFacts.none
  /// The system's clock, in seconds since 1970.
  var clock: Int64 = 0

  struct AdapterFacts: Hashable, Sendable {
    var index: ControllerIndex
    var address: Address
    var supported: ControllerSettings
    var current: ControllerSettings
    /// The version of HCI, and the manufacturer's company identifier (Assigned Numbers).
    var hciVersion: UInt8 = 0
    var manufacturer: UInt16 = 0
  }

  /// Controllers that cannot be used as they are, with what they need.
  var unconfigured: [ControllerIndex: ControllerConfiguration] = [:]

  /// What serves phones in the daemon's place, or keeps it from them.
  enum BluetoothdFacts: Hashable, Sendable {
    /// It does not run, and no boot starts it.
    case absent
    /// It does not run, and is enabled.
    case enabled
    case running
  }

  /// The directory for bonds.
  enum StateFacts: Hashable, Sendable {
    /// It can be used; so many phones are bonded, and these files of bonds can't be used.
    case fine(bonds: Int, unusable: [String] = [])
    /// It does not exist, and can be made.
    case missing
    case unusable(SystemError)
    /// The daemon would refuse it.
    case refused(PrivateDirectory.Fault)
  }

  /// The daemon, by its control socket.
  enum DaemonFacts: Hashable, Sendable {
    /// None runs.
    case none
    /// One runs, and does not accept this user.
    case closed(path: String)
    /// One runs, and does not answer.
    case mute(path: String)
    case status(StatusReport)
  }
}

extension BoardFacts {
  /// Examines the board. It changes nothing: it touches no adapter and does not listen for phones,
  /// since the socket that listens last gets every phone.
  @LoopActor static func gather(stateDirectory: String?, socket: String?) async -> BoardFacts {
    var facts = BoardFacts()
    facts.kernelRelease = Host.kernelRelease
    facts.missingCapabilities = Capabilities.missing(in: text("/proc/self/status") ?? "")
    facts.radios = radios()
    facts.bluetoothd =
      BluetoothDaemon.isRunning ? .running : isThere(BluetoothDaemon.wanted) ? .enabled : .absent
    facts.hasService = isThere("/lib/systemd/system/ancsd.service")
    facts.crypto = crypto(facts.kernelRelease)
    facts.stateDirectory = stateDirectory ?? DefaultPaths.stateDirectory
    facts.state = state(facts.stateDirectory)
    facts.clock = WallTime.now.seconds
    facts.daemon = await DaemonProbe.status(DefaultPaths.sockets(socket))
    do throws(BluetoothError) {
      (facts.adapters, facts.unconfigured) = try await adapters()
    } catch {
      facts.bluetooth = error
    }
    return facts
  }

  /// The adapters, with what they can do; reading that takes no privilege.
  @LoopActor private static func adapters() async throws(BluetoothError)
    -> ([AdapterFacts], [ControllerIndex: ControllerConfiguration])
  {
    let socket = try MgmtSocket()
    let client = MgmtClient(scheduler: Loop.shared)
    socket.attach(client)
    var found: [AdapterFacts] = []
    for index in (try? await client.readIndexList()) ?? [] {
      guard let adapter = try? await client.readControllerInformation(index) else { continue }
      found.append(
        AdapterFacts(
          index: index, address: adapter.address, supported: adapter.supported,
          current: adapter.current, hciVersion: adapter.hciVersion,
          manufacturer: adapter.manufacturer))
    }
    var unconfigured: [ControllerIndex: ControllerConfiguration] = [:]
    for index in (try? await client.readUnconfiguredIndexList()) ?? [] {
      unconfigured[index] = try? await client.readControllerConfiguration(index)
    }
    client.close(.closed("seen enough"))
    socket.close()
    return (found, unconfigured)
  }

  /// The rfkill state of each adapter, which every user may read in sysfs.
  static func radios(in directory: String = "/sys/class/rfkill") -> [UInt16: RFKillState] {
    var radios: [UInt16: RFKillState] = [:]
    for entry in (try? Files.names(in: directory)) ?? [] {
      let values = ["type", "name", "soft", "hard"].map {
        text("\(directory)/\(entry)/\($0)")?.split(separator: "\n").first
      }
      guard values[0] == "bluetooth", let name = values[1], name.hasPrefix("hci"),
        let index = UInt16(name.dropFirst(3))
      else { continue }
      radios[index] = values[3] == "1" ? .hard : values[2] == "1" ? .soft : .unblocked
    }
    return radios
  }

  private static func crypto(_ release: String) -> KernelCrypto {
    let modules = ["modules.dep", "modules.builtin"].compactMap {
      text("/lib/modules/\(release)/\($0)")
    }
    return KernelCrypto(
      algorithms: text("/proc/crypto") ?? "",
      modules: modules.isEmpty ? nil : modules.joined(separator: "\n"))
  }

  static func state(_ directory: String) -> StateFacts {
    do throws(SystemError) {
      guard try Files.kind(of: directory) != nil else {
        var above = Files.parent(of: directory)
        while let path = above, try Files.kind(of: path) == nil { above = Files.parent(of: path) }
        try Files.checkAccess(above ?? "/")
        // That it is not there is no fault; what the daemon would not make it behind is one.
        switch fault(of: directory) {
        case nil, .failed: return .missing
        case let fault?: return .refused(fault)
        }
      }
      try Files.checkAccess(directory)
      if let fault = fault(of: directory) { return .refused(fault) }
      let names = try Files.names(in: directory)
      var files: [String] = []
      var unlisted: [String] = []
      for folder in names where Address(folder: folder) != nil {
        let folder = "\(directory)/\(folder)"
        do throws(SystemError) {
          files += try Files.names(in: folder).map { "\(folder)/\($0)" }
        } catch {
          unlisted.append(folder)
        }
      }
      let bonds = files.filter { $0.hasSuffix(BondFile.suffix) }
      let unreadable = bonds.filter { path in
        guard let bytes = try? Files.read(path) else { return true }
        if case .value = StoredFile<Bond>(bytes) { return false } else { return true }
      }
      return .fine(
        bonds: bonds.count - unreadable.count,
        unusable: unreadable + files.filter { BondFile.isSetAside($0) } + unlisted
          + names.filter { AddressFile.isSetAside($0) }.map { "\(directory)/\($0)" })
    } catch {
      return .unusable(error)
    }
  }

  private static func fault(of directory: String) -> PrivateDirectory.Fault? {
    do throws(PrivateDirectory.Fault) {
      try PrivateDirectory.check(directory)
      return nil
    } catch {
      return error
    }
  }

  private static func isThere(_ path: String) -> Bool { (try? Files.kind(of: path)) != nil }

  static func text(_ path: String) -> String? {
    (try? Files.read(path)).map { String(decoding: $0, as: UTF8.self) }
  }
}

/// The capabilities of a process (capabilities(7)).
enum Capabilities {
  private static let wanted = [(12, "CAP_NET_ADMIN"), (13, "CAP_NET_RAW")]

  /// Those that the daemon needs and the process lacks, from its /proc/PID/status.
  static func missing(in status: String) -> [String] {
    let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
    guard let digits = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).last,
      let bits = UInt64(digits, radix: 16)
    else { return [] }
    return wanted.filter { bits >> UInt64($0.0) & 1 == 0 }.map(\.1)
  }
}

/// What the kernel has of what LE Secure Connections needs: P-256, AES-CMAC, and what P-256's own
/// test needs (without hmac, sha512 and drbg that test fails, and pairing with it).
struct KernelCrypto: Hashable, Sendable {
  /// Whether P-256 is there and has passed its test; nil: the kernel has not needed it yet.
  var hasP256: Bool?
  /// The modules that are neither in the kernel nor on the disk; nil: that is unknown.
  var missing: [String]?

  /// What is needed: one module of each group.
  static let modules = [
    ["ecdh_generic"], ["cmac"], ["hmac"], ["sha512_generic", "sha512"], ["drbg"],
  ]

  /// The command that helps if the modules exist.
  static let command = "modprobe -a cmac hmac sha512_generic drbg ecdh_generic"
}

extension KernelCrypto {
  /// Reads the kernel's tables.
  ///
  /// - Parameters:
  ///   - algorithms: /proc/crypto.
  ///   - modules: modules.dep and modules.builtin of the running kernel; nil if they do not exist.
  init(algorithms: String, modules: String?) {
    // An empty line ends each entry.
    let lines = algorithms.split(separator: "\n", omittingEmptySubsequences: false)
    for entry in lines.split(whereSeparator: \.isEmpty) {
      let fields = entry.map { line in
        line.split(separator: ":", maxSplits: 1).map { $0.split(separator: " ").joined() }
      }
      // Before Linux 5.12 one name stood for all curves.
      guard fields.contains(["name", "ecdh-nist-p256"]) || fields.contains(["name", "ecdh"]) else {
        continue
      }
      hasP256 = fields.contains(["selftest", "passed"]) || hasP256 == true
    }
    guard let modules else { return }
    // kernel/crypto/drbg.ko.xz: kernel/crypto/hmac.ko
    let files = modules.split(separator: "\n").compactMap {
      $0.split(separator: ":").first?.split(separator: "/").last?.split(separator: ".").first
    }
    // Module files are named with either.
    let present = Set(files.map { $0.split(separator: "-").joined(separator: "_") })
    missing = Self.modules.filter { present.isDisjoint(with: $0) }.compactMap(\.first)
  }
}
