// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Arguments
import Control
import ControlClients
import FakeDaemon
import GAP
import GATT
import JSON
import Mgmt
import Scratch
import System
import Testing
import Wire

@testable import Bluetooth
@testable import Maintenance

@Suite("report")
struct ReportTests {
  private static let phone = Address(0xC411_2233_4455)
  private static let adapter = Address(0x001A_7DDA_7113)
  private static let key = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"

  /// Everything that must not be in a report of `facts`.
  private static let secrets = [
    "makler", "dachboden", "benutzerin", "Postfach", "postfach", "Jürgen", "Küche", "wohnzimmer", "juergen", "Zahnarzt",
    "Rechnung", "com.bank", "C4:11:22", "00:1A:7D", "c41122334455", key, "/srv/geheim", "654321",
  ]

  private static func entry(_ time: Int64, _ pdu: [UInt8], isSent: Bool) -> TimelineEntry {
    TimelineEntry(.att(PDUHead(pdu[...], isSent: isSent)), at: time)
  }

  private static var timeline: TimelineReport {
    var pairing = LinkTimeline()
    (pairing.adapter, pairing.phone) = ("hci0", phone)
    pairing.started = WallTime(seconds: 1_795_244_400)
    (pairing.hasPairing, pairing.isOver) = (true, true)
    pairing.beginning = [
      TimelineEntry(.step(.link, name: "Device Connected", detail: "random address"), at: 0),
      TimelineEntry(.step(.smp, name: "Pair Device", detail: "sent"), at: 4_200),
      TimelineEntry(.step(.event, name: "paired", detail: "paired with \(phone)"), at: 3_004_200),
    ]
    var session = LinkTimeline()
    (session.adapter, session.phone) = ("hci0", phone)
    session.started = WallTime(seconds: 1_795_248_000)
    session.beginning = [
      entry(31_000, [0x02, 0x05, 0x02], isSent: true), entry(61_000, [0x12, 0x1F, 0, 1, 0], isSent: true),
      entry(62_000, [0x01, 0x12, 0x1F, 0, 0x05], isSent: false),
    ]
    session.omitted = 12
    session.latest = [entry(9_061_000, [0x1B, 0x1E, 0, 0, 0x15, 4, 1, 58, 0, 0, 0], isSent: false)]
    var report = TimelineReport()
    report.links = [pairing, session]
    return report
  }

  private static var facts: ReportFacts {
    var facts = ReportFacts()
    facts.time = WallTime(seconds: 1_795_251_600)
    facts.system = "Debian GNU/Linux 12 (bookworm)"
    facts.board.kernelRelease = "6.1.0-56-amd64"
    facts.board.stateDirectory = "/srv/geheim und mehr/state"
    facts.board.adapters = [
      .init(
        index: ControllerIndex(0), address: adapter, supported: [.powered, .lowEnergy, .secureConnections],
        current: [.powered, .lowEnergy], hciVersion: 9, manufacturer: 93,
        version: ControllerVersion(hciRevision: 0xDFC6, lmpSubversion: 0xD922, lmpVersion: 9, features: 0x1021))
    ]
    facts.board.daemon = .status(status)
    (facts.memory.timeline, facts.memory.known, facts.memory.events) = (timeline, [known], events)
    return facts
  }

  private static var status: StatusReport {
    var status = StatusReport()
    status.version = "0.1.0"
    var served = AdapterReport()
    (served.adapter, served.address, served.name) = ("hci0", adapter, "Küche  von Jürgen")
    served.waiting.wait = "first-phone"
    served.waiting.why = "on it choose Küche  von Jürgen; see /home/juergen/x on wohnzimmer"
    var link = LinkReport()
    (link.adapter, link.phone, link.name) = ("hci0", phone, "Jürgens iPhone")
    (link.waiting.wait, link.waiting.why) = ("security-request", "ancsd forget \(phone)")
    var bond = PhoneReport()
    (bond.phone, bond.name, bond.key) = (phone, "Jürgens iPhone", PhoneReport.BondKey())
    (status.adapters, status.links, status.phones) = ([served], [link], [bond])
    var bridge = BridgeReport()
    (bridge.broker, bridge.user) = ("mqtts://makler.example:8883", "benutzerin")
    (bridge.client, bridge.topics) = ("ancsd-dachboden", "ancsd/dachboden")
    bridge.why = "connection refused: no broker listens at mqtts://makler.example:8883"
    bridge.refused = ["ancsd/dachboden/state"]
    var forward = ForwardReport(name: "Postfach", to: "/srv/geheim/postfach.url")
    forward.why = "makler.example does not answer"
    (status.bridges, status.forwards) = ([bridge], [forward])
    return status
  }

