// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Arguments
import Companion
import Control
public import JSON
import LineEditor
import Mgmt
public import VirtualPhone
import Wire

/// A line on the virtual phone's standard input: `{"command":"add","title":"Mum"}`. Members are
/// named as in the daemon's events.
enum PhoneInstruction: Hashable {
  /// A command for the phone.
  case command(PhoneCommand)
  /// A command for the phone's transport.
  case link(LinkCommand)
  /// A request from the phone to the peer.
  case request(ServerRequest)
  /// Play the scripted day.
  case day(once: Bool)
  case stopDay
  /// Read no further line for this time, or until an event of this name occurs.
  case wait(Duration?, event: String?)
  case quit
}

extension PhoneInstruction {
  /// The names of the commands.
  enum Name: String, CaseIterable {
    case add, burst, modify, remove, renumber, app, authorize, fragments, pace, fail, silence, cut
    case media, remote, battery, time, publish, unpublish, encrypt, freeze, disconnect, leave
    case connect, forget, respond, send, notify, indicate, discover, read, explore, day, wait, quit
    case tap
    case controlCenter = "control-center"
    case removeAll = "remove-all"
    case mediaAttribute = "media-attribute"
    case forgetSubscriptions = "forget-subscriptions"
    case limitMTU = "limit-mtu"
    case comeBack = "come-back"
    case exchangeMTU = "exchange-mtu"
    case stopDay = "stop-day"
  }

  /// The names of all commands.
  static var names: [String] { Name.allCases.map(\.rawValue) }

  init(json: JSONValue) throws(ShapeError) {
    let fields = try JSONReader(json)
    let text: String = try fields.required("command")
    guard let name = Name(rawValue: text) else {
      let near = nearest(to: text, among: Self.names)
      throw ShapeError(
        "unknown command “\(text)”; \(near.map { "did you mean \($0)?" } ?? "“help” lists them")")
    }
    try PhoneForm.all.first { $0.command == name }?.check(fields.object)
    self = try Self.read(name, fields)
  }

  private static func read(
    _ name: Name, _ fields: JSONReader
  ) throws(ShapeError) -> PhoneInstruction {
    switch name {
    case .exchangeMTU: .request(.exchangeMTU)
    case .discover: .request(.discover)
    case .explore: .request(.explore)
    case .read: .request(.read(try fields.required("uuid")))
    case .day: .day(once: try fields.optional("once") ?? true)
    case .stopDay: .stopDay
    case .wait: .wait(try fields.duration("seconds"), event: try fields.optional("event"))
    case .quit: .quit
    case .add: .command(.add(try fields.contents(), uid: try fields.optional("uid")))
    case .burst: .command(.burst(try fields.count("count", upTo: 10_000), try fields.contents()))
    case .modify: .command(.modify(try fields.required("uid"), try fields.contents(isNew: false)))
    case .remove: .command(.remove(try fields.required("uid")))
    case .removeAll: .command(.removeAll)
    case .renumber: .command(.renumber)
    case .app: .command(.nameApp(try fields.required("app_id"), try fields.optional("app")))
    case .authorize: .command(.authorize(try fields.required("granted")))
    case .fragments: .command(.fragments(ofAtMost: try fields.optional("size")))
    case .pace: .command(try fields.pace())
    case .fail:
      .command(.failCommands(code: try fields.errorCode(), count: try fields.count("count", or: 1)))
    case .silence: .command(.silence(try fields.count("count", or: 1)))
    case .cut: .command(.cutResponses(try fields.count("count", or: 1)))
    case .media: .command(.media(try fields.media()))
    case .mediaAttribute:
      .command(.mediaAttribute(try fields.mediaAttribute(), try fields.octetsOrText("value")))
    case .remote: .command(.remote(try fields.required("name")))
    case .battery: .command(.battery(try fields.required("level")))
    case .time: .command(.time(try fields.time(), zone: try fields.zone()))
    case .publish:
      .command(.publish(try fields.required("service"), freshHandles: try fields.freshHandles()))
    case .unpublish: .command(.unpublish(try fields.required("service")))
    case .forgetSubscriptions: .command(.forgetSubscriptions(try fields.optional("service")))
    case .encrypt: .link(.encrypt(try fields.required("encrypted")))
    case .limitMTU: .command(.limitMTU(try fields.required("mtu")))
    case .freeze: .command(.freeze(try fields.required("frozen")))
    case .disconnect: .link(.disconnect)
    case .leave: .link(.leave)
    case .comeBack: .link(.comeBack)
    case .tap: .command(.tap)
    case .controlCenter: .command(.controlCenter)
    case .connect: .link(.connect(try fields.accessory()))
    case .forget: .link(.forget)
    case .respond:
      .link(.respond(accept: try fields.required("accept"), try fields.passkey()))
    case .send: .command(.send(try fields.octets("pdu")))
    case .notify:
      .command(.notify(try fields.required("characteristic"), try fields.octets("value")))
    case .indicate:
      .command(.indicate(try fields.required("characteristic"), try fields.octets("value")))
    }
  }
}

