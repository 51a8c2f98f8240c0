// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Companion
public import JSON
import LineEditor
import Mgmt
public import VirtualPhone
import Wire

/// A line on the virtual phone's standard input: `{"command":"add","title":"Mum"}`. Members are
/// named as in the daemon's events.
enum PhoneInstruction: Hashable, Sendable {
  /// A command for the phone.
  case command(PhoneCommand)
  /// A command that only the air has.
  case link(LinkCommand)
  /// A request from the phone to the peer.
  case request(ServerRequest)
  /// Play the scripted day.
  case day(once: Bool)
  case stopDay
  /// Read no further line for this time, or until an event of this name occurs.
  case wait(Duration?, event: String?)
  case quit

  /// - Throws: `JSONError`.
  init(json: JSONValue) throws {
    let fields = try JSONReader(json)
    let name: String = try fields.required("command")
    guard let form = PhoneForm.all.first(where: { $0.name == name }) else {
      let near = nearest(to: name, among: PhoneForm.all.map(\.name))
      throw JSONError("unknown command “\(name)”; \(near.map { "did you mean \($0)?" } ?? "“help” lists them")")
    }
    try form.check(fields.object)
    self = try form.read(fields)
  }

  /// A command typed in words, such as `add title=Mum message="Saturday?"`, as an object. Values that are JSON are parsed
  /// as such, all others are texts.
  static func object(words line: String) throws(JSONError) -> JSONValue {
    let words = CommandLineWords.split(line)
    var object: JSONObject = ["command": .string(words.first ?? "")]
    for word in words.dropFirst() {
      guard let sign = word.firstIndex(of: "="), sign != word.startIndex else {
        throw JSONError("“\(word)” is not NAME=VALUE, as in title=Mum")
      }
      let text = String(word[word.index(after: sign)...])
      object.add(String(word[..<sign]), (try? JSONValue(parsing: text.utf8)) ?? .string(text))
    }
    return .object(object)
  }
}

// MARK: - Members

extension JSONReader {
  /// Bytes in hexadecimal digits.
  fileprivate func octets(_ name: String) throws(JSONError) -> [UInt8] {
    try required(name, "bytes in hexadecimal digits") { $0.string.flatMap([UInt8].init(hex:)) }
  }

