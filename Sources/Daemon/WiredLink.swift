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
  var isUpAndSecured: Bool { end == nil }
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
      self?.ended(errno?.description ?? LinkEnd.socketClosed)
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
  func condition() async -> LinkReport { LinkReport() }
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

// MARK: - Phones without a radio

extension Supervisor {
  private static let dialPauses: [Duration] = [
    .milliseconds(5), .milliseconds(100), .milliseconds(250), .milliseconds(500), .seconds(1),
    .seconds(2), .seconds(5),
  ]

  /// Serves a phone on a UNIX socket (`--att unix:PATH`) until the daemon stops: connects, and reconnects after each end,
  /// with a pause that grows while there is no session.
  func serve(socket path: String) async {
    var failures = 0
    while !isStopping {
      do {
        let socket = try PacketSocket.connect(unix: path)
        sourceWait = .dialling
        // A phone that disconnects before the session subscribes must not cause a busy loop of
        // connects.
        let link = WiredLink(socket, timeline.begin(adapter: nil, phone: nil))
        failures = await serve(link) ? 0 : failures + 1
      } catch {
        sourceWait = .nobodyListens(path: path, error.errno.text)
        failures += 1
      }
      await platform.sleep(for: Self.dialPauses[min(failures, Self.dialPauses.count - 1)])
    }
  }

  /// Serves the built-in phone (`--virtual-phone`), on a link within the process: it plays its scripted day, then
  /// continues slowly, unless the daemon exits after it.
  func serveBuiltInPhone() async {
    let (time, isOnce) = (platform.wallTime, settings.start.once)
    var configuration = VirtualPhone.Configuration()
    configuration.setClock(to: time, zone: time.zoneOffset)
    let phone = VirtualPhone(configuration, scheduler: platform.scheduler)
    phone.onEvent = { [weak self, log] event in
      switch event {
      case .dayEnded where isOnce: self?.leave(.done)
      case .violation(let what): log.debug("virtual phone: a violation: \(what)")
      default: break
      }
    }
    phone.play(once: isOnce)
    while !isStopping {
      let wire = VirtualLink(scheduler: platform.scheduler)
      phone.connect(wire.other)
      await serve(WiredLink(wire, timeline.begin(adapter: nil, phone: nil)))
      await platform.sleep(for: .seconds(1))
    }
  }
}
