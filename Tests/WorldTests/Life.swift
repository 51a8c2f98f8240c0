// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Control
import EventLoop
import Mgmt
import Synchronization
import System
import TestLoop
import VirtualKernel
import VirtualPhone
import Wire

@testable import Daemon

/// Something that goes wrong in a life: where, at the how manyth opportunity, and how.
struct Fault: Hashable, Sendable, CustomStringConvertible {
  enum Place: String, CaseIterable, Sendable { case pdu, command, event, turn, file }
  enum Kind: String, CaseIterable, Sendable {
    case linkLost, lost, twice, late, error, malformed, truncated, unplugged, poweredOff
    case suspended, noSpace, inputOutput, readOnly, powerCut
  }

  var place: Place
  var index: Int
  var kind: Kind
  var description: String { "\(place.rawValue) \(index) \(kind.rawValue)" }

  /// What can go wrong where.
  static let kinds: [Place: [Kind]] = [
    .pdu: [.linkLost, .lost, .twice, .late, .error, .malformed, .truncated],
    .command: [.error, .late, .lost, .unplugged, .poweredOff],
    .event: [.twice, .late, .lost],
    .turn: [.linkLost, .suspended, .powerCut],
    .file: [.noSpace, .inputOutput, .readOnly, .powerCut],
  ]
}

/// A whole life of a board and its phone, in which something may go wrong: they pair, the phone brings five
/// notifications and music, leaves, and returns with another one. The person does what the daemon says.
@LoopActor final class Life {
  /// How it ended. What went wrong in between must not show.
  struct End: Hashable, CustomStringConvertible {
    var bonds: [String] = []
    var keys = 0
    var wait = ""
    var sessions = 0
    var active: [String] = []
    var track: String?
    var isPowered = false
    var description: String {
      "bonds \(bonds), keys \(keys), wait \(wait), sessions \(sessions), active \(active), track \(track ?? "none"), powered \(isPowered)"
    }
  }

  let world: World
  /// How often there was an opportunity for a fault, by place.
  var opportunities: [Fault.Place: Int] {
    others.merging([.file: files.operations]) { $1 }
  }
  private var others: [Fault.Place: Int] = [:]
  /// What must never be, and was.
  private(set) var violations: [String] = []
  private var plan: [Fault]
  private let files: FileFaults
  private var isNear = true
  /// Whether nothing goes wrong any more.
  private var isOver = false
  /// How much of what happened the person has looked at.
  private var seen = 0
  private var restarts = 0

  static let titles = ["one", "two", "three", "four", "five", "six"]

  init(_ world: World, _ plan: [Fault] = []) {
    self.world = world
    self.plan = plan.filter { $0.place != .file }
    files = FileFaults(plan.filter { $0.place == .file })
    world.phone.consent = .accepts(after: .seconds(3))
    world.phone.fate = { [unowned self] in pdu($0, toPhone: $1) }
    world.onTurn = { [unowned self] in turn() }
    equip()
  }

  /// Puts the faults into the kernel and the disk, which are new after a power cut.
  private func equip() {
    world.kernel.commandFate = { [unowned self] _ in command() }
    world.kernel.eventFate = { [unowned self] _ in event() }
    let files = files
    world.platform.disk.fault.withLock { $0 = { files.operation($0) } }
  }

  // MARK: The story

  func live() async -> End {
    world.launch()
    await attend(.seconds(40))
    for title in Self.titles.prefix(5) {
      add(title)
      await attend(.seconds(2))
    }
    _ = try? world.phone.phone.perform(.remote(.nextTrack))
    await attend(.seconds(10))
    isNear = false
    world.phone.leave()
    await attend(.seconds(30))
    isNear = true
    await attend(.seconds(30))
    add(Self.titles[5])
    await attend(.seconds(60))
    // What goes wrong is over; the rest heals with time, and with the next return.
    isOver = true
    files.end()
    world.phone.leave()
    await attend(.seconds(1500))
    return state
  }

  private func add(_ title: String) {
    _ = try? world.phone.phone.perform(
      .add(NotificationContents(.email, app: "com.apple.mobilemail", title: title)))
  }

  /// Lets time pass, in which the phone comes back by itself, and the person does what the daemon says.
  private func attend(_ duration: Duration) async {
    var left = duration
    while left > .zero {
      let step = min(.seconds(5), left)
      left -= step
      await world.pass(step)
      if world.daemon == nil || world.end != nil {
        restarts += 1
        world.launch()
        continue
      }
      for event in world.events[min(seen, world.events.count)...] {
        switch event.content {
        // “Forget This Device”, and pair anew.
        case .stale(_, let remedy) where remedy.lowercased().contains("forget"):
          world.phone.forget(world.adapter)
        case .why("nobody", _), .why("bonds-unusable", _): await open()
        case .pairingFailed(let reason) where reason.contains("ancsd pair"): await open()
        default: break
        }
      }
      seen = world.events.count
      if isNear, world.phone.connection == nil { connect() }
    }
  }

  /// The phone connects. If its key turns out to be of no use, it leaves, as phones do.
  private func connect() {
    let phone = world.phone
    let adapter = world.adapter
    guard phone.connect(to: adapter), phone.isBonded(to: adapter) else { return }
    _ = world.clock.schedule(after: .seconds(2)) { [weak connection = phone.connection] in
      if let connection, !connection.isEncrypted { phone.leave() }
    }
  }

