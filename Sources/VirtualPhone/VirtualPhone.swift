// SPDX-License-Identifier: GPL-3.0-or-later
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
/// It has one connection at a time and outlives it: notifications, player and clock remain, subscriptions do not. It
/// owns no socket and no clock, and belongs to one loop.
///
///     let phone = VirtualPhone(scheduler: loop)
///     let link = VirtualLink(scheduler: loop)
///     phone.connect(link.one)              // the daemon's bearer gets `link.other`
///     try phone.perform(.add(NotificationContents(.social, app: "com.apple.MobileSMS")))
public final class VirtualPhone {
  /// The phone's properties.
  public struct Configuration: Hashable, Sendable {
    /// The phone that it imitates.
    public var profile = PhoneProfile.iphone
    /// The rules that it keeps.
    public var rules = PhoneRules()
    /// Its name (Generic Access, Device Name).
    public var name = "iPhone"
    /// Its receive MTU: iPhones offer 185 to ordinary accessories, 527 to Apple's own.
    public var receiveMTU = 185
    /// Whether a new link counts as encrypted, as one over a socket does.
    public var isEncrypted = true
    /// Its local time at the start, in seconds since 1970.
    public var time = 1_795_254_060.0
    /// Its time zone.
    public var zone = LocalTimeInformation(timeZone: 4, daylightSaving: 0)

    public init() {}

    /// Sets the clock to a time, in a zone that is this number of seconds ahead of UTC.
    public mutating func setClock(to time: WallTime, zone offset: Int) {
      self.time = Double(time.seconds + Int64(offset)) + Double(time.nanoseconds) / 1e9
      zone = LocalTimeInformation(timeZone: offset / 900, daylightSaving: 0)
    }
  }

  /// Called with each event that the phone observes.
  public var onEvent: (PhoneEvent) -> Void = { _ in }
  /// Called when the peer refuses a request because the link is not encrypted.
  public var onSecurityNeeded: () -> Void = {}
  /// Whether it is in range, with Bluetooth switched on.
  public internal(set) var isReachable = true
  /// The rules that it keeps.
  public var rules: PhoneRules
  /// How many links in a row have ended before the accessory had subscribed.
  public private(set) var strikes = 0
  /// Whether it stays away until its user taps the accessory.
  public var hasGivenUp: Bool { rules.strikes.map { strikes >= $0 } ?? false }
  /// Whether it would have a link with a peer: not out of range, and not with a bonded one after it has given up.
  public func accepts(isBonded: Bool) -> Bool { isReachable && !(isBonded && hasGivenUp) }
  /// Whether the phone is connected.
  public var isConnected: Bool { connection != nil }
  /// The notifications on the phone, oldest first.
  public var notifications: [PhoneNotification] { provider.notifications }
  /// The phone's player.
  public var player: MediaPlayer { media.player }

  let profile: PhoneProfile
  let scheduler: any Scheduler
  let provider: NotificationProvider
  let media: MediaSource
  let database: PhoneDatabase
  private(set) var connection: PhoneConnection?
  /// The receive MTU of the next link.
  private(set) var receiveMTU: Int
  /// Whether a link counts as encrypted.
  private(set) var isEncrypted: Bool
  /// Whether it responds to nothing.
  private var isFrozen = false
  /// When Bluetooth that was switched off in Control Center comes back.
  private lazy var morning = Deadline(scheduler) { [weak self] in self?.isReachable = true }
  /// The script that is playing.
  var stage: DayPlayer?

  /// A phone without notifications, with an empty player and the usual apps.
  public init(_ configuration: Configuration = Configuration(), scheduler: any Scheduler) {
    profile = configuration.profile
    rules = configuration.rules
    self.scheduler = scheduler
    receiveMTU = configuration.receiveMTU
    isEncrypted = configuration.isEncrypted
    provider = NotificationProvider(profile, scheduler: scheduler)
    media = MediaSource(scheduler: scheduler)
    database = PhoneDatabase(configuration, provider, media, scheduler)
    provider.apps = VirtualDay.apps
    provider.phone = self
    media.phone = self
  }

  /// Its local time in ANCS's format.
  var date: String { database.clock.date(at: scheduler.now) }

