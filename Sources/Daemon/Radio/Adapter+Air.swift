// SPDX-License-Identifier: GPL-3.0-or-later
import EventLoop
import Mgmt
import Wire

// What the adapter advertises.

extension Adapter {
  /// Goes on the air, or changes what is there: with the profile whose turn it is, and often at first.
  func advertise() async {
    // The commands of one change belong together.
    guard !air.isChanging else { return air.isOutOfDate = true }
    air.isChanging = true
    repeat {
      air.isOutOfDate = false
      await changeAir()
    } while air.isOutOfDate
    air.isChanging = false
  }

  private func changeAir() async {
    if let timer = air.timer { Loop.shared.cancel(timer) }
    air.timer = nil
    guard trouble == nil, watch != nil else { return }
    let pairable = isPairable
    let isFast = pairable || Loop.shared.now < air.fastUntil
    let advertisement = Advertisement(
      profile: radio.advertising.profile(turn: air.turn, pairable: pairable),
      name: supervisor.name, pace: isFast ? .fast : .slow)
    watch?.changesAdvertising(true)
    do {
      for command in advertisement.commands(extended: radio.hasExtendedAdvertising) {
        guard watch != nil else { return }  // the adapter was left meanwhile, or is gone
        try await mgmt.call(command, index: index)
      }
      air.isOn = true
      air.refusal = nil
    } catch {
      guard let watch else { return }
      air.isOn = false
      air.refusal = "\(error)"
      // With a phone on the link, not every controller can go on advertising. And where somebody
      // switched the adapter off, the watch is about to say that.
      if links.isEmpty, watch.deadline == nil {
        post(.error(what: "advertising", code: nil, message: "\(error)"))
      } else {
        supervisor.log.info("\(name): nobody else can come meanwhile: \(error)")
      }
    }
    watch?.changesAdvertising(false)
    if air.isOn, air.told != pairable {
      air.told = pairable
      post(.advertising(pairable: pairable))
    }
    planNextTurn(pairable: pairable, isFast: isFast)
  }

  /// The next time that something about the advertising changes by itself: never again, once the phone is
  /// bonded and the first half minute is over.
  private func planNextTurn(pairable: Bool, isFast: Bool) {
    let now = Loop.shared.now
    var next: Instant?
    if radio.advertising.profiles(pairable: pairable).count > 1 {
      next = now + AdvertisingChoice.turn
    } else if isFast, !pairable {
      next = air.fastUntil
    }
    if let end = window.deadline(after: now) { next = min(next ?? end, end) }
    guard let next else { return }
    air.timer = Loop.shared.schedule(at: next + .milliseconds(1)) { [weak self] in
      guard let self else { return }
      air.timer = nil
      air.turn += 1
      Loop.start { await self.advertise() }
    }
  }

  /// Advertises often for a while: a phone has gone, and is to find its way back.
  func advertiseAnew() {
    air.fastUntil = Loop.shared.now + AdvertisingPace.fastTime
    air.told = nil
    Loop.start { await self.advertise() }
  }

  /// The kernel stops advertising when a phone comes; where another one may come too, it goes on.
  func advertiseForOthers() {
    let here = Set(links.map(\.machine.peer))
    guard isPairable || bonds.contains(where: { !here.contains($0.identity) }) else { return }
    Loop.start { await self.advertise() }
  }
}
