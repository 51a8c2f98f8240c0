// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import EventLoop
import Mgmt
import Wire

/// What the daemon remembers of its latest links, for `ancsd report`. It is limited to a few links, and for each to
/// the beginning and the latest entries.
@LoopActor package final class Timeline {
  /// What happened to the adapters and the daemon itself.
  let board: LinkHistory
  private(set) var links: [LinkHistory] = []

  private let scheduler: any Scheduler
  private let now: () -> WallTime
  /// The maximum number of links, unless more are up.
  private static let most = 4

  package init(scheduler: any Scheduler, now: @escaping () -> WallTime) {
    self.scheduler = scheduler
    self.now = now
    board = LinkHistory(scheduler: scheduler, at: now())
  }

  /// Begins the history of a link. Older histories are dropped, except those of links that are still up, and of the
  /// last link on which a phone has paired.
  package func begin(adapter: String?, phone: Address?) -> LinkHistory {
    let history = LinkHistory(scheduler: scheduler, at: now(), adapter: adapter, phone: phone)
    links.append(history)
    let pairing = links.last { $0.facts.hasPairing }
    while links.count > Self.most,
      let old = links.firstIndex(where: { $0.facts.isOver && $0 !== pairing })
    { links.remove(at: old) }
    return history
  }

  /// Adds an event that the daemon publishes. It skips the phone's notifications and media, because their PDUs are
  /// there.
  package func event(_ event: Event) {
    switch event.content {
    case .incoming, .notification, .media, .battery, .time, .lost, .why: return
    default: history(adapter: event.adapter, phone: event.phone).event(event)
    }
  }

  /// The history that an event or a wait belongs to: that of the link it names, or the board's.
  package func history(adapter: String?, phone: Address?) -> LinkHistory {
    links.last { $0.facts.adapter == adapter && $0.facts.phone == phone } ?? board
  }

  package var report: TimelineReport {
    var report = TimelineReport()
    report.board = board.report
    report.links = links.map(\.report)
    return report
  }
}

/// The history of one link. It reserves space for all entries when the link begins, so a PDU costs neither an
/// allocation nor a wake-up.
@LoopActor package final class LinkHistory {
  /// What is reported of it, without its entries.
  fileprivate(set) var facts = LinkTimeline()
  private let scheduler: any Scheduler
  private let start: Instant
  private var beginning: [TimelineEntry] = []
  /// A ring; `place` is its oldest entry once it is full.
  private var latest: [TimelineEntry] = []
  private var place = 0

  /// How many entries are kept from the beginning, and from the end.
  static let capacity = 256

  init(scheduler: any Scheduler, at time: WallTime, adapter: String? = nil, phone: Address? = nil) {
    self.scheduler = scheduler
    (facts.adapter, facts.phone, facts.started) = (adapter, phone, time)
    start = scheduler.now
    beginning.reserveCapacity(Self.capacity)
    latest.reserveCapacity(Self.capacity)
  }

  /// Adds a PDU.
  package func att(_ pdu: ArraySlice<UInt8>, isSent: Bool) {
    add(.att(PDUHead(pdu, isSent: isSent)))
  }

  /// A handler that records each received PDU before passing it on.
  package func recording(_ handler: @escaping (ArraySlice<UInt8>) -> Void) -> (ArraySlice<UInt8>) -> Void {
    { [self] pdu in
      att(pdu, isSent: false)
      handler(pdu)
    }
  }

  /// Adds something else. `detail` must have no keys and no text of a phone's owner.
  package func step(_ layer: TimelineEntry.Layer, _ name: String, _ detail: String = "") {
    if layer == .smp { facts.hasPairing = true }
    add(.step(layer, name: name, detail: detail))
  }

  fileprivate func event(_ event: Event) {
    switch event.content {
    // The number is only for the user.
    case .pairing(let question):
      facts.hasPairing = true
      return step(.event, event.name.rawValue, question.method.rawValue)
    case .disconnected: facts.isOver = true
    default: break
    }
    step(.event, event.name.rawValue, event.anonymousSentence)
  }

  private func add(_ moment: consuming TimelineEntry.Moment) {
    let time = (scheduler.now.nanoseconds - start.nanoseconds) / 1_000
    let entry = TimelineEntry(moment, at: time)
    if latest.count == Self.capacity {
      latest[place] = entry
      place = place + 1 < Self.capacity ? place + 1 : 0
      facts.omitted += 1
    } else if beginning.count == Self.capacity {
      latest.append(entry)
    } else {
      beginning.append(entry)
    }
  }

  /// The phone's identity is known now.
  func identified(_ phone: Address) { facts.phone = phone }

  /// The link is over, for this reason.
  func end(_ reason: String) {
    step(.link, "over", reason)
    facts.isOver = true
  }

  var report: LinkTimeline {
    var report = facts
    report.beginning = beginning
    report.latest = Array(latest[place...] + latest[..<place])
    return report
  }

  /// Adds an input of a radio link.
  func input(_ input: LinkMachine.Input) {
    switch input {
    case .event(let event): kernel(event)
    case .attached: step(.link, "ATT channel", "accepted")
    case .pairCompleted(let status): step(.smp, "Pair Device", "\(status)")
    case .admitted: step(.link, "may pair now")
    case .windowClosed: step(.link, "pairing was closed")
    case .securityWanted:
      step(.link, "security", "the phone refused a request for lack of security")
    case .channelClosed(let end): step(.link, "ATT channel", end.reason ?? "ended")
    case .adapterLost: step(.link, "adapter", "blocked or changed")
    case .adapterGone: step(.link, "adapter", "gone")
    case .end(let reason): step(.link, "ended by the board", reason)
    case .displaced: step(.link, "replaced", "by another link in its name")
    case .polled, .answered, .time: break
    }
  }

  /// Adds a kernel event, without addresses, numbers and keys.
  private func kernel(_ event: MgmtEvent) {
    switch event {
    case .deviceConnected(let peer, _, _):
      step(.link, "Device Connected", peer.type == .random ? "random address" : "public address")
    case .deviceDisconnected(_, let reason): step(.link, "Device Disconnected", "\(reason)")
    case .newLongTermKey(let key, let store):
      let kind = key.kind.isSecureConnections ? "P-256" : "legacy"
      step(
        .smp, "New Long Term Key", "\(kind), \(key.size) bytes\(store ? "" : ", not stored")")
    case .newIdentityResolvingKey(_, _, let store):
      step(.smp, "New Identity Resolving Key", store ? "" : "not stored")
    case .userConfirmRequest(_, let hint, _):
      step(.smp, "User Confirmation Request", hint ? "yes or no" : "with a number")
    case .userPasskeyRequest: step(.smp, "User Passkey Request")
    case .passkeyNotify(_, _, let entered):
      step(.smp, "Passkey Notify", "\(entered) digits typed")
    case .authenticationFailed(_, let status): step(.smp, "Authentication Failed", "\(status)")
    default: break
    }
  }
}
