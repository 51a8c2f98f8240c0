// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import ControlClients
import EventLoop
import History
import JSON
import Mgmt
import System
import Wire

/// The facts that the doctor gathered about the board, before it draws conclusions.
struct DoctorFacts: Hashable, Sendable {
  /// The kernel's release, as in `6.1.0-56-amd64`.
  var kernelRelease = ""
  /// The kernel's build, which names the version where the release does not.
  var kernelBuild = ""
  /// Why the kernel's Bluetooth management can't be opened; nil: it can.
  var bluetooth: BluetoothError?
  /// Which of the capabilities that the daemon needs this process lacks.
  var missingCapabilities: [String] = []
  var adapters: [AdapterFacts] = []
  /// The rfkill state of each adapter, by its number.
  var radios: [UInt16: RFKillState] = [:]
  /// The process of bluetoothd, which takes the phones instead of the daemon; nil: it is not running.
  var bluetoothd: Int32?
  var host = ServiceHost(.none)
  var crypto = KernelCrypto()
  var state = StateFacts.fine(bonds: 0)
  var stateDirectory = ""
  var daemon = DaemonState.none
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
    /// The kernel's name for the hardware, as in `usb:v0A12p0001…`, and its driver.
    var hardware: String?
    var driver: String?
    /// Read for a report only; nil if it is switched off, or did not respond.
    var version: ControllerVersion?
  }

  /// What the kernel's log says about radios; empty if it can't be read.
  var kernelLog = KernelLog()
  /// Those of the firmware files missing there that are installed now.
  var installedFirmware: Set<String> = []
  /// The controllers on serial lines, with their drivers, whether they work or not.
  var serialControllers: [SerialController] = []
  /// The drivers of the board's network interfaces.
  var wifiDrivers: Set<String> = []
  /// How many links were lost (Connection Timeout) in the last 24 hours, by the daemon's history, if Wi-Fi may be why; nil: there
  /// is no history that this user may read.
  var lossesOfTheDay: Int?

  struct SerialController: Hashable, Sendable {
    /// As in `serial0-0` and `hci_uart_bcm`.
    var device: String
    var driver: String
  }

  /// Unconfigured controllers, and whether each needs only an address.
  var unconfigured: [ControllerIndex: Bool] = [:]

  /// The directory for bonds.
  enum StateFacts: Hashable, Sendable {
    /// It is usable; the number of bonded phones, and the unusable bond files.
    case fine(bonds: Int, unusable: [String] = [])
    /// It does not exist, but can be created.
    case missing
    case unusable(SystemError)
    /// The daemon would refuse it.
    case refused(PrivateDirectory.Fault)
  }

  /// Examines the board. It changes nothing: it touches no adapter and does not listen for phones,
  /// because the socket that listened last gets every phone.
  @LoopActor static func gather(stateDirectory: String?, socket: String?) async -> DoctorFacts {
    var facts = DoctorFacts()
    (facts.kernelRelease, facts.kernelBuild) = (Host.kernelRelease, Host.kernelBuild)
    facts.missingCapabilities = missingCapabilities(in: text("/proc/self/status") ?? "")
    facts.radios = radios()
    facts.bluetoothd = BluetoothDaemon.process
    facts.host = .here
    facts.crypto = crypto(facts.kernelRelease)
    facts.stateDirectory =
      stateDirectory ?? (facts.host.daemon == nil ? DefaultPaths.stateDirectory : DefaultPaths.systemState)
    facts.state = state(
      facts.stateDirectory, of: facts.host, isSystem: facts.stateDirectory == DefaultPaths.systemState)
    facts.clock = WallTime.now.seconds
    facts.daemon = await DaemonProbe.status(DefaultPaths.sockets(socket))
    facts.gatherRadioFacts()
    do throws(BluetoothError) {
      (facts.adapters, facts.unconfigured) = try await adapters()
    } catch { facts.bluetooth = error }
    // The history of a day is read only where it would be of use.
    if facts.sharesAntenna {
      facts.lossesOfTheDay = facts.losses(since: WallTime(seconds: facts.clock - 86_400))
    }
    return facts
  }

  /// The adapters, with what they can do; reading that takes no privilege.
  @LoopActor private static func adapters() async throws(BluetoothError)
    -> ([AdapterFacts], [ControllerIndex: Bool])
  {
    let socket = try MgmtSocket()
    let client = MgmtClient(scheduler: Loop.shared)
    socket.attach(client)
    var found: [AdapterFacts] = []
    for index in (try? await client.readIndexList()) ?? [] {
      guard let adapter = try? await client.readControllerInformation(index) else { continue }
      found.append(
        AdapterFacts(
          index: index, address: adapter.address, supported: adapter.supported, current: adapter.current,
          hciVersion: adapter.hciVersion, manufacturer: adapter.manufacturer, hardware: sysfs(index, "modalias"),
          driver: sysfs(index, "uevent", after: "DRIVER=")))
    }
    var unconfigured: [ControllerIndex: Bool] = [:]
    for index in (try? await client.readIndexList(unconfigured: true)) ?? [] {
      unconfigured[index] = try? await client.needsOnlyAddress(index)
    }
    client.close(.closed("seen enough"))
    socket.close()
    return (found, unconfigured)
  }

  /// The line of a controller's file in sysfs that begins with these characters, without them.
  private static func sysfs(
    _ index: ControllerIndex, _ file: String, after prefix: String = ""
  ) -> String? {
    text("/sys/class/bluetooth/\(index)/device/\(file)")?.split(separator: "\n")
      .first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
  }

  private mutating func gatherRadioFacts() {
    kernelLog = KernelLog(Host.kernelLog ?? "")
    installedFirmware = Set(
      kernelLog.missingFirmware.filter { file in
        ["", ".xz", ".zst"].contains { (try? Files.kind(of: "/lib/firmware/\(file)\($0)")) != nil }
      })
    for driver in ["hci_uart_bcm", "hci_uart_h5", "hci_uart_qca"] {
      let names = (try? Files.names(in: "/sys/bus/serial/drivers/\(driver)")) ?? []
      serialControllers += names.filter { $0.hasPrefix("serial") }
        .map { SerialController(device: $0, driver: driver) }
    }
    let interfaces = (try? Files.names(in: "/sys/class/net")) ?? []
    wifiDrivers = Set(
      interfaces.compactMap { name in
        (try? Files.target(of: "/sys/class/net/\(name)/device/driver"))?
          .split(separator: "/").last.map(String.init)
      })
  }

  /// How many links were lost since then, by the daemon's history; nil if there is none that this user may read.
  private func losses(since time: WallTime) -> Int? {
    var path = DefaultPaths.history(in: stateDirectory)
    if case .status(let report) = daemon, let history = report.history { path = history.file }
    guard let history = try? HistoryFile(reading: path) else { return nil }
    var place: Int64 = 0
    var losses = 0
    while let rows = try? history.next(since: time, after: place), let last = rows.last {
      place = last.place
      losses += rows.count { row in
        guard let json = try? JSONValue(parsing: row.line),
          case .disconnected(let reason)? = (try? NumberedEvent(reading: json))?.event.content
        else { return false }
        return reason.contains(text: "Connection Timeout")
      }
    }
    return losses
  }

  /// The rfkill state of each adapter, which every user may read in sysfs.
  static func radios(in directory: String = "/sys/class/rfkill") -> [UInt16: RFKillState] {
    var radios: [UInt16: RFKillState] = [:]
    for entry in (try? Files.names(in: directory)) ?? [] {
      let values = ["type", "name", "soft", "hard"].map {
        text("\(directory)/\(entry)/\($0)")?.split(separator: "\n").first
      }
      guard values[0] == "bluetooth", let name = values[1], name.hasPrefix("hci"), let index = UInt16(name.dropFirst(3))
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

  /// The users whose daemon may find its keys in a directory: the service's in the system's, else this process's.
  private static func users(_ host: ServiceHost, isSystem: Bool) -> Set<UInt32> {
    guard isSystem, let service = host.daemon, let user = UInt32(service.user) ?? Host.userID(named: service.user)
    else { return [Host.userID] }
    // When systemd starts the service, it gives it what root's daemon has left there.
    return host.manager == .systemd ? [user, 0] : [user]
  }

  /// The state of a directory.
  ///
  /// - Parameter isSystem: whether it is the one of the system's service.
  static func state(
    _ directory: String, of host: ServiceHost = ServiceHost(.none), isSystem: Bool = false
  ) -> StateFacts {
    let users = users(host, isSystem: isSystem)
    func fault() -> PrivateDirectory.Fault? {
      do throws(PrivateDirectory.Fault) {
        try PrivateDirectory.check(directory, by: users)
        return nil
      } catch { return error }
    }
    do throws(SystemError) {
      guard try Files.kind(of: directory) != nil else {
        var above = Files.parent(of: directory)
        while let path = above, try Files.kind(of: path) == nil { above = Files.parent(of: path) }
        try Files.checkAccess(above ?? "/")
        // It may be missing; but the daemon must be able to create it safely.
        switch fault() {
        case nil, .failed: return .missing
        case let fault?: return .refused(fault)
        }
      }
      try Files.checkAccess(directory)
      if let fault = fault() { return .refused(fault) }
      let names = try Files.names(in: directory)
      var files: [String] = []
      var unlisted: [String] = []
      for folder in names where Address(folder: folder) != nil {
        let folder = "\(directory)/\(folder)"
        do throws(SystemError) {
          files += try Files.names(in: folder).map { "\(folder)/\($0)" }
        } catch { unlisted.append(folder) }
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
    } catch { return .unusable(error) }
  }

  static func text(_ path: String) -> String? {
    (try? Files.read(path)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The capabilities that the daemon needs and a process lacks, from its /proc/PID/status (capabilities(7)).
  static func missingCapabilities(in status: String) -> [String] {
    let line = status.split(separator: "\n").first { $0.hasPrefix("CapEff:") }
    guard let digits = line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).last,
      let bits = UInt64(digits, radix: 16)
    else { return [] }
    return [(12, "CAP_NET_ADMIN"), (13, "CAP_NET_RAW")].filter { bits >> UInt64($0.0) & 1 == 0 }
      .map(\.1)
  }
}

/// The kernel's support for LE Secure Connections: P-256, AES-CMAC, and what P-256's self-test
/// needs (without hmac, sha512 and drbg the self-test fails, and so does pairing).
struct KernelCrypto: Hashable, Sendable {
  /// Whether P-256 is available and has passed its self-test; nil: the kernel has not needed it
  /// yet.
  var hasP256: Bool?
  /// The modules that are neither in the kernel nor on the disk; nil: that is unknown.
  var missing: [String]?

  /// The required modules: one of each group.
  static let modules = [["ecdh_generic"], ["cmac"], ["hmac"], ["sha512_generic", "sha512"], ["drbg"]]

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
      // Before Linux 5.12, all curves shared one name.
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
    // Module files may use either character.
    let present = Set(files.map { $0.split(separator: "-").joined(separator: "_") })
    missing = Self.modules.filter { present.isDisjoint(with: $0) }.compactMap(\.first)
  }
}
