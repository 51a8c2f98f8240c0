// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import GATT
import Wire

/// A phone without a radio: a Notification Provider and a Media Source on this project's own ATT and GATT,
/// strict about what it accepts, and scripted.
///
///     link ──▶ receive ──▶ Bearer ──▶ Server ──▶ NotificationProvider, MediaSource, battery, time
///     script ──▶ perform ──▶ the same, which ──▶ send ──▶ link
///                                             └─▶ onEvent: what the peer did
///
/// It has one connection at a time and outlives it: notifications, player and clock remain, subscriptions
/// do not. It owns no socket and no clock, and is used on one loop only.
///
///     let phone = VirtualPhone(scheduler: loop)
///     let link = VirtualLink(scheduler: loop)
///     phone.connect(link.one)              // the daemon's bearer gets `link.other`
///     try phone.perform(.add(NotificationContents(.social, app: "com.apple.MobileSMS")))
public final class VirtualPhone {
  /// The phone's properties.
  public struct Configuration: Hashable, Sendable {
    /// Its name (Generic Access, Device Name).
    public var name = "iPhone"
    /// Its model (Device Information).
    public var model = "iPhone15,2"
    /// Its receive MTU; phones were seen to offer 185.
    public var receiveMTU = 185
    /// Whether a new link counts as encrypted, as one over a socket does.
    public var isEncrypted = true
    /// Its local time at the start.
    public var time = CivilTime(secondsSince1970: 1_795_254_060)
    /// The fraction of that second.
    public var fraction = Duration.zero
    /// Its time zone.
    public var zone = LocalTimeInformation(timeZone: 4, daylightSaving: 0)

    public init() {}

    /// Sets the clock to a time, in a zone that is so many seconds ahead of UTC.
    public mutating func setClock(to time: WallTime, zone offset: Int) {
      self.time = CivilTime(secondsSince1970: time.seconds + Int64(offset))
      fraction = .nanoseconds(time.nanoseconds)
      zone = LocalTimeInformation(timeZone: offset / 900, daylightSaving: 0)
    }
  }

  /// Called with what the phone sees its peer do.
  public var onEvent: (PhoneEvent) -> Void = { _ in }
  /// Whether the phone accepts a connection.
  public private(set) var isReachable = true
  /// Whether the phone is connected.
  public var isConnected: Bool { connection != nil }
  /// The notifications on the phone, oldest first.
  public var notifications: [PhoneNotification] { provider.notifications }
  /// The names of the phone's apps, by their ids.
  public var appNames: [String: String] { provider.apps }
  /// The phone's player.
  public var player: MediaPlayer { media.player }

  let scheduler: any Scheduler
  let provider: NotificationProvider
  let media: MediaSource
  let database: PhoneDatabase
  let state: State
  private(set) var connection: PhoneConnection?
  /// The script that is playing.
  var stage: DayPlayer?

