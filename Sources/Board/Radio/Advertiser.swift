// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import Mgmt
import Wire

/// Performs the advertising plan of an adapter: sends its steps to the kernel, one at a time, and
/// gets the next whenever something has changed.
@LoopActor final class Advertiser {
  /// A change takes several commands. Another change requested meanwhile has to follow it.
  private enum Work { case idle, changing, changingAgain }

  /// It may be unplugged during a change.
  private weak let owner: Adapter?
  private let scheduler: any Scheduler
  /// What others know of links is told to it directly; `update` follows.
  var plan: AdvertisingPlan { didSet { owner?.updateWait() } }
  private var method = Advertisement.Method.extended
  private var work = Work.idle
  private lazy var timer = Deadline(scheduler) { [weak self] in self?.update() }
  /// The number of phones that have connected.
  private var connections = 0
  /// The last published `pairable`.
  private var published: Bool?

  init(_ owner: Adapter, _ plan: AdvertisingPlan) {
    self.owner = owner
    scheduler = owner.scheduler
    self.plan = plan
  }

  /// Called when the adapter was set up.
  func start(by method: Advertisement.Method) {
    self.method = method
    plan.reset()
    phonesGone()
  }

  /// Called when no phone is connected anymore: one that has disconnected should find the board
  /// quickly.
  func phonesGone() {
    published = nil
    begin()
  }

  /// Begins the fast pace, also when pairing was opened.
  func begin() {
    plan.begin(at: now)
    update()
  }

  /// Called when a phone has connected.
  ///
  /// - Returns: the profile that was on the air.
  func phoneConnected() -> AdvertisingProfile? {
    defer {
      connections += 1
      plan.phoneConnected()
    }
    return plan.advertisement?.profile
  }

  /// Performs the plan's current step.
  func update() {
    guard case .idle = work else { return work = .changingAgain }
    guard let owner else { return }
    work = .changing
    Loop.start {
      repeat {
        self.work = .changing
        await self.change(of: owner)
      } while self.work == .changingAgain
      self.work = .idle
    }
  }

  /// Called when the adapter no longer serves, so that nothing is on the air.
  func stop() {
    timer.due = nil
    plan.reset()
    published = nil
  }

  private var now: Instant { scheduler.now }

  private func change(of owner: Adapter) async {
    guard owner.isServing else { return }
    let audience = owner.audience
    if let step = plan.step(for: audience, at: now) {
      owner.changesAdvertising(true)
      let before = connections
      do {
        try await perform(step, on: owner)
        // The adapter may have been removed.
        guard owner.isServing else { return }
        plan.succeeded(step)
        // A phone that has connected meanwhile has taken it off the air again.
        if connections != before { plan.phoneConnected() }
      } catch {
        guard owner.isServing else { return }
        let isNews = plan.failed(step, for: audience, isAlone: owner.links.isEmpty, why: "\(error)", at: now)
        report(error, isNews: isNews, on: owner)
      }
      owner.changesAdvertising(false)
    }
    if plan.advertisement?.isConnectable == true {
      publish(pairable: audience == .anybody, on: owner)
    }
    timer.due = plan.deadline(for: audience, at: now)
  }

  private func perform(_ step: AdvertisingPlan.Step, on owner: Adapter) async throws(MgmtError) {
    switch step {
    case .remove:
      do {
        try await owner.mgmt.call(
          .removeAdvertising(instance: Advertisement.instance), index: owner.index)
      } catch {
        // There is none.
        guard error.status == .invalidParameters else { throw error }
      }
    case .advertise(let advertisement): try await advertise(advertisement, on: owner)
    }
  }

  /// Tries the methods in turn, from the one that worked last, and keeps the one that works.
  private func advertise(_ advertisement: Advertisement, on owner: Adapter) async throws(MgmtError) {
    var way = method
    while true {
      do {
        try await owner.mgmt.perform(
          advertisement.steps(way), index: owner.index, while: { owner.isServing }
        ) { owner.log.info("\(owner.name): \($0)") }
        return method = way
      } catch {
        // A controller that does not respond would not respond to the older commands either.
        guard let status = error.status, status != .authenticationFailed, owner.isServing, let other = way.fallback
        else { throw error }
        owner.log.info("\(owner.name): \(error); trying another way")
        way = other
      }
    }
  }

  private func publish(pairable: Bool, on owner: Adapter) {
    // An adapter that was just switched off still accepts advertisements.
    guard published != pairable, !owner.isSuspectingTrouble else { return }
    published = pairable
    owner.publish(.advertising(pairable: pairable))
  }

  private func report(_ error: MgmtError, isNews: Bool, on owner: Adapter) {
    // Not every controller can advertise while a phone is connected. And if the adapter was
    // switched off, that is about to be reported itself.
    if !owner.links.isEmpty {
      owner.log.info("\(owner.name): no other phone can connect meanwhile: \(error)")
    } else if isNews, !owner.isSuspectingTrouble {
      owner.publish(.error(what: "advertising", code: nil, message: "\(error)"))
    } else {
      owner.log.info("\(owner.name): \(error)")
    }
  }
}
