// SPDX-License-Identifier: GPL-3.0-or-later
import GAP
import Wire

/// The life of a phone's link to an accessory, with this side as the central: `ancsd phone --hciN`, which behaves like
/// an iPhone.
///
///     scanning ── one is chosen ──▶ connecting ──▶ open ──▶ encrypted
///        ▲                              │            │          │
///        └── pausing ◀── failed, lost ──┴────────────┘          │
///        └──────────────── lost: it comes back by itself ───────┘
///     resting: only the user can help          away: out of reach, by command
///
/// Without a bond it connects to the only accessory that it sees, or to the chosen one, explores it, and pairs when
/// the accessory asks for it or refuses something. With a bond it returns only to that accessory, and encrypts by
/// itself before anything else.
public struct CentralMachine: Hashable, Sendable {
  /// How long to collect accessories before connecting to one.
  public static let choosing: Duration = .seconds(1)
  /// How often the scan starts over. A controller reports an advertiser only once per scan, even if its data changes.
  public static let round: Duration = .seconds(5)
  /// How long encrypting with a bond's key may take; iPhones took up to 0.75 s.
  public static let patience: Duration = .seconds(10)
  /// How many consecutive links may fail for an ambiguous reason.
  public static let attempts = 3
  /// The maximum number of known accessories: some change their addresses.
  static let capacity = 64

  /// The state of the phone.
  public enum State: Hashable, Sendable {
    /// Out of range, by command.
    case away
    /// It does not reconnect by itself.
    case resting(CentralFailure)
    case scanning(Scan)
    case pausing(until: Instant)
    case connecting(DeviceAddress)
    /// The link is up but not encrypted.
    case open(Link)
    case encrypted(Link)
    /// This side is ending the link, or the attempt to connect.
    case leaving(Next)
  }

  /// A scan and its results.
  public struct Scan: Hashable, Sendable {
    /// The accessories by address; `order` is the order in which they were first seen.
    var seen: [DeviceAddress: Accessory] = [:]
    var order: [DeviceAddress] = []
    /// When the scan starts over.
    var renewal: Instant
    var choosing = Choosing.nothingSeen
  }

  /// How the phone chooses an accessory.
  enum Choosing: Hashable, Sendable {
    case nothingSeen
    /// There is one; the phone connects to it at this time if there is no other.
    case due(Instant)
    /// There are several: the user has to choose.
    case leftToUser
  }

  /// A link.
  public struct Link: Hashable, Sendable {
    /// The accessory, by its identity once that is known.
    public internal(set) var accessory: DeviceAddress
    /// Whether there was a bond when it came up.
    public let isBonded: Bool
    /// When it has to be encrypted.
    var deadline: Instant?
    /// The open question to the user.
    var question: PairingPrompt?
    var collector = BondCollector(isCentral: true)
  }

  /// The next step after this side has ended a link.
  public enum Next: Hashable, Sendable {
    case scan
    /// Scan after a pause.
    case retry
    case rest(CentralFailure)
    case beAway
  }

  /// Actions for the owner, in order.
  public enum Action: Hashable, Sendable {
    /// Start or restart a passive scan for all devices.
    case scan
    case stopScanning
    /// Connect; `connected` or `connectFailed` follows.
    case connect(DeviceAddress)
    /// End the link, or the attempt; `ended` or `connectFailed` follows.
    case hangUp
    /// Encrypt, or pair, by BT_SECURITY on the channel.
    case secure
    /// Discover and read the accessory's attributes, which is how an iPhone comes to pair.
    case explore
    /// Keep a bond.
    case save(Bond)
    /// Forget the bonds with these: remove their keys from the kernel, which ends their links.
    case forget([DeviceAddress])
    /// Send a reply to the kernel.
    case send(MgmtCommand)
    case report(CentralEvent)
  }

  public private(set) var state = State.away
  /// The bonded accessories.
  public private(set) var bonds: [Bond]
  /// The accessory that the user chose; nil: the bonded one, or the only one.
  public private(set) var choice: AccessoryChoice?
  /// Whether to ask the user before confirming anything.
  private let asks: Bool
  /// The number of failed links since the last encrypted one.
  private var failures = 0

  public init(bonds: [Bond] = [], choice: AccessoryChoice? = nil, asks: Bool = false) {
    self.bonds = bonds
    self.choice = choice
    self.asks = asks
  }

  /// The link; nil while there is none.
  public var link: Link? {
    switch state {
    case .open(let link), .encrypted(let link): link
    case .away, .resting, .scanning, .pausing, .connecting, .leaving: nil
    }
  }

  /// When to call `timePassed`, if at all.
  public var deadline: Instant? {
    switch state {
    case .scanning(let scan):
      if case .due(let decision) = scan.choosing {
        min(decision, scan.renewal)
      } else {
        scan.renewal
      }
    case .pausing(let until): until
    case .open(let link): link.deadline
    case .away, .resting, .connecting, .encrypted, .leaving: nil
    }
  }

