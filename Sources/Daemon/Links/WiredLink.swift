// SPDX-License-Identifier: GPL-3.0-or-later
import Companion
import Control
import EventLoop
import GATT
import System
import VirtualPhone
import Wire

/// A link without a radio: it needs no pairing, and counts as encrypted.
@LoopActor final class WiredLink: Link {
  let adapter: String? = nil
  let phone: DeviceAddress? = nil
  let isBonded = false
  let security = LinkSecurity.encrypted
  let wait: Wait? = nil
  var onPacket: ([UInt8]) -> Void = { _ in } { didSet { deliver(onPacket) } }
  var onEnd: (String) -> Void = { _ in }
  var onWaitChange: () -> Void = {}

  private let transmit: ([UInt8]) -> Void
  private let hangUp: (String) -> Void
  private let deliver: (@escaping ([UInt8]) -> Void) -> Void

  /// An ATT bearer on a SOCK_SEQPACKET socket, one PDU a packet.
  init(_ socket: PacketSocket) {
    transmit = { socket.send($0) }
    hangUp = { _ in socket.close() }
    deliver = { socket.onPacket = $0 }
    socket.onClose = { [weak self] errno in
      self?.ended(errno?.description ?? "the phone closed the socket")
    }
  }

  /// One end of a link within the process.
  init(_ wire: VirtualLink) {
    transmit = { wire.one.send($0) }
    hangUp = { wire.drop($0) }
    deliver = { wire.one.receive = $0 }
    wire.one.onClose = { [weak self] in self?.ended($0) }
  }

  func work(backlog: Int) {}
  func condition() async -> LinkCondition { LinkCondition() }
  func secure() async -> Bool { true }
  func raiseSecurity() async -> Bool { false }
  func send(_ pdu: [UInt8]) { transmit(pdu) }

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
        failures = await supervisor.serve(WiredLink(socket)) ? 0 : failures + 1
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
      await supervisor.serve(WiredLink(wire))
      await supervisor.platform.sleep(for: .seconds(1))
    }
  }
}
