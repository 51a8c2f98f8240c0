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
  private var zone = Zone.known(nil)
  private var zoneHandle: Handle?
  private var isRunning = false
  private var isEnded = false

  /// The state of the time zone. While the zone is unknown, the latest time waits for it.
  private enum Zone {
    /// Nil: the phone does not provide it.
    case known(LocalTimeInformation?)
    /// The phone has reported a change.
    case changed(CurrentTime, at: Instant)
    case reading(CurrentTime, at: Instant)
  }

  public init(_ client: Client) {
    self.client = client
    alarm = Alarm(client.bearer)
  }

  private var now: Instant { client.bearer.scheduler.now }

  /// Reads the time zone, subscribes to the time, and reads it: phones notify it when their clock was set or
  /// the time zone has changed.
  ///
  /// - Throws: why the time cannot be followed, or why the link has ended. It is read anyway if the
  ///   phone refuses the subscription.
  public func follow(_ service: LocatedService) async throws(ATTFailure) {
    zoneHandle = service[.localTimeInformation]?.value
    zone = .known(try await readZone())
    guard let source = service[.currentTime] else { return }
    try await client.follow(source) { [weak self] in self?.apply($0) }
  }

  private func apply(_ value: [UInt8]) {
    guard let current = decode(value, "time", CurrentTime.init(decoding:)) else { return }
    let hasMoved = !current.adjustReason.isDisjoint(with: [.timeZone, .daylightSaving])
    if hasMoved, zoneHandle != nil {
      zone = .changed(current, at: now)
      return alarm.ring()
    }
    switch zone {
    case .known(let zone): publish(PhoneTime(current, zone: zone), at: now)
    case .changed: zone = .changed(current, at: now)
    case .reading: zone = .reading(current, at: now)
    }
  }

  /// Reads the time zone again whenever the phone reports a change, until the session ends.
  ///
  /// - Throws: why the link has ended. Returns if `end` was called, and at once if it is already
  ///   running.
  public func run() async throws(ATTFailure) {
    guard !isRunning else { return }
    isRunning = true
    while !isEnded {
      guard case .changed(let current, let instant) = zone else {
        try await alarm.wait()
        continue
      }
      zone = .reading(current, at: instant)
      let read = try await readZone()
      // The zone may have changed again meanwhile, or only the time.
      guard case .reading(let latest, let instant) = zone, !isEnded else { continue }
      zone = .known(read)
      publish(PhoneTime(latest, zone: read), at: instant)
    }
  }

  /// Makes `run` return. Harmless if it has returned.
  public func end() {
    isEnded = true
    alarm.ring()
  }

  /// The phone's current time zone; nil if the phone does not provide it.
  private func readZone() async throws(ATTFailure) -> LocalTimeInformation? {
    guard let zoneHandle else { return nil }
    do {
      let value = try await client.read(zoneHandle)
      return decode(value, "time zone", LocalTimeInformation.init(decoding:))
    } catch {
      if error.isEnd { throw error }
      return nil
    }
  }

  private func publish(_ new: PhoneTime, at instant: Instant) {
    time = new
    onTime(new, instant)
  }

  private func decode<Value>(
    _ value: [UInt8], _ what: String, _ decode: ([UInt8]) throws(DecodeError) -> Value
  ) -> Value? {
    do {
      return try decode(value)
    } catch {
      onDropped(value, "an invalid \(what): \(error)")
      return nil
    }
  }
}