// MARK: - Members

extension JSONReader {
  /// Bytes in hexadecimal digits.
  fileprivate func octets(_ name: String) throws(ShapeError) -> [UInt8] {
    try required(name, "bytes in hexadecimal digits") { $0.string.flatMap([UInt8].init(hex:)) }
  }

  /// A text, or `{"hex":"…"}` for arbitrary bytes; nil if absent.
  fileprivate func octetsOrText(_ name: String) throws(ShapeError) -> [UInt8]? {
    try optional(name, "a string, nor an object with hex") { value in
      if let text = value.string { return Array(text.utf8) }
      return value["hex"]?.string.flatMap([UInt8].init(hex:))
    }
  }

  private static let texts: [(String, NotificationAttributeID)] = [
    ("app_id", .appIdentifier), ("title", .title), ("subtitle", .subtitle), ("message", .message),
    ("positive", .positiveActionLabel), ("negative", .negativeActionLabel),
  ]

  /// The contents of a notification. By default a new one is a message that can be cleared.
  fileprivate func contents(isNew: Bool = true) throws(ShapeError) -> NotificationContents {
    var contents = NotificationContents(
      category: try optional("category"), flags: try optional("flags"))
    for (name, id) in Self.texts { contents.attributes[id] = try octetsOrText(name) }
    contents.attributes[.date] = try date()
    contents.attributes[.messageSize] = try optional("message_size", "a number nor a string") {
      ($0.int.map(String.init) ?? $0.string).map { Array($0.utf8) }
    }
    if isNew {
      contents.category = contents.category ?? .social
      contents[.appIdentifier] = contents[.appIdentifier] ?? "com.apple.MobileSMS"
      contents[.negativeActionLabel] = contents[.negativeActionLabel] ?? "Clear"
    }
    return contents
  }

  /// A date as in the daemon's events, or any text or bytes to send as one.
  private func date() throws(ShapeError) -> [UInt8]? {
    guard let value = try octetsOrText("date") else { return nil }
    let text = String(decoding: value, as: UTF8.self)
    return CivilTime(text) == nil ? value : Array(text.filter { $0 != "-" && $0 != ":" }.utf8)
  }

  // MARK: Media

  /// Changes of the media, in the form of the daemon's event.
  fileprivate func media() throws(ShapeError) -> MediaChange {
    var change = MediaChange()
    if let player = try object("player") {
      change.playerName = try player.optional("name")
      change.state = try player.optional("state")
      change.rate = try player.optional("rate")
      change.elapsed = try player.optional("elapsed")
      change.volume = try player.optional("volume")
    }
    if let queue = try object("queue") {
      change.index = try queue.optional("index")
      change.count = try queue.optional("count")
      change.shuffleMode = try queue.optional("shuffle")
      change.repeatMode = try queue.optional("repeat")
    }
    change.track = try optional("track")
    change.playlist = try optional("playlist")
    change.commands = try optional("commands")
    return change
  }

  private func object(_ name: String) throws(ShapeError) -> JSONReader? {
    try optional(name, "an object") { try? JSONReader($0) }
  }

  /// `entity` and `attribute`, by the numbers or names that AMS gives them.
  fileprivate func mediaAttribute() throws(ShapeError) -> MediaAttribute {
    let entity = try required("entity", "player, queue, track nor a number") { value in
      value.int.flatMap(UInt8.init(exactly:)).map(Entity.init(rawValue:))
        ?? Entity.all.first { $0.description == value.string }
    }
    return try required("attribute", "an attribute of the \(entity)") { value in
      value.int.flatMap(UInt8.init(exactly:)).map { MediaAttribute(entity, $0) }
        ?? entity.attributes.first { $0.description.lowercased() == value.string?.lowercased() }
    }
  }
}

extension JSONReader {
  fileprivate func count(
    _ name: String, or usual: Int? = nil, upTo most: Int = 1_000_000
  ) throws(ShapeError) -> Int {
    let read: (JSONValue) -> Int? = { value in
      value.int.flatMap { (1...Int64(most)).contains($0) ? Int($0) : nil }
    }
    let kind = "a whole number from 1 to \(most)"
    if let usual { return try optional(name, kind, read) ?? usual }
    return try required(name, kind, read)
  }

