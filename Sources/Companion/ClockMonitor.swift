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
  private var zoneHandle: Handle?
  private var zone = Zone.known(nil)
  /// The latest time, which waits for the zone.
  private var waiting: (time: CurrentTime, instant: Instant)?

  /// The state of the time zone.
  private enum Zone {
    /// Nil: the phone does not provide it.
    case known(LocalTimeInformation?)
    /// `isOutdated`: the phone has reported a change since the request.
    case reading(isOutdated: Bool)
  }

  public init(_ client: Client) { self.client = client }

  /// Reads the time zone, subscribes to the time, and reads it: phones notify it when their clock was set or
  /// the time zone has changed. Then the zone is read again.
  ///
  /// - Returns: why the phone has refused the subscription; nil: it has not. It is read anyway.
  /// - Throws: why the time cannot be read, or why the link has ended.
  @discardableResult public func follow(_ service: LocatedService) async throws(ATTFailure) -> ATTFailure? {
    zoneHandle = service[.localTimeInformation]?.value
    readZone()
    guard let source = service[.currentTime] else { return nil }
    return try await client.follow(source) { [weak self] in self?.apply($0) }
  }

  private func readZone() {
    guard let zoneHandle else { return }
    zone = .reading(isOutdated: false)
    client.bearer.request(.readRequest(zoneHandle)) { [weak self] in self?.zoneWasRead($0) }
  }

  private func apply(_ value: [UInt8]) {
    guard let current = decode(value, "time", CurrentTime.init(decoding:)) else { return }
    let now = client.bearer.scheduler.now
    let reasons = current.adjustReason
    let hasMoved = zoneHandle != nil && !reasons.isDisjoint(with: [.timeZone, .daylightSaving])
    switch zone {
    case .known(let zone) where !hasMoved: publish(PhoneTime(current, zone: zone), at: now)
    case .known:
      waiting = (current, now)
      readZone()
    case .reading(let isOutdated):
      waiting = (current, now)
      zone = .reading(isOutdated: isOutdated || hasMoved)
    }
  }

  private func zoneWasRead(_ outcome: Result<PDU, ATTFailure>) {
    if case .failure(let failure) = outcome, failure.isEnd { return }
    if case .reading(isOutdated: true) = zone { return readZone() }
    // A phone that refuses it does not provide it.
    var read: LocalTimeInformation?
    if case .success(.readResponse(let value)) = outcome {
      read = decode(value, "time zone", LocalTimeInformation.init(decoding:))
    }
    zone = .known(read)
    guard let (current, instant) = waiting else { return }
    waiting = nil
    publish(PhoneTime(current, zone: read), at: instant)
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
