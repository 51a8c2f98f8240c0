// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GAP
import GATT
import Wire

/// The phone's clock on one link: subscribed to, and read once. The board's clock is not changed.
public final class ClockMonitor {
  /// Called with the phone's time and when it was received.
  public var onTime: (PhoneTime, Instant) -> Void = { _, _ in }
  /// Called with bytes that were dropped, and the reason, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }
  /// The phone's last time.
  public private(set) var time: PhoneTime?

  private let client: Client
  private let alarm: Alarm
  /// When `time` was received.
  private var received = Instant.zero
  private var zone: LocalTimeInformation?
  private var zoneHandle: Handle?
  /// A time in a new time zone, which is read before the time is published.
  private var waiting: (time: CurrentTime, instant: Instant)?
  private var isRunning = false
  private var isEnded = false

  public init(_ client: Client) {
    self.client = client
    alarm = Alarm(client.bearer)
  }

  private var now: Instant { client.bearer.scheduler.now }

  /// Reads the time zone, subscribes to the time, and reads it: phones notify it when their clock was set or
  /// the time zone has changed.
  ///
  /// - Throws: why the time cannot be followed, or why the link has ended. It is read all the same if the
  ///   phone refuses the subscription.
  public func follow(_ service: LocatedService) async throws(ATTFailure) {
    zoneHandle = service[.localTimeInformation]?.value
    try await readZone()
    guard let source = service[.currentTime] else { return }
    try await client.follow(source) { [weak self] in self?.apply($0) }
  }

  private func apply(_ value: [UInt8]) {
    guard let current = decode(value) else { return }
    let hasMoved = !current.adjustReason.isDisjoint(with: [.timeZone, .daylightSaving])
    guard hasMoved, zoneHandle != nil, isRunning else { return publish(current, at: now) }
    waiting = (current, now)
    alarm.ring()
  }

  /// Reads the time zone again whenever the phone says that it has changed, until the session ends.
  ///
  /// - Throws: why the link has ended. Returns if `end` was called, and at once if it already runs.
  public func run() async throws(ATTFailure) {
    guard !isRunning else { return }
    isRunning = true
    while !isEnded {
      guard let (current, instant) = waiting else {
        try await alarm.wait()
        continue
      }
      waiting = nil
      try await readZone()
      // A time that arrived meanwhile is newer.
      if waiting == nil, !isEnded { publish(current, at: instant) }
    }
  }

  /// Makes `run` return. Harmless if it has.
  public func end() {
    isEnded = true
    alarm.ring()
  }

  private func readZone() async throws(ATTFailure) {
    zone = nil
    guard let zoneHandle else { return }
    do { applyZone(try await client.read(zoneHandle)) } catch { if error.isEnd { throw error } }
  }

  private func publish(_ current: CurrentTime, at instant: Instant) {
    let new = PhoneTime(current, zone: zone)
    time = new
    received = instant
    onTime(new, instant)
  }

  private func decode(_ value: [UInt8]) -> CurrentTime? {
    do {
      return try CurrentTime(decoding: value)
    } catch {
      onDropped(value, "no time: \(error)")
      return nil
    }
  }

  private func applyZone(_ value: [UInt8]) {
    do {
      zone = try LocalTimeInformation(decoding: value)
    } catch {
      onDropped(value, "no time zone: \(error)")
    }
  }
}