  private func open() async {
    world.phone.forget(world.adapter)
    if let phone = world.daemon?.phoneReports.first?.phone {
      let selector = PhoneSelector(phone.description)
      _ = try? await world.call(ControlMethods.forgetPhone, ForgetParameters(phone: selector))
    }
    _ = try? await world.call(ControlMethods.openPairing, PairingParameters(seconds: 300))
  }

  // MARK: How it stands

  private var state: End {
    var end = End()
    end.bonds = world.platform.disk.paths.filter { $0.hasSuffix(BondFile.suffix) }
      .compactMap { $0.split(separator: "/").last.map(String.init) }
    end.keys = world.adapter.keyedPeers.count
    end.wait = world.wait ?? "none"
    guard let daemon = world.daemon else { return end }
    end.sessions = daemon.sessions.count
    end.isPowered = world.adapter.settings.contains(.powered)
    let services = daemon.sessions.first?.session.services
    end.active = (services?.active(NotificationService.self)?.consumer?.active.all ?? [])
      .compactMap(\.attributes.title).sorted()
    end.track = services?.active(MediaService.self)?.state?.track.title
    return end
  }

  /// What must hold at every step.
  private func check() {
    guard let daemon = world.daemon else { return }
    let phones = daemon.sessions.map { $0.session.address?.description ?? "?" }
    if Set(phones).count < phones.count { violate("two sessions with one phone: \(phones)") }
    if world.clock.scheduled > 150 { violate("\(world.clock.scheduled) timers") }
    if daemon.phoneReports.count > 1 { violate("\(daemon.phoneReports.count) bonds") }
  }

  /// What must hold of the events: each notification was told, and once unless it says that it is a repeat.
  func checkEvents() {
    for title in Self.titles {
      let told = world.events.filter { event in
        guard case .notification(let report) = event.content else { return false }
        return report.attributes.title == title && report.event.change == .added && !report.isRepeat
      }.count
      if told == 0 { violate("“\(title)” was never told") }
      if told > 1 + restarts { violate("“\(title)” was told \(told) times") }
    }
  }

  private func violate(_ text: String) {
    if !violations.contains(text) { violations.append(text) }
  }

  // MARK: Faults

  /// The kind of fault for the next opportunity of a place, if one is due.
  private func next(_ place: Fault.Place) -> Fault.Kind? {
    if isOver { return nil }
    let index = others[place, default: 0]
    others[place] = index + 1
    guard let due = plan.firstIndex(where: { $0.place == place && $0.index == index }) else {
      return nil
    }
    return plan.remove(at: due).kind
  }

  private func pdu(_ pdu: [UInt8], toPhone: Bool) -> Fate<[UInt8]> {
    switch next(.pdu) {
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
    default: return .arrives
    }
  }

  private func command() -> Fate<MgmtStatus> {
    switch next(.command) {
    case .error: return .fails(.failed)
    case .late: return .late(.seconds(3))
    case .lost: return .lost
    case .unplugged:
      replug()
      return .lost
    case .poweredOff:
      let adapter = world.adapter
      _ = world.clock.schedule(after: .milliseconds(1)) { adapter.powerOff() }
      return .arrives
    default: return .arrives
    }
  }

  private func replug() {
    _ = world.clock.schedule(after: .milliseconds(1)) { [self] in
      world.unplug()
      _ = world.clock.schedule(after: .seconds(3)) { self.world.replug() }
    }
  }

  private func event() -> Fate<Never> {
    switch next(.event) {
    case .lost: .lost
    case .twice: .twice
    case .late: .late(.seconds(1))
    default: .arrives
    }
  }

  private func turn() {
    check()
    if files.takePowerCut() { cutPower() }
    switch next(.turn) {
    case .linkLost: world.phone.goOutOfRange()
    case .suspended: world.clock.skip(.seconds(3600))
    case .powerCut: cutPower()
    default: break
    }
  }

  private func cutPower() {
    world.phone.goOutOfRange()
    world.cutPower()
    equip()
  }
}

/// The faults of the disk, which is used from anywhere.
private final class FileFaults: Sendable {
  private struct State {
    var plan: [Fault]
    var operations = 0
    var isOver = false
    /// Since a power cut nothing reaches the disk.
    var isCut = false
  }

  private let state: Mutex<State>

  init(_ plan: [Fault]) { state = Mutex(State(plan: plan)) }

  /// Nothing goes wrong any more, and nothing is counted.
  func end() { state.withLock { $0.isOver = true } }

  /// How often something was written.
  var operations: Int { state.withLock { $0.operations } }

  /// Something is to be written: why it is not.
  func operation(_ call: String) -> Errno? {
    if call == "read" { return nil }
    return state.withLock { state in
      if state.isOver { return nil }
      let index = state.operations
      state.operations += 1
      let kind = state.plan.first { $0.index == index }?.kind
      if kind == .powerCut { state.isCut = true }
      if state.isCut { return .inputOutput }
      return switch kind {
      case .noSpace: .noSpace
      case .inputOutput: .inputOutput
      case .readOnly: Errno(rawValue: 30)
      default: nil
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