  /// Seconds, with a fraction or without.
  fileprivate func duration(_ name: String) throws(ShapeError) -> Duration? {
    try optional(name, "a number of seconds from 0 on") { value in
      value.double.flatMap { (0...1e6).contains($0) ? .microseconds(Int64($0 * 1e6)) : nil }
    }
  }

  /// An ATT error code, as a number or as in `"0xA2"`.
  fileprivate func errorCode() throws(ShapeError) -> UInt8 {
    try required("code", "an error code from 1 to 255") { value in
      let number = value.int.flatMap(UInt8.init(exactly:))
      let text = value.string.flatMap {
        $0.hasPrefix("0x") ? UInt8($0.dropFirst(2), radix: 16) : nil
      }
      return (number ?? text).flatMap { $0 > 0 ? $0 : nil }
    }
  }

  /// The delays before responses and between fragments.
  fileprivate func pace() throws(ShapeError) -> PhoneCommand {
    .pace(response: try duration("answer") ?? .zero, fragment: try duration("fragment") ?? .zero)
  }

  fileprivate func time() throws(ShapeError) -> CivilTime {
    try required("time", "a time such as 2026-11-21T07:00:00") {
      $0.string.flatMap { CivilTime($0) }
    }
  }

  /// The clock's distance from UTC: `zone` and `daylight_saving`, in seconds.
  fileprivate func zone() throws(ShapeError) -> LocalTimeInformation? {
    guard let zone = try optional("zone", as: Int.self) else { return nil }
    let saving = try optional("daylight_saving") ?? 0
    return LocalTimeInformation(timeZone: zone / 900, daylightSaving: saving / 900)
  }

  fileprivate func freshHandles() throws(ShapeError) -> Bool {
    try optional("handles", "fresh or same") { ["fresh": true, "same": false][$0.string ?? ""] }
      ?? true
  }
}

extension JSONReader {
  fileprivate func accessory() throws(ShapeError) -> AccessoryChoice? {
    try optional("accessory", "an address nor a name") { $0.string.flatMap(AccessoryChoice.init) }
  }

  fileprivate func passkey() throws(ShapeError) -> Passkey? {
    try optional("passkey", "six digits") { $0.string.flatMap(Passkey.init) }
  }
}

extension PublishedService: JSONNamed {
  public static var jsonKind: String { "one of \(allCases.map(\.rawValue))" }
}

extension PhoneCharacteristic: JSONNamed {
  public static var jsonKind: String { "one of \(allCases.map(\.rawValue))" }
}

/// The form of a command for the virtual phone: its members, and what it does.
struct PhoneForm: Sendable {
  let command: PhoneInstruction.Name
  let members: [String]
  let summary: String

  var name: String { command.rawValue }

  private init(
    _ command: PhoneInstruction.Name, _ members: [String], _ summary: String
  ) {
    self.command = command
    self.members = members
    self.summary = summary
  }

  private init(_ command: PhoneInstruction.Name, _ summary: String) {
    self.init(command, [], summary)
  }

  private static let contents = [
    "category", "flags", "app_id", "title", "subtitle", "message", "message_size", "date",
    "positive", "negative",
  ]

