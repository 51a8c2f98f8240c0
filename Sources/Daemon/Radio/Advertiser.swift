// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Wire

/// Advertises on an adapter. While any phone may pair, the profiles take turns at the fast
/// interval. After a phone has gone, the interval is fast for a while, then slow.
@LoopActor final class Advertiser {
  /// The kernel's answer to the last change.
  enum State: Hashable {
    case off, on
    /// The kernel refused; the text says why.
    case refused(String)
  }

  /// A change takes several commands. Another change that is wanted meanwhile has to follow it.
  private enum Work { case idle, changing, changingAgain }

  private(set) var state = State.off { didSet { owner.updateWait() } }
  private unowned let owner: Adapter
  private var work = Work.idle
  private var turn = 0
  private var fastUntil = Instant.zero
  private var timer: TimerID?
  /// `pairable` as it was published last.
  private var published: Bool?

  init(_ owner: Adapter) { self.owner = owner }

  /// Advertises at the fast interval for a while, so that a phone that has gone reconnects quickly.
  func advertiseFast() {
    fastUntil = owner.scheduler.now + AdvertisingPace.fastTime
    published = nil
    update()
  }

  /// Starts advertising, or updates what is advertised.
  func update() {
    guard case .idle = work else { return work = .changingAgain }
    work = .changing
    // Keeps the adapter alive until the change is over, even if it is unplugged meanwhile.
    Loop.start { [owner] in
      repeat {
        self.work = .changing
        await self.change()
      } while self.work == .changingAgain
      self.work = .idle
      withExtendedLifetime(owner) {}
    }
  }

  /// Called when the adapter no longer serves, so that nothing is on the air.
  func stop() {
    if let timer { owner.scheduler.cancel(timer) }
    timer = nil
    state = .off
    published = nil
  }

  private func change() async {
    if let timer { owner.scheduler.cancel(timer) }
    timer = nil
    guard owner.isServing else { return }
    let pairable = owner.isPairable
    let isFast = pairable || owner.scheduler.now < fastUntil
    let advertisement = Advertisement(
      profile: .profile(turn: turn, of: owner.radio.options.advertise, pairable: pairable),
      name: owner.boardName, pace: isFast ? .fast : .slow)
    owner.changesAdvertising(true)
    do {
      for command in advertisement.commands(extended: owner.hasExtendedAdvertising) {
        // The adapter may be gone.
        guard owner.isServing else { return }
        try await owner.mgmt.call(command, index: owner.index)
      }
      state = .on
    } catch {
      guard owner.isServing else { return }
      state = .refused("\(error)")
      reportRefusal(error)
    }
    owner.changesAdvertising(false)
    if state == .on, published != pairable {
      published = pairable
      owner.publish(.advertising(pairable: pairable))
    }
    planNext(pairable: pairable, isFast: isFast)
  }

  private func reportRefusal(_ error: MgmtError) {
    // Not every controller can advertise while a phone is connected. And if the adapter was
    // switched off, that is about to be reported itself.
    if owner.links.isEmpty, !owner.isSuspectingTrouble {
      owner.publish(.error(what: "advertising", code: nil, message: "\(error)"))
    } else {
      owner.log.info("\(owner.name): nobody else can come meanwhile: \(error)")
    }
  }

  /// Plans the next change: none once a phone is bonded and the time of the fast interval is over.
  private func planNext(pairable: Bool, isFast: Bool) {
    let now = owner.scheduler.now
    var next = owner.window.deadline(after: now)
    let choice = owner.radio.options.advertise
    if AdvertisingProfile.turns(of: choice, pairable: pairable).count > 1 {
      let end = now + AdvertisingProfile.turn
      next = min(next ?? end, end)
    } else if isFast, !pairable {
      next = min(next ?? fastUntil, fastUntil)
    }
    guard let next else { return }
    timer = owner.scheduler.schedule(at: next + .milliseconds(1)) { [weak self] in
      guard let self else { return }
      timer = nil
      turn += 1
      update()
    }
  }
}
