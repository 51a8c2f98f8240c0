// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

extension VirtualPhone {
  /// Plays a day: what was there before is there at once, the rest begins with the first session (or
  /// at once, where there is one). When its moments are over, `dayEnded` is told.
  ///
  /// - Parameter once: nothing happens afterwards.
  public func play(_ day: VirtualDay = .usual, once: Bool) {
    // What is there by then, or gone, is no reason to stop.
    for command in day.before { _ = try? perform(command) }
    stage = DayPlayer(self, day, once: once)
    if provider.hasSession { stage?.begin() }
  }

  /// Stops the day that is played.
  public func stopPlaying() { stage = nil }
}

/// Plays one day on one phone, as long as it is held.
final class DayPlayer {
  /// How many notifications a phone has, at most, that goes on for hours.
  private static let mostNotifications = 24
  private static let pauseBeforeEnd = Duration.seconds(1)

  private unowned let phone: VirtualPhone
  private let scheduler: any Scheduler
  private let day: VirtualDay
  private let once: Bool
  private var timer: TimerID?
  private var hasBegun = false

  init(_ phone: VirtualPhone, _ day: VirtualDay, once: Bool) {
    self.phone = phone
    scheduler = phone.scheduler
    self.day = day
    self.once = once
  }

  deinit {
    if let timer { scheduler.cancel(timer) }
  }

  /// Begins, where it has not begun yet.
  func begin() {
    guard !hasBegun else { return }
    hasBegun = true
    play(day.moments[...], isRepeat: false)
  }

  private func play(_ moments: ArraySlice<VirtualDay.Moment>, isRepeat: Bool) {
    guard let moment = moments.first else { return goOn(isRepeat: isRepeat) }
    timer = scheduler.schedule(after: moment.after) { [weak self] in
      guard let self else { return }
      timer = nil
      _ = try? phone.perform(moment.command)
      if isRepeat { trim() }
      play(moments.dropFirst(), isRepeat: isRepeat)
    }
  }

  private func goOn(isRepeat: Bool) {
    guard !isRepeat else { return play(day.afterwards[...], isRepeat: true) }
    // What happened last is to be told before the end is.
    timer = scheduler.schedule(after: Self.pauseBeforeEnd) { [weak self] in
      guard let self else { return }
      timer = nil
      phone.onEvent(.dayEnded)
      if !once, !day.afterwards.isEmpty { play(day.afterwards[...], isRepeat: true) }
    }
  }

  private func trim() {
    while phone.notifications.count > Self.mostNotifications, let oldest = phone.notifications.first
    {
      _ = try? phone.perform(.remove(oldest.uid))
    }
  }
}
