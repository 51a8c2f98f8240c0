// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
public import JSON
public import Wire

extension BoardMirror {
  /// The consequences of an event for states.
  public enum Consequence: Hashable, Sendable {
    case nothing
    /// Query the daemon's status.
    case asksStatus
    /// Query the daemon's status and its notifications: what it had for a phone may be gone.
    case asksAll
    /// Call `settle` soon: many events change the same counters.
    case settles
  }

  /// Handles an event.
  ///
  /// - Returns: the publications, and the further consequences.
  public mutating func event(
    _ event: JSONObject, at now: WallTime, digest: MirrorPolicy.Digest?
  ) -> (publications: [Publication], then: Consequence) {
    let address = event["phone"].flatMap { Address(json: $0) }
    var named = event
    switch event["event"]?.string.flatMap(EventName.init(rawValue:)) {
    case .notification?:
      let name = meet(address)
      note(event, of: name)
      named["phone"] = .string("\(name)")
      named["digest"] = digest.map { .string($0(Self.signature(event))) }
      return (notification(named, of: name), .settles)
    case .media?:
      play(event.playing, of: meet(address), at: event["time"])
      return ([], .settles)
    case .battery?, .advertising?, .why?: return ([], .asksStatus)
    case .time?, .incoming?, nil: return ([], .nothing)
    case let kind?:
      named["phone"] = address.flatMap { names.name(of: $0) }.map { .string("\($0)") }
      let news = [boardEvent(named, kind)].compactMap { $0 }
      switch kind {
      case .lost: return (news, .nothing)
      case .disconnected:
        parted(address, at: event["time"].flatMap { WallTime(json: $0) } ?? now)
        return (news, .asksAll)
      default: return (news, .asksStatus)
      }
    }
  }

  /// Identifies a notification across boards.
  private static func signature(_ event: JSONObject) -> [UInt8] {
    let texts = ["phone", "app_id", "date", "title", "message"].map { event[$0]?.string ?? "" }
    return Array(texts.joined(separator: "\u{0}").utf8)
  }

  private func notification(_ event: JSONObject, of name: TopicName) -> [Publication] {
    let category = event["category"].flatMap { ANCS.Category(json: $0) }
    // The notification of a removal is already known, and a removal without an app would match fewer rules.
    let level = policy.content.level(
      app: event["app_id"]?.string, category: category, phone: name)
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
    return Publication(
      topic, JSONValue.object(object).json, .event(position, expiry: policy.expiry))
  }

  /// The published part of an event about the board; nil for events that are published elsewhere.
  private func boardEvent(_ event: JSONObject, _ kind: EventName) -> Publication? {
    guard let members = Self.membersOfEvents[kind] else { return nil }
    var object = JSONObject()
    for name in ["event", "seq", "time", "adapter", "phone"] + members {
      guard let value = event[name] else { continue }
      switch name {
      case "adapter": object[name] = PublicText.adapter(value.string).map { .string($0) }
      case "reason": object[name] = PublicText.reason(value.string).map { .string($0) }
      case "what": object[name] = .string(PublicText.failure(value.string))
      default: object[name] = value
      }
    }
    return publication(object, to: topics.boardEvent)
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
