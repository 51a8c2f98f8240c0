// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Bluetooth
import Control
import ControlClients
import EventLoop
import GAP
import GATT
import JSON
import Mgmt
import Picture
import System
import Wire

/// Everything that goes into a report, before redaction.
struct ReportFacts: Sendable {
  var time = WallTime(seconds: 0)
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
  fileprivate var lines: [String] {
    var lines = ["\(index)  \(address)"]
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
      lines.append("  LE features: 0x\(String(features, radix: 16)) (\(Self.names(of: features)))")
    } else {
      lines.append("  LE features: not read (that takes CAP_NET_RAW)")
    }
    return lines
  }

  // MARK: Names (Assigned Numbers, 2.1 and 7; Core Specification Vol 6 Part B, 4.6)

  private static let versions = [
    "1.0b", "1.1", "1.2", "2.0", "2.1", "3.0", "4.0", "4.1", "4.2", "5.0", "5.1", "5.2", "5.3", "5.4", "6.0", "6.1",
  ]

  private static func name(ofVersion number: UInt8) -> String {
    Int(number) < versions.count ? versions[Int(number)] : "version \(number)"
  }

  private static let makers: [UInt16: String] = [
    2: "Intel", 10: "Qualcomm (CSR)", 13: "Texas Instruments", 15: "Broadcom", 29: "Qualcomm",
    48: "ST Microelectronics", 63: "Bluetooth SIG", 69: "Atheros", 70: "MediaTek", 72: "Marvell", 76: "Apple",
    89: "Nordic Semiconductor", 93: "Realtek", 224: "Google", 305: "Cypress", 1521: "Linux Foundation",
  ]

  private static func name(ofMaker number: UInt16) -> String {
    makers[number].map { "\($0) (\(number))" } ?? "manufacturer \(number)"
  }

  private static let features = [
    "Encryption", "Connection Parameters Request", "Extended Reject", "Peripheral Features Exchange", "Ping",
    "Data Packet Length Extension", "Privacy", "Extended Scanner Filter Policies", "2M PHY",
    "Stable Modulation Index TX", "Stable Modulation Index RX", "Coded PHY", "Extended Advertising",
    "Periodic Advertising", "Channel Selection Algorithm #2", "Power Class 1",
  ]

  private static func names(of bits: UInt64) -> String {
    features.indices.filter { bits >> UInt64($0) & 1 == 1 }.map { features[$0] }
      .joined(separator: ", ")
  }
}

/// Lays out a report as plain text, with everything replaced that identifies people and devices.
struct Report {
  private var facts: ReportFacts
  private var redactor: Redactor
  private var lines: [String] = []

  /// The report's text.
  static func text(_ facts: ReportFacts, keepsText: Bool = false) -> String {
    var report = Report(facts, keepsText: keepsText)
    report.write()
    return report.lines.joined(separator: "\n") + "\n"
  }

  /// The daemon's timeline as a page, with the same replacements.
  static func page(_ facts: ReportFacts, keepsText: Bool = false) -> [UInt8]? {
    guard let timeline = facts.memory.timeline else { return nil }
    var report = Report(facts, keepsText: keepsText)
    var source = SessionPicture.Source(
      name: "the daemon’s timeline, \(facts.time.rfc3339)", program: "ancsd \(Program.build)")
    source.isTimeline = true
    var picture = SessionPicture(source)
    picture.add(
      timeline, name: { AttributeNames(facts.memory.known, $2)?.name(of: $0, in: $1) },
      redact: { report.redactor.sentence($0) })
    picture.finish()
    return picture.take()
  }

  private init(_ facts: ReportFacts, keepsText: Bool) {
    self.facts = facts
    redactor = Redactor(keepsText: keepsText)
    self.facts.board.redact(with: &redactor)
  }

  private var status: StatusReport? {
    if case .status(let status) = facts.board.daemon { status } else { nil }
  }

  // MARK: The whole

  private mutating func write() {
    writeVersions()
    writeControllers()
    section("Doctor", facts.board.findings.flatMap { $0.text(TextStyle()).lines })
    writeStatus()
    writeTimelines()
    writeEvents()
    // The replacements are known only now.
    lines = head + lines
  }

  /// The first words of each report.
  static let beginning = "ancsd report of "

  private var head: [String] {
    let kinds: [(Redactor.Kind, String)] = [
      (.address, "addresses"), (.hex, "keys or other long numbers"), (.phone, "names of phones"),
      (.board, "names of boards"), (.host, "hosts"), (.user, "users"), (.client, "client ids"), (.topic, "topics"),
      (.path, "paths"), (.app, "apps and the like"), (.text, "texts"),
    ]
    let replaced = kinds.compactMap { kind, what in
      redactor.count(of: kind) > 0 ? "\(what) \(redactor.count(of: kind))" : nil
    }
    let what =
      redactor.keepsText
      ? "Names and texts are kept (--keep-text); addresses and long numbers are replaced:"
      : "Addresses, names, paths and texts are replaced, each by the same word everywhere:"
    return [
      "\(Self.beginning)\(facts.time.rfc3339)", "", "Attach it to an issue. Read it through first: it is plain text.",
      what, replaced.isEmpty ? "there were none." : "\(replaced.joined(separator: ", ")).",
      "Keys, attribute values and the numbers of a pairing are not in it at all.",
    ]
  }

