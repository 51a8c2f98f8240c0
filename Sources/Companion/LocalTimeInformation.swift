// SPDX-License-Identifier: GPL-3.0-or-later
import Wire

/// How far the phone's clock is from UTC: time zone and daylight saving, two bytes (Current Time Service
/// 1.1, 3.2; GATT Specification Supplement, Local Time Information).
public struct LocalTimeInformation: Hashable, Sendable {
  /// Standard time minus UTC in quarters of an hour, -48 to 56; nil where the phone does not know.
  public let timeZone: Int?
  /// What daylight saving adds, in quarters of an hour: 0, 2, 4 or 8; nil where the phone does not know.
  public let daylightSaving: Int?

  public init(timeZone: Int?, daylightSaving: Int?) {
    self.timeZone = timeZone
    self.daylightSaving = daylightSaving
  }

  /// Reads a value of the Local Time Information characteristic: exactly two bytes.
  public init(decoding value: [UInt8]) throws(DecodeError) {
    var reader = ByteReader(value)
    let zone = try reader.i8()
    guard zone == -128 || (-48...56).contains(zone) else {
      throw DecodeError(offset: 0, .invalid("the time zone \(zone)"))
    }
    let saving = try reader.u8()
    guard [0, 2, 4, 8, 255].contains(saving) else {
      throw DecodeError(offset: 1, .invalid("the daylight saving offset \(saving)"))
    }
    try reader.end()
    timeZone = zone == -128 ? nil : Int(zone)
    daylightSaving = saving == 255 ? nil : Int(saving)
  }

  /// The two bytes for the air.
  public var encoded: [UInt8] {
    [
      UInt8(bitPattern: timeZone.flatMap(Int8.init(exactly:)) ?? -128),
      daylightSaving.flatMap(UInt8.init(exactly:)) ?? 255,
    ]
  }

  /// Local time minus UTC in seconds; nil where the zone is not known. Daylight saving that is not known
  /// counts as none.
  public var secondsFromUTC: Int? {
    timeZone.map { ($0 + (daylightSaving ?? 0)) * 900 }
  }
}

/// What the phone's clock says, and how it stands to the board's.
public struct PhoneTime: Hashable, Sendable {
  public let current: CurrentTime
  /// Nil where the phone does not say how its clock stands to UTC.
  public let zone: LocalTimeInformation?

  public init(_ current: CurrentTime, zone: LocalTimeInformation? = nil) {
    self.current = current
    self.zone = zone
  }

  /// The phone's time minus the board's, in whole seconds.
  ///
  /// `boardTime` is the board's UTC in seconds since 1970 when the phone's value arrived, `boardZone`
  /// what its own clock is ahead of UTC. A phone that does not name its zone is taken to be in the
  /// board's.
  public func offset(fromBoardTime boardTime: Double, boardZone: Int = 0) -> Int {
    let zone = zone?.secondsFromUTC ?? boardZone
    let difference = current.secondsSince1970 - Double(zone) - boardTime
    // A clock that says whole seconds only is on the average half a second further.
    let isWhole = current.fractions256 == 0
    return Int(exactly: difference.rounded(isWhole ? .up : .toNearestOrEven)) ?? 0
  }
}

extension PhoneTime: CustomStringConvertible {
  /// `2026-11-21T07:00:00`, the phone's local time.
  public var description: String { current.time.description }
}
