// SPDX-License-Identifier: GPL-3.0-or-later
import Companion
import EventLoop
import GATT
import System
import VirtualPhone
import Wire

/// The phone that is built in (`--virtual-phone`): plays its day on a link without a socket.
@LoopActor
final class BuiltInSource: PhoneSource {
  let wait = Wait.dialling
  private unowned let supervisor: Supervisor
  private let phone: VirtualPhone

  init(_ supervisor: Supervisor) {
    self.supervisor = supervisor
    var configuration = VirtualPhone.Configuration()
    configuration.setClock(to: .now)
    phone = VirtualPhone(configuration, scheduler: Loop.shared)
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
      let wire = VirtualLink(scheduler: Loop.shared)
      phone.connect(wire.other)
      await supervisor.serve(BuiltInLink(wire))
      await Loop.shared.sleep(for: .seconds(1))
    }
  }
}

extension VirtualPhone.Configuration {
  /// Has the phone's clock show what the board's own does.
  package mutating func setClock(to time: WallTime) {
    self.time = CivilTime(secondsSince1970: time.seconds + Int64(time.zoneOffset))
    fraction = .nanoseconds(time.nanoseconds)
    zone = LocalTimeInformation(timeZone: time.zoneOffset / 900, daylightSaving: 0)
  }
}

/// The daemon's end of a link inside of the process, taken as encrypted.
@LoopActor
final class BuiltInLink: PhoneLink {
  let adapter: String? = nil
  let phone: DeviceAddress? = nil
  let isBonded = false
  let security = LinkSecurity.encrypted

  var onPacket: ([UInt8]) -> Void = { _ in } { didSet { wire.one.receive = onPacket } }
  var onEnd: (String) -> Void = { _ in }
  private let wire: VirtualLink

  init(_ wire: VirtualLink) {
    self.wire = wire
    wire.one.onClose = { [weak self] reason in
      guard let self else { return }
      let told = onEnd
      onEnd = { _ in }
      told(reason)
    }
  }

  func send(_ pdu: [UInt8]) { wire.one.send(pdu) }
  func secure() async -> Bool { true }
  func raiseSecurity() async -> Bool { false }
  func end(_ reason: String) { wire.drop(reason) }
}
