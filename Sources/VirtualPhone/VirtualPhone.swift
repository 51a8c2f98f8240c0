// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import GATT
import Wire

/// A phone without a radio: Notification Provider and Media Source on this project's own ATT and
/// GATT, strict about what it accepts, and scripted.
///
///     link ──▶ receive ──▶ Bearer ──▶ Server ──▶ NotificationProvider, MediaSource, battery, time
///     script ──▶ perform ──▶ the same, which ──▶ send ──▶ link
///                                             └─▶ onEvent: what the peer did
///
/// It outlives its connections, of which it has one at a time: notifications, player and clock go on,
/// subscriptions do not. It owns no socket and no clock and is used from one loop only.
///
///     let phone = VirtualPhone(scheduler: loop)
///     let link = VirtualLink(scheduler: loop)
///     phone.connect(link.one)              // and the daemon's bearer is given `link.other`
///     try phone.perform(.add(NotificationContents(.social, app: "com.apple.MobileSMS")))
public final class VirtualPhone {
  /// What kind of phone it is.
  public struct Configuration: Hashable, Sendable {
    /// What it is called (Generic Access, Device Name).
    public var name = "iPhone"
    /// Its model (Device Information).
    public var model = "iPhone15,2"
    /// The greatest MTU that it takes: 185 is what phones were seen to say.
    public var receiveMTU = 185
    /// Whether ANCS, AMS and the small services want an encrypted link.
    public var needsEncryption = true
    /// Whether a new link counts as encrypted; one over a socket does.
    public var isEncrypted = true
    /// What its clock shows at first.
    public var time = CivilTime(secondsSince1970: 1_795_254_060)
    /// How much of that second is over.
    public var fraction = Duration.zero
    /// How that stands to UTC.
    public var zone = LocalTimeInformation(timeZone: 4, daylightSaving: 0)

    public init() {}
  }

  /// Takes what the phone sees its peer do.
  public var onEvent: (PhoneEvent) -> Void = { _ in }
  /// Whether a connection would be let in.
  public private(set) var isReachable = true
  /// Whether there is a connection.
  public var isConnected: Bool { link != nil }
  /// The notifications that are on the phone, oldest first.
  public var notifications: [PhoneNotification] { provider.notifications }
  /// What the phone's apps are called, by their ids.
  public var appNames: [String: String] { provider.apps }
  /// The phone's player.
  public var player: MediaPlayer { media.player }

  let scheduler: any Scheduler
  let provider: NotificationProvider
  let media: MediaSource
  let database: PhoneDatabase
  let state: State
  private(set) var link: PhoneLink?
  /// The day that is played.
  var stage: DayPlayer?

  /// What the small services say, and how the next link is to be.
  final class State {
    var receiveMTU: Int
    var isEncrypted: Bool
    var isFrozen = false
    var batteryLevel: UInt8 = 80
    var clock: PhoneClock

    init(_ configuration: Configuration, at now: Instant) {
      receiveMTU = configuration.receiveMTU
      isEncrypted = configuration.isEncrypted
      clock = PhoneClock(
        configuration.time, zone: configuration.zone, at: now + (.zero - configuration.fraction))
    }
  }

  /// A phone without notifications, with an empty player and the usual apps.
  public init(_ configuration: Configuration = Configuration(), scheduler: any Scheduler) {
    self.scheduler = scheduler
    let state = State(configuration, at: scheduler.now)
    let provider = NotificationProvider(scheduler: scheduler)
    let media = MediaSource(scheduler: scheduler)
    self.state = state
    self.provider = provider
    self.media = media
    database = PhoneDatabase(
      name: configuration.name, model: configuration.model,
      access: configuration.needsEncryption ? .encrypted : .open,
      values: PhoneDatabase.Values(
        controlPoint: { _, value throws(ErrorCode) in try provider.take(command: value) },
        remoteCommand: { _, value throws(ErrorCode) in try media.take(remoteCommand: value) },
        entityUpdate: { _, value throws(ErrorCode) in try media.take(registration: value) },
        selection: { _, value throws(ErrorCode) in try media.take(selection: value) },
        selected: { _ throws(ErrorCode) in try media.readSelection() },
        batteryLevel: { _ in [state.batteryLevel] },
        currentTime: { [scheduler] _ in state.clock.value(at: scheduler.now) },
        localTime: { _ in state.clock.zone.encoded }))
    provider.apps = VirtualDay.apps
    joinProvider()
    joinMedia()
  }

