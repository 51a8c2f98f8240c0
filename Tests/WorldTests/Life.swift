// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import EventLoop
import Mgmt
import Patterns
import Synchronization
import System
import TestLoop
import VirtualKernel
import VirtualPhone
import Wire

@testable import Board
@testable import Daemon

/// A whole life of a board and its phone, in which something may go wrong: they pair, the phone brings five
/// notifications and music, one of which is hidden for a while, leaves, the daemon is restarted, and the phone
/// returns with another one. The person does what the daemon says.
@LoopActor final class Life {
  /// How it stands. What went wrong before must not show.
  struct State: Hashable {
    var bonds: [String] = []
    var keys = 0
    var wait = ""
    var sessions = 0
    var active: [String] = []
    var track: String?
    var isPowered = false

    /// As it is where it does not count what the phone has told.
    var withoutTexts: State {
      var state = self
      (state.active, state.track) = ([], nil)
      return state
    }
  }

  /// What is left once nothing goes wrong any more.
  struct End: Hashable {
    /// Some time after the last fault, without any help from the phone.
    var settled = State()
    /// After the phone has been away and back.
    var returned = State()
    /// After the board has lost its power and has it again.
    var restarted = State()
  }

  let world: World
  let plan: FaultPlan
  private(set) var end = End()
  /// What must never be, and was.
  private(set) var violations: [String] = []
  private let canLoseFiles: Bool
  /// How long notifications are kept without the phone: in half of the lives not at all.
  private let grace: Duration
  /// How many PDUs may come twice, or be lost or damaged.
  private let doubtful: Int
  private var isNear = true
  private var air = Air()
  /// The notifications that a client knows, which believes all that it is told.
  private var known: [NotificationUID: String] = [:]
  /// The life of the daemon that it hears of.
  private var life = ""
  /// How many events it has heard.
  private var heard = 0
  /// How much of what happened the person has looked at.
  private var seen = 0
  /// How often the daemon has begun without what it knew before.
  private var amnesias = 0
  /// Whether it waited for nothing when that was looked at last.
  private var saidNothing = false
  /// The links that were not secured when that was looked at last, and how often in a row.
  private var unsecured: [(link: RadioLink, looks: Int)] = []
  /// Whether the phone has paired, and the bond was not given up since.
  private var isPaired = false
  private var looked = 0
  private var isUnplugged = false
  /// Whether the next Index Added is lost.
  private var missesPlug = false

  static let titles = ["one", "two", "three", "four", "five", "six"]
  static let tracks = ["Sinnerman", "Strange Fruit"]

  /// - Parameter rules: what the phone keeps; nil: the usual ones.
  init(_ world: World, _ plan: [Fault] = [], rules: PhoneRules? = nil) {
    self.world = world
    if let rules { world.phone.phone.rules = rules }
    self.plan = FaultPlan(plan)
    doubtful = plan.count { $0.place == .pdu }
    grace = plan.first.map { $0.index % 2 == 1 } == true ? .zero : .seconds(120)
    canLoseFiles = plan.contains { $0.place == .file || $0.place == .read }
    world.phone.consent = .accepts(after: .seconds(3))
    world.phone.fate = { [unowned self] in pdu($0, toPhone: $1) }
    world.onTurn = { [unowned self] in turn() }
    let music = Self.tracks.map {
      MediaState.Track(artist: "Nina Simone", title: $0, duration: 622)
    }
    _ = try? world.phone.phone.perform(.media(MediaState(), playlist: music))
    equip()
  }

  /// Puts the faults into the kernel and the disk, which are new after a power cut.
  private func equip() {
    world.kernel.commandFate = { [unowned self] _ in command() }
    world.kernel.packetFate = { [unowned self] in packet($0, $1) }
    world.platform.disk.fault.withLock { $0 = { [plan] call, _ in plan.operation(call) } }
  }

  // MARK: The story