  private mutating func section(_ title: String, _ body: [String]) {
    lines += ["", "## \(title)", ""] + body.map { redactor.sentence($0) }
  }

  private mutating func writeVersions() {
    var body = ["ancsd \(Program.build) wrote this"]
    switch facts.board.daemon {
    case .none:
      body.append("no daemon is running, so there are no status, timeline or events")
    case .closed: body.append("a daemon is running, but refuses this user: try again as root")
    case .mute: body.append("a daemon is running, but does not respond")
    case .status(let status):
      body.append("the daemon is ancsd \(status.version), since \(status.started.rfc3339)")
    }
    body.append("kernel \(facts.board.kernelRelease)")
    if let system = facts.system { body.append("system \(system)") }
    if let model = facts.model { body.append("board \(model)") }
    section("Versions", body)
  }

  private mutating func writeControllers() {
    let adapters = facts.board.adapters
    section("Controllers", adapters.isEmpty ? ["none that mgmt lists"] : adapters.flatMap(\.lines))
  }

  private mutating func writeStatus() {
    guard let status else { return }
    var body = status.text(TextStyle(), now: facts.time).lines
    // A connected phone has its link in the status, without its key.
    let linked = Set(status.links.compactMap(\.phone))
    for phone in status.phones where linked.contains(phone.phone) {
      body += phone.lines(TextStyle())
    }
    section("Status", body)
  }

  // MARK: Timelines

  private mutating func writeTimelines() {
    guard status != nil else { return }
    guard let timeline = facts.memory.timeline else {
      return section("Timeline", ["this daemon has none, or did not respond: it may be an older one"])
    }
    let last = timeline.links.last
    let pairing = timeline.links.last { $0.hasPairing }
    if let pairing, pairing == last {
      section("Last pairing and session", body(pairing))
    } else {
      section("Last pairing", pairing.map(body) ?? ["none since the daemon started"])
      section("Last session", last.map(body) ?? ["none since the daemon started"])
    }
    section("Adapters and daemon", body(timeline.board))
  }

  private func body(_ link: LinkTimeline) -> [String] {
    let place = [link.phone?.description, link.adapter].compactMap { $0 }.joined(separator: " on ")
    let gap = link.omitted > 0 ? ["           … \(link.omitted) more …"] : []
    let names = AttributeNames(facts.memory.known, link)
    return ["\(place.isEmpty ? "begun" : place + ", begun") \(link.started.rfc3339)" + (link.isOver ? ", over" : "")]
      + link.beginning.map { line($0, names) } + gap + link.latest.map { line($0, names) }
  }

  private func line(_ entry: TimelineEntry, _ names: AttributeNames?) -> String {
    let milliseconds = entry.time / 1_000
    let part = String(milliseconds % 1_000, digits: 3)
    let time = "\(milliseconds / 1_000).\(part)"
    let column = String(repeating: " ", count: max(0, 10 - time.count)) + time
    switch entry.moment {
    case .att(let pdu):
      let text = pdu.text { names?.name(of: $0, in: pdu) }
      return "\(column)  att   \(pdu.isSent ? "→" : "←") \(text)"
    case .step(let layer, let name, let detail):
      let layer = layer.rawValue + String(repeating: " ", count: max(0, 5 - layer.rawValue.count))
      let text = detail.isEmpty ? name : detail.hasPrefix(name) ? detail : "\(name): \(detail)"
      return "\(column)  \(layer) \(text)"
    }
  }

  /// The maximum number of events shown.
  private static let mostEvents = 60

  private mutating func writeEvents() {
    guard status != nil else { return }
    let events = facts.memory.events.suffix(Self.mostEvents)
    lines += ["", "## Latest events", ""]
    lines += events.isEmpty ? ["none"] : events.map { redactor.event($0) }
  }
}

extension String {
  fileprivate var lines: [String] {
    split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
  }
}

/// The names of a link's attributes at both ends.
private struct AttributeNames {
  private var phone: [Handle: String] = [:]
  private var board: [Handle: String] = [:]

  init?(_ known: [KnownLink], _ link: LinkTimeline) {
    // The handles of an ended link may have changed by now.
    guard !link.isOver,
      let known = known.first(where: { $0.phone == link.phone && $0.adapter == link.adapter })
    else { return nil }
    phone = Self.names(of: known.services)
    board = Self.names(of: known.board)
  }

  /// The name of the attribute that a PDU is about. The board's requests go to the phone's server.
  func name(of handle: Handle, in pdu: PDUHead) -> String? {
    (pdu.opcode.role.isToServer == pdu.isSent ? phone : board)[handle]
  }

  private static func names(of services: [LocatedService]) -> [Handle: String] {
    var names: [Handle: String] = [:]
    for service in services {
      names[service.service.range.start] = AssignedNumbers.title(of: service.service.uuid)
      for characteristic in service.characteristics {
        let name = AssignedNumbers.name(of: characteristic.uuid) ?? "\(characteristic.uuid)"
        names[characteristic.value] = name
        if let cccd = characteristic.cccd { names[cccd] = "CCCD of \(name)" }
      }
    }
    return names
  }
}
