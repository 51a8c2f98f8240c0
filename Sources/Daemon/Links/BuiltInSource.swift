// SPDX-License-Identifier: GPL-3.0-or-later
import Companion
import Control
import EventLoop
import System
import VirtualPhone
import Wire

/// The built-in phone (`--virtual-phone`): plays its day on a link without a socket.
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

  /// Plays the day, and goes on slowly; with `--once` it ends with the day.
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
      await supervisor.serve(BuiltInLink(wire))
      await supervisor.platform.sleep(for: .seconds(1))
    }
  }
}

/// The daemon's end of a link within the process.
@LoopActor final class BuiltInLink: WiredLink {
  var onPacket: ([UInt8]) -> Void = { _ in } { didSet { wire.one.receive = onPacket } }
  var onEnd: (String) -> Void = { _ in }
  var onWaitChange: () -> Void = {}
  private let wire: VirtualLink

  init(_ wire: VirtualLink) {
    self.wire = wire
    wire.one.onClose = { [weak self] reason in
      guard let self else { return }
      let report = onEnd
      onEnd = { _ in }
      report(reason)
    }
  }

  func send(_ pdu: [UInt8]) { wire.one.send(pdu) }
  func end(_ reason: String) { wire.drop(reason) }
}