  /// Sends something on the current connection on a later turn of the loop, after the response to the request that
  /// caused it.
  func enqueue(_ action: @escaping (PhoneConnection) -> Void) {
    guard let connection else { return }
    _ = scheduler.schedule(after: .zero) { [weak self, weak connection] in
      if let connection, connection === self?.connection { action(connection) }
    }
  }

  // MARK: The connection

  /// Connects the phone to a link that is up.
  ///
  /// - Parameters:
  ///   - isBonded: whether the peer has a bond, which means that the phone is about to encrypt.
  ///   - send: called with a PDU for the link.
  ///   - hangUp: called to end the link; call `disconnected` when it has ended.
  /// - Returns: false if the phone is out of range, has given up or is already connected.
  @discardableResult public func connect(
    isBonded: Bool = false, send: @escaping ([UInt8]) -> Void, hangUp: @escaping (String) -> Void
  ) -> Bool {
    guard accepts(isBonded: isBonded), connection == nil else { return false }
    let connection = PhoneConnection(of: self, isBonded: isBonded, send: send, hangUp: hangUp)
    connection.server.onSubscribe = { [weak self] handle, wanted in
      self?.subscriptionChanged(handle, wanted)
    }
    self.connection = connection
    onEvent(.connected)
    if isEncrypted { playOverture() }
    return true
  }

  /// Connects the phone to one end of a virtual link.
  @discardableResult public func connect(_ end: VirtualLink.End, isBonded: Bool = false) -> Bool {
    guard
      connect(isBonded: isBonded, send: { end.send($0) }, hangUp: { end.close($0) })
    else { return false }
    end.receive = { [weak self] in self?.receive($0) }
    end.onClose = { [weak self] in self?.disconnected($0) }
    return true
  }

  /// Processes a PDU from the link.
  public func receive(_ pdu: [UInt8]) {
    guard let connection else { return }
    if isFrozen { return connection.ignore(pdu) }
    connection.receive(pdu)
    reportMTU()
  }

  /// The link is encrypted from now on, or no longer.
  private func set(encrypted: Bool) {
    let hasBegun = encrypted && !isEncrypted
    isEncrypted = encrypted
    if hasBegun, connection != nil { playOverture() }
  }

  /// Takes the phone's own steps, the first of them before it responds to any request.
  private func playOverture() {
    for (step, delay) in profile.overture {
      _ = scheduler.schedule(after: delay) { [weak self, weak connection] in
        guard let self, let connection, connection === self.connection, !isFrozen else { return }
        take(step, on: connection)
      }
    }
    enqueue { [weak self] connection in
      connection.release()
      self?.reportMTU()
    }
  }

  private func take(_ step: PhoneProfile.Overture, on connection: PhoneConnection) {
    let bearer = connection.bearer
    switch step {
    case .indicateChange(let range):
      try? indicate(.serviceChanged, ServiceChanged(range: range).encoded)
    case .exchangeMTU where connection.hasAskedForMTU: break
    case .exchangeMTU:
      connection.hasAskedForMTU = true
      bearer.request(.exchangeMTURequest(clientMTU: UInt16(clamping: receiveMTU))) {
        [weak self] _ in self?.reportMTU()
      }
    case .find(let service):
      let value = service.littleEndian
      bearer.request(.findByTypeValueRequest(.all, type: 0x2800, value: value)) { _ in }
    case .read(let type): bearer.request(.readByTypeRequest(.all, type: type)) { _ in }
    }
  }

  private func indicate(_ characteristic: PhoneCharacteristic, _ value: [UInt8]) throws(PhoneRefusal) {
    let handle = try handle(of: characteristic)
    try connected().bearer.indicate(handle, value) { [weak self] response in
      if case .success = response { self?.onEvent(.confirmed(characteristic)) }
    }
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
    if connection.isBonded || isEncrypted, !connection.hasSubscribed {
      strikes += 1
      if hasGivenUp { onEvent(.gaveUp(strikes)) }
    }
    provider.endSession()
    media.forgetRemote()
    connection.bearer.close(.closed(reason))
    onEvent(.disconnected(reason))
  }

  // MARK: Subscriptions