  /// A text, or `{"hex":"…"}` for arbitrary bytes; nil if absent.
  fileprivate func octetsOrText(_ name: String) throws(JSONError) -> [UInt8]? {
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
  fileprivate func contents(isNew: Bool = true) throws(JSONError) -> NotificationContents {
    var contents = NotificationContents(category: try optional("category"), flags: try optional("flags"))
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
  private func date() throws(JSONError) -> [UInt8]? {
    guard let value = try octetsOrText("date") else { return nil }
    let text = String(decoding: value, as: UTF8.self)
    return CivilTime(text) == nil ? value : Array(text.filter { $0 != "-" && $0 != ":" }.utf8)
  }

  // MARK: Media

  /// Changes of the media, in the form of the daemon's event.
  fileprivate func media() throws(JSONError) -> PhoneCommand {
    var change = MediaState()
    change.player = try optional("player") ?? change.player
    change.queue = try optional("queue") ?? change.queue
    change.track = try optional("track") ?? change.track
    change.commands = try optional("commands")
    return .media(change, playlist: try optional("playlist"))
  }

  /// `entity` and `attribute`, by the numbers or names that AMS gives them.
  fileprivate func mediaAttribute() throws(JSONError) -> MediaAttribute {
    let entity = try required("entity", "player, queue, track nor a number") { value in
      value.int.flatMap(UInt8.init(exactly:)).map(Entity.init(rawValue:))
        ?? Entity.all.first { $0.description == value.string }
    }
    return try required("attribute", "an attribute of the \(entity)") { value in
      value.int.flatMap(UInt8.init(exactly:)).map { MediaAttribute(entity, $0) }
        ?? entity.attributes.first { $0.description.lowercased() == value.string?.lowercased() }
    }
  }

  fileprivate func count(or usual: Int? = nil, upTo most: Int = 1_000_000) throws(JSONError) -> Int {
    let count = try optional("count", "a whole number from 1 to \(most)") { value in
      value.int.flatMap { (1...Int64(most)).contains($0) ? Int($0) : nil }
    }
    guard let count = count ?? usual else { throw JSONError("missing", at: "count") }
    return count
  }

  /// Seconds, with a fraction or without.
  fileprivate func duration(_ name: String) throws(JSONError) -> Duration? {
    try optional(name, "a number of seconds from 0 on") { value in
      value.double.flatMap { (0...1e6).contains($0) ? .microseconds(Int64($0 * 1e6)) : nil }
    }
  }

  /// An ATT error code, as a number or as in `"0xA2"`.
  fileprivate func errorCode() throws(JSONError) -> UInt8 {
    try required("code", "an error code from 1 to 255") { value in
      let number = value.int.flatMap(UInt8.init(exactly:))
      let text = value.string.flatMap {
        $0.hasPrefix("0x") ? UInt8(digits: $0.dropFirst(2), radix: 16) : nil
      }
      return (number ?? text).flatMap { $0 > 0 ? $0 : nil }
    }
  }

  fileprivate func time() throws(JSONError) -> CivilTime {
    try required("time", "a time such as 2026-11-21T07:00:00") {
      $0.string.flatMap { CivilTime($0) }
    }
  }

  /// The clock's distance from UTC: `zone` and `daylight_saving`, in seconds.
  fileprivate func zone() throws(JSONError) -> LocalTimeInformation? {
    guard let zone = try optional("zone", as: Int.self) else { return nil }
    let saving = try optional("daylight_saving") ?? 0
    return LocalTimeInformation(timeZone: zone / 900, daylightSaving: saving / 900)
  }

  fileprivate func freshHandles() throws(JSONError) -> Bool {
    try optional("handles", "fresh or same") { ["fresh": true, "same": false][$0.string ?? ""] } ?? true
  }

  fileprivate func accessory() throws(JSONError) -> AccessoryChoice? {
    try optional("accessory", "an address nor a name") { $0.string.flatMap(AccessoryChoice.init) }
  }
}

extension PublishedService: JSONNamed {
  public static var jsonKind: String { "one of \(allCases.map(\.rawValue))" }
}

extension PhoneCharacteristic: JSONNamed {
  public static var jsonKind: String { "one of \(allCases.map(\.rawValue))" }
}

/// The form of a command for the virtual phone: its members, what it does, and how it is read.
struct PhoneForm: Sendable {
  let name: String
  let members: [String]
  let summary: String
  /// Throws `JSONError`.
  let read: @Sendable (JSONReader) throws -> PhoneInstruction

  private init(
    _ name: String, _ members: [String], _ summary: String,
    _ read: @escaping @Sendable (JSONReader) throws -> PhoneInstruction
  ) {
    (self.name, self.members, self.summary, self.read) = (name, members, summary, read)
  }

  private init(_ name: String, _ summary: String, _ instruction: PhoneInstruction) {
    self.init(name, [], summary) { _ in instruction }
  }

  private static let contents = [
    "category", "flags", "app_id", "title", "subtitle", "message", "message_size", "date", "positive", "negative",
  ]

  /// All commands, in the order of the help.
  static let all: [PhoneForm] = [
    PhoneForm("add", ["uid"] + contents, "adds a notification") {
      .command(.add(try $0.contents(), uid: try $0.optional("uid")))
    },
    PhoneForm("burst", ["count"] + contents, "adds several at once") {
      .command(.burst(try $0.count(upTo: 10_000), try $0.contents()))
    },
    PhoneForm("modify", ["uid"] + contents, "modifies a notification") {
      .command(.modify(try $0.required("uid"), try $0.contents(isNew: false)))
    }, PhoneForm("remove", ["uid"], "removes one") { .command(.remove(try $0.required("uid"))) },
    PhoneForm("remove-all", "removes all", .command(.removeAll)),
    PhoneForm("renumber", "gives all new UIDs, without telling anyone", .command(.renumber)),
    PhoneForm("app", ["app_id", "app"], "names an app") {
      .command(.nameApp(try $0.required("app_id"), try $0.optional("app")))
    },
    PhoneForm("authorize", ["granted"], "switches Share System Notifications") {
      .command(.authorize(try $0.required("granted")))
    },
    PhoneForm("fragments", ["size"], "the maximum length of a Data Source fragment") {
      .command(.fragments(ofAtMost: try $0.optional("size")))
    },
    PhoneForm("pace", ["answer", "fragment"], "seconds before each response and its fragments") {
      let fragment = try $0.duration("fragment") ?? .zero
      return .command(.pace(response: try $0.duration("answer") ?? .zero, fragment: fragment))
    },
    PhoneForm("fail", ["code", "count"], "refuses the next commands") {
      .command(.failCommands(code: try $0.errorCode(), count: try $0.count(or: 1)))
    },
    PhoneForm("silence", ["count"], "does not send the next responses") {
      .command(.silence(try $0.count(or: 1)))
    },
    PhoneForm("cut", ["count"], "truncates the next responses") {
      .command(.cutResponses(try $0.count(or: 1)))
    },
    PhoneForm(
      "media", ["player", "queue", "track", "playlist", "commands"], "changes what is playing"
    ) { .command(try $0.media()) },
    PhoneForm("media-attribute", ["entity", "attribute", "value"], "overrides a value") {
      .command(.mediaAttribute(try $0.mediaAttribute(), try $0.octetsOrText("value")))
    },
    PhoneForm("remote", ["name"], "performs a remote command as the phone's user") {
      .command(.remote(try $0.required("name")))
    },
    PhoneForm("battery", ["level"], "sets the battery level") {
      .command(.battery(try $0.required("level")))
    },
    PhoneForm("time", ["time", "zone", "daylight_saving"], "sets the clock") {
      .command(.time(try $0.time(), zone: try $0.zone()))
    },
    PhoneForm("publish", ["service", "handles"], "adds a service again") {
      .command(.publish(try $0.required("service"), freshHandles: try $0.freshHandles()))
    },
    PhoneForm("unpublish", ["service"], "removes a service") {
      .command(.unpublish(try $0.required("service")))
    },
    PhoneForm("forget-subscriptions", ["service"], "drops subscriptions without telling anyone") {
      .command(.forgetSubscriptions(try $0.optional("service")))
    },
    PhoneForm("encrypt", ["encrypted"], "whether the link counts as encrypted; on the air: pairs") {
      .command(.encrypt(try $0.required("encrypted")))
    },
    PhoneForm("limit-mtu", ["mtu"], "the maximum MTU, from the next connection on") {
      .command(.limitMTU(try $0.required("mtu")))
    },
    PhoneForm("freeze", ["frozen"], "stops responding to anything") {
      .command(.freeze(try $0.required("frozen")))
    },
    PhoneForm("disconnect", "drops the link", .command(.disconnect)),
    PhoneForm("leave", "goes out of range", .command(.leave)),
    PhoneForm("come-back", "comes back into range", .command(.comeBack)),
    PhoneForm(
      "tap", "its user taps the accessory: a phone that has given up connects again", .command(.tap)
    ),
    PhoneForm(
      "control-center",
      "its user switches Bluetooth off in Control Center, until 5 in the morning",
      .command(.controlCenter)),
    PhoneForm("connect", ["accessory"], "on the air: looks for an accessory") {
      .link(.connect(try $0.accessory()))
    },
    PhoneForm("respond", ["accept", "passkey"], "on the air: answers the last pairing") {
      .link(.respond(accept: try $0.required("accept"), try $0.optional("passkey")))
    }, PhoneForm("forget", "on the air: forgets all bonds", .link(.forget)),
    PhoneForm("send", ["pdu"], "sends these bytes") { .command(.send(try $0.octets("pdu"))) },
    PhoneForm("notify", ["characteristic", "value"], "sends a value") {
      .command(.notify(try $0.required("characteristic"), try $0.octets("value")))
    },
    PhoneForm("indicate", ["characteristic", "value"], "sends a value as an indication") {
      .command(.indicate(try $0.required("characteristic"), try $0.octets("value")))
    }, PhoneForm("exchange-mtu", "asks the peer for its MTU", .request(.exchangeMTU)),
    PhoneForm("discover", "asks the peer for its services", .request(.discover)),
    PhoneForm("read", ["uuid"], "reads a value from the peer") {
      .request(.read(try $0.required("uuid")))
    },
    PhoneForm("explore", "all three, and reads every readable value", .request(.explore)),
    PhoneForm("day", ["once"], "plays the scripted day") {
      .day(once: try $0.optional("once") ?? true)
    },
    PhoneForm("stop-day", "stops it", .stopDay),
    PhoneForm("wait", ["seconds", "event"], "reads no further line for that time, or until an event") {
      .wait(try $0.duration("seconds"), event: try $0.optional("event"))
    }, PhoneForm("quit", "exits", .quit),
  ]

  /// The members of the objects that a member may be.
  private static let inner = [
    "player": ["name", "state", "rate", "elapsed", "volume"], "queue": ["index", "count", "shuffle", "repeat"],
    "track": ["artist", "album", "title", "duration"],
  ]

  /// The commands or members that the word before the cursor can become.
  static func complete(_ text: String) -> Completion {
    let (words, typed) = CommandLineWords.beforeCursor(text)
    let form = words.first.flatMap { name in all.first { $0.name == name } }
    let candidates = words.isEmpty ? all.map(\.name) + ["help"] : form?.members.map { $0 + "=" } ?? []
    return Completion(typed: typed.count, words: candidates.filter { $0.hasPrefix(typed) })
  }

  /// Throws the first member that the command does not know.
  func check(_ object: JSONObject) throws(JSONError) {
    try Self.check(object, members + ["command", "id"], of: name)
    for (member, known) in Self.inner where members.contains(member) {
      if let inside = object[member]?.object { try Self.check(inside, known, of: member) }
    }
  }

  private static func check(_ object: JSONObject, _ known: [String], of name: String) throws(JSONError) {
    for (member, _) in object.members where !known.contains(member) {
      let near = nearest(to: member, among: known)
      throw JSONError(
        "\(name) has no member “\(member)”"
          + (near.map { "; did you mean \($0)?" } ?? "; it has \(known.joined(separator: ", "))"))
    }
  }

  /// The commands with their members, as the command `help` prints them.
  static var help: String {
    let lines = columns(
      all.map { form in
        let members = form.members.isEmpty ? "" : " (\(form.members.joined(separator: ", ")))"
        return (form.name, form.summary + members)
      })
    return
      (lines + [
        "",
        "As in: add title=Mum message='Saturday?'   or as JSON: {\"command\":\"add\",\"title\":\"Mum\"}",
      ]).joined(separator: "\n")
  }
}
