// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
public import Control
public import JSON
public import Wire

/// Turns the daemon's status, lists and events into publications for a broker. It uses no socket and no clock.
///
/// It publishes states when they differ from the last published ones, and all of them after `begin`. It publishes
/// events as they arrive, without what the settings withhold.
public struct BoardMirror: Sendable {
  public let topics: BoardTopics
  let policy: MirrorPolicy
  /// The phones' names in topics.
  public private(set) var names: PhoneNames
  /// The daemon's state; nil while there is no daemon.
  private(set) var status: StatusReport?
  private(set) var phones: [TopicName: PhoneMirror] = [:]
  /// The last retained payloads, by topic.
  private var told: [String: [UInt8]] = [:]
  /// Whether the active notifications are known and can be counted.
  private var isListed = false
  /// The topics on which the broker may have retained something for this board, including those of earlier settings.
  public private(set) var retained: Set<String>

  /// - Parameter retained: the topics that an earlier run left with the same broker.
  public init(
    _ topics: BoardTopics, _ policy: MirrorPolicy, names: PhoneNames = PhoneNames(),
    retained: Set<String> = []
  ) {
    self.topics = topics
    self.policy = policy
    self.names = names
    self.retained = retained
  }

  /// Identifies the run of the daemon; nil while there is none.
  public var life: String? { status?.life }

  /// The phones whose media state is not known yet.
  public var silentPlayers: [Address?] {
    phones.filter { $0.value.link?.services.contains(.ams) ?? false && $0.value.media == nil }
      .compactMap { $0.value.link }.map(\.phone)
  }

  // MARK: The broker

  /// A connection begins: everything has to be published.
  public mutating func begin() { told = [:] }

  /// The will, which the broker publishes if the board disappears.
  public var will: Publication { boardState(isOnline: false, why: nil) }

  /// What to publish before the program exits.
  public func lastState(_ why: String) -> [Publication] { [boardState(isOnline: false, why: why)] }

  /// Removes every retained payload that the next settings do not publish.
  ///
  /// - Parameter next: the mirror with the next settings on the same broker; nil: there is none.
  public func removals(for next: BoardMirror?) -> [Publication] {
    let kept = next.map { next in
      next.states(of: phones.keys.compactMap { names.phone(named: $0) }.compactMap(next.names.name))
    }
    return retained.subtracting(kept ?? []).sorted().map { .removal($0) }
  }

  /// The broker has processed a removal, or refused it.
  public mutating func removed(_ topic: String) {
    // The phone may be back by now.
    if told[topic] == [] { retained.remove(topic) }
  }

  /// Whether a topic is that of another board's state, and so of its will.
  public func isStateOfOther(_ topic: String) -> Bool {
    let levels = topic.split(separator: "/")
    return levels.last == "state" && !levels.dropFirst().dropLast().contains("phone")
      && topic != topics.state
  }

  /// The topics of the states of the board and these phones.
  private func states(of phones: some Sequence<TopicName>) -> Set<String> {
    var states: Set = [topics.state, topics.boardState]
    for phone in phones {
      states.formUnion(BoardTopics.PhoneTopic.states.map { topics.of(phone, $0) })
    }
    if let prefix = policy.discovery {
      states.formUnion(
        ([nil] + phones.map(Optional.some)).map { topics.discovery(under: prefix, $0) })
    }
    return states
  }

  // MARK: The daemon

  /// The daemon is not running, or has exited.
  public mutating func daemonLeft(_ why: String) -> [Publication] {
    status = nil
    isListed = false
    for name in phones.keys { phones[name]?.leave() }
    return changed(
      [boardState(isOnline: false, why: why)] + phoneStates + removals(knowsBonds: false))
  }

  /// The daemon's state.
  ///
  /// - Parameter publishesAll: whether Home Assistant has requested everything.
  public mutating func update(_ report: StatusReport, publishesAll: Bool = false) -> [Publication] {
    if publishesAll { begin() }
    status = report
    let served = report.links.filter(\.isServed)
    for link in served { _ = names.add(link.phone) }
    for phone in report.phones { _ = names.add(phone.phone) }
    let linked = Set(served.compactMap { names.name(of: $0.phone) })
    for link in served {
      if let name = names.name(of: link.phone) { phones[name, default: .init()].link = link }
    }
    for phone in report.phones {
      if let name = names.name(of: phone.phone), phones[name] == nil { phones[name] = .init() }
    }
    for name in phones.keys where !linked.contains(name) { phones[name]?.leave() }
    // An adapter that is absent or not ready reports nothing about its bonds.
    let knowsBonds =
      !report.adapters.isEmpty && report.adapters.allSatisfy { $0.isPresent && $0.isPowered }
    if knowsBonds {
      forget(except: linked.union(report.phones.compactMap { names.name(of: $0.phone) }))
    }
    return changed(
      [boardState(isOnline: true, why: nil)] + discovery + [boardReport(report)] + phoneStates
        + removals(knowsBonds: knowsBonds))
  }

