// SPDX-License-Identifier: GPL-3.0-or-later
import Companion
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import System
import VirtualPhone
import Wire

/// A link to a phone, whatever carries it: the kernel's L2CAP, a UNIX socket, or the built-in
/// phone. A session runs on it until it ends.
@LoopActor protocol Link: AnyObject {
  /// The adapter it is on, as in `hci0`; nil where there is none.
  var adapter: String? { get }
  /// The phone's address, the identity address where it is known; nil for a link without a radio.
  var phone: DeviceAddress? { get }
  /// The advertising profile that brought the phone; nil where that is unknown.
  var profile: AdvertisingProfile? { get }
  /// Whether the two are bonded.
  var isBonded: Bool { get }
  /// The link's security now.
  var security: LinkSecurity { get }
  /// What the link waits for until it is encrypted; nil once it is.
  var wait: Wait? { get }

  /// Called with each PDU. Those that arrived before it was set are delivered at once.
  var onPacket: (ArraySlice<UInt8>) -> Void { get set }
  /// Called once when the link has ended, with the reason.
  var onEnd: (String) -> Void { get set }
  /// Called when `wait` may have changed.
  var onWaitChange: () -> Void { get set }

  /// Tells the link how many notifications are still to be fetched: when the session begins to
  /// serve and at each change. The link may adapt its connection parameters.
  func work(backlog: Int)
  /// Asks the controller for the link's RSSI and connection parameters.
  func condition() async -> LinkCondition
  /// Sends a PDU, or keeps it until the link can.
  func send(_ pdu: [UInt8])
  /// Waits for encryption, by the bond or by pairing.
  ///
  /// - Returns: whether the link is encrypted; if not, it will not be.
  func secure() async -> Bool
  /// Raises the security level, because the phone refused a request for lack of it.
  ///
  /// - Returns: whether the request is worth repeating.
  func raiseSecurity() async -> Bool
  /// Ends the link.
  func end(_ reason: String)
}

/// What is known of a link's radio connection.
struct LinkCondition: Hashable, Sendable {
  /// The strength of the phone's signal here, in dBm.
  var rssi: Int?
  /// The connection parameters in force.
  var parameters: ConnectionParameters?
}

/// A link without a radio: it needs no pairing, and counts as encrypted.
@LoopActor final class WiredLink: Link {
  let adapter: String? = nil
  let phone: DeviceAddress? = nil
  let profile: AdvertisingProfile? = nil
  let isBonded = false
  let security = LinkSecurity.encrypted
  let wait: Wait? = nil
  let history: LinkHistory
  var onPacket: (ArraySlice<UInt8>) -> Void = { _ in } {
    didSet { deliver(history.recording(onPacket)) }
  }
  var onEnd: (String) -> Void = { _ in }
  var onWaitChange: () -> Void = {}

  private let transmit: ([UInt8]) -> Void
  private let hangUp: (String) -> Void
  private let deliver: (@escaping (ArraySlice<UInt8>) -> Void) -> Void

  /// An ATT bearer on a SOCK_SEQPACKET socket, one PDU a packet.
  init(_ socket: PacketSocket, _ history: LinkHistory) {
    self.history = history
    transmit = { socket.send($0) }
    hangUp = { _ in socket.close() }
    deliver = { socket.onPacket = $0 }
    socket.onClose = { [weak self] errno in
      self?.ended(errno?.description ?? "the phone closed the socket")
    }
  }

  /// One end of a link within the process.
  init(_ wire: VirtualLink, _ history: LinkHistory) {
    self.history = history
    transmit = { wire.one.send($0) }
    hangUp = { wire.drop($0) }
    deliver = { receive in wire.one.receive = { receive($0[...]) } }
    wire.one.onClose = { [weak self] in self?.ended($0) }
  }

  func work(backlog: Int) {}
  func condition() async -> LinkCondition { LinkCondition() }
  func secure() async -> Bool { true }
  func raiseSecurity() async -> Bool { false }

  func send(_ pdu: [UInt8]) {
    history.att(pdu[...], isSent: true)
    transmit(pdu)
  }

  func end(_ reason: String) {
    hangUp(reason)
    ended(reason)
  }

  private func ended(_ reason: String) {
    let report = onEnd
    onEnd = { _ in }
    report(reason)
  }
}

/// A source of links without a radio.
@LoopActor protocol LinkSource: AnyObject {
  /// The wait while there is no link.
  var wait: Wait { get }
  /// Serves one link after another, until the daemon stops.
  func run() async
}

/// A phone on a UNIX socket (`--att unix:PATH`): connects, and reconnects after each end, with a
/// pause that grows while there is no session.
@LoopActor final class SocketSource: LinkSource {
  private let path: String
  private unowned let supervisor: Supervisor
  private static let pauses: [Duration] = [
    .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    .seconds(2), .seconds(5),
  ]

  private(set) var wait = Wait.phone(.dialling) { didSet { supervisor.updateWait() } }

  init(_ path: String, _ supervisor: Supervisor) {
    self.path = path
    self.supervisor = supervisor
  }

  func run() async {
    var failures = 0
    while !supervisor.isStopping {
      do {
        let socket = try PacketSocket.connect(unix: path)
        wait = .phone(.dialling)
        // A phone that leaves before the session subscribes must not cause a busy loop of connects.
        let history = supervisor.timeline.begin(adapter: nil, phone: nil)
        failures = await supervisor.serve(WiredLink(socket, history)) ? 0 : failures + 1
      } catch {
        wait = .phone(.nobodyListens(path: path, error.errno.text))
        failures += 1
      }
      await supervisor.platform.sleep(for: Self.pauses[min(failures, Self.pauses.count - 1)])
    }
  }
}

/// The built-in phone (`--virtual-phone`): plays its scripted day on a link within the process.
@LoopActor final class BuiltInSource: LinkSource {
  let wait = Wait.phone(.dialling)
  private unowned let supervisor: Supervisor
  private let phone: VirtualPhone

  init(_ supervisor: Supervisor) {
    self.supervisor = supervisor
    let time = supervisor.platform.wallTime
    var configuration = VirtualPhone.Configuration()
    configuration.setClock(to: time, zone: time.zoneOffset)
    phone = VirtualPhone(configuration, scheduler: supervisor.platform.scheduler)
  }

  /// Plays the day, then continues slowly. With `--once` the daemon stops when the day ends.
  func run() async {
    let once = supervisor.options.once
    phone.onEvent = { [weak self] event in
      guard let self else { return }
      switch event {
      case .dayEnded where once: supervisor.leave(.done)
      default: supervisor.log.debug("virtual phone: \(event)")
      }
    }
    phone.play(once: once)
    while !supervisor.isStopping {
      let wire = VirtualLink(scheduler: supervisor.platform.scheduler)
      phone.connect(wire.other)
      let history = supervisor.timeline.begin(adapter: nil, phone: nil)
      await supervisor.serve(WiredLink(wire, history))
      await supervisor.platform.sleep(for: .seconds(1))
    }
  }
}