  /// The values of battery and time, and the properties of the next link.
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
      values: PhoneDatabase.Values(
        controlPoint: { _, value throws(ErrorCode) in try provider.handleCommand(value) },
        remoteCommand: { _, value throws(ErrorCode) in try media.handleRemoteCommand(value) },
        entityUpdate: { _, value throws(ErrorCode) in try media.handleRegistration(value) },
        selection: { _, value throws(ErrorCode) in try media.handleSelection(value) },
        selected: { _ throws(ErrorCode) in try media.readSelection() },
        batteryLevel: { _ in [state.batteryLevel] },
        currentTime: { [scheduler] _ in state.clock.value(at: scheduler.now) },
        localTime: { _ in state.clock.zone.encoded }))
    provider.apps = VirtualDay.apps
    connectProvider()
    connectMedia()
  }

  private func connectProvider() {
    provider.report = { [weak self] in self?.onEvent($0) }
    provider.onSession = { [weak self] in self?.stage?.begin() }
    provider.date = { [scheduler, state] in state.clock.date(at: scheduler.now) }
    provider.notify = { [weak self] value in
      self?.enqueue { $0.notify(.notificationSource, value) }
    }
    provider.sender.limit = { [weak self] in
      let room = (self?.connection?.bearer.mtu ?? Bearer.defaultMTU) - 3
      return min(room, self?.provider.faults.fragmentSize ?? room)
    }
    provider.sender.notify = { [weak self] in self?.connection?.notify(.dataSource, $0) }
  }

  private func connectMedia() {
    media.report = { [weak self] in self?.onEvent($0) }
    media.sendCommands = { [weak self] value in
      self?.enqueue { $0.notify(.remoteCommand, value) }
    }
    media.sendUpdate = { [weak self] value in
      self?.enqueue { $0.notify(.entityUpdate, value($0.bearer.mtu - 3)) }
    }
  }

  /// Sends something on the present connection, on a later turn of the loop.
  func enqueue(_ action: @escaping (PhoneConnection) -> Void) {
    guard let connection else { return }
    connection.outbox.add { [weak connection] in
      if let connection { action(connection) }
    }
  }

  // MARK: The connection

  /// Connects the phone to a link that is up.
  ///
  /// - Parameters:
  ///   - send: called with a PDU for the link.
  ///   - hangUp: called to end the link; `disconnected` is to be called when it has ended.
  /// - Returns: false if the phone is out of reach or connected already.
  @discardableResult
  public func connect(
    send: @escaping ([UInt8]) -> Void, hangUp: @escaping (String) -> Void
  ) -> Bool {
    guard isReachable, connection == nil else { return false }
    let connection = PhoneConnection(
      scheduler: scheduler, receiveMTU: state.receiveMTU, database: database,
      security: { [state] in state.isEncrypted ? .encrypted : .none },
      send: send, hangUp: hangUp, report: { [weak self] in self?.onEvent($0) })
    connection.server.onSubscribe = { [weak self] handle, wanted in
      self?.subscriptionChanged(handle, wanted)
    }
    self.connection = connection
    onEvent(.connected)
    return true
  }

  /// Connects the phone to one end of a virtual link.
  @discardableResult
  public func connect(_ end: VirtualLink.End) -> Bool {
    guard connect(send: { end.send($0) }, hangUp: { end.close($0) }) else { return false }
    end.receive = { [weak self] in self?.receive($0) }
    end.onClose = { [weak self] in self?.disconnected($0) }
    return true
  }

  /// Processes a PDU from the link.
  public func receive(_ pdu: [UInt8]) {
    guard let connection else { return }
    if state.isFrozen { return connection.ignore(pdu) }
    connection.bearer.receive(pdu)
    reportMTU()
  }

  /// Reports the MTU if it has changed.
  func reportMTU() {
    guard let connection, connection.bearer.mtu != connection.reportedMTU else { return }
    connection.reportedMTU = connection.bearer.mtu
    onEvent(.mtu(connection.bearer.mtu))
  }

  /// The link has ended: everything that belongs to the connection is forgotten.
  public func disconnected(_ reason: String) {
    guard let connection else { return }
    self.connection = nil
    connection.outbox.discard()
    provider.endSession()
    media.forgetRemote()
    connection.bearer.close(.closed(reason))
    onEvent(.disconnected(reason))
  }

  /// Sets whether the phone accepts connections.
  func setReachable(_ reachable: Bool) { isReachable = reachable }

  // MARK: Subscriptions

  private func subscriptionChanged(_ handle: Handle, _ wanted: ClientConfiguration) {
    guard let characteristic = database.characteristic(at: handle) else { return }
    onEvent(.subscribed(characteristic, wanted))
    apply(characteristic, isSubscribed: wanted.contains(.notifications))
  }

  /// Applies that a characteristic is, or is no longer, subscribed to.
  func apply(_ characteristic: PhoneCharacteristic, isSubscribed: Bool) {
    switch characteristic {
    case .notificationSource where isSubscribed: provider.beginSession()
    case .notificationSource: provider.endSession()
    case .dataSource where !isSubscribed: provider.sender.stop()
    case .remoteCommand: media.subscribeCommands(isSubscribed)
    case .entityUpdate: media.subscribeUpdates(isSubscribed)
    case .serviceChanged, .dataSource, .batteryLevel, .currentTime: break
    }
  }
}

/// The phone's clock, which runs on from the time that it was set to.
struct PhoneClock {
  /// The time zone.
  let zone: LocalTimeInformation
  private let start: CivilTime
  private let set: Instant

  /// A clock that shows `start` at `now`.
  init(_ start: CivilTime, zone: LocalTimeInformation, at now: Instant) {
    self.start = start
    self.zone = zone
    set = now
  }

  /// Seconds since 1970 in local time.
  private func seconds(at now: Instant) -> Double {
    Double(start.secondsSince1970) + (now - set).inSeconds
  }

  /// The value of Current Time at `now`; `adjusted` is the reason if the clock was just set (Current Time
  /// Service 1.1, 3.1.2.2). Zeros, which stand for unknown, in years that cannot be encoded.
  func value(
    at now: Instant, adjusted: CurrentTime.AdjustReason = []
  ) -> [UInt8] {
    let whole = seconds(at: now).rounded(.down)
    let fraction = UInt8(clamping: Int((seconds(at: now) - whole) * 256))
    let time = CurrentTime(
      secondsSince1970: Int64(whole), fractions256: fraction, adjustReason: adjusted)
    return time?.encoded ?? [UInt8](repeating: 0, count: 10)
  }

  /// The local time in ANCS's format: `20261121T070000`.
  func date(at now: Instant) -> String {
    CivilTime(secondsSince1970: Int64(seconds(at: now))).notificationDate
  }
}