  /// Replaces the known active notifications.
  public mutating func list(_ notifications: [JSONObject]) -> [Publication] {
    isListed = true
    for name in phones.keys { phones[name]?.active = [:] }
    for notification in notifications { note(notification) }
    return changed(phoneStates)
  }

  /// A phone's media state.
  public mutating func media(_ object: JSONObject, of phone: Address?) -> [Publication] {
    guard let name = names.name(of: phone), phones[name] != nil else { return [] }
    phones[name]?.media = object.media(policy.content.ofMedia)
    return changed(phoneStates)
  }

  /// Handles an event.
  ///
  /// - Parameters:
  ///   - event: the daemon's event.
  ///   - isEarlier: whether it occurred before this program subscribed, so it may be too old.
  /// - Returns: the publications, and the further consequences.
  public mutating func event(
    _ event: JSONObject, isEarlier: Bool, now: WallTime, digest: MirrorPolicy.Digest?
  ) -> (publications: [Publication], then: Consequence) {
    let address = event["phone"].flatMap { Address(json: $0) }
    var named = event
    switch event["event"]?.string.flatMap(EventName.init(rawValue:)) {
    case .notification?:
      let name = meet(address)
      note(event, of: name)
      named["phone"] = .string("\(name)")
      named["digest"] = digest.map { .string($0(Self.signature(event))) }
      let isOld = isEarlier && isTooOld(event, now)
      return (isOld ? [] : notification(named, of: name), .settles)
    case .media?:
      phones[meet(address)]?.media = event.playing.media(policy.content.ofMedia)
      return ([], .settles)
    case .battery?, .advertising?, .why?: return ([], .asksStatus)
    case .time?, .incoming?, nil: return ([], .nothing)
    case let kind?:
      named["phone"] = address.flatMap { names.name(of: $0) }.map { .string("\($0)") }
      let isOld = isEarlier && isTooOld(event, now)
      let news = isOld ? [] : [boardEvent(named, kind)].compactMap { $0 }
      return (news, kind == .lost ? .nothing : .asksStatus)
    }
  }

  /// The consequences of an event for states.
  public enum Consequence: Hashable, Sendable {
    case nothing
    /// Query the daemon's status.
    case asksStatus
    /// Call `settle` soon: many events change the same counters.
    case settles
  }

  /// Publishes the states that events have changed.
  public mutating func settle() -> [Publication] {
    // The state of the board comes first on a connection.
    told[topics.state] == nil ? [] : changed(phoneStates)
  }

  /// The name of a phone with notifications or media, which strangers never have. The daemon's status may not include
  /// the phone yet.
  private mutating func meet(_ phone: Address?) -> TopicName {
    _ = names.add(phone)
    let name = names.name(of: phone) ?? .phone
    if phones[name] == nil { phones[name] = PhoneMirror() }
    return name
  }

  private func isTooOld(_ event: JSONObject, _ now: WallTime) -> Bool {
    guard let time = event["time"].flatMap({ WallTime(json: $0) }) else { return true }
    return time.seconds.addingReportingOverflow(policy.maxAge).partialValue < now.seconds
  }

  /// Identifies a notification across boards.
  private static func signature(_ event: JSONObject) -> [UInt8] {
    let texts = ["phone", "app_id", "date", "title", "message"].map { event[$0]?.string ?? "" }
    return Array(texts.joined(separator: "\u{0}").utf8)
  }
}

/// The settings for mirroring a board.
public struct MirrorPolicy: Sendable {
  /// Makes the digest of a notification, the same on all boards.
  public typealias Digest = ([UInt8]) -> String

  public var content: ContentPolicy
  /// Seconds after which events are too old to publish.
  public var maxAge: Int64
  /// Whether to publish events for notifications from before a session, and for repeated ones.
  public var includesPreExisting: Bool
  /// The prefix of Home Assistant's discovery topics; nil turns discovery off.
  public var discovery: String?
  public var allowed: Set<Permission>

  public init(
    content: ContentPolicy = ContentPolicy(), maxAge: Int64 = 600,
    includesPreExisting: Bool = false, discovery: String? = "homeassistant",
    allowed: Set<Permission> = Permission.usual
  ) {
    self.content = content
    self.maxAge = maxAge
    self.includesPreExisting = includesPreExisting
    self.discovery = discovery
    self.allowed = allowed
  }

