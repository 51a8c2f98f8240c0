// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Bluetooth
import Control
import ControlClients
import EventLoop
import Mgmt
import System
import Wire

/// Everything that goes into a report, before redaction.
struct ReportFacts: Sendable {
  var time = WallTime(seconds: 0)
  var program = Program.build
  /// The names of the system and of the board's model.
  var system: String?
  var model: String?
  var board = DoctorFacts()
  var memory = DaemonProbe.Memory()

  /// Examines the board and asks the daemon, if one runs.
  @LoopActor static func gather(_ options: ReportOptions) async -> ReportFacts {
    var facts = ReportFacts()
    facts.time = .now
    facts.system = DoctorFacts.text("/etc/os-release")?.split(separator: "\n")
      .first { $0.hasPrefix("PRETTY_NAME=") }
      .map { $0.dropFirst(12).split(separator: "\"").joined() }
    facts.model = DoctorFacts.text("/proc/device-tree/model").map {
      String($0.prefix { $0 != "\0" && $0 != "\n" })
    }
    facts.board = await DoctorFacts.gather(
      stateDirectory: options.stateDirectory, socket: options.socket)
    for (place, adapter) in facts.board.adapters.enumerated()
    where adapter.current.contains(.powered) {
      facts.board.adapters[place].version = await ControllerVersion.read(
        adapter: adapter.index.value)
    }
    if case .status = facts.board.daemon {
      facts.memory = await DaemonProbe.memory(DefaultPaths.sockets(options.socket))
    }
    return facts
  }
}

extension DoctorFacts.AdapterFacts {
  /// The lines of the report.
  func lines(_ redactor: inout Redactor) -> [String] {
    var lines = ["\(index)  \(redactor.address(address))"]
    lines.append("  HCI \(Self.name(ofVersion: hciVersion)), \(Self.name(ofMaker: manufacturer))")
    if let version {
      lines.append(
        "  firmware: HCI revision 0x\(String(version.hciRevision, radix: 16)), LMP "
          + "\(Self.name(ofVersion: version.lmpVersion)), subversion "
          + "0x\(String(version.lmpSubversion, radix: 16))")
    } else {
      lines.append("  firmware: not read (the adapter is off, or did not respond)")
    }
    if let driver { lines.append("  driver: \(driver)") }
    if let hardware { lines.append("  hardware: \(hardware)") }
    lines.append("  supports: \(supported)")
    lines.append("  switched on: \(current)")
    if let features = version?.features {
      lines.append(
        "  LE features: 0x\(String(features, radix: 16)) (\(Self.names(of: features)))")
    } else {
      lines.append("  LE features: not read (that takes CAP_NET_RAW)")
    }
    return lines
  }

  // MARK: Names (Assigned Numbers, 2.1 and 7; Core Specification Vol 6 Part B, 4.6)

  private static let versions = [
    "1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3",
    "5.4", "6.0", "6.1",
  ]

  private static func name(ofVersion number: UInt8) -> String {
    Int(number) < versions.count ? versions[Int(number)] : "version \(number)"
  }

  private static let makers: [UInt16: String] = [
    2: "Intel", 10: "Qualcomm (CSR)", 13: "Texas Instruments", 15: "Broadcom", 29: "Qualcomm",
    48: "ST Microelectronics", 63: "Bluetooth SIG", 69: "Atheros", 70: "MediaTek", 72: "Marvell",
    76: "Apple", 89: "Nordic Semiconductor", 93: "Realtek", 224: "Google", 305: "Cypress",
    1521: "Linux Foundation",
  ]

  private static func name(ofMaker number: UInt16) -> String {
    makers[number].map { "\($0) (\(number))" } ?? "manufacturer \(number)"
  }

  private static let features = [
    "Encryption", "Connection Parameters Request", "Extended Reject",
    "Peripheral Features Exchange",
    "Ping", "Data Packet Length Extension", "Privacy", "Extended Scanner Filter Policies", "2M PHY",
    "Stable Modulation Index TX", "Stable Modulation Index RX", "Coded PHY", "Extended Advertising",
    "Periodic Advertising", "Channel Selection Algorithm #2", "Power Class 1",
  ]

  private static func names(of bits: UInt64) -> String {
    features.indices.filter { bits >> UInt64($0) & 1 == 1 }.map { features[$0] }
      .joined(separator: ", ")
  }
}