  /// Time has passed; nothing happens before `deadline`.
  public mutating func timePassed(to now: Instant) -> [Action] {
    guard let deadline, now >= deadline else { return [] }
    switch state {
    case .scanning(var scan):
      if case .due(let decision) = scan.choosing, now >= decision { return decide(scan) }
      scan.renewal = now + Self.round
      state = .scanning(scan)
      return [.scan]
    case .pausing: return scan(at: now)
    case .open:
      failures += 1
      return hangUp(then: .retry)
    case .away, .resting, .connecting, .encrypted, .leaving: return []
    }
  }

  private func isBonded(_ device: DeviceAddress) -> Bool {
    bonds.contains { $0.identity == device }
  }

  // MARK: Finding an accessory

  private mutating func scan(at now: Instant) -> [Action] {
    state = .scanning(Scan(renewal: now + Self.round))
    return [.report(.scanning(for: choice)), .scan]
  }

  /// Something advertised: `data` is the advertisement itself.
  public mutating func seen(_ device: DeviceAddress, rssi: Int8?, data: [UInt8], at now: Instant) -> [Action] {
    guard case .scanning(var scan) = state, let accessory = Accessory(AdvertisingData(decoding: data)) else {
      return []
    }
    let isNews = scan.seen[device] != accessory
    if scan.seen[device] == nil {
      if scan.order.count >= Self.capacity { scan.seen[scan.order.removeFirst()] = nil }
      scan.order.append(device)
    }
    scan.seen[device] = accessory
    let sighting: [Action] = isNews ? [.report(.seen(device, accessory, rssi: rssi, isBonded: isBonded(device)))] : []
    guard isWanted(device, accessory) else {
      state = .scanning(scan)
      return sighting
    }
    // A phone returns to its own accessory at once; among strangers it waits a moment.
    if choice != nil || isBonded(device) { return sighting + connect(to: device) }
    if scan.choosing == .nothingSeen { scan.choosing = .due(now + Self.choosing) }
    state = .scanning(scan)
    return sighting
  }

  /// Whether the phone would connect to this one.
  private func isWanted(_ device: DeviceAddress, _ accessory: Accessory) -> Bool {
    choice?.matches(device.address, name: accessory.name) ?? (bonds.isEmpty || isBonded(device))
  }

  /// Chooses the only accessory; if there are several, the user has to choose.
  private mutating func decide(_ scan: Scan) -> [Action] {
    if scan.order.count == 1, let only = scan.order.first { return connect(to: only) }
    var waiting = scan
    waiting.choosing = .leftToUser
    state = .scanning(waiting)
    return [.report(.undecided(scan.order))]
  }

  private mutating func connect(to device: DeviceAddress) -> [Action] {
    state = .connecting(device)
    return [.stopScanning, .report(.connecting(device)), .connect(device)]
  }

  // MARK: The link

  /// The link is up.
  public mutating func connected(at now: Instant) -> [Action] {
    guard case .connecting(let device) = state else { return [] }
    var link = Link(accessory: device, isBonded: isBonded(device))
    if link.isBonded { link.deadline = now + Self.patience }
    state = .open(link)
    return link.isBonded ? [.secure] : [.explore]
  }

  /// Connecting failed; the text says why.
  public mutating func connectFailed(_ why: String, at now: Instant) -> [Action] {
    switch state {
    case .connecting(let device):
      failures += 1
      return [.report(.connectFailed(device, why))] + proceed(.retry, at: now)
    case .leaving(let next): return proceed(next, at: now)
    default: return []
    }
  }

  /// The link is encrypted, as the socket's security level shows.
  public mutating func secured() -> [Action] {
    guard case .open(var link) = state else { return [] }
    link.deadline = nil
    link.question = nil
    failures = 0
    state = .encrypted(link)
    return [.report(.encrypted(isNew: !link.isBonded))]
  }

  /// The accessory refused something for lack of encryption, or the user wants encryption.
  public mutating func needsSecurity() -> [Action] {
    if case .open = state { [.secure] } else { [] }
  }

  /// The link has ended. If the keys are reported to differ, it may never have been established.
  public mutating func ended(_ end: ChannelEnd, at now: Instant) -> [Action] {
    switch state {
    case .leaving(let next): return proceed(next, at: now)
    case .encrypted(let link):
      return proceed(isBonded(link.accessory) ? .scan : .rest(.left), at: now)
    case .open(let link):
      failures += 1
      return proceed(next(after: end, isBonded: link.isBonded), at: now)
    case .away, .resting, .scanning, .pausing, .connecting: return []
    }
  }