  func live() async {
    launch()
    await attend(.seconds(40))
    for title in Self.titles.prefix(5) {
      add(title)
      await attend(.seconds(2))
    }
    if let app = world.phone.phone.rules.hiddenApp {
      let secret = NotificationContents(.email, app: app, title: "secret")
      _ = try? world.phone.phone.perform(.add(secret))
    }
    for title in ["hidden", Self.titles[1]] {
      _ = try? world.phone.phone.perform(.modify(2, Self.contents(title)))
      await attend(.seconds(2))
    }
    _ = try? world.phone.phone.perform(.remote(.nextTrack))
    await attend(.seconds(10))
    isNear = false
    world.phone.leave()
    await attend(.seconds(15))
    await restart()
    await attend(.seconds(15))
    isNear = true
    await attend(.seconds(30))
    add(Self.titles[5])
    await attend(.seconds(60))
    // What goes wrong is over; the rest heals with time.
    plan.end()
    await attend(.seconds(900))
    end.settled = state
    world.phone.leave()
    await attend(.seconds(900))
    end.returned = state
    cutPower()
    await attend(.seconds(120))
    end.restarted = state
  }

  private func launch() {
    saidNothing = false
    var rule = Rule(name: "hidden")
    rule.conditions.title = try? TextPattern("^hidden$")
    rule.outcome.display = .hidden
    world.launch { [rule, grace] in
      $0.live.rules = [rule]
      $0.live.grace = grace
    }
  }

  /// Ends the daemon as a service manager does, and starts it again.
  private func restart() async {
    guard let daemon = world.daemon, world.end == nil else { return }
    daemon.leave(.terminated)
    await world.pass(.seconds(6))
    // Or the power was cut meanwhile.
    guard world.daemon === daemon else { return }
    if world.end == nil { violate("it takes more than 6 s to leave") }
    if canLoseFiles { amnesias += 1 }
    launch()
  }

  private func add(_ title: String) {
    _ = try? world.phone.phone.perform(.add(Self.contents(title)))
  }

  private static func contents(_ title: String) -> NotificationContents {
    NotificationContents(.email, app: "com.apple.mobilemail", title: title)
  }

  /// Lets time pass, in which the phone comes back by itself, and the person does what the daemon says.
  private func attend(_ duration: Duration) async {
    var left = duration
    while left > .zero {
      // Later nothing much happens.
      let step = min(left, left > .seconds(300) && plan.isOver ? .seconds(20) : .seconds(5))
      left -= step
      await world.pass(step)
      if let end = world.end, world.daemon != nil {
        if !canLoseFiles { violate("the daemon has ended by itself: \(end)") }
        amnesias += 1
        launch()
        continue
      }
      if world.daemon == nil {
        launch()
        continue
      }
      checkWaits()
      checkLinks()
      for event in world.events[min(seen, world.events.count)...] {
        switch event.content {
        case .stale(_, let remedy) where remedy.contains("ancsd pair"): await open()
        case .why("nobody", _), .why("bonds-unusable", _): await open()
        case .pairingFailed(let reason) where reason.contains("ancsd pair"): await open()
        default: break
        }
      }
      seen = world.events.count
      if isNear, world.phone.connection == nil, air.opening(at: world.clock.now) == nil {
        // These waits say to tap the board's name.
        if world.phone.phone.hasGivenUp, ["first-phone", "bonded-phone", "given-up"].contains(world.wait) {
          _ = try? world.phone.phone.perform(.tap)
        }
        connect()
      }
    }
  }

  /// The phone connects. If its key turns out to be of no use, it leaves, as phones do.
  private func connect() {
    let phone = world.phone
    let adapter = world.adapter
    // The board's end of an unheard link is not over yet.
    guard phone.otherServer == nil else { return }
    let fault = plan.next(.meeting)
    if fault == .halfOpen { return connectUnheard() }
    guard phone.connect(to: adapter) else { return }
    if fault == .linkLost {
      // 0x3E, after six intervals without a packet (Core Specification Vol 6 Part B, 4.5).
      _ = world.clock.schedule(after: .milliseconds(180)) { phone.goOutOfRange() }
    }
    guard phone.isBonded(to: adapter) else { return }
    _ = world.clock.schedule(after: .seconds(2)) { [weak connection = phone.connection] in
      if let connection, !connection.isEncrypted { phone.leave() }
    }
  }