  private static var known: KnownLink {
    var known = KnownLink()
    known.adapter = "hci0"
    known.phone = phone
    known.services = [
      LocatedService(
        service: Service(uuid: .notificationCenter, range: HandleRange(0x19, 0x22)),
        characteristics: [
          Characteristic(
            declaration: 0x1D, properties: .notify, value: 0x1E, uuid: .notificationSource, end: 0x1F, cccd: 0x1F)
        ])
    ]
    return known
  }

  private static var events: [JSONValue] {
    [
      #"{"event":"ready","name":"Küche  von Jürgen","version":"0.1.0","address":"00:1A:7D:DA:71:13"}"#,
      #"{"event":"pairing","method":"confirm","passkey":"654321","phone":"C4:11:22:33:44:55"}"#,
      #"{"event":"notification","uid":58,"title":"Zahnarzt","message":"Rechnung \#(key)","#
        + #""app_id":"com.bank.Konto","app":"Konto","phone":"C4:11:22:33:44:55"}"#,
      #"{"event":"error","what":"saving","message":"/srv/geheim/c41122334455.bond.json is full"}"#,
    ].compactMap { try? JSONValue(parsing: Array($0.utf8)) }
  }

  @Test("Neither text nor page has a name, an address, a key, a path or a text; --keep-text keeps no key or address")
  func secrets() throws {
    let page = String(decoding: try #require(Report.page(Self.facts)), as: UTF8.self)
    for text in [page, Report.text(Self.facts)] {
      for secret in Self.secrets {
        #expect(!text.lowercased().contains(secret.lowercased()), "\(secret) in \(text)")
      }
    }
    let kept = Report.text(Self.facts, keepsText: true)
    #expect(kept.contains("Jürgens iPhone") && kept.contains("/srv/geheim"))
    for secret in [Self.key, "C4:11:22", "00:1A:7D", "654321", "c41122334455"] {
      #expect(!kept.contains(secret), "\(secret)")
    }
  }

  @Test("The page of the timeline has PDUs and steps")
  func page() throws {
    let page = String(decoding: try #require(Report.page(Self.facts)), as: UTF8.self)
    #expect(page.contains(#""timeline":true"#))
    #expect(page.contains("Write Request"))
    #expect(page.contains("paired with address-"))
    #expect(page.contains("12 entries were dropped"))
    var facts = Self.facts
    facts.memory.timeline = nil
    #expect(Report.page(facts) == nil)
  }

  /// Everything in a JSON value that is not a word of the interface, replaced by a marker.
  private static func marked(_ json: JSONValue, _ member: String = "") -> JSONValue {
    let words: Set = [
      "version", "started", "since", "life", "wait", "state", "event", "time", "adapter", "phone",
      "address", "type", "services", "authorization", "profile", "change", "category", "flags",
    ]
    switch json {
    case .string where !words.contains(member): return .string("Marker-\(member)")
    case .array(let elements): return .array(elements.map { marked($0, member) })
    case .object(let object):
      var result = JSONObject()
      for (name, value) in object.members { result.add(name, marked(value, name)) }
      return .object(result)
    default: return json
    }
  }

  @Test("Nothing that a user or a phone can fill is in it, whatever its form")
  func markers() throws {
    var facts = Self.facts
    var status = Self.status
    status.history = HistoryReport()
    status.history?.file = "x"
    status.waiting = status.adapters[0].waiting
    let json = try JSONValue(parsing: status.json)
    facts.board.daemon = .status(try StatusReport(reading: Self.marked(json)))
    facts.board.stateDirectory = "/srv/Marker directory"
    let stories = [
      #"{"event":"error","what":"x","message":"x","rule":"x"}"#,
      #"{"event":"stale","what":"x","remedy":"x"}"#, #"{"event":"disconnected","reason":"x"}"#,
      #"{"event":"notification","title":"x","app":"x","positive":"x","error":"x"}"#,
      #"{"event":"media","title":"x","artist":"x","player":"x"}"#, #"{"event":"y","new":["x"]}"#,
    ]
    facts.memory.events = try stories.map { Self.marked(try JSONValue(parsing: Array($0.utf8))) }
    let states: [DoctorFacts.StateFacts] = [
      .fine(bonds: 1), .fine(bonds: 0, unusable: ["Marker.bond.json"]), .missing,
      .unusable(SystemError("open", .permissionDenied, on: "/Marker")),
      .unusable(SystemError("open", .noSpace, on: "/Marker")),
      .refused(.failed(SystemError("open", .noSpace, on: "/Marker"))), .refused(.isTaken),
    ]
    for state in states {
      facts.board.state = state
      let text = Report.text(facts)
      #expect(!text.contains("Marker"), "\(text)")
      #expect(Report.text(facts, keepsText: true).contains("Marker"))
    }
    for daemon in [DaemonState.closed(path: "/Marker"), .mute(path: "/Marker")] {
      facts.board.daemon = daemon
      #expect(!Report.text(facts).contains("Marker"))
    }
  }

  @Test("It has what helps: firmware, timelines with names of attributes, findings")
  func contents() {
    let text = Report.text(Self.facts)
    for words in [
      "kernel 6.1.0-56-amd64", "HCI 5.0, Realtek (93)", "firmware: HCI revision 0xdfc6, LMP 5.0, subversion 0xd922",
      "LE features: 0x1021 (Encryption, Data Packet Length Extension, Extended Advertising)",
      "ok      bluetoothd: it is not running", "## Last pairing\n", "## Last session\n",
      "     0.004  smp   Pair Device: sent",
      "     3.004  event paired with address-2",
      "     0.061  att   → Write Request 0x001f (CCCD of Notification Source), 5 bytes",
      "     0.062  att   ← Error Response to Write Request 0x001f (CCCD of Notification Source): "
        + "Insufficient Authentication, 5 bytes",
      "… 12 more …", "     9.061  att   ← Handle Value Notification 0x001e (Notification Source)",
      #""title":"text-"#, "“phone-1”", "adapter hci0 address-1 “board-1”",
    ] { #expect(text.contains(words), "\(words) is not in \(text)") }
  }

  @Test(
    "Without a daemon, or with one that is closed, mute or older, it says so",
    arguments: [
      (.none, "no daemon is running"), (.closed(path: "/run/ancsd/control.sock"), "as root"),
      (.mute(path: "/run/ancsd/control.sock"), "does not respond"),
      (.status(StatusReport()), "this daemon has none"),
    ] as [(DaemonState, String)])
  func withoutTimeline(daemon: DaemonState, words: String) {
    var facts = Self.facts
    facts.board.daemon = daemon
    facts.memory.timeline = nil
    facts.memory.events = []
    let text = Report.text(facts)
    #expect(text.contains(words), "\(text)")
    #expect(text.contains("## Doctor") && text.contains("Realtek"))
  }

  @Test("The daemon's state is requested over one connection, in order")
  func memory() async {
    let daemon = FakeDaemon { request in
      if request.calls(ControlMethods.timeline) { return [.result(Self.timeline)] }
      if request.calls(ControlMethods.knownAttributes) { return [.result(Page([Self.known]))] }
      if request.calls(ControlMethods.subscribe) {
        return [.result(true), .event(.battery(level: 50)), .event(.battery(level: 49))]
      }
      return [.result(Page<PhoneReport>())]
    }
    let memory = await DaemonProbe.memory(daemon.client)
    #expect(memory.timeline == Self.timeline)
    #expect(memory.known == [Self.known])
    #expect(memory.events.map { $0["level"]?.int } == [50, 49])
    let older = FakeDaemon { _ in [.error(.methodNotFound("timeline"))] }
    #expect(await DaemonProbe.memory(older.client).timeline == nil)
  }

  @Test("It is written to the named file, or refused with a reason")
  func file() throws {
    var options = ReportOptions()
    try Grammar.report.parse(["--keep-text", "/proc/nonexistent/report.txt"], into: &options)
    #expect(options.keepsText && options.page == nil)
    let printed = FakeDaemon.Printed()
    let console = Console(.text, TextStyle()) { bytes throws(Failure) in printed.append(bytes) }
    func write(_ text: String) throws(Failure) {
      if let output = options.text { try options.write(Array(text.utf8), to: output, console) }
    }
    #expect(throws: Failure.self) { try write("x") }
    let scratch = try Scratch()
    let path = "\(scratch.path)/report"
    options.file = path
    let text = Report.text(ReportFacts())
    try write(text)
    #expect(String(decoding: try Files.read(path), as: UTF8.self) == text)
    #expect(printed.text.hasPrefix("wrote \(path)"))
    // An earlier report is replaced, but nothing else.
    try write("a letter")
    let failure = #expect(throws: Failure.self) { try write(text) }
    #expect(failure?.status == .cannotCreate)
    #expect(String(decoding: try Files.read(path), as: UTF8.self) == "a letter")
    try Grammar.report.parse(["--force", "--html", path, path], into: &options)
    try write(text)
    #expect(options.page?.beginning == nil && options.text?.path == path)
    #expect(throws: Failure.self) { try Grammar.report.parse(["a", "b"], into: &options) }
  }
}