  private func subscriptionChanged(_ handle: Handle, _ wanted: ClientConfiguration) {
    guard let characteristic = database.characteristic(at: handle) else { return }
    onEvent(.subscribed(characteristic, wanted))
    apply(characteristic, isSubscribed: wanted.contains(.notifications))
  }

  /// Applies a subscription to a characteristic, or its end.
  func apply(_ characteristic: PhoneCharacteristic, isSubscribed: Bool) {
    if isSubscribed, characteristic.countsAsSubscription {
      connection?.hasSubscribed = true
      strikes = 0
    }
    switch characteristic {
    case .notificationSource where isSubscribed: provider.beginSession()
    case .notificationSource: provider.endSession()
    case .dataSource where !isSubscribed: provider.sender.stop()
    case .remoteCommand: media.subscribeCommands(isSubscribed)
    case .entityUpdate: media.subscribeUpdates(isSubscribed)
    default: break
    }
  }
}

// MARK: - Commands

/// The phone's commands.
extension VirtualPhone {
  /// Carries out a command; the resulting PDUs are sent on later turns of the loop.
  ///
  /// - Returns: the numbers of the added notifications.
  @discardableResult
  public func perform(_ command: PhoneCommand) throws(PhoneRefusal) -> [NotificationUID] {
    switch command {
    case .add(let contents, let uid): return [try provider.add(contents, uid: uid)]
    case .burst(let count, let contents): return try burst(count, contents)
    case .modify(let uid, let contents): try provider.modify(uid, contents)
    case .remove(let uid): try provider.remove(uid)
    case .removeAll: provider.removeAll()
    case .renumber: provider.renumber()
    case .nameApp(let app, let name): provider.apps[app] = name
    case .authorize(let granted): provider.authorize(granted)
    case .fragments(let size): provider.sender.fragmentSize = size ?? .max
    case .pace(let response, let fragment):
      provider.sender.responseDelay = max(.zero, response)
      provider.sender.fragmentDelay = max(.zero, fragment)
    case .failCommands(let code, let count):
      provider.refusals += repeatElement(code, count: max(0, count))
    case .silence(let count): provider.fates += repeatElement(.silent, count: max(0, count))
    case .cutResponses(let count): provider.fates += repeatElement(.cut, count: max(0, count))
    case .media(let change, let playlist):
      media.change { player, now in player.apply(change, playlist, at: now) }
    case .mediaAttribute(let attribute, let value): media.override(attribute, value)
    case .remote(let command): media.change { player, now in player.perform(command, at: now) }
    case .battery(let level): set(batteryLevel: level)
    case .time(let time, let zone): set(time, zone)
    case .publish(let service, let fresh): try database.publish(service, freshHandles: fresh)
    case .unpublish(let service): try unpublish(service)
    case .forgetSubscriptions(let service): try forgetSubscriptions(of: service)
    case .encrypt(let encrypted): set(encrypted: encrypted)
    case .limitMTU(let mtu): receiveMTU = mtu
    case .freeze(let frozen): isFrozen = frozen
    case .disconnect: try connected().hangUp("the phone hung up")
    case .leave: stayAway("the phone is out of range")
    case .comeBack: isReachable = true
    case .tap: strikes = 0
    case .controlCenter:
      stayAway("Bluetooth was switched off in Control Center")
      morning.due = scheduler.now + database.clock.pause(untilHour: 5, at: scheduler.now)
    case .send(let bytes): try connected().bearer.send(bytes)
    case .notify(let characteristic, let value):
      let pdu = PDU.handleValueNotification(try handle(of: characteristic), value: value)
      try connected().bearer.send(pdu.encoded)
    case .indicate(let characteristic, let value): try indicate(characteristic, value)
    }
    return []
  }

  private func stayAway(_ why: String) {
    isReachable = false
    morning.due = nil
    connection?.hangUp(why)
  }

  private func burst(_ count: Int, _ contents: NotificationContents) throws(PhoneRefusal) -> [NotificationUID] {
    try (1...max(1, count)).map { number throws(PhoneRefusal) in
      var numbered = contents
      numbered[.title] = (contents[.title].map { $0 + " " } ?? "") + String(number)
      return try provider.add(numbered, uid: nil)
    }
  }

  // MARK: Battery and time

