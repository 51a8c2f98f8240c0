// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
public import JSON
public import Wire

extension BoardMirror {
  /// Handles an event.
  ///
  /// - Returns: the publications, and what it makes out of date; if that is nothing, call `settle` soon: many events
  ///   change the same counters.
  public mutating func event(
    _ event: JSONObject, at now: WallTime, digest: MirrorPolicy.Digest?
  ) -> (publications: [Publication], outdated: EventName.Outdated) {
    guard let kind = event["event"]?.string.flatMap(EventName.init(rawValue:)) else {
      return ([], .nothing)
    }
    let address = event["phone"].flatMap { Address(json: $0) }
    // What is sent again after an outage is news, but no longer the present.
    let isPast = knows(event)
    var named = event
    let publications: [Publication]
    switch kind {
    case .notification:
      let name = meet(address)
      if !isPast { note(event, of: name) }
      named["phone"] = .string("\(name)")
      named["digest"] = digest.map { .string($0(Self.signature(event))) }
      publications = notification(named, of: name)
    case .media:
      if !isPast { play(event.playing, of: meet(address), at: event["time"]) }
      publications = []
    default:
      named["phone"] = address.flatMap { names.name(of: $0) }.map { .string("\($0)") }
      publications = [boardEvent(named, kind)].compactMap { $0 }
      if kind == .disconnected, !isPast {
        parted(address, at: event["time"].flatMap { WallTime(json: $0) } ?? now)
      }
    }
    return (publications, isPast ? .nothing : kind.outdates)
  }

  /// Identifies a notification across boards.
  private static func signature(_ event: JSONObject) -> [UInt8] {
    let texts = ["phone", "app_id", "date", "title", "message"].map { event[$0]?.string ?? "" }
    return Array(texts.joined(separator: "\u{0}").utf8)
  }

  private func notification(_ event: JSONObject, of name: TopicName) -> [Publication] {
    let category = event["category"].flatMap { ANCS.Category(json: $0) }
    // The notification of a removal is already known, and a removal without an app would match fewer rules.
    let level = policy.content.level(app: event["app_id"]?.string, category: category, phone: name)
    let flags = event["flags"].flatMap { EventFlags(json: $0) } ?? []
    let isOldNews = flags.contains(.preExisting) || event["repeat"] == true
    let isAdded = event["change"] == "added"
    guard level > .none, policy.includesPreExisting || !isAdded || !isOldNews else { return [] }
    let object = event.notification(level)
    var news = [publication(object, to: topics.of(name, .notificationEvent))]
    if let change = Self.callChange(event["change"]?.string, category) {
      var call = object
      call["event"] = "call"
      call["change"] = .string(change)
      news.append(publication(call, to: topics.of(name, .callEvent)))
    }
    return news
  }

  /// The change of a call that a notification reports; nil if none.
  private static func callChange(_ change: String?, _ category: ANCS.Category?) -> String? {
    switch (category, change) {
    case (.incomingCall?, "added"): "incoming"
    case (.incomingCall?, "removed"): "ended"
    case (.missedCall?, "added"): "missed"
    default: nil
    }
  }

  private func publication(_ object: JSONObject, to topic: String) -> Publication {
    let position = Position(life: life ?? "", seq: UInt64(clamping: object["seq"]?.int ?? 0))
    return Publication(topic, JSONValue.object(object).json, .event(position, expiry: policy.expiry))
  }

  /// The published part of an event about the board; nil for events that are published elsewhere.
  private func boardEvent(_ event: JSONObject, _ kind: EventName) -> Publication? {
    guard let members = Self.membersOfEvents[kind] else { return nil }
    let names = ["event", "seq", "time", "adapter", "phone"] + members
    return publication(event.keeping(names, board: visibleName), to: topics.boardEvent)
  }

  /// The published members of events about a board. They include neither a passkey, nor an address, nor a text with
  /// something of the phone's in it.
  private static let membersOfEvents: [EventName: [String]] = [
    .ready: ["name", "version", "life"], .connected: ["encrypted", "bonded", "profile"],
    .pairing: ["method", "seconds"], .paired: [], .pairingFailed: ["reason"],
    .subscribed: ["services", "mtu", "requests"],
    .authorization: ["granted", "state", "waits_for"],
    .stale: [], .servicesChanged: ["services"], .disconnected: ["reason"],
    .error: ["what", "code"], .lost: ["count", "first", "last"],
  ]
}

extension JSONObject {
  /// The part of a `media` event that `media.get` returns.
  fileprivate var playing: JSONObject {
    var object = self
    for name in ["event", "seq", "time", "adapter", "phone"] { object[name] = nil }
    return object
  }
}
