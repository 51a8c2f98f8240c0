// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// The air between a phone and a board, which may be silent or poor for a while. Nothing is lost and the order stays, since
/// the link layer repeats each packet until it is acknowledged (Core Specification Vol 6 Part B, 4.5.9): things come late.
struct Air {
  /// For how long a link survives without a packet (Vol 6 Part B, 4.5.2), once the phone has granted what the board asks for.
  static let supervision = Duration.seconds(6)
  static let blackouts: [Duration] = [
    .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8),
  ]
  /// How long poor air stays so. In the first fifth of each period packets get through; later ones wait for the next.
  private static let poorTime = Duration.seconds(60)
  private static let period = Duration.milliseconds(500)
  /// Nothing else happens so shortly after a moment, so that what waits for it goes before what comes then.
  private static let nextTo = Duration.nanoseconds(7)

  private var silentUntil = Instant.zero
  private var poor: (since: Instant, until: Instant)?

  mutating func fallSilent(for length: Duration, at now: Instant) {
    silentUntil = max(silentUntil, now + length + Self.nextTo)
  }

  mutating func becomePoor(at now: Instant) {
    poor = (now, now + Self.poorTime)
  }

  /// When what is sent now gets through; nil: at once.
  func opening(at now: Instant) -> Instant? {
    if now < silentUntil { return silentUntil }
    guard let poor, now < poor.until else { return nil }
    let within = (now - poor.since).nanoseconds % Self.period.nanoseconds
    if within < Self.period.nanoseconds / 5 { return nil }
    return now + .nanoseconds(Self.period.nanoseconds - within) + Self.nextTo
  }
}
