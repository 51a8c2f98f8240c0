// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import CaptureTools
import CentralTools
import Control
import ControlClients
import Daemon
import Fleet
import JSON
import LiveScreen
import Maintenance
import Mgmt
import Patterns
import TOML
import Wire

extension FuzzTarget {
  /// What people, programs and the disk say.
  static let texts = [
    FuzzTarget("json", longest: 2048) { input in
      guard let value = try? JSONValue(parsing: input) else { return }
      let text = value.json
      try ensure(!text.contains { $0 < 0x20 || $0 == 0x7F }, "\(value) has control characters")
      let again = try JSONValue(parsing: text)
      try ensure(again == value, "\(value) is read as \(again)")
    },
    FuzzTarget("bond", longest: 2048) { input in
      if case .value(let bond) = StoredFile<Bond>(input) { try checkIsStable(bond) }
    },
    FuzzTarget("phone-memory", longest: 2048) { input in
      if case .value(let keys) = StoredFile<PhoneKeys>(input) { try checkIsStable(keys) }
    }, FuzzTarget("request", longest: 2048, request),
    FuzzTarget("settings", longest: 2048) { input in
      let file = SettingsFile(input)
      for fault in file.faults { try ensure(fault.place.line > 0, "\(fault.message) is nowhere") }
      for entry in file.entries {
        let again = SettingsFile(Array("\(entry.name) = \(entry.value)".utf8))
        try ensure(
          again.entries.contains { $0.name == entry.name && $0.value == entry.value },
          "\(entry) is not read again")
      }
    }, FuzzTarget("broker-request", longest: 2048, brokerRequest), FuzzTarget("fleet-view", longest: 2048, fleetView),
    FuzzTarget("bridge-settings", longest: 2048) { input in
      guard let document = try? TOMLValue(parsing: input) else { return }
      var settings = BridgeSettings()
      var table = TableReader(document)
      settings.read(&table)
      _ = settings.conflict
      for fault in table.finish() {
        try ensure(fault.position.line > 0, "\(fault.message) is nowhere")
      }
      if let broker = settings.broker {
        try ensure(BrokerAddress(broker.description) == broker, "\(broker) is not read again")
      }
    }, FuzzTarget("expression", longest: 1024, expression), FuzzTarget("command-line", longest: 256, commandLine),
    FuzzTarget("printable", longest: 256) { input in
      let text = String(decoding: input, as: UTF8.self).printable
      try ensure(text.printable == text, "\(text) changes again")
      let isClean = text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      try ensure(isClean, "\(input.hex) has control characters left")
      try ensure(text.cut(toDisplayWidth: 20).displayWidth <= 20, "\(text) is too wide")
    },
  ]

  /// What was read is the same once it was written and read again.
  private static func checkIsStable<Value: JSONCodable & Equatable>(_ value: Value) throws {
    var json = JSONWriter()
    value.write(to: &json)
    let again = try Value(reading: try JSONValue(parsing: json.bytes))
    try ensure(again == value, "\(value) is read as \(again)")
  }

  /// No line of it can drive a terminal.
  private static func checkIsPrintable(_ text: String) throws {
    let lines = text.split(separator: "\n").map(String.init)
    try ensure(lines.allSatisfy { $0.printable == $0 }, "\(text) drives a terminal")
  }

