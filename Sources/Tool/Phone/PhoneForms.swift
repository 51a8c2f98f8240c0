// SPDX-License-Identifier: GPL-3.0-or-later
import Arguments
import Control
import JSON

/// How a command for the virtual phone is written: the members that it knows, and what it does.
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
    PhoneForm(.burst, ["count"] + contents, "adds so many at once"),
    PhoneForm(.modify, ["uid"] + contents, "modifies a notification"),
    PhoneForm(.remove, ["uid"], "removes one"),
    PhoneForm(.removeAll, "removes all"),
    PhoneForm(.renumber, "gives all new numbers, without telling anyone"),
    PhoneForm(.app, ["app_id", "app"], "names an app"),
    PhoneForm(.authorize, ["granted"], "switches Share System Notifications"),
    PhoneForm(.fragments, ["size"], "the maximum length of a Data Source fragment"),
    PhoneForm(.pace, ["answer", "fragment"], "seconds before each response and its fragments"),
    PhoneForm(.fail, ["code", "count"], "refuses the next commands"),
    PhoneForm(.silence, ["count"], "does not send the next responses"),
    PhoneForm(.cut, ["count"], "breaks the next responses off"),
    PhoneForm(
      .media, ["player", "queue", "track", "playlist", "commands"], "changes what plays"),
    PhoneForm(.mediaAttribute, ["entity", "attribute", "value"], "overrides a value"),
    PhoneForm(.remote, ["name"], "performs a remote command as the phone's user"),
    PhoneForm(.battery, ["level"], "sets the battery level"),
    PhoneForm(.time, ["time", "zone", "daylight_saving"], "sets the clock"),
    PhoneForm(.publish, ["service", "handles"], "adds a service again"),
    PhoneForm(.unpublish, ["service"], "removes a service"),
    PhoneForm(.forgetSubscriptions, ["service"], "drops subscriptions without telling anyone"),
    PhoneForm(.encrypt, ["encrypted"], "whether the link counts as encrypted; on the air: pairs"),
    PhoneForm(.limitMTU, ["mtu"], "the maximum MTU, from the next connection on"),
    PhoneForm(.freeze, ["frozen"], "stops answering anything"),
    PhoneForm(.disconnect, "drops the link"),
    PhoneForm(.leave, "goes out of reach"),
    PhoneForm(.comeBack, "comes back into reach"),
    PhoneForm(.connect, ["accessory"], "on the air: looks for an accessory"),
    PhoneForm(.respond, ["accept", "passkey"], "on the air: answers the last pairing"),
    PhoneForm(.forget, "on the air: forgets all bonds"),
    PhoneForm(.send, ["pdu"], "sends these bytes"),
    PhoneForm(.notify, ["characteristic", "value"], "sends a value"),
    PhoneForm(.indicate, ["characteristic", "value"], "sends a value, to be confirmed"),
    PhoneForm(.exchangeMTU, "asks the peer for its MTU"),
    PhoneForm(.discover, "asks the peer for its services"),
    PhoneForm(.read, ["uuid"], "reads a value of the peer"),
    PhoneForm(.explore, "all three, and every value that can be read"),
    PhoneForm(.day, ["once"], "plays the scripted day"),
    PhoneForm(.stopDay, "stops it"),
    PhoneForm(.wait, ["seconds", "event"], "reads no further line for so long, or until an event"),
    PhoneForm(.quit, "leaves"),
  ]

  /// The members of the objects that a member may be.
  private static let inner = [
    "player": ["name", "state", "rate", "elapsed", "volume"],
    "queue": ["index", "count", "shuffle", "repeat"],
    "track": ["artist", "album", "title", "duration"],
  ]

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
          + (near.map { ", did you mean \($0)?" } ?? "; it has \(known.joined(separator: ", "))"))
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

/// A command that is typed in words: `add title=Mum message="Saturday?"`.
enum PhoneWords {
  /// The words as the object of a command. A value that is JSON counts as such, everything else as a text.
  static func object(_ line: String) throws(ShapeError) -> JSONValue {
    let words = CommandLineWords.split(line)
    var object: JSONObject = ["command": .string(words.first ?? "")]
    for word in words.dropFirst() {
      guard let sign = word.firstIndex(of: "="), sign != word.startIndex else {
        throw ShapeError("“\(word)” is no NAME=VALUE, as in title=Mum")
      }
      let text = String(word[word.index(after: sign)...])
      object.add(String(word[..<sign]), (try? JSONValue(parsing: text.utf8)) ?? .string(text))
    }
    return .object(object)
  }
}
