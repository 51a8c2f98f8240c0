// SPDX-License-Identifier: GPL-3.0-or-later
import Board
import Control
import EventLoop
import GATT
import Mgmt
import System
import VirtualPhone
import Wire

/// A link without a radio: it needs no pairing, and counts as encrypted.
@LoopActor final class WiredLink: Link {
  let adapter: String? = nil
  let phone: DeviceAddress? = nil
  let profile: AdvertisingProfile? = nil
  let isBonded = false
  let security = LinkSecurity.encrypted
  var isSecured: Bool { end == nil }
  let wasSecured = true
  let wait: Wait? = nil
  let history: LinkHistory
  var onPacket: (ArraySlice<UInt8>) -> Void = { _ in } {
    didSet { deliver(history.recording(onPacket)) }
  }
  var onChange: (LinkChange) -> Void = { _ in } {
    didSet { onChange(end.map { .ended($0) } ?? .secured(isNew: false)) }
  }

  /// Why it has ended.
  private var end: String?
  private let transmit: ([UInt8]) -> Void
  private let hangUp: (String) -> Void
  private let deliver: (@escaping (ArraySlice<UInt8>) -> Void) -> Void

  /// An ATT bearer on a SOCK_SEQPACKET socket, one PDU per packet.
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
    guard end == nil else { return }
    end = reason
    onChange(.ended(reason))
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
  private weak let sessions: (any LinkServer)?
  private let timeline: Timeline
  private let platform: any Platform
  private static let pauses: [Duration] = [
    .milliseconds(50), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    .seconds(2), .seconds(5),
  ]

  private(set) var wait = Wait.dialling { didSet { onWaitChange() } }
  private let onWaitChange: () -> Void

  init(
    _ path: String, _ sessions: any LinkServer, _ timeline: Timeline, _ platform: any Platform,
    onWaitChange: @escaping () -> Void
  ) {
    self.path = path
    self.sessions = sessions
    self.timeline = timeline
    self.platform = platform
    self.onWaitChange = onWaitChange
  }

  func run() async {
    var failures = 0
    while let sessions, !sessions.isStopping {
      do {
        let socket = try PacketSocket.connect(unix: path)
        wait = .dialling
        // A phone that disconnects before the session subscribes must not cause a busy loop of
        // connects.
        let history = timeline.begin(adapter: nil, phone: nil)
        failures = await sessions.serve(WiredLink(socket, history)) ? 0 : failures + 1
      } catch {
        wait = .nobodyListens(path: path, error.errno.text)
        failures += 1
      }
      await platform.sleep(for: Self.pauses[min(failures, Self.pauses.count - 1)])
    }
  }
}

/// The built-in phone (`--virtual-phone`): plays its scripted day on a link within the process.
@LoopActor final class BuiltInSource: LinkSource {
  let wait = Wait.dialling
  private weak let sessions: (any LinkServer)?
  private let timeline: Timeline
  private let platform: any Platform
  private let phone: VirtualPhone
  /// Called when the day has ended; nil: it continues.
  private let onDayEnd: (() -> Void)?

  init(
    _ sessions: any LinkServer, _ timeline: Timeline, _ platform: any Platform, _ log: Log,
    onDayEnd: (() -> Void)?
  ) {
    self.sessions = sessions
    self.timeline = timeline
    self.platform = platform
    self.onDayEnd = onDayEnd
    let time = platform.wallTime
    var configuration = VirtualPhone.Configuration()
    configuration.setClock(to: time, zone: time.zoneOffset)
    phone = VirtualPhone(configuration, scheduler: platform.scheduler)
    phone.onEvent = { event in
      if case .dayEnded = event { onDayEnd?() }
      log.debug("virtual phone: \(event)")
    }
  }

  /// Plays the day, then continues slowly, unless the daemon exits after it.
  func run() async {
    phone.play(once: onDayEnd != nil)
    while let sessions, !sessions.isStopping {
      let wire = VirtualLink(scheduler: platform.scheduler)
      phone.connect(wire.other)
      let history = timeline.begin(adapter: nil, phone: nil)
      await sessions.serve(WiredLink(wire, history))
      await platform.sleep(for: .seconds(1))
    }
  }
}