  /// The phone does not hear that it is connected: nobody answers, until the link's supervision timeout.
  private func connectUnheard() {
    let phone = world.phone
    let usual = (phone.consent, phone.encryptsAfter)
    (phone.consent, phone.encryptsAfter) = (.ignores, nil)
    (phone.otherServer, phone.heedsRequests) = ({ _ in }, false)
    phone.connect(to: world.adapter)
    _ = world.clock.schedule(after: Air.supervision) {
      phone.goOutOfRange()
      (phone.consent, phone.encryptsAfter) = usual
      (phone.otherServer, phone.heedsRequests) = (nil, true)
    }
  }

  /// “Forget This Device” on the phone; here `ancsd forget`, then `ancsd pair`.
  private func open() async {
    world.phone.forget(world.adapter)
    isPaired = false
    amnesias += 1
    if let phone = world.daemon?.phoneReports.first?.phone {
      let selector = PhoneSelector(phone.description)
      _ = try? await world.call(ControlMethods.forgetPhone, PhoneParameters(phone: selector))
    }
    _ = try? await world.call(ControlMethods.openPairing, PairingParameters(seconds: 300))
  }

  // MARK: How it stands

  private var state: State {
    var state = State()
    state.bonds = world.bondFiles.compactMap { $0.split(separator: "/").last.map(String.init) }
    state.keys = world.adapter.keyedPeers.count
    state.wait = world.wait ?? "none"
    guard let daemon = world.daemon else { return state }
    state.sessions = daemon.sessions.count
    state.isPowered = world.adapter.settings.contains(.powered)
    let services = daemon.sessions.first?.services
    state.active =
      (daemon.sessions.first?.phone.notifications.ledger).map { ledger in
        ledger.published().compactMap { $0.report.isStale ? nil : $0.report.attributes.title }
          .sorted()
      } ?? []
    state.track = services?.active(MediaRemote.self)?.state.track.title
    return state
  }

  /// What must hold at every step.
  private func check() {
    for event in world.events[min(looked, world.events.count)...] where event.name == .paired {
      isPaired = true
    }
    looked = world.events.count
    if isPaired, !canLoseFiles, world.bondFiles.isEmpty { violate("the bond is not on the disk") }
    if world.phone.phone.hasGivenUp, world.phone.hasWorkingBond(with: world.adapter) {
      violate("the phone has given up")
    }
    if world.platform.disk.paths.count > 8 { violate("files: \(world.platform.disk.paths)") }
    hear()
    guard let daemon = world.daemon, world.end == nil else { return }
    let phones = daemon.sessions.map { $0.phone.address?.description ?? "?" }
    if Set(phones).count < phones.count { violate("two sessions with one phone: \(phones)") }
    if world.clock.scheduled > 150 { violate("\(world.clock.scheduled) timers") }
    let remembered = daemon.phoneBook.phones
    if remembered.count > 2 { violate("\(remembered.count) phones are remembered") }
    let adapters = daemon.radio?.sortedAdapters ?? []
    if adapters.count > 1 { violate("\(adapters.count) adapters") }
    for adapter in adapters {
      let bonds = adapter.keys.ring.bonds.count
      if bonds > 1 { violate("\(bonds) bonds") }
      if isPaired, !canLoseFiles, bonds == 0 { violate("the bond is not in memory") }
      if adapter.links.count > 3 { violate("\(adapter.links.count) links") }
    }
  }

  /// What clients are told must be what the daemon lists: nothing changes or goes that was not added, and nothing
  /// stays that is gone.
  private func hear() {
    for event in world.events[min(heard, world.events.count)...] {
      if case .ready(_, _, _, let life) = event.content, life != self.life {
        (known, self.life) = ([:], life)
      }
      guard let report = event.content.report else { continue }
      let (uid, change) = (report.event.uid, report.event.change)
      if change != .added, known[uid] == nil { violate("\(change) \(uid), which was never told") }
      known[uid] = change == .removed ? nil : report.attributes.title ?? "-"
    }
    heard = world.events.count
    guard let daemon = world.daemon, world.end == nil, !daemon.isStopping, daemon.life == life
    else { return }
    let told = daemon.phoneBook.phones.flatMap {
      $0.notifications.ledger.published().map(\.report.event.uid)
    }
    if Set(told) != Set(known.keys) { violate("clients know \(known), and the list is \(told)") }
  }