  private func joinProvider() {
    provider.report = { [weak self] in self?.onEvent($0) }
    provider.onSession = { [weak self] in self?.stage?.begin() }
    provider.date = { [scheduler, state] in state.clock.date(at: scheduler.now) }
    provider.notify = { [weak self] value in
      self?.say { $0.notify(.notificationSource, value) }
    }
    provider.sender.limit = { [weak self] in
      let room = (self?.link?.bearer.mtu ?? Bearer.defaultMTU) - 3
      return min(room, self?.provider.faults.fragmentSize ?? room)
    }
    provider.sender.notify = { [weak self] in self?.link?.notify(.dataSource, $0) }
  }

  private func joinMedia() {
    media.report = { [weak self] in self?.onEvent($0) }
    media.notifyCommands = { [weak self] value in
      self?.say { $0.notify(.remoteCommand, value) }
    }
    media.notifyUpdate = { [weak self] value in
      self?.say { $0.notify(.entityUpdate, value($0.bearer.mtu - 3)) }
    }
  }

  /// Says something on the link there is, on a later turn.
  func say(_ what: @escaping (PhoneLink) -> Void) {
    guard let link else { return }
    link.outbox.add { [weak link] in
      if let link { what(link) }
    }
  }

  // MARK: The link

  /// Takes over a link that is up.
  ///
  /// - Parameters:
  ///   - send: takes a PDU for the link.
  ///   - hangUp: ends the link; `disconnected` is called when it has ended.
  /// - Returns: false where the phone is out of reach or has a link already; nothing is sent then.
  @discardableResult
  public func connect(
    send: @escaping ([UInt8]) -> Void, hangUp: @escaping (String) -> Void
  ) -> Bool {
    guard isReachable, link == nil else { return false }
    let link = PhoneLink(
      scheduler: scheduler, receiveMTU: state.receiveMTU, database: database,
      security: { [state] in state.isEncrypted ? .encrypted : .none },
      send: send, hangUp: hangUp, report: { [weak self] in self?.onEvent($0) })
    link.server.onSubscribe = { [weak self] handle, wanted in
      self?.subscriptionChanged(handle, wanted)
    }
    self.link = link
    onEvent(.connected)
    return true
  }

  /// Takes over one end of a virtual link.
  @discardableResult
  public func connect(_ end: VirtualLink.End) -> Bool {
    guard connect(send: { end.send($0) }, hangUp: { end.close($0) }) else { return false }
    end.receive = { [weak self] in self?.receive($0) }
    end.onClose = { [weak self] in self?.disconnected($0) }
    return true
  }

  /// Takes a PDU from the link.
  public func receive(_ pdu: [UInt8]) {
    guard let link else { return }
    if state.isFrozen { return link.ignore(pdu) }
    link.bearer.receive(pdu)
    tellMTU()
  }

  /// Tells the MTU where it is not what it was.
  func tellMTU() {
    guard let link else { return }
    if link.bearer.mtu != link.toldMTU {
      link.toldMTU = link.bearer.mtu
      onEvent(.mtu(link.bearer.mtu))
    }
  }

  /// The link is gone. What belongs to it is forgotten.
  public func disconnected(_ reason: String) {
    guard let link else { return }
    self.link = nil
    link.outbox.discard()
    provider.endSession()
    media.forgetRemote()
    link.bearer.close(.closed(reason))
    onEvent(.disconnected(reason))
  }

  /// Whether somebody is let in from now on.
  func setReachable(_ reachable: Bool) { isReachable = reachable }

  // MARK: Subscriptions

  private func subscriptionChanged(_ handle: Handle, _ wanted: ClientConfiguration) {
    guard let characteristic = database.characteristic(at: handle) else { return }
    onEvent(.subscribed(characteristic, wanted))
    follow(characteristic, wanted.contains(.notifications))
  }

  /// Tells whom it concerns that a characteristic is subscribed to, or no longer is.
  func follow(_ characteristic: PhoneCharacteristic, _ wanted: Bool) {
    switch characteristic {
    case .notificationSource where wanted: provider.beginSession()
    case .notificationSource: provider.endSession()
    case .dataSource where !wanted: provider.sender.stop()
    case .remoteCommand: media.subscribeCommands(wanted)
    case .entityUpdate: media.subscribeUpdates(wanted)
    case .serviceChanged, .dataSource, .batteryLevel, .currentTime: break
    }
  }
}