  /// How many seconds a broker keeps an event for absent subscribers.
  var expiry: UInt32 { UInt32(clamping: max(1, maxAge)) }
}

extension JSONObject {
  /// The part of a `media` event that `media.get` returns.
  fileprivate var playing: JSONObject {
    var object = self
    for name in ["event", "seq", "time", "adapter", "phone"] { object[name] = nil }
    return object
  }
}

// MARK: - States

/// A phone as published.
struct PhoneMirror: Hashable, Sendable {
  /// Nil while it is away.
  var link: LinkReport?
  /// Its active notifications.
  var active: [NotificationUID: Active] = [:]
  /// Its media state, without withheld members.
  var media: JSONObject?

  struct Active: Hashable, Sendable {
    var category: ANCS.Category
    var flags: EventFlags
    var appID: String?
    var app: String?
    /// The caller, if it may be published.
    var caller: String?
  }

  mutating func leave() {
    link = nil
    media = nil
  }

  /// The ringing calls.
  var calls: [(uid: NotificationUID, call: Active)] {
    active.filter { $0.value.category == .incomingCall }.map { ($0.key, $0.value) }
      .sorted { $0.uid.rawValue < $1.uid.rawValue }
  }
}

extension BoardMirror {
  /// The states that have to be published.
  private mutating func changed(_ states: [Publication]) -> [Publication] {
    states.filter { state in
      guard told[state.topic] != state.payload else { return false }
      told[state.topic] = state.payload
      if !state.payload.isEmpty { retained.insert(state.topic) }
      return true
    }
  }

  private func boardState(isOnline: Bool, why: String?) -> Publication {
    .state(
      topics.state,
      [
        "state": isOnline ? "online" : "offline", "life": status?.life.map { .string($0) },
        "version": status.map { .string($0.version) }, "why": why.map { .string($0) },
      ])
  }

  private func boardReport(_ report: StatusReport) -> Publication {
    let adapters = report.adapters.map { adapter -> JSONValue in
      .object([
        "adapter": .string(adapter.adapter), "present": .bool(adapter.isPresent),
        "powered": .bool(adapter.isPowered), "advertising": .bool(adapter.isAdvertising),
        "pairable": .bool(adapter.isPairable), "wait": adapter.waiting.wait.map { .string($0) },
      ])
    }
    // Waits that need action come first.
    let waits = report.waits.sorted { !$0.isFine && $1.isFine }
    return .state(
      topics.boardState,
      [
        "wait": waits.first.map { .string($0.wait) } ?? .null,
        "why": waits.first.map { .string(names.redact($0.why)) } ?? .null,
        "problem": .bool(waits.contains { !$0.isFine }),
        "pairable": .bool(report.adapters.contains(where: \.isPairable)),
        "adapters": .array(adapters), "version": .string(report.version),
      ])
  }

  private var phoneStates: [Publication] {
    phones.sorted { $0.key.description < $1.key.description }.flatMap { name, phone in
      BoardTopics.PhoneTopic.states.compactMap { topic in
        state(topic, of: phone).map { .state(topics.of(name, topic), $0) }
      }
    }
  }

  private func state(_ topic: BoardTopics.PhoneTopic, of phone: PhoneMirror) -> JSONObject? {
    switch topic {
    case .state:
      return [
        "state": phone.link == nil ? "offline" : "online",
        "authorization": phone.link?.authorization.map { .string($0.rawValue) } ?? .null,
        "services": .strings(phone.link?.services.map(\.rawValue) ?? []),
        "rssi": phone.link?.rssi.map { .number($0) } ?? .null,
        "wait": phone.link?.waiting.wait.map { .string($0) },
      ]
    // The last level stays: it is the latest known.
    case .battery: return phone.link?.battery.map { ["level": .number($0)] }
    case .media:
      if let link = phone.link, link.services.contains(.ams) { return phone.media }
      return PhoneMirror.nothing.media(policy.content.ofMedia)
    case .call: return isListed ? callState(phone) : nil
    case .counts: return isListed ? counts(phone) : nil
    case .notificationEvent, .callEvent: return nil
    }
  }

  private func callState(_ phone: PhoneMirror) -> JSONObject {
    guard let (_, call) = phone.calls.first else { return ["state": "idle"] }
    return [
      "state": "ringing", "app": call.app.map { .string($0) },
      "caller": call.caller.map { .string($0) },
    ]
  }