  /// What the daemon waits for must be said at any time, but for moments.
  private func checkWaits() {
    guard let daemon = world.daemon, world.end == nil else { return }
    let waits = daemon.waits.all
    if waits.isEmpty, saidNothing { violate("it waits without a reason") }
    saidNothing = waits.isEmpty
    for standing in waits where standing.wait.sentence(name: "kitchen").isEmpty {
      violate("it waits for \(standing.wait.name.rawValue), which has no words")
    }
  }

  /// A link that is not secured does not stay for more than two minutes.
  private func checkLinks() {
    let links = world.daemon?.radio?.sortedAdapters.flatMap(\.links) ?? []
    unsecured = links.filter { !$0.wasSecured }.map { link in
      (link, (unsecured.first { $0.link === link }?.looks ?? 0) + 1)
    }
    for (link, looks) in unsecured where looks > 24 {
      violate("a link without a deadline waits for \(link.wait?.name.rawValue ?? "nothing")")
    }
  }

  /// What must hold of the events: each notification was told, and once unless it says that it is a repeat, of which
  /// there is at most one each time that the phone is subscribed to, and one for each PDU that may have come twice. A
  /// notification of which a PDU was lost may have no date, by which another session recognises it: that is told as new.
  func checkEvents() {
    let most = world.events.count { $0.name == .subscribed } + doubtful
    for title in Self.titles {
      let told = world.events.compactMap(\.content.report)
        .filter { $0.attributes.title == title }
      if told.isEmpty { violate("“\(title)” was never told") }
      let added = told.filter { $0.event.change == .added }
      let new = added.count { !$0.isRepeat }
      // What was hidden for a while is told once more.
      let most = most + (title == Self.titles[1] ? 1 : 0)
      if new > 1 + amnesias + doubtful + (title == Self.titles[1] ? 1 : 0) {
        violate("“\(title)” was told \(new) times")
      }
      if added.count > most { violate("“\(title)” was told \(added.count) times in all") }
    }
  }

  private func violate(_ text: String) { if !violations.contains(text) { violations.append(text) } }

  // MARK: Faults

  private func pdu(_ pdu: [UInt8], toPhone: Bool) -> Fate<[UInt8]> {
    if let opening = air.opening(at: world.clock.now) { return .late(opening - world.clock.now) }
    switch plan.next(.pdu) {
    case .linkLost:
      let phone = world.phone
      _ = world.clock.schedule(after: .zero) { phone.goOutOfRange() }
      return .lost
    case .lost: return .lost
    case .twice: return .twice
    case .late: return .late(.seconds(31))
    case .malformed: return .fails(pdu.map { $0 ^ 0x5A })
    case .truncated: return .fails(Array(pdu.prefix(pdu.count / 2)))
    case .error:
      // Error Response: Unlikely Error, in place of a response.
      guard !toPhone, let opcode = pdu.first, opcode % 2 == 1, opcode < 0x1A else { return .lost }
      return .fails([0x01, opcode - 1, 0, 0, 0x0E])
    case let kind: return happens(kind)
    }
  }

  /// What goes wrong otherwise while something arrives.
  private func happens<Content>(_ kind: Fault.Kind?) -> Fate<Content> {
    if let kind { changeAdapter(kind) }
    return .arrives
  }

  private func command() -> Fate<MgmtStatus> {
    switch plan.next(.command) {
    case .error: return .fails(.failed)
    case .late: return .late(.seconds(3))
    // Past the time-outs of all but Pair Device.
    case .tooLate: return .late(.seconds(35))
    case .lost: return .lost
    case .unplugged:
      changeAdapter(.unplugged)
      return .lost
    case let kind: return happens(kind)
    }
  }

  /// A response of the kernel, or an event.
  private func packet(_ code: UInt16, _ packet: [UInt8]) -> Fate<[UInt8]> {
    if code == 0x0004, missesPlug {
      missesPlug = false
      return .lost
    }
    let isResponse = code <= 0x0002
    switch plan.next(isResponse ? .response : .event) {
    case .lost: return .lost
    case .twice: return .twice
    case .late: return .late(.seconds(1))
    case .tooLate: return .late(.seconds(isResponse ? 35 : 31))
    // A byte is missing at the end, and the length says so.
    case .malformed where packet.count > 6:
      let length = UInt16(packet.count - 7)
      return .fails(packet[..<4] + [UInt8(length & 0xFF), UInt8(length >> 8)] + packet[6...].dropLast())
    case .malformed, .truncated: return .fails(Array(packet.prefix(packet.count / 2)))
    case let kind: return happens(kind)
    }
  }

