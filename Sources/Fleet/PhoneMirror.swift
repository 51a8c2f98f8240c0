// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import JSON
import Wire

/// A phone as published.
struct PhoneMirror: Hashable, Sendable {
  /// An active notification.
  struct Active: Hashable, Sendable {
    var category: ANCS.Category
    var flags: EventFlags
    /// Nil where the content that leaves the board does not name apps.
    var appID: String?
    var app: String?
  }

  /// The link; nil while it is away.
  private(set) var link: LinkReport?
  /// Its media state, without withheld members; nil until it is known, and while it is away.
  private(set) var media: JSONObject?
  /// Whether this program has seen it connected.
  private(set) var hasBeenHere = false
  /// The notifications that the daemon considers active. While the phone is away, they are what is left of its last
  /// session.
  var active: [NotificationUID: Active] = [:]
  /// How many there are, when that was last known; nil if it never was.
  private(set) var counts: PhoneCounts?

  mutating func update(_ link: LinkReport) {
    self.link = link
    hasBeenHere = true
  }

  mutating func play(_ media: JSONObject) { if link != nil { self.media = media } }

  mutating func leave(at time: WallTime) {
    guard link != nil else { return }
    link = nil
    media = nil
    // When the phone is back, it says whether a call still rings.
    active = active.filter { $0.value.category != .incomingCall }
    if counts?.asOf == nil { counts?.asOf = time }
  }

  /// Whether the phone has a link, but its notifications are not complete yet.
  ///
  /// A phone announces the notifications that it has in the first seconds of a session, and then they are fetched.
  func isArriving(at now: WallTime) -> Bool {
    guard let link, counts?.asOf != nil else { return false }
    let age = now.seconds.subtractingReportingOverflow(link.since.seconds).partialValue
    return link.backlog > 0 || !link.services.contains(.ancs) || (0..<10).contains(age)
  }

  /// Counts the active notifications, unless they are those of an earlier session, or incomplete.
  mutating func count(at now: WallTime) {
    guard link != nil, !isArriving(at: now) else { return }
    counts = PhoneCounts(of: active.values.map(\.category))
  }

  /// For how many seconds a call rings at most: a bridge that was killed meanwhile can't take it back. Nil: none rings.
  var callExpiry: UInt32? { calls.isEmpty ? nil : 120 }

  /// The ringing calls.
  var calls: [(uid: NotificationUID, call: Active)] {
    guard link != nil else { return [] }
    return active.filter { $0.value.category == .incomingCall }.map { ($0.key, $0.value) }
      .sorted { $0.uid.rawValue < $1.uid.rawValue }
  }

  // MARK: States

  /// The payload of one of its states; nil if nothing is known, or the last one stays.
  ///
  /// - Parameter record: what is kept of it; nil if it has no address.
  func state(_ topic: BoardTopics.PhoneTopic, _ level: ContentLevel, record: PhoneRecord?) -> [UInt8]? {
    switch topic {
    case .state:
      return PhonePresence(
        state: link == nil ? .offline : .online, authorization: link?.authorization,
        services: link?.services.map(\.rawValue) ?? [], rssi: link?.rssi, wait: link?.waiting.wait,
        seen: link?.since ?? record?.seen
      ).json
    case .battery: return link?.battery.map { PhoneBattery(level: $0).json }
    case .media:
      let hasPlayer = link?.services.contains(.ams) ?? false
      return (hasPlayer ? media : Self.nothing.media(level)).map { JSONValue.object($0).json }
    case .call:
      guard let (_, call) = calls.first else { return PhoneCall().json }
      return PhoneCall(state: .ringing, app: call.app).json
    case .counts:
      // An earlier run published numbers as those of now, and was killed.
      let isUnknown = link == nil && record?.isHere == true
      return (counts ?? (isUnknown ? PhoneCounts(of: nil) : nil))?.json
    case .notificationEvent, .callEvent: return nil
    }
  }

  /// The media state of an absent phone.
  private static let nothing = (try? JSONValue(parsing: MediaState().json))?.object ?? [:]
}

extension PhoneCounts {
  /// - Parameter categories: those of the active notifications; nil: they are not known.
  fileprivate init(of categories: [ANCS.Category]?) {
    var members = JSONObject()
    for (number, name) in ANCS.Category.names.enumerated() {
      let count = categories?.count { Int($0.rawValue) == number }
      members.add(name, count.map { .number($0) } ?? .null)
    }
    self.init(total: categories?.count, categories: .object(members))
  }
}
