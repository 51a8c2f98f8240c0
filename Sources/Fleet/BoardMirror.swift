// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
public import Control
public import JSON
public import Wire

/// What a broker is told of a board: from the daemon's status, lists and events to publications. It knows no socket and
/// no clock.
///
/// States are told when they differ from what was told last, and all of them after `begin`. What happens is told as it
/// comes, without what the settings withhold.
public struct BoardMirror: Sendable {
  public let topics: BoardTopics
  let policy: MirrorPolicy
  /// What the phones are called.
  public private(set) var names: PhoneNames
  /// The daemon's state; nil while there is no daemon.
  private(set) var status: StatusReport?
  private(set) var phones: [TopicName: PhoneMirror] = [:]
  /// What was retained last, by topic.
  private var told: [String: [UInt8]] = [:]
  /// Whether the active notifications are known, so that they can be counted.
  private var isListed = false
  /// The phones that were named once and are not there, whose topics were emptied.
  private var cleared: Set<TopicName> = []

  public init(_ topics: BoardTopics, _ policy: MirrorPolicy, names: PhoneNames = PhoneNames()) {
    self.topics = topics
    self.policy = policy
    self.names = names
  }

  /// The daemon's life; nil while there is none.
  public var life: String? { status?.life }

  /// The phones whose player is not known yet.
  public var silentPlayers: [Address?] {
    phones.filter { $0.value.link?.services.contains(.ams) ?? false && $0.value.media == nil }
      .compactMap { $0.value.link }.map(\.phone)
  }

  // MARK: The broker

  /// A connection begins: everything is to be told.
  public mutating func begin() {
    told = [:]
    cleared = []
  }

  /// What the broker tells when the board has gone without a word.
  public var will: Publication { boardState(isOnline: false, why: nil) }

  /// What is published before the program ends.
  public func lastState(_ why: String) -> [Publication] { [boardState(isOnline: false, why: why)] }

  /// What removes what is retained with the broker and nobody tells any more.
  ///
  /// - Parameter next: who tells of this board's phones from now on with the same broker; nil: nobody.
  public func removals(for next: BoardMirror?) -> [Publication] {
    let heirs = next.map { next in
      phones.keys.compactMap { names.phone(named: $0) }.compactMap { next.names.name(of: $0) }
    }
    let kept = heirs.map { next?.retained(of: $0) ?? [] } ?? []
    // The state is the last: with it the board is gone.
    return retained(of: phones.keys.sorted { $0.description < $1.description })
      .filter { !kept.contains($0) }.map { .removal($0) }
  }

  /// The topics on which something of the board and these phones is retained.
  private func retained(of phones: [TopicName]) -> [String] {
    let device = policy.discovery.map { [topics.discovery(under: $0, nil)] } ?? []
    return phones.flatMap { retained(of: $0) } + device + [topics.boardState, topics.state]
  }

  /// The topics on which something of a phone is retained.
  private func retained(of name: TopicName) -> [String] {
    BoardTopics.PhoneTopic.states.map { topics.of(name, $0) }
      + (policy.discovery.map { [topics.discovery(under: $0, name)] } ?? [])
  }

  // MARK: The daemon

  /// There is no daemon, or it has left.
  public mutating func daemonLeft(_ why: String) -> [Publication] {
    status = nil
    isListed = false
    for name in phones.keys { phones[name]?.leave() }
    return changed([boardState(isOnline: false, why: why)] + phoneStates)
  }

  /// The daemon's state.
  ///
  /// - Parameter publishesAll: whether Home Assistant has asked for everything.
  public mutating func update(_ report: StatusReport, publishesAll: Bool = false) -> [Publication] {
    if publishesAll { begin() }
    status = report
    let served = report.links.filter(\.isServed)
    for link in served { _ = names.add(link.phone) }
    for phone in report.phones { _ = names.add(phone.phone) }
    let linked = Set(served.compactMap { names.name(of: $0.phone) })
    let removals = removeForgotten(report, linked: linked)
    for link in served {
      if let name = names.name(of: link.phone) { phones[name, default: .init()].link = link }
    }
    for phone in report.phones {
      if let name = names.name(of: phone.phone), phones[name] == nil { phones[name] = .init() }
    }
    for name in phones.keys where !linked.contains(name) { phones[name]?.leave() }
    let states = changed(
      [boardState(isOnline: true, why: nil)] + discovery + [boardReport(report)] + phoneStates)
    return states + removals
  }

  /// The notifications that are active, instead of those that were known.
  public mutating func list(_ notifications: [JSONObject]) -> [Publication] {
    isListed = true
    for name in phones.keys { phones[name]?.active = [:] }
    for notification in notifications { note(notification) }
    return changed(phoneStates)
  }

  /// What a phone plays.
  public mutating func media(_ object: JSONObject, of phone: Address?) -> [Publication] {
    guard let name = names.name(of: phone), phones[name] != nil else { return [] }
    phones[name]?.media = object.media(policy.content.ofMedia)
    return changed(phoneStates)
  }

  /// Something has happened.
  ///
  /// - Parameters:
  ///   - event: as the daemon has it.
  ///   - isEarlier: whether it happened before this program began to listen, so that it may be too old.
  /// - Returns: what is to be published of it, and what is to be done besides.
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

  /// What an event has to do with states.
  public enum Consequence: Hashable, Sendable {
    case nothing
    /// The daemon is to be asked for its status.
    case asksStatus
    /// `settle` has something to tell, soon: many events change the same counters.
    case settles
  }