  /// Input: topics and messages in turn, a line each, as somebody has published them where boards do.
  @Sendable private static func fleetView(_ input: [UInt8]) throws {
    let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false)
    var view = FleetView(prefix: "ancsd")
    for place in stride(from: 0, to: lines.count - 1, by: 2) {
      let topic = String(decoding: lines[place], as: UTF8.self)
      let payload = Array(lines[place + 1])
      let before = view.all
      let isNews = view.receive(topic, payload)
      try ensure(isNews == (view.all != before), "\(topic) is news: \(isNews)")
      if let response = FleetResponse(payload, transaction: "t", board: .board) {
        try checkIsPrintable(response.text(TextStyle(), now: .init(seconds: 0)))
        try checkIsStable(response)
      }
    }
    try checkIsPrintable(view.table(TextStyle()))
    for board in view.all { try checkIsStable(board) }
  }

  /// Input: a topic, perhaps behind a zero byte a Response Topic, and behind a line end a request.
  @Sendable private static func brokerRequest(_ input: [UInt8]) throws {
    let line = input.prefix { $0 != 0x0A }
    let topics = line.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    let message = IncomingMessage(
      topic: topics[0], payload: Array(input.dropFirst(line.count + 1)),
      responseTopic: topics.count > 1 ? topics[1] : nil)
    var policy = BridgeSettings().policy
    policy.allowed = Set(Permission.allCases)
    var mirror = BoardMirror(BoardTopics(board: .board), policy, newID: { "id" })
    var status = StatusReport()
    var link = LinkReport()
    link.services = [.ancs, .ams]
    status.links = [link]
    status.life = "life"
    _ = mirror.update(status, at: .init(seconds: 0))
    var desk = RequestDesk()
    let outcome = desk.receive(message, mirror, now: .zero, time: .init(seconds: 0))
    for publication in outcome.publications {
      let topic = publication.topic
      let isOwn = topic.hasPrefix("ancsd/board/") && topic.contains("/response/")
      try ensure(isOwn, "a response at \(topic)")
      _ = try JSONValue(parsing: publication.payload)
    }
    for (number, call) in outcome.calls {
      _ = try JSONValue(parsing: call(number))
      try ensure(desk.answered(number, ["result": true], mirror).count <= 1, "request \(number) is answered twice")
    }
    // An event of the daemon's, with whatever it has.
    guard let event = try? JSONValue(parsing: message.payload).object else { return }
    for publication in mirror.event(event, at: .init(seconds: 0), digest: nil)
      .publications
    where !publication.topic.hasSuffix("board/event") {
      let text = String(decoding: publication.payload, as: UTF8.self)
      try ensure(!text.contains(#""message":"#), "a message is told: \(text)")
    }
  }

  /// Input: the parameters of any method of the control socket, or a client's id.
  @Sendable private static func request(_ input: [UInt8]) throws {
    _ = RPC.event(in: input)
    guard let json = try? JSONValue(parsing: input) else { return }
    if let id = RequestID(json: json) { try checkIsStable(id) }
    let types: [any (JSONCodable & Equatable).Type] = [
      NoParameters.self, PhoneParameters.self, Subscription.self, NotificationQuery.self,
      NotificationParameters.self, ActionParameters.self, AppParameters.self, MediaParameters.self,
      PairingParameters.self, PairingResponse.self, ReadParameters.self, WriteParameters.self,
    ]
    for type in types { try check(json, type) }
  }

  /// Input: an expression, and behind a zero byte what a text is made of.
  @Sendable private static func expression(_ input: [UInt8]) throws {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    let pattern: TextPattern
    do throws(TextPattern.SyntaxError) {
      pattern = try TextPattern(String(decoding: parts[0], as: UTF8.self))
    } catch { return try ensure(!error.description.isEmpty, "refused without a reason") }
    let piece = Array(parts.dropFirst().first ?? parts[0])
    let text = [[UInt8]](repeating: piece, count: 1024 / max(1, piece.count)).flatMap(\.self)
    for text in [piece, text] { _ = try? pattern.matches(String(decoding: text, as: UTF8.self)) }
  }

  /// Input: the arguments, one a line.
  @Sendable private static func commandLine(_ input: [UInt8]) throws {
    let arguments = input.split(separator: 0x0A, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    do throws(Failure) {
      switch try Invocation(arguments, commands: commands, width: 80) {
      case .print: break
      case .perform(let command, let rest): try command.check(rest)
      }
    } catch { try ensure(error.status == .usage, "\(error) is no wrong command line") }
  }

  private static let commands: [Command] =
    [.run] + Clients.commands + Clients.phoneCommands
    + [.tui, .gatt, .trace, .decode, .phone, .report]

  private static func check<Parameters: JSONCodable & Equatable>(_ json: JSONValue, _ type: Parameters.Type) throws {
    if let parameters = try? Parameters(reading: json) { try checkIsStable(parameters) }
  }
}
