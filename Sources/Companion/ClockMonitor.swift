// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The phone's clock on one link: read, then followed. The board's own is not touched.
public final class ClockMonitor {
  /// Takes what the phone's clock says, and when it said so.
  public var onTime: (PhoneTime, Instant) -> Void = { _, _ in }
  /// Takes bytes that make no sense, and why, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }
  /// What the phone's clock said last.
  public private(set) var time: PhoneTime?

  private let client: Client
  private let alarm: Alarm
  private var said = Instant.zero
  private var zone: LocalTimeInformation?
  private var zoneHandle: Handle?
  /// What came with another time zone, which is read before it is told.
  private var waiting: (time: CurrentTime, instant: Instant)?
  private var isRunning = false
  private var isEnded = false

  public init(_ client: Client) {
    self.client = client
    alarm = Alarm(client.bearer)
  }

  private var now: Instant { client.bearer.scheduler.now }

  /// Reads the time in one request, without looking for the service first. It is told once it is known
  /// how it stands to UTC (`follow`).
  ///
  /// - Returns: whether the phone has a clock.
  /// - Throws: only where the link is gone.
  @discardableResult
  public func read() async throws(ATTFailure) -> Bool {
    guard let value = try await client.valueIfAny(of: .currentTime),
      let current = decode(value.value)
    else { return false }
    time = PhoneTime(current)
    said = now
    return true
  }

  /// Reads how the time that was read stands to UTC, tells it, and subscribes to it: phones say it when
  /// their clock was set, or has another time zone. Without a service it is told as it is.
  public func follow(_ service: LocatedService?) async throws(ATTFailure) {
    zoneHandle = service?[.localTimeInformation]?.value
    try await readZone()
    if let time { tell(time.current, at: said) }
    guard let source = service?[.currentTime], let cccd = source.cccd else { return }
    client.take(source.value) { [weak self] in self?.receive($0) }
    try await client.configure(cccd, .notifications)
  }

  private func receive(_ value: [UInt8]) {
    guard let current = decode(value) else { return }
    let hasMoved = !current.adjustReason.isDisjoint(with: [.timeZone, .daylightSaving])
    guard hasMoved, zoneHandle != nil, isRunning else { return tell(current, at: now) }
    waiting = (current, now)
    alarm.ring()
  }

  /// Reads the time zone again whenever the phone says that it has changed, until the session ends.
  ///
  /// - Throws: why the link has ended; returns where `end` was called, and at once where it runs.
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
      // What came meanwhile is newer.
      if waiting == nil, !isEnded { tell(current, at: instant) }
    }
  }

  /// The phone's clock is gone, or somewhere else.
  public func forget() {
    time = nil
    zone = nil
    zoneHandle = nil
    waiting = nil
  }

  /// Lets `run` return. Harmless where it has.
  public func end() {
    isEnded = true
    alarm.ring()
  }

  private func readZone() async throws(ATTFailure) {
    zone = nil
    guard let zoneHandle else { return }
    do {
      takeZone(try await client.read(zoneHandle))
    } catch {
      if error.isEnd { throw error }
    }
  }

  private func tell(_ current: CurrentTime, at instant: Instant) {
    let new = PhoneTime(current, zone: zone)
    time = new
    said = instant
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

  private func takeZone(_ value: [UInt8]) {
    do {
      zone = try LocalTimeInformation(decoding: value)
    } catch {
      onDropped(value, "no time zone: \(error)")
    }
  }
}