  /// The states that events have changed.
  public mutating func settle() -> [Publication] {
    // The state of the board comes first on a connection.
    told[topics.state] == nil ? [] : changed(phoneStates)
  }

  /// The name of a phone that shows something, which strangers do not. The daemon's status may not have told of it yet.
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

  /// What tells two notifications apart, on whatever board they are told.
  private static func signature(_ event: JSONObject) -> [UInt8] {
    let texts = ["phone", "app_id", "date", "title", "message"].map { event[$0]?.string ?? "" }
    return Array(texts.joined(separator: "\u{0}").utf8)
  }
}

/// How a board is mirrored, as the settings have it.
public struct MirrorPolicy: Sendable {
  /// Makes the digest of a notification, the same on all boards.
  public typealias Digest = ([UInt8]) -> String

  public var content: ContentPolicy
  /// Seconds after which nobody wants to know what has happened.
  public var maxAge: Int64
  /// Whether notifications from before a session, and repeated ones, are told as events.
  public var includesPreExisting: Bool
  /// What Home Assistant's discovery topics begin with; nil: it is told nothing.
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

  /// For how many seconds a broker keeps an event for those who are away.
  var expiry: UInt32 { UInt32(clamping: max(1, maxAge)) }
}

extension JSONObject {
  /// Of a `media` event, what `media.get` answers.
  fileprivate var playing: JSONObject {
    var object = self
    for name in ["event", "seq", "time", "adapter", "phone"] { object[name] = nil }
    return object
  }
}

// MARK: - States

/// One phone, as it is told.
struct PhoneMirror: Hashable, Sendable {
  /// Nil while it is away.
  var link: LinkReport?
  /// Its active notifications.
  var active: [NotificationUID: Active] = [:]
  /// What it plays, without what is withheld.
  var media: JSONObject?

  struct Active: Hashable, Sendable {
    var category: ANCS.Category
    var flags: EventFlags
    var appID: String?
    var app: String?
    /// Of a call, which may be told: who calls.
    var caller: String?
  }

  mutating func leave() {
    link = nil
    media = nil
  }

  /// The calls that ring.
  var calls: [(uid: NotificationUID, call: Active)] {
    active.filter { $0.value.category == .incomingCall }.map { ($0.key, $0.value) }
      .sorted { $0.uid.rawValue < $1.uid.rawValue }
  }
}

extension BoardMirror {
  /// What has to be told, of what is.
  private mutating func changed(_ states: [Publication]) -> [Publication] {
    states.filter { state in
      guard told[state.topic] != state.payload else { return false }
      told[state.topic] = state.payload
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
    // What needs somebody comes first.
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
    // The last level stays: it is what is known.
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

  /// Takes over a notification of a list.
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

  /// Removes what is retained of phones that are bonded no more.
  ///
  /// An adapter that is not there, or not ready, says nothing about its bonds.
  private mutating func removeForgotten(
    _ report: StatusReport, linked: Set<TopicName>
  ) -> [Publication] {
    guard !report.adapters.isEmpty,
      report.adapters.allSatisfy({ $0.isPresent && $0.isPowered })
    else { return [] }
    var there = linked.union(report.phones.compactMap { names.name(of: $0.phone) })
    // What has no bond, as the virtual phone, is not forgotten while this program lives.
    if phones[.phone] != nil, names.phone(named: .phone) == .some(nil) { there.insert(.phone) }
    var removals: [Publication] = []
    for name in names.all.union(phones.keys) where !there.contains(name) {
      phones[name] = nil
      guard cleared.insert(name).inserted else { continue }
      let emptied = retained(of: name)
      for topic in emptied { told[topic] = nil }
      removals += emptied.map { .removal($0) }
      if case .some(.some(let address)) = names.phone(named: name) { names.remove(address) }
    }
    cleared.subtract(there)
    return removals
  }

  /// What Home Assistant is told.
  private var discovery: [Publication] {
    guard let prefix = policy.discovery, let status else { return [] }
    let discovery = Discovery(topics, policy, version: status.version)
    let phones = phones.keys.sorted { $0.description < $1.description }
    // The board's first: the phones' devices refer to it.
    return [discovery.board(under: prefix)] + phones.map { discovery.phone($0, under: prefix) }
  }
}

extension PhoneMirror {
  /// What a phone plays that is away.
  fileprivate static let nothing = (try? JSONValue(parsing: MediaState().json))?.object ?? [:]
}

// MARK: - Events

extension BoardMirror {
  private func notification(_ event: JSONObject, of name: TopicName) -> [Publication] {
    let category = event["category"].flatMap { ANCS.Category(json: $0) }
    // What a removal is about is known from before, and one without an app meets fewer rules.
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

  /// What a notification says about a call; nil if nothing.
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

  /// What of an event about the board is told; nil for what is told otherwise.
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

  /// Which members of the events about a board are told. A passkey is not among them, nor an address.
  private static let membersOfEvents: [EventName: [String]] = [
    .ready: ["name", "version", "life"], .connected: ["encrypted", "bonded", "profile"],
    .pairing: ["method", "seconds"], .paired: [], .pairingFailed: ["reason"],
    .subscribed: ["services", "mtu", "requests"], .authorization: ["granted", "state"],
    .stale: ["what", "remedy"], .servicesChanged: ["services"], .disconnected: ["reason"],
    .error: ["what", "code", "message"], .lost: ["count", "first", "last"],
  ]
}
