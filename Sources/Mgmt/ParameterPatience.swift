// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// Which phones are not asked for connection parameters for a while, because they have dropped the link soon after a
/// request: iOS 26 does with some accessories (docs/guesses.md).
public struct ParameterPatience: Hashable, Sendable {
  /// How soon after a request a drop counts.
  public static let soon: Duration = .seconds(10)
  /// How many drops in a row count.
  public static let drops = 2
  /// How long a phone is not asked then.
  public static let pause: Duration = .seconds(24 * 3600)
  /// The reasons that count: Connection Timeout, LL Response Timeout, Instant Passed (Vol 1 Part F, 1.3).
  static let reasons: Set<UInt8> = [0x08, 0x22, 0x28]

  private struct Record: Hashable, Sendable {
    var asked: Instant
    var drops = 0
  }

  private var records: [DeviceAddress: Record] = [:]
  private var pauses: [DeviceAddress: Instant] = [:]

  public init() {}

  /// How long a phone is not asked any more; nil: it may be.
  public func pause(of phone: DeviceAddress, at now: Instant) -> Duration? {
    pauses[phone].flatMap { now < $0 ? $0 - now : nil }
  }

  /// A phone is asked for parameters.
  public mutating func asked(_ phone: DeviceAddress, at now: Instant) {
    pauses = pauses.filter { now < $0.value }
    records[phone, default: Record(asked: now)].asked = now
  }

  /// A phone's link has ended.
  ///
  /// - Returns: whether it is not asked from now on.
  public mutating func ended(_ phone: DeviceAddress, reason: UInt8, at now: Instant) -> Bool {
    guard var record = records.removeValue(forKey: phone) else { return false }
    guard Self.reasons.contains(reason), now - record.asked <= Self.soon else { return false }
    record.drops += 1
    guard record.drops >= Self.drops else {
      records[phone] = record
      return false
    }
    pauses[phone] = now + Self.pause
    return true
  }
}
