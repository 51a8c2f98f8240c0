// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Companion
import Arguments
import Control
import JSON
import VirtualPhone
import Wire

/// A line on the virtual phone's standard input: `{"command":"add","title":"Mum"}`. Members are named
/// as in the daemon's events.
enum PhoneInstruction: Hashable {
  /// Something for the phone to do.
  case command(PhoneCommand)
  /// Something for the phone to ask the other end.
  case question(PhoneQuestion)
  /// Play the scripted day.
  case day(once: Bool)
  case stopDay
  /// Read no further line for so long, or until the phone has told an event of this name.
  case wait(Duration?, event: String?)
  case quit

  init(json: JSONValue) throws(ShapeError) {
    let fields = try JSONReader(json)
    let name: String = try fields.required("command")
    if let reading = Self.readings[name] {
      self = try reading(fields)
    } else if let reading = Self.commands[name] {
      self = .command(try reading(fields))
    } else {
      let near = nearest(to: name, among: Self.names)
      throw ShapeError("unknown command \(name)\(near.map { ", did you mean \($0)?" } ?? "")")
    }
  }

  private typealias Reading<Value> = @Sendable (JSONReader) throws(ShapeError) -> Value

  /// The names of all commands, for the help.
  static var names: [String] { (Array(commands.keys) + Array(readings.keys)).sorted() }

  private static let readings: [String: Reading<PhoneInstruction>] = [
    "exchange-mtu": { _ throws(ShapeError) in .question(.exchangeMTU) },
    "discover": { _ throws(ShapeError) in .question(.discover) },
    "read": { fields throws(ShapeError) in
      .question(.read(try fields.required("uuid")))
    },
    "day": { fields throws(ShapeError) in .day(once: try fields.optional("once") ?? true) },
    "stop-day": { _ throws(ShapeError) in .stopDay },
    "wait": { fields throws(ShapeError) in
      .wait(try fields.duration("seconds"), event: try fields.optional("event"))
    },
    "quit": { _ throws(ShapeError) in .quit },
  ]

  private static let commands: [String: Reading<PhoneCommand>] = [
    "add": { fields throws(ShapeError) in
      .add(try fields.contents(), uid: try fields.optional("uid"))
    },
    "burst": { fields throws(ShapeError) in
      .burst(try fields.count("count", upTo: 10_000), try fields.contents())
    },
    "modify": { fields throws(ShapeError) in
      .modify(try fields.required("uid"), try fields.contents(isNew: false))
    },
    "remove": { fields throws(ShapeError) in .remove(try fields.required("uid")) },
    "remove-all": { _ throws(ShapeError) in .removeAll },
    "renumber": { _ throws(ShapeError) in .renumber },
    "app": { fields throws(ShapeError) in
      .nameApp(try fields.required("app_id"), try fields.optional("app"))
    },
    "authorize": { fields throws(ShapeError) in .authorize(try fields.required("granted")) },
    "fragments": { fields throws(ShapeError) in
      .fragments(ofAtMost: try fields.optional("size"))
    },
    "pace": { fields throws(ShapeError) in
      .pace(
        answer: try fields.duration("answer") ?? .zero,
        fragment: try fields.duration("fragment") ?? .zero)
    },
    "fail": { fields throws(ShapeError) in
      .failCommands(code: try fields.errorCode(), count: try fields.count("count", or: 1))
    },
    "silence": { fields throws(ShapeError) in .silence(try fields.count("count", or: 1)) },
    "cut": { fields throws(ShapeError) in .cutAnswers(try fields.count("count", or: 1)) },
    "media": { fields throws(ShapeError) in .media(try fields.media()) },
    "media-attribute": { fields throws(ShapeError) in
      .mediaAttribute(try fields.mediaAttribute(), try fields.octetsOrText("value"))
    },
    "remote": { fields throws(ShapeError) in
      .remote(try fields.required("name"))
    },
    "battery": { fields throws(ShapeError) in .battery(try fields.required("level")) },
    "time": { fields throws(ShapeError) in
      .time(
        try fields.required("time", "a time such as 2026-11-21T07:00:00") {
          $0.string.flatMap { CivilTime($0) }
        }, zone: try fields.zone())
    },
    "publish": { fields throws(ShapeError) in
      let handles = try fields.optional("handles", "fresh or same") {
        ["fresh", "same"].contains($0.string) ? $0.string : nil
      }
      return .publish(try fields.required("service"), freshHandles: handles != "same")
    },
    "unpublish": { fields throws(ShapeError) in .unpublish(try fields.required("service")) },
    "forget-subscriptions": { fields throws(ShapeError) in
      .forgetSubscriptions(try fields.optional("service"))
    },
    "encrypt": { fields throws(ShapeError) in .encrypt(try fields.required("encrypted")) },
    "limit-mtu": { fields throws(ShapeError) in .limitMTU(try fields.required("mtu")) },
    "freeze": { fields throws(ShapeError) in .freeze(try fields.required("frozen")) },
    "disconnect": { _ throws(ShapeError) in .disconnect },
    "leave": { _ throws(ShapeError) in .leave },
    "come-back": { _ throws(ShapeError) in .comeBack },
    "send": { fields throws(ShapeError) in .send(try fields.octets("pdu")) },
    "notify": { fields throws(ShapeError) in
      .notify(try fields.required("characteristic"), try fields.octets("value"))
    },
    "indicate": { fields throws(ShapeError) in
      .indicate(try fields.required("characteristic"), try fields.octets("value"))
    },
  ]
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

  /// How far the clock is from UTC: `zone` and `daylight_saving`, in seconds.
  fileprivate func zone() throws(ShapeError) -> LocalTimeInformation? {
    guard let zone = try optional("zone", as: Int.self) else { return nil }
    let saving = try optional("daylight_saving") ?? 0
    return LocalTimeInformation(timeZone: zone / 900, daylightSaving: saving / 900)
  }
}

extension PublishedService: JSONNamed {
  public static var jsonKind: String { "one of \(allCases.map(\.rawValue))" }
}

extension PhoneCharacteristic: JSONNamed {
  public static var jsonKind: String { "one of \(allCases.map(\.rawValue))" }
}