  private func turn() {
    check()
    if plan.takePowerCut() { cutPower() }
    switch plan.next(.turn) {
    case .linkLost: world.phone.goOutOfRange()
    case .suspended: world.clock.skip(.seconds(3600))
    case .powerCut: cutPower()
    case .servicesMoved: moveServices()
    case .blackout: blackOut()
    case .poorAir: air.becomePoor(at: world.clock.now)
    case let kind?: changeAdapter(kind)
    case nil: break
    }
  }

  /// Nothing is heard for half a second to eight; no link outlives its supervision timeout.
  private func blackOut() {
    let turn = plan.opportunities[.turn, default: 0]
    let length = Air.blackouts[turn % Air.blackouts.count]
    air.fallSilent(for: length, at: world.clock.now)
    guard length > Air.supervision else { return }
    let phone = world.phone
    _ = world.clock.schedule(after: Air.supervision) { phone.goOutOfRange() }
  }

  /// The phone takes ANCS away, and has it at other handles later.
  private func moveServices() {
    let phone = world.phone.phone
    _ = try? phone.perform(.unpublish(.ancs))
    _ = world.clock.schedule(after: .seconds(3)) {
      _ = try? phone.perform(.publish(.ancs, freshHandles: true))
    }
  }

  /// Pulls the adapter out for three seconds, or switches it off, as soon as what happens now is over.
  private func changeAdapter(_ kind: Fault.Kind) {
    let kernel = world.kernel
    _ = world.clock.schedule(after: .milliseconds(1)) { [self] in
      guard world.kernel === kernel, !isUnplugged else { return }
      if kind == .poweredOff { return world.adapter.powerOff() }
      isUnplugged = true
      world.unplug()
      _ = world.clock.schedule(after: .seconds(3)) { [self] in
        guard world.kernel === kernel else { return }
        isUnplugged = false
        missesPlug = kind == .replugUnseen
        world.replug()
      }
    }
  }

  private func cutPower() {
    world.phone.goOutOfRange()
    isUnplugged = false
    amnesias += 1
    world.cutPower()
    equip()
  }
}

/// Something that goes wrong in a life: where, at the how manyth opportunity, and how.
struct Fault: Hashable, Sendable, CustomStringConvertible {
  enum Place: String, CaseIterable, Sendable {
    /// A PDU on the air, in either direction.
    case pdu
    /// A command to the kernel, a response to one, and an event of the kernel.
    case command, response, event
    /// A turn of the clock.
    case turn
    /// The phone connects.
    case meeting
    /// A change on the disk, and a look at it.
    case file, read
  }

  enum Kind: String, CaseIterable, Sendable {
    case linkLost, lost, twice, late, tooLate, error, malformed, truncated
    case unplugged, replugUnseen, poweredOff, suspended
    /// The air is silent for a while; or it loses so much for a minute that most things come late.
    case blackout, poorAir
    /// The board believes that the phone is connected, and the phone does not.
    case halfOpen
    /// The phone takes ANCS away for some seconds, and has it at other handles then.
    case servicesMoved
    case noSpace, inputOutput, readOnly, powerCut
    /// From then on until nothing goes wrong any more.
    case full, broken
  }

  var place: Place
  var index: Int
  var kind: Kind
  var description: String { "\(place.rawValue) \(index) \(kind.rawValue)" }

  /// What can go wrong where.
  static let kinds: [Place: [Kind]] = [
    .pdu: [
      .linkLost, .lost, .twice, .late, .error, .malformed, .truncated, .unplugged, .poweredOff,
    ],
    .command: [.error, .late, .tooLate, .lost, .unplugged, .poweredOff],
    .response: [.lost, .twice, .late, .tooLate, .malformed, .truncated],
    .event: [.lost, .twice, .late, .tooLate, .malformed, .truncated, .unplugged, .poweredOff],
    .turn: [
      .linkLost, .suspended, .powerCut, .unplugged, .replugUnseen, .poweredOff, .servicesMoved,
      .blackout, .poorAir,
    ],
    .meeting: [.linkLost, .halfOpen],
    .file: [.noSpace, .inputOutput, .readOnly, .powerCut, .full],
    .read: [.inputOutput, .broken],
  ]
}

