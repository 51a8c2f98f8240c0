// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Companion
import Wire

/// The phone's clock: what it was set to, carried on.
struct PhoneClock {
  /// How it stands to UTC.
  let zone: LocalTimeInformation
  private let start: CivilTime
  private let set: Instant

  /// A clock that shows `start` at `now`.
  init(_ start: CivilTime, zone: LocalTimeInformation, at now: Instant) {
    self.start = start
    self.zone = zone
    set = now
  }

  /// Seconds since 1970 on this clock.
  private func seconds(at now: Instant) -> Double {
    Double(start.secondsSince1970) + (now - set).inSeconds
  }

  /// The value of Current Time at `now`; `adjusted` is why the clock was set, where it just was
  /// (Current Time Service 1.1, 3.1.2.2). Zeros, which stand for unknown, in years that have no form.
  func value(
    at now: Instant, adjusted: CurrentTime.AdjustReason = []
  ) -> [UInt8] {
    let whole = seconds(at: now).rounded(.down)
    let fraction = UInt8(clamping: Int((seconds(at: now) - whole) * 256))
    let time = CurrentTime(
      secondsSince1970: Int64(whole), fractions256: fraction, adjustReason: adjusted)
    return time?.encoded ?? [UInt8](repeating: 0, count: 10)
  }

  /// What it shows as ANCS writes a date: `20261121T070000`.
  func date(at now: Instant) -> String {
    CivilTime(secondsSince1970: Int64(seconds(at: now))).notificationDate
  }
}
