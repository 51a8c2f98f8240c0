// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Wire

/// Keeps an adapter on the air: while a phone may pair, the profiles take turns and the pace is fast;
/// for a while after a phone has gone, the pace is fast; then it is slow, for good.
@LoopActor final class Advertiser {
  /// What the kernel made of the last change.
  enum State: Hashable {
    case off, on
    /// The kernel refused; the text says why.
    case refused(String)
  }

  /// A change is several commands, which belong together: one that is wanted meanwhile follows it.
  private enum Work { case idle, changing, changingAgain }

  private(set) var state = State.off { didSet { owner.updateWait() } }
  private unowned let owner: Adapter
  private var work = Work.idle
  private var turn = 0
  private var fastUntil = Instant.zero
  private var timer: TimerID?
  /// Whether anybody may pair, as it was published last.
  private var published: Bool?

  init(_ owner: Adapter) { self.owner = owner }

  /// Advertises at the fast pace for a while: a phone has gone, and should find its way back.
  func advertiseFast() {
    fastUntil = owner.scheduler.now + AdvertisingPace.fastTime
    published = nil
    update()
  }

  /// Goes on the air, or changes what is there.
  func update() {
    guard case .idle = work else { return work = .changingAgain }
    work = .changing
    // The adapter may be unplugged meanwhile, and is needed until the change is over.
    Loop.start { [owner] in
      repeat {
        self.work = .changing
        await self.change()
      } while self.work == .changingAgain
      self.work = .idle
      withExtendedLifetime(owner) {}
    }
  }

  /// The adapter was taken away: nothing is on the air.
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
      profile: owner.advertising.profile(turn: turn, pairable: pairable), name: owner.boardName,
      pace: isFast ? .fast : .slow)
    owner.changesAdvertising(true)
    do {
      for command in advertisement.commands(extended: owner.hasExtendedAdvertising) {
        // The adapter may be gone by now.
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
    // With a phone connected, not every controller can go on advertising. And where somebody switched
    // the adapter off, that is about to be reported itself.
    if owner.links.isEmpty, !owner.isSuspectingTrouble {
      owner.publish(.error(what: "advertising", code: nil, message: "\(error)"))
    } else {
      owner.log.info("\(owner.name): nobody else can come meanwhile: \(error)")
    }
  }

  /// Plans the next change that comes by itself: none, once the phone is bonded and the fast time over.
  private func planNext(pairable: Bool, isFast: Bool) {
    let now = owner.scheduler.now
    var next = owner.window.deadline(after: now)
    if owner.advertising.profiles(pairable: pairable).count > 1 {
      let end = now + AdvertisingChoice.turn
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