/// The faults of a life that are to come. The disk, whose they are too, is used from anywhere.
final class FaultPlan: Sendable {
  private struct State {
    var rest: [Fault]
    var opportunities: [Fault.Place: Int] = [:]
    var isOver = false
    /// Since a power cut nothing reaches the disk.
    var isCut = false
    /// Why nothing can be written, or read, any more.
    var lasting: [Fault.Place: Errno] = [:]

    mutating func next(_ place: Fault.Place) -> Fault.Kind? {
      if isOver { return nil }
      let index = opportunities[place, default: 0]
      opportunities[place] = index + 1
      let due = rest.firstIndex { $0.place == place && $0.index == index }
      return due.map { rest.remove(at: $0).kind }
    }
  }

  private let state: Mutex<State>

  init(_ faults: [Fault]) { state = Mutex(State(rest: faults)) }

  /// Nothing goes wrong any more, and nothing is counted.
  func end() { state.withLock { $0.isOver = true } }

  /// Whether nothing goes wrong any more.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// How often there was an opportunity for a fault, by place.
  var opportunities: [Fault.Place: Int] { state.withLock { $0.opportunities } }

  /// The faults that did not come up.
  var rest: [Fault] { state.withLock { $0.rest } }

  /// The kind of fault for the next opportunity of a place, if one is due.
  func next(_ place: Fault.Place) -> Fault.Kind? { state.withLock { $0.next(place) } }

  /// Something is to be done: why it is not.
  func operation(_ call: MemoryDisk.Call) -> Errno? {
    let place = call.changesSomething ? Fault.Place.file : .read
    return state.withLock { state in
      if state.isOver { return nil }
      let kind = state.next(place)
      if kind == .powerCut { state.isCut = true }
      if kind == .full { state.lasting[place] = .noSpace }
      if kind == .broken { state.lasting[place] = .inputOutput }
      if state.isCut { return .inputOutput }
      return switch kind {
      case .noSpace: .noSpace
      case .inputOutput: .inputOutput
      case .readOnly: Errno(rawValue: 30)
      default: state.lasting[place]
      }
    }
  }

  /// Whether the power is to be cut now.
  func takePowerCut() -> Bool {
    state.withLock { state in
      defer { state.isCut = false }
      return state.isCut
    }
  }
}

/// The air between a phone and a board, which may be silent or poor for a while. Nothing is lost and the order stays, since
/// the link layer repeats each packet until it is acknowledged (Core Specification Vol 6 Part B, 4.5.9): things come late.
struct Air {
  /// For how long a link survives without a packet (Vol 6 Part B, 4.5.2), once the phone has granted what the board asks for.
  static let supervision = Duration.seconds(6)
  static let blackouts: [Duration] = [
    .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8),
  ]
  /// How long poor air stays so. In the first fifth of each period packets get through; later ones wait for the next.
  private static let poorTime = Duration.seconds(60)
  private static let period = Duration.milliseconds(500)
  /// Nothing else happens so shortly after a moment, so that what waits for it goes before what comes then.
  private static let nextTo = Duration.nanoseconds(7)

  private var silentUntil = Instant.zero
  private var poor: (since: Instant, until: Instant)?

  mutating func fallSilent(for length: Duration, at now: Instant) {
    silentUntil = max(silentUntil, now + length + Self.nextTo)
  }

  mutating func becomePoor(at now: Instant) { poor = (now, now + Self.poorTime) }

  /// When what is sent now gets through; nil: at once.
  func opening(at now: Instant) -> Instant? {
    if now < silentUntil { return silentUntil }
    guard let poor, now < poor.until else { return nil }
    let within = (now - poor.since).nanoseconds % Self.period.nanoseconds
    if within < Self.period.nanoseconds / 5 { return nil }
    return now + .nanoseconds(Self.period.nanoseconds - within) + Self.nextTo
  }
}
