// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Capture
import Companion
import EventLoop
import GATT
import System
import Wire

/// One link's life with a phone, from the first PDU to the last (docs/design.md, "The life of a link").
///
///     MTU ──▶ encryption ──▶ discovery ──▶ subscription ──▶ serving ⇄ services that change
///
/// The phone is asked as little as possible until it is subscribed to. What fails for one service is
/// told, and tried again later; only a lost link ends the session.
@LoopActor
public final class Session {
  /// How far it has come.
  public internal(set) var stage = Stage.connecting { didSet { surroundings.waitsChanged() } }
  public let link: any PhoneLink
  public let phone: Phone
  public let bearer: Bearer
  /// Counts the daemon's links, from 1 on.
  public internal(set) var number = 0
  /// When the link came up.
  public let since = WallTime.now

  let client: Client
  let surroundings: Surroundings
  let server: Server
  let jobs = Mailbox<Job>()
  private var endReason: String?
  private var timers: Set<TimerID> = []

  /// The services of the phone that were located.
  var located: [UUID: LocatedService] = [:]
  /// The small services whose notifications are subscribed to.
  var followed: Set<UUID> = []
  /// The services that were subscribed to on this link, whatever has become of them.
  var subscribedBefore: Set<UUID> = []
  /// The services that are subscribed to.
  public internal(set) var notifications: NotificationConsumer? {
    didSet { surroundings.waitsChanged() }
  }
  public internal(set) var media: MediaRemote?
  public let battery: BatteryMonitor
  public let clock: ClockMonitor
  public internal(set) var isAuthorized: Bool? { didSet { surroundings.waitsChanged() } }
  /// Why there is no subscription to ANCS although the phone publishes it.
  var objection: Wait? { didSet { surroundings.waitsChanged() } }
  /// What makes it doubtful that the subscription still stands.
  var doubt: String? { didSet { surroundings.waitsChanged() } }
  var searches = 0
  /// The services that were subscribed to on this link and dropped again.
  var dropped: Set<UUID> = []
  /// Whether `subscribed` was told.
  var wasSubscribed = false

  /// What comes up while a session serves.
  enum Job: Hashable, Sendable {
    /// The phone says that the attributes in this range are not what they were.
    case changed(HandleRange)
    /// The small services, and what is worth remembering of the database.
    case finishing
    /// A service is not there, or failed: look again.
    case search
    /// The board's own services are not what this phone knew: tell it.
    case announceOwnChanges
  }

  public init(_ link: any PhoneLink, _ phone: Phone, _ surroundings: Surroundings) {
    self.link = link
    self.phone = phone
    self.surroundings = surroundings
    bearer = Bearer(scheduler: surroundings.scheduler)
    client = Client(bearer)
    battery = BatteryMonitor(client)
    clock = ClockMonitor(client)
    server = Server(
      bearer, database: surroundings.database, client: phone.clientState,
      security: { [unowned link] in link.security })
  }

  /// The services that are subscribed to, or were read.
  public var services: [PhoneService] {
    [
      notifications == nil ? nil : .ancs, media == nil ? nil : .ams,
      battery.level == nil ? nil : .battery, clock.time == nil ? nil : .time,
    ].compactMap { $0 }
  }

  /// Lives on the link until it ends.
  ///
  /// - Returns: why it ended.
  public func run() async -> String {
    let link = link
    let bearer = bearer
    let capture = surroundings.capture
    bearer.send = { pdu in
      capture?.record(pdu, .sent, on: link)
      link.send(pdu)
    }
    bearer.onDropped = { [log = surroundings.log] bytes, why in
      log.warning("dropped from the phone: \(why): \(bytes.hex)")
    }
    bearer.onDead = { link.end("\($0)") }
    bearer.raiseSecurity = { _ in await link.raiseSecurity() }
    client.onUnclaimedValue = { [log = surroundings.log] handle, value in
      log.info("dropped a value of \(hexadecimal(handle)), which nobody asked for: \(value.hex)")
    }
    link.onEnd = { [weak self] reason in self?.ended(reason) }
    link.onPacket = { [unowned link] pdu in
      capture?.record(pdu, .received, on: link)
      bearer.receive(pdu)
    }
    phone.session = self
    do {
      try await live()
    } catch {
      if endReason == nil { link.end("\(error)") }
    }
    finish()
    return endReason ?? "the link was lost"
  }

  private func live() async throws(ATTFailure) {
    // Its answer is a byte from the phone: there is a kernel that must not close a link without one.
    try await bearer.exchangeMTU()
    stage = .securing
    guard await link.secure() else {
      stage = .refused
      while await jobs.next() != nil {}
      return
    }
    // Said at once, a change of the board's own services was seen to upset iOS.
    if server.hasChangesToAnnounce, let pause = surroundings.quirks.ownChanges {
      later(pause, .announceOwnChanges)
    }
    try await setUp()
    while let job = await jobs.next() { try await perform(job) }
  }

  private func ended(_ reason: String) {
    guard endReason == nil else { return }
    endReason = reason
    bearer.close(.closed(reason))
    jobs.close()
  }

  /// Forgets everything of the session.
  private func finish() {
    surroundings.capture?.ended(link)
    stage = .ended
    for timer in timers { surroundings.scheduler.cancel(timer) }
    timers = []
    if let notifications {
      phone.seen.formUnion(notifications.seen)
      notifications.end()
    }
    media?.end()
    clock.end()
    notifications = nil
    media = nil
    if link.isBonded { phone.clientState = server.client }
    if phone.session === self { phone.session = nil }
    // Link and bearer hold each other as long as they are joined.
    link.onPacket = { _ in }
    bearer.onDead = { _ in }
    bearer.raiseSecurity = nil
    surroundings.remember(phone)
  }

  /// Does a job after a while, unless the session has ended by then.
  func later(_ delay: Duration, _ job: Job) {
    var timer: TimerID?
    timer = surroundings.scheduler.schedule(after: delay) { [weak self] in
      if let timer { self?.timers.remove(timer) }
      self?.jobs.post(job)
    }
    if let timer { timers.insert(timer) }
  }

  /// Tells an event of this link.
  func post(_ content: Event.Content) {
    surroundings.journal.post(
      Event(content, adapter: link.adapter, phone: (link.phone ?? phone.identity)?.address))
  }

  /// Tells that something failed that costs no session.
  func report(_ what: String, _ failure: ATTFailure) {
    post(
      .error(what: what, code: failure.code.map { Int($0.rawValue) }, message: "\(failure)"))
  }
}

/// How far a session has come.
public enum Stage: String, Hashable, Sendable, CaseIterable {
  case connecting, securing, refused, discovering, subscribing, serving, ended
}

/// What a session finds around itself: the same for all of a daemon's sessions on one adapter.
@LoopActor
public struct Surroundings {
  public var journal: Journal
  public var log: Log
  /// The name that the phone shows for the board.
  public var name: String
  public var scheduler: any Scheduler
  /// The board's own attributes, which the phone may read.
  public var database: AttributeDatabase
  public var fetch: AttributeSelection
  public var quirks: Quirks
  /// Where the PDUs of the link are written to, as they go by.
  public var capture: CaptureWriter?
  /// Keeps what was learned of a phone.
  public var remember: (Phone) -> Void
  /// Is told that what the session waits for may have changed.
  public var waitsChanged: () -> Void = {}
}