  private func set(batteryLevel percent: UInt8) {
    guard percent != database.batteryLevel else { return }
    database.batteryLevel = percent
    enqueue { $0.notify(.batteryLevel, [percent]) }
  }

  private func set(_ time: CivilTime, _ zone: LocalTimeInformation?) {
    let now = scheduler.now
    database.clock = PhoneClock(start: Double(time.secondsSince1970), zone: zone ?? database.clock.zone, set: now)
    let value = database.clock.value(at: now, adjusted: .manual)
    enqueue { $0.notify(.currentTime, value) }
  }

  // MARK: The link and the database

  private func unpublish(_ service: PublishedService) throws(PhoneRefusal) {
    try database.unpublish(service)
    switch service {
    case .ancs: provider.endSession()
    case .ams: media.forgetRemote()
    default: break
    }
  }

  private func forgetSubscriptions(of service: PublishedService?) throws(PhoneRefusal) {
    let connection = try connected()
    let range = service.map { database.range(of: $0) } ?? .all
    guard let range else { throw PhoneRefusal("\(service?.rawValue ?? "it") does not exist") }
    connection.forgetSubscriptions(in: range)
    for characteristic in PhoneCharacteristic.allCases where service == nil || characteristic.service == service?.uuid {
      apply(characteristic, isSubscribed: false)
    }
  }

  private func connected() throws(PhoneRefusal) -> PhoneConnection {
    guard let connection else { throw PhoneRefusal("nobody is connected") }
    return connection
  }

  private func handle(of characteristic: PhoneCharacteristic) throws(PhoneRefusal) -> Handle {
    guard let handle = database.handle(of: characteristic) else {
      throw PhoneRefusal("\(characteristic.rawValue) does not exist")
    }
    return handle
  }
}

// MARK: - Requests to the peer's server

/// A request of the phone, which is a GATT client too, to the peer's server.
public enum ServerRequest: Hashable, Sendable {
  /// Exchanges MTUs.
  case exchangeMTU
  /// Discovers all primary services.
  case discover
  /// Reads the characteristics of a type, as phones read the device name.
  case read(UUID)
  /// Reads everything that can be read, as a phone does that meets an accessory.
  case explore
}

extension VirtualPhone {
  /// Sends a request to the peer's server; the response is an event.
  public func ask(_ request: ServerRequest) async {
    guard let connection else {
      return onEvent(.failed("\(request)", .closed("nobody is connected")))
    }
    do throws(ATTFailure) {
      switch request {
      case .exchangeMTU: try await exchangeMTU(connection)
      case .discover: onEvent(.discovered(try await connection.client.primaryServices()))
      case .read(let type):
        // Not by `Client.read(_:in:)`, which does not throw Attribute Not Found.
        for value in try await connection.bearer.request(.readByType(.all, type: type)) {
          onEvent(.read(type, handle: value.handle, value: value.value))
        }
      case .explore: try await explore(connection)
      }
    } catch {
      onEvent(.failed("\(request)", error))
      if [.insufficientAuthentication, .insufficientEncryption].contains(error.code) {
        onSecurityNeeded()
      }
    }
  }

  private func exchangeMTU(_ connection: PhoneConnection) async throws(ATTFailure) {
    connection.hasAskedForMTU = true
    try await connection.bearer.exchangeMTU()
    reportMTU()
  }

  /// Asks for the MTU, discovers the services, and reads each value that can be read, up to the first
  /// that wants an encrypted link.
  private func explore(_ connection: PhoneConnection) async throws(ATTFailure) {
    if !connection.hasAskedForMTU { try await exchangeMTU(connection) }
    let services = try await connection.client.primaryServices()
    onEvent(.discovered(services))
    for service in services {
      for found in try await connection.client.characteristics(in: service.range)
      where found.properties.contains(.read) {
        let value = try await connection.client.read(found.value)
        onEvent(.read(found.uuid, handle: found.value, value: value))
      }
    }
  }
}

extension ServerRequest: CustomStringConvertible {
  public var description: String {
    switch self {
    case .exchangeMTU: "exchange-mtu"
    case .discover: "discover"
    case .read(let type): "read \(type)"
    case .explore: "explore"
    }
  }
}
