// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import GATT
import Wire

/// The phone's clock on one link: read at first, then followed. The board's own is not touched.
public final class ClockMonitor {
  /// Takes what the phone's clock says, and when it said so.
  public var onTime: (PhoneTime, Instant) -> Void = { _, _ in }
  /// Takes bytes that make no sense, and why, for the log.
  public var onDropped: ([UInt8], String) -> Void = { _, _ in }
  /// What the phone's clock said last.
  public private(set) var time: PhoneTime?

  private let client: Client
  private let alarm: Alarm
  private var zone: LocalTimeInformation?
  private var zoneHandle: Handle?
  /// What came with another time zone, which is read before it is told.
  private var waiting: (time: CurrentTime, instant: Instant)?
  private var isEnded = false

  public init(_ client: Client) {
    self.client = client
    alarm = Alarm(client.bearer)
  }

  private var now: Instant { client.bearer.scheduler.now }

  /// Reads the time, and how it stands to UTC, in a request each, without looking for the service first.
  ///
  /// - Returns: whether the phone has a clock.
  /// - Throws: only where the link is gone.
  @discardableResult
  public func read() async throws(ATTFailure) -> Bool {
    guard let value = try await client.valueIfAny(of: .currentTime) else { return false }
    let instant = now
    guard let current = decode(value.value) else { return false }
    if let information = try await client.valueIfAny(of: .localTimeInformation) {
      zoneHandle = information.handle
      takeZone(information.value)
    }
    tell(current, at: instant)
    return true
  }

  /// Subscribes to the time, where the service that was located lets it be subscribed to. Phones say it
  /// when their clock was set, or has another time zone.
  public func follow(_ service: LocatedService) async throws(ATTFailure) {
    guard let source = service[.currentTime], let cccd = source.cccd else { return }
    zoneHandle = service[.localTimeInformation]?.value ?? zoneHandle
    client.take(source.value) { [weak self] in self?.receive($0) }
    try await client.configure(cccd, .notifications)
  }

  private func receive(_ value: [UInt8]) {
    guard let current = decode(value) else { return }
    let hasMoved = !current.adjustReason.isDisjoint(with: [.timeZone, .daylightSaving])
    guard hasMoved, zoneHandle != nil else { return tell(current, at: now) }
    waiting = (current, now)
    alarm.ring()
  }

  /// Reads the time zone again whenever the phone says that it has changed, until the session ends.
  ///
  /// - Throws: why the link has ended; returns where `end` was called.
  public func run() async throws(ATTFailure) {
    while !isEnded {
      guard let (current, instant) = waiting else {
        try await alarm.wait()
        continue
      }
      waiting = nil
      if let zoneHandle {
        do {
          takeZone(try await client.read(zoneHandle))
        } catch {
          if error.isEnd { throw error }
          zone = nil
        }
      }
      // What came meanwhile is newer.
      if waiting == nil, !isEnded { tell(current, at: instant) }
    }
  }

  /// Lets `run` return. Harmless where it has.
  public func end() {
    isEnded = true
    alarm.ring()
  }

  private func tell(_ current: CurrentTime, at instant: Instant) {
    let new = PhoneTime(current, zone: zone)
    time = new
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
      zone = nil
      onDropped(value, "no time zone: \(error)")
    }
  }
}
