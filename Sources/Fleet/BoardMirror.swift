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
  /// The board, as Home Assistant knows it.
  public let board: BoardIdentity
  /// The latest version of the program that there is; nil if unknown.
  public var latestVersion: String?
  /// Makes an id that no other phone has, on any board.
  private let newID: @Sendable () -> String
  /// The phones' names in topics.
  public internal(set) var names: PhoneNames
  /// The daemon's state; nil while there is no daemon.
  private(set) var status: StatusReport?
  private(set) var phones: [TopicName: PhoneMirror] = [:]
  /// The last retained payloads, by topic.
  private var published: [String: [UInt8]] = [:]
  /// The number of the last event that was over when the active notifications were listed; nil: they are not known.
  private var listed: UInt64?
  /// The topics on which the broker may have retained something for this board, including those of earlier settings.
  public private(set) var retained: Set<String>
  /// Whether Home Assistant may be told of devices. It ignores entities that it knows by another topic, so it first has to
  /// forget what has one from earlier settings.
  private var announces = true

  /// - Parameter retained: the topics that an earlier run left with the same broker.
  public init(
    _ topics: BoardTopics, _ policy: MirrorPolicy, names: PhoneNames = PhoneNames(),
    board: BoardIdentity = BoardIdentity(id: "board"), retained: Set<String> = [],
    newID: @escaping @Sendable () -> String
  ) {
    self.topics = topics
    self.policy = policy
    self.names = names
    self.board = board
    self.retained = retained
    self.newID = newID
    // What an earlier run left may say that a call rings.
    for phone in retained.compactMap(topics.phone(ofState:)) { phones[phone] = PhoneMirror() }
  }

  /// Identifies the run of the daemon; nil while there is none.
  public var life: String? { status?.life }

  /// The number of the daemon's last event as of its status; 0 if unknown.
  public var seq: UInt64 { status?.seq ?? 0 }

  /// Whether the status and the list already have what an event has changed, and perhaps what came after it.
  func knows(_ event: JSONObject) -> Bool {
    guard let listed, let seq = event["seq"].flatMap({ UInt64(json: $0) }) else { return false }
    // A `why` has the number of the event before it.
    return seq <= listed && event["event"] != "why"
  }

  /// The connected phones with a player.
  ///
  /// - Parameter silentOnly: only those whose media state is not known yet.
  public func players(silentOnly: Bool) -> [Address?] {
    phones.values.filter { !silentOnly || $0.media == nil }.compactMap(\.link)
      .filter { $0.services.contains(.ams) }.map(\.phone)
  }

  /// Whether a phone has come back, and its notifications may not be complete yet.
  public func isIncomplete(at now: WallTime) -> Bool {
    phones.values.contains { $0.isArriving(at: now) }
  }

  // MARK: The broker

  /// A connection begins, or Home Assistant does: everything has to be published.
  public mutating func begin() { published = [:] }

  /// Removes every retained payload that the next settings do not publish. States of a device that stays are left to the
  /// next mirror, which removes them once Home Assistant knows from it where the new ones are.
  ///
  /// - Parameter next: the mirror with the next settings on the same broker; nil: there is none.
  public mutating func removals(for next: BoardMirror?) -> [Publication] {
    guard let next else { return changed(removals(of: retained)) }
    let phones = phones.keys.compactMap { names.phone(named: $0) }.compactMap(next.names.name)
    let obsolete = retained.subtracting(next.states(of: phones))
    let staysDevice = retained.subtracting(obsolete).contains(where: BoardTopics.isOfDevice)
    return changed(removals(of: staysDevice ? obsolete.filter(BoardTopics.isOfDevice) : obsolete))
  }

  /// Home Assistant first learns that devices are gone: of their states it could make nothing then. So the states follow
  /// when the broker has removed the devices.
  private mutating func removals(of topics: Set<String>) -> [Publication] {
    let devices = topics.filter(BoardTopics.isOfDevice)
    if !devices.isEmpty { announces = false }
    return (devices.isEmpty ? topics : devices).sorted().map { .removal($0) }
  }

  /// The broker has not kept a state, which is to be published again.
  public mutating func notKept(_ topic: String) { published[topic] = nil }

  /// Home Assistant has forgotten the removed devices: what is left of them goes, and the present ones come.
  public mutating func forgotten() -> [Publication] {
    announces = true
    let outdated = outdated()
    return changed(discovery + outdated)
  }

  /// The broker has processed a removal, or refused it.
  public mutating func removed(_ topic: String) {
    // The phone may be back by now.
    if published[topic] == [] { retained.remove(topic) }
  }

  /// Whether a topic is that of another board's state, and so of its will.
  public func isStateOfOther(_ topic: String) -> Bool {
    let levels = topic.split(separator: "/")
    // That of a phone is PREFIX/BOARD/phone/PHONE/state.
    let isOfPhone = levels.count >= 5 && levels.suffix(3).first == "phone"
    return levels.last == "state" && !isOfPhone && topic != topics.state
  }

  /// The topics of the states of the board and these phones.
  private func states(of phones: some Sequence<TopicName>) -> Set<String> {
    var states: Set = [topics.state, topics.boardState]
    for phone in phones {
      states.formUnion(BoardTopics.PhoneTopic.states.map { topics.of(phone, $0) })
    }
    if let prefix = policy.discovery {
      states.insert(topics.discovery(under: prefix, Discovery.board))
      for phone in phones { states.insert(topics.discovery(under: prefix, idOf(phone))) }
    }
    return states
  }

  /// Identifies a phone among those of this board.
  private func idOf(_ phone: TopicName) -> String { names.record(of: phone)?.id ?? "phone" }

  // MARK: The daemon

  /// The daemon is not running, or has exited; or this program is about to.
  ///
  /// - Parameter why: one of this program's own sentences.
  public mutating func goOffline(_ why: String, at now: WallTime) -> [Publication] {
    for name in phones.keys { leave(name, at: now) }
    status = nil
    listed = nil
    let outdated = outdated()
    return changed([boardState(why)] + phoneStates + outdated)
  }

  private mutating func leave(_ name: TopicName, at now: WallTime) {
    guard phones[name]?.link != nil else { return }
    phones[name]?.leave(at: now)
    names.saw(name, isHere: false, at: now)
  }

  /// The daemon's state.
  public mutating func update(_ report: StatusReport, at now: WallTime) -> [Publication] {
    status = report
    let served = report.links.filter(\.isServed)
    for phone in served.map(\.phone) + report.phones.map(\.phone) { names.add(phone, newID: newID) }
    updateBonds(report, links: Set(served.compactMap(\.phone)))
    for link in served {
      guard let name = names.name(of: link.phone) else { continue }
      if phones[name]?.link == nil { names.saw(name, isHere: true, at: link.since) }
      phones[name, default: .init()].update(link)
    }
    for phone in names.records.keys {
      if let name = names.name(of: phone), phones[name] == nil { phones[name] = .init() }
    }
    let linked = Set(served.compactMap { names.name(of: $0.phone) })
    for name in phones.keys where !linked.contains(name) { leave(name, at: now) }
    let outdated = outdated()
    let states = [boardReport(report)] + counted(at: now)
    return changed([boardState()] + discovery + states + outdated)
  }

  /// Whether the daemon has said which phones are bonded to any adapter.
  private var knowsBonds: Bool {
    status?.adapters.contains { $0.isPresent && $0.isPowered } ?? false
  }

  /// Forgets the phones that have no bond anymore. An adapter that is absent or not ready does not say which phones are
  /// bonded to it.
  private mutating func updateBonds(_ report: StatusReport, links: Set<Address>) {
    guard knowsBonds else { return }
    var bonds: [String: Set<Address>] = [:]
    for adapter in report.adapters where adapter.isPresent && adapter.isPowered {
      bonds[adapter.adapter] = Set(report.phones.filter { $0.adapter == adapter.adapter }.map(\.phone))
    }
    let forgotten = names.update(bonds: bonds, links: links)
    for (name, phone) in phones where names.record(of: name) == nil {
      // One without an address, like the virtual phone, has no bond, and is kept once it has been here.
      let isAnonymous = name == .phone && phone.hasBeenHere
      if forgotten.contains(name) || !isAnonymous { phones[name] = nil }
    }
  }

  /// Replaces the known active notifications.
  ///
  /// - Parameter seq: the number of the last event before the daemon's status and this list.
  public mutating func list(_ notifications: [JSONObject], asOf seq: UInt64, at now: WallTime) -> [Publication] {
    listed = seq
    for name in phones.keys { phones[name]?.active = [:] }
    for notification in notifications {
      let address = notification["phone"].flatMap { Address(json: $0) }
      if let name = names.name(of: address), phones[name] != nil { note(notification, of: name) }
    }
    return changed(counted(at: now))
  }

  /// A phone's media state, as of now.
  public mutating func media(_ object: JSONObject, of phone: Address?, at now: WallTime) -> [Publication] {
    guard let name = names.name(of: phone), phones[name] != nil else { return [] }
    play(object, of: name, at: .string(now.rfc3339))
    return changed(phoneStates)
  }

  /// Keeps a phone's media state.
  ///
  /// - Parameter time: when its position was right.
  mutating func play(_ media: JSONObject, of name: TopicName, at time: JSONValue?) {
    var media = media
    media["as_of"] = time
    phones[name]?.play(media.media(policy.content.ofMedia(name)))
  }

  /// Publishes the states that events have changed.
  public mutating func settle(at now: WallTime) -> [Publication] {
    // The state of the board comes first on a connection.
    published[topics.state] == nil ? [] : changed(counted(at: now))
  }

  /// A phone with notifications or media, which strangers never have. The daemon's status may not include the phone yet.
  mutating func meet(_ phone: Address?) -> TopicName {
    names.add(phone, newID: newID)
    let name = names.name(of: phone) ?? .phone
    if phones[name] == nil { phones[name] = PhoneMirror() }
    return name
  }

  /// A phone's link has ended.
  mutating func parted(_ phone: Address?, at time: WallTime) {
    if let name = names.name(of: phone) { leave(name, at: time) }
  }

  /// Keeps a notification, as the daemon lists it or tells of it.
  mutating func note(_ notification: JSONObject, of name: TopicName) {
    guard let uid = notification["uid"].flatMap({ NotificationUID(json: $0) }) else { return }
    let category = notification["category"].flatMap { ANCS.Category(json: $0) } ?? .other
    // A call that was left from before does not ring until the phone has confirmed it.
    let isOver = category == .incomingCall && notification["stale"] == true
    guard notification["change"] != "removed", !isOver else {
      phones[name]?.active[uid] = nil
      return
    }
    let appID = notification["app_id"]?.string
    let level = policy.content.level(app: appID, category: category, phone: name)
    phones[name]?.active[uid] = PhoneMirror.Active(
      category: category,
      flags: notification["flags"].flatMap { EventFlags(json: $0) } ?? [],
      appID: level >= .app ? appID : nil,
      app: level >= .app ? notification["app"]?.string : nil)
  }

  // MARK: States

  /// The states that have to be published.
  private mutating func changed(_ states: [Publication]) -> [Publication] {
    states.filter { state in
      guard published[state.topic] != state.payload else { return false }
      published[state.topic] = state.payload
      if !state.payload.isEmpty { retained.insert(state.topic) }
      return true
    }
  }

  /// - Parameter why: why the board is offline.
  private func boardState(_ why: String? = nil) -> Publication {
    .state(
      topics.state,
      BoardPresence(state: status == nil ? .offline : .online, life: status?.life, version: status?.version, why: why))
  }

  private func boardReport(_ report: StatusReport) -> Publication {
    let adapters = report.adapters.map {
      BoardCondition.Adapter(
        adapter: PublicText.adapter($0.adapter), isPresent: $0.isPresent, isPowered: $0.isPowered,
        isAdvertising: $0.isAdvertising, isPairable: $0.isPairable, wait: $0.waiting.wait)
    }
    // Waits that need action come first.
    let wait = report.waits.sorted { !$0.isFine && $1.isFine }.first
    let why = wait.map { PublicText.why($0.wait, $0.why, board: visibleName) }
    return .state(
      topics.boardState,
      BoardCondition(
        wait: wait?.wait, why: why, isProblem: report.waits.contains { !$0.isFine },
        isPairable: report.adapters.contains(where: \.isPairable), adapters: adapters,
        version: report.version, latest: latestVersion))
  }

  /// The name under which phones see the board.
  var visibleName: String { status?.adapters.compactMap(\.name).first ?? "\(topics.board)" }

  /// The phones' states, after those here were counted.
  private mutating func counted(at now: WallTime) -> [Publication] {
    if listed != nil { for name in phones.keys { phones[name]?.count(at: now) } }
    return phoneStates
  }

  private var phoneStates: [Publication] {
    phones.sorted { $0.key.description < $1.key.description }.flatMap { name, phone in
      BoardTopics.PhoneTopic.states.compactMap { topic in
        // Whether a call rings is known once the notifications are.
        if topic == .call, phone.link != nil, listed == nil { return nil }
        let level = policy.content.ofMedia(name)
        let state = phone.state(topic, level, record: names.record(of: name))
        let expiry = topic == .call ? phone.callExpiry : nil
        return state.map { Publication(topics.of(name, topic), $0, .state(expiry: expiry)) }
      }
    }
  }

  /// Removes what earlier settings have left, and, if the bonds are known, what forgotten phones have.
  private mutating func outdated() -> [Publication] {
    let obsolete = retained.subtracting(states(of: phones.keys))
    return removals(of: obsolete.filter { knowsBonds || !topics.contain($0, discovery: policy.discovery) })
  }

  /// The discovery payloads for Home Assistant.
  private var discovery: [Publication] {
    guard let prefix = policy.discovery, let status, announces else { return [] }
    let discovery = Discovery(
      topics: topics, policy: policy, board: board, version: status.version, knowsLatest: latestVersion != nil)
    let phones = phones.keys.sorted { $0.description < $1.description }
    // The board's first: the phones' devices refer to it.
    return [discovery.board(under: prefix)]
      + phones.map { discovery.phone($0, id: idOf($0), under: prefix) }
  }
}
