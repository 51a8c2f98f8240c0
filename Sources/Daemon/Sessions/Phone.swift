// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS
import ATT
import Control
import EventLoop
public import GATT
public import JSON
import Wire

/// What the daemon keeps of a phone across its sessions. Everything else ends with the session, as
/// Apple's ANCS specification requires.
@LoopActor final class Phone {
  /// The number of its first link: phones are listed in this order.
  let number: Int
  /// The identity address; nil for a phone without a radio.
  var identity: DeviceAddress?
  /// Its Device Name, once that was read.
  var displayName: String?
  /// The adapter that it is bonded to or connected to.
  let adapter: String?
  /// Its local time minus UTC in seconds, once it has told that.
  var zone: Int?
  /// Where its services were last.
  var handles: HandleCache?
  /// What it has configured on the board's own server, which persists for a bonded phone.
  var clientState = ClientState()
  /// When a link may be ended next for the phone to come back.
  var farewell = Farewell()
  /// Its notifications, over all of its sessions.
  let notifications: PhoneNotifications
  /// The session on the link that is up now.
  var session: Session?

  init(
    number: Int, identity: DeviceAddress?, adapter: String?,
    _ notifications: PhoneNotifications
  ) {
    self.number = number
    self.identity = identity
    self.adapter = adapter
    self.notifications = notifications
  }

  /// Its address, as far as it is known.
  var address: Address? { session?.address ?? identity?.address }

  /// An event about this phone.
  func event(_ content: Event.Content) -> Event {
    Event(dated(content), adapter: adapter, phone: address)
  }

  /// What has happened, a notification with its date in UTC.
  func dated(_ content: Event.Content) -> Event.Content {
    guard zone != nil, case .notification(let report) = content else { return content }
    return .notification(dated(report))
  }

  /// A notification with its date in UTC, as far as the phone's time zone is known.
  func dated(_ report: NotificationReport) -> NotificationReport {
    var report = report
    report.sent = zone.flatMap { zone in
      report.attributes.date.map { WallTime(seconds: $0.secondsSince1970 - Int64(zone)) }
    }
    return report
  }
}

/// How often a link is ended in the hope that the phone comes back with a living ANCS: the pauses grow, up
/// to a day.
struct Farewell {
  private var next: Instant?
  private var pause: Duration = .seconds(10 * 60)

  /// Whether a link may be ended now. If so, that counts as done.
  mutating func take(at now: Instant) -> Bool {
    if let next, now < next { return false }
    next = now + pause
    pause = min(pause + pause, .seconds(24 * 3600))
    return true
  }
}

/// Where a phone's services were in an earlier session, to be made sure of before use (`HandleTrust`).
struct HandleCache: Hashable, Sendable {
  /// The sixteen octets of the Database Hash characteristic under which they are valid; nil: it was not
  /// asked for.
  var databaseHash: [UInt8]?
  /// The services that were located.
  var services: [LocatedService]
}

/// What is stored of a phone besides its keys. It may be lost without harm.
struct PhoneMemory: JSONObjectCodable, Hashable, Sendable {
  var name: String?
  /// When it was last connected, in seconds since 1970 (UTC).
  var lastSeen: Int64?
  /// Where its services were last.
  var handles: HandleCache?
  /// The notifications that it has brought.
  var seen = SeenContents()
  /// What it has configured on the board's own server.
  var client = ClientState()
  /// Its local time minus UTC in seconds.
  var zone: Int?

  mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var version = FileVersion()
    var hash = handles?.databaseHash.map { HexBytes($0) }
    var services = handles?.services
    var signatures = seen.order
    try json.required("version", &version)
    try json.optional("name", &name)
    try json.optional("last_seen", &lastSeen)
    try json.optional("database_hash", &hash)
    try json.optional("services", &services)
    try json.required("client", &client)
    try json.list("seen", &signatures)
    try json.optional("zone", &zone)
    guard M.isReading else { return }
    seen = SeenContents(signatures)
    handles = HandleCache(checking: hash?.bytes, services ?? [])
  }
}

extension HandleCache {
  /// Nil if there are none, or if the values are not valid.
  fileprivate init?(checking hash: [UInt8]?, _ services: [LocatedService]) {
    guard !services.isEmpty, hash.map({ $0.count == 16 }) ?? true,
      services.allSatisfy(\.service.range.isValid)
    else { return nil }
    self.init(databaseHash: hash, services: services)
  }
}

/// A signature as hexadecimal digits.
extension ContentSignature: JSONCodable {
  public static let jsonKind = "a signature"
  public func write(to json: inout JSONWriter) { json.string(String(rawValue, radix: 16)) }
  public init?(json: JSONValue) {
    guard let value = json.string.flatMap({ UInt64($0, radix: 16) }) else { return nil }
    self.init(rawValue: value)
  }
}

extension ClientState: JSONObjectCodable {
  public init() { self.init(features: []) }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    var bits = features.rawValue
    var hash = databaseHash.map { HexBytes($0) }
    var entries = configurations.sorted { $0.key < $1.key }
      .map { Configuration(handle: $0.key, value: $0.value.rawValue) }
    try json.required("features", &bits)
    try json.optional("database_hash", &hash)
    try json.list("configurations", &entries)
    guard M.isReading else { return }
    features = ClientFeatures(rawValue: bits)
    databaseHash = hash?.bytes
    configurations = [:]
    for entry in entries { configurations[entry.handle] = .init(rawValue: entry.value) }
  }

  private struct Configuration: JSONObjectCodable {
    var handle: Handle = 0
    var value: UInt16 = 0

    mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
      try json.required("handle", &handle)
      try json.required("value", &value)
    }
  }
}