  /// The next step after an unencrypted link has ended.
  private func next(after end: ChannelEnd, isBonded: Bool) -> Next {
    switch (end, isBonded) {
    case (.authenticationFailed, true): .rest(.keyMissing)
    case (.authenticationFailed, false): .rest(.pairing(.refusedByPhone))
    case (.disconnected, false), (.aborted, false): .rest(.left)
    case (.keysDiffer, true) where failures >= Self.attempts: .rest(.keysDiffer)
    case (_, false) where failures >= Self.attempts: .rest(.unreachable)
    default: .retry
    }
  }

  private mutating func proceed(_ next: Next, at now: Instant) -> [Action] {
    switch next {
    case .scan: return scan(at: now)
    case .retry:
      state = .pausing(until: now + .seconds(min(max(failures, 1), 10)))
      return []
    case .rest(let failure): return rest(failure)
    case .beAway:
      state = .away
      return []
    }
  }

  private mutating func hangUp(then next: Next) -> [Action] {
    state = .leaving(next)
    return [.hangUp]
  }

  // MARK: Pairing

  /// Handles the kernel's events about the link's keys and its pairing.
  public mutating func receive(_ event: MgmtEvent, at now: Instant) -> [Action] {
    guard var link else { return [] }
    switch event {
    case .newIdentityResolvingKey(let key, let privateAddress, let store):
      guard link.accessory == key.peer || link.accessory.address == privateAddress else {
        return []
      }
      link.accessory = key.peer
      if store { link.collector.add(key) }
      replace(link)
      return []
    case .newLongTermKey(let key, let store):
      guard link.accessory == key.peer, store else { return [] }
      link.collector.add(key)
      replace(link)
      guard let bond = link.collector.bond else { return [] }
      bonds.keep(bond)
      return [.save(bond), .report(.paired(bond.identity))]
    case .authenticationFailed(let peer, let status):
      guard case .open = state, peer == link.accessory, let failure = PairingFailure(status) else {
        return []
      }
      return hangUp(then: .rest(link.isBonded ? .keyMissing : .pairing(failure)))
    default:
      guard event.device == link.accessory, let prompt = PairingPrompt(event) else { return [] }
      switch prompt {
      case .consent where !asks, .comparison where !asks:
        return [.report(.pairing(prompt)), .send(.userConfirmReply(link.accessory))]
      case .display(_, entered: 0): break
      case .display: return []
      case .consent, .comparison, .entry:
        link.question = prompt
        replace(link)
      }
      return [.report(.pairing(prompt))]
    }
  }

  private mutating func replace(_ link: Link) {
    switch state {
    case .open: state = .open(link)
    case .encrypted: state = .encrypted(link)
    case .away, .resting, .scanning, .pausing, .connecting, .leaving: break
    }
  }

  /// The user answers: yes or no, with the number if one was asked for.
  public mutating func respond(accept: Bool, passkey: Passkey?) throws(CentralRefusal) -> [Action] {
    guard var link, let question = link.question else {
      throw CentralRefusal("no pairing is waiting for an answer")
    }
    guard let reply = question.reply(to: link.accessory, accept: accept, passkey) else {
      throw CentralRefusal("which six digits does the accessory show?")
    }
    link.question = nil
    replace(link)
    return [.send(reply)]
  }

  // MARK: User actions

  /// Comes into range, or looks for an accessory again: for the chosen one, if any.
  public mutating func comeBack(to choice: AccessoryChoice? = nil, at now: Instant) throws(CentralRefusal) -> [Action] {
    switch state {
    case .connecting, .open, .encrypted:
      guard choice == nil else {
        throw CentralRefusal("the phone is connected; disconnect it first")
      }
      return []
    case .leaving(let next):
      self.choice = choice ?? self.choice
      if next != .retry { state = .leaving(.scan) }
      return []
    case .away, .resting, .scanning, .pausing:
      self.choice = choice ?? self.choice
      failures = 0
      return scan(at: now)
    }
  }

  /// Goes out of range.
  public mutating func leave() -> [Action] {
    switch state {
    case .connecting, .open, .encrypted: return hangUp(then: .beAway)
    case .leaving: state = .leaving(.beAway)
    case .scanning:
      state = .away
      return [.stopScanning]
    case .away, .resting, .pausing: state = .away
    }
    return []
  }

  /// Ends the link. A bonded phone reconnects when the accessory advertises.
  public mutating func disconnect() -> [Action] {
    guard let link else { return [] }
    return hangUp(then: isBonded(link.accessory) ? .scan : .rest(.hungUp))
  }

  /// Forgets all accessories, as by Forget This Device.
  public mutating func forget() -> [Action] {
    let forgotten = bonds.map(\.identity)
    bonds = []
    choice = nil
    let actions: [Action] =
      switch state {
      case .connecting, .open, .encrypted: hangUp(then: .rest(.forgotten))
      case .scanning, .pausing, .resting: [.stopScanning] + rest(.forgotten)
      case .away, .leaving: []
      }
    return actions + [.forget(forgotten)]
  }

  private mutating func rest(_ failure: CentralFailure) -> [Action] {
    state = .resting(failure)
    return [.report(.resting(failure))]
  }
}