  private func counts(_ phone: PhoneMirror) -> JSONObject {
    var categories = JSONObject()
    for (number, name) in ANCS.Category.names.enumerated() {
      let count = phone.active.values.count { Int($0.category.rawValue) == number }
      categories.add(name, .number(count))
    }
    return ["total": .number(phone.active.count), "categories": .object(categories)]
  }

  /// Adds a notification from a list.
  private mutating func note(_ notification: JSONObject) {
    let address = notification["phone"].flatMap { Address(json: $0) }
    if let name = names.name(of: address), phones[name] != nil { note(notification, of: name) }
  }

  private mutating func note(_ notification: JSONObject, of name: TopicName) {
    guard let uid = notification["uid"].flatMap({ NotificationUID(json: $0) }) else { return }
    if notification["change"] == "removed" {
      phones[name]?.active[uid] = nil
      return
    }
    let category = notification["category"].flatMap { ANCS.Category(json: $0) } ?? .other
    let appID = notification["app_id"]?.string
    let level = policy.content.level(app: appID, category: category, phone: name)
    phones[name]?.active[uid] = PhoneMirror.Active(
      category: category,
      flags: notification["flags"].flatMap { EventFlags(json: $0) } ?? [], appID: appID,
      app: level >= .app ? notification["app"]?.string : nil,
      caller: level >= .title && category == .incomingCall ? notification["title"]?.string : nil)
  }

  /// Forgets phones that are no longer bonded.
  private mutating func forget(except bonded: Set<TopicName>) {
    var there = bonded
    // A phone without bonds, like the virtual phone, is kept while this program runs.
    if phones[.phone] != nil, names.phone(named: .phone) == .some(nil) { there.insert(.phone) }
    for name in phones.keys where !there.contains(name) { phones[name] = nil }
    for (phone, name) in names.found where !there.contains(name) { names.remove(phone) }
  }

  /// Removes what earlier settings have left, and, if the bonds are known, what forgotten phones have.
  private func removals(knowsBonds: Bool) -> [Publication] {
    retained.subtracting(states(of: phones.keys))
      .filter { knowsBonds || !topics.own($0, discovery: policy.discovery) }
      .sorted().map { .removal($0) }
  }

  /// The discovery payloads for Home Assistant.
  private var discovery: [Publication] {
    guard let prefix = policy.discovery, let status else { return [] }
    let discovery = Discovery(topics, policy, version: status.version)
    let phones = phones.keys.sorted { $0.description < $1.description }
    // The board's first: the phones' devices refer to it.
    return [discovery.board(under: prefix)] + phones.map { discovery.phone($0, under: prefix) }
  }
}

extension PhoneMirror {
  /// The media state of an absent phone.
  fileprivate static let nothing = (try? JSONValue(parsing: MediaState().json))?.object ?? [:]
}

// MARK: - Events

extension BoardMirror {
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
    var news = [publication(object, to: .notificationEvent, of: name)]
    if let change = Self.callChange(event["change"]?.string, category) {
      var call = object
      call["event"] = "call"
      call["change"] = .string(change)
      news.append(publication(call, to: .callEvent, of: name))
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

  private func publication(
    _ object: JSONObject, to topic: BoardTopics.PhoneTopic, of name: TopicName
  ) -> Publication {
    Publication(
      topics.of(name, topic), JSONValue.object(object).json,
      .event(position(of: object), expiry: policy.expiry))
  }

  private func position(of event: JSONObject) -> Position {
    Position(life: life ?? "", seq: UInt64(clamping: event["seq"]?.int ?? 0))
  }

  /// The published part of an event about the board; nil for events that are published elsewhere.
  private func boardEvent(_ event: JSONObject, _ kind: EventName) -> Publication? {
    guard let members = Self.membersOfEvents[kind] else { return nil }
    var object = JSONObject()
    for (name, value) in event.members
    where ["event", "seq", "time", "adapter", "phone"].contains(name) || members.contains(name) {
      object.add(name, value.string.map { .string(names.redact($0)) } ?? value)
    }
    return Publication(
      topics.boardEvent, JSONValue.object(object).json,
      .event(position(of: event), expiry: policy.expiry))
  }

  /// The published members of events about a board. They include neither a passkey nor an address.
  private static let membersOfEvents: [EventName: [String]] = [
    .ready: ["name", "version", "life"], .connected: ["encrypted", "bonded", "profile"],
    .pairing: ["method", "seconds"], .paired: [], .pairingFailed: ["reason"],
    .subscribed: ["services", "mtu", "requests"], .authorization: ["granted", "state"],
    .stale: ["what", "remedy"], .servicesChanged: ["services"], .disconnected: ["reason"],
    .error: ["what", "code", "message"], .lost: ["count", "first", "last"],
  ]
}
