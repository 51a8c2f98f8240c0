// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Companion
import Wire

/// The phone's clock, which runs from the time that it was set to.
struct PhoneClock {
  /// Seconds since 1970 in local time.
  let start: Double
  let zone: LocalTimeInformation
  /// The instant at which it was set to `start`.
  let set: Instant

  /// Seconds since 1970 in local time.
  private func seconds(at now: Instant) -> Double { start + (now - set).inSeconds }

  /// The value of Current Time at `now`; `adjusted` is the reason if the clock was just set (Current Time
  /// Service 1.1, 3.1.2.2). Zeros, which stand for unknown, in years that cannot be encoded.
  func value(at now: Instant, adjusted: CurrentTime.AdjustReason = []) -> [UInt8] {
    let whole = seconds(at: now).rounded(.down)
    let fraction = UInt8(clamping: Int((seconds(at: now) - whole) * 256))
    let time = CurrentTime(secondsSince1970: Int64(whole), fractions256: fraction, adjustReason: adjusted)
    return time?.encoded ?? [UInt8](repeating: 0, count: 10)
  }

  /// How long it is until this hour of the day.
  func pause(untilHour hour: Int, at now: Instant) -> Duration {
    let day = 86_400.0
    let pause = Double(hour * 3600) - seconds(at: now).truncatingRemainder(dividingBy: day)
    return .milliseconds(Int64((pause > 0 ? pause : pause + day) * 1000))
  }

  /// The local time in ANCS's format: `20261121T070000`.
  func date(at now: Instant) -> String {
    CivilTime(secondsSince1970: Int64(seconds(at: now))).notificationDate
  }
}