  /// All commands, in the order of the help.
  static let all: [PhoneForm] = [
    PhoneForm(.add, ["uid"] + contents, "adds a notification"),
    PhoneForm(.burst, ["count"] + contents, "adds several at once"),
    PhoneForm(.modify, ["uid"] + contents, "modifies a notification"),
    PhoneForm(.remove, ["uid"], "removes one"),
    PhoneForm(.removeAll, "removes all"),
    PhoneForm(.renumber, "gives all new UIDs, without telling anyone"),
    PhoneForm(.app, ["app_id", "app"], "names an app"),
    PhoneForm(.authorize, ["granted"], "switches Share System Notifications"),
    PhoneForm(.fragments, ["size"], "the maximum length of a Data Source fragment"),
    PhoneForm(.pace, ["answer", "fragment"], "seconds before each response and its fragments"),
    PhoneForm(.fail, ["code", "count"], "refuses the next commands"),
    PhoneForm(.silence, ["count"], "does not send the next responses"),
    PhoneForm(.cut, ["count"], "truncates the next responses"),
    PhoneForm(
      .media, ["player", "queue", "track", "playlist", "commands"], "changes what is playing"),
    PhoneForm(.mediaAttribute, ["entity", "attribute", "value"], "overrides a value"),
    PhoneForm(.remote, ["name"], "performs a remote command as the phone's user"),
    PhoneForm(.battery, ["level"], "sets the battery level"),
    PhoneForm(.time, ["time", "zone", "daylight_saving"], "sets the clock"),
    PhoneForm(.publish, ["service", "handles"], "adds a service again"),
    PhoneForm(.unpublish, ["service"], "removes a service"),
    PhoneForm(.forgetSubscriptions, ["service"], "drops subscriptions without telling anyone"),
    PhoneForm(.encrypt, ["encrypted"], "whether the link counts as encrypted; on the air: pairs"),
    PhoneForm(.limitMTU, ["mtu"], "the maximum MTU, from the next connection on"),
    PhoneForm(.freeze, ["frozen"], "stops responding to anything"),
    PhoneForm(.disconnect, "drops the link"),
    PhoneForm(.leave, "goes out of range"),
    PhoneForm(.comeBack, "comes back into range"),
    PhoneForm(.tap, "its user taps the accessory: a phone that has given up connects again"),
    PhoneForm(
      .controlCenter, "its user switches Bluetooth off in Control Center, until 5 in the morning"),
    PhoneForm(.connect, ["accessory"], "on the air: looks for an accessory"),
    PhoneForm(.respond, ["accept", "passkey"], "on the air: answers the last pairing"),
    PhoneForm(.forget, "on the air: forgets all bonds"),
    PhoneForm(.send, ["pdu"], "sends these bytes"),
    PhoneForm(.notify, ["characteristic", "value"], "sends a value"),
    PhoneForm(.indicate, ["characteristic", "value"], "sends a value as an indication"),
    PhoneForm(.exchangeMTU, "asks the peer for its MTU"),
    PhoneForm(.discover, "asks the peer for its services"),
    PhoneForm(.read, ["uuid"], "reads a value from the peer"),
    PhoneForm(.explore, "all three, and reads every readable value"),
    PhoneForm(.day, ["once"], "plays the scripted day"),
    PhoneForm(.stopDay, "stops it"),
    PhoneForm(
      .wait, ["seconds", "event"], "reads no further line for that time, or until an event"),
    PhoneForm(.quit, "exits"),
  ]

  /// The members of the objects that a member may be.
  private static let inner = [
    "player": ["name", "state", "rate", "elapsed", "volume"],
    "queue": ["index", "count", "shuffle", "repeat"],
    "track": ["artist", "album", "title", "duration"],
  ]

  /// The commands or members that the word before the cursor can become.
  static func complete(_ text: String) -> Completion {
    let (words, typed) = CommandLineWords.beforeCursor(text)
    let form = words.first.flatMap { name in all.first { $0.name == name } }
    let candidates =
      words.isEmpty ? all.map(\.name) + ["help"] : form?.members.map { $0 + "=" } ?? []
    return Completion(typed: typed.count, words: candidates.filter { $0.hasPrefix(typed) })
  }

  /// Throws the first member that the command does not know.
  func check(_ object: JSONObject) throws(ShapeError) {
    try Self.check(object, members + ["command", "id"], of: name)
    for (member, known) in Self.inner where members.contains(member) {
      if let inside = object[member]?.object { try Self.check(inside, known, of: member) }
    }
  }

  private static func check(
    _ object: JSONObject, _ known: [String], of name: String
  ) throws(ShapeError) {
    for (member, _) in object.members where !known.contains(member) {
      let near = nearest(to: member, among: known)
      throw ShapeError(
        "\(name) has no member “\(member)”"
          + (near.map { "; did you mean \($0)?" } ?? "; it has \(known.joined(separator: ", "))"))
    }
  }

  /// The commands with their members, as the command `help` prints them.
  static var help: String {
    let column = (all.map(\.name.count).max() ?? 0) + 2
    let lines = all.map { form in
      let gap = String(repeating: " ", count: column - form.name.count)
      let members = form.members.isEmpty ? "" : " (\(form.members.joined(separator: ", ")))"
      return form.name + gap + form.summary + members
    }
    return
      (lines + [
        "",
        "As in: add title=Mum message='Saturday?'   or as JSON: {\"command\":\"add\",\"title\":\"Mum\"}",
      ]).joined(separator: "\n")
  }
}

/// A command typed in words: `add title=Mum message="Saturday?"`.
enum PhoneWords {
  /// The words as the object of a command. Values that are JSON are parsed as such, all others are
  /// texts.
  static func object(_ line: String) throws(ShapeError) -> JSONValue {
    let words = CommandLineWords.split(line)
    var object: JSONObject = ["command": .string(words.first ?? "")]
    for word in words.dropFirst() {
      guard let sign = word.firstIndex(of: "="), sign != word.startIndex else {
        throw ShapeError("“\(word)” is not NAME=VALUE, as in title=Mum")
      }
      let text = String(word[word.index(after: sign)...])
      object.add(String(word[..<sign]), (try? JSONValue(parsing: text.utf8)) ?? .string(text))
    }
    return .object(object)
  }
}
