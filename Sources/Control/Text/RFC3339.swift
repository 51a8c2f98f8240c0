// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

extension WallTime {
  /// RFC 3339 in UTC with milliseconds, as in `2026-11-21T06:00:00.042Z`.
  public var rfc3339: String {
    var text: [UInt8] = []
    text.reserveCapacity(24)
    addRFC3339(to: &text)
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends what `rfc3339` returns.
  func addRFC3339(to text: inout [UInt8]) {
    CivilTime(secondsSince1970: seconds).add(to: &text)
    text.append(UInt8(ascii: "."))
    let milliseconds = max(0, nanoseconds) / 1_000_000
    for unit in [100, 10, 1] as [Int32] {
      text.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: milliseconds / unit % 10))
    }
    text.append(UInt8(ascii: "Z"))
  }

  /// Reads RFC 3339, also without seconds: a date and a time, perhaps with a fraction of a second, in a zone.
  public init?(rfc3339 text: String) {
    var (body, offset) = (Substring(text.utf8.dropLast()), Int64(0))
    if text.utf8.last != UInt8(ascii: "Z"), text.utf8.last != UInt8(ascii: "z") {
      guard let sign = ["+": Int64(1), "-": -1][text.suffix(6).prefix(1)],
        let ahead = CivilTime(completing: "1970-01-01T\(text.suffix(5))")
      else { return nil }
      (body, offset) = (text.dropLast(6), sign * ahead.secondsSince1970)
    }
    let point = body.utf8.firstIndex(of: UInt8(ascii: "."))
    let fraction = point.map { body[$0...].dropFirst() } ?? "0"
    guard body.utf8.count > 10, let time = CivilTime(completing: String(body[..<(point ?? body.endIndex)])),
      fraction.utf8.count <= 9, let number = UInt32(digits: fraction)
    else { return nil }
    let scale = (fraction.utf8.count..<9).reduce(1) { scale, _ in scale * 10 }
    self.init(
      seconds: time.secondsSince1970 - offset,
      nanoseconds: Int32(truncatingIfNeeded: Int(number) * scale))
  }
}

extension CivilTime {
  /// Reads a date, with a time or without, with seconds or without.
  public init?(completing text: String) {
    let hasSpace = text.utf8.dropFirst(10).first == UInt8(ascii: " ")
    let whole = hasSpace ? String(text.map { $0 == " " ? "T" : $0 }) : text
    switch text.utf8.count {
    case 10: self.init(text + "T00:00:00")
    case 16: self.init(whole + ":00")
    case 19: self.init(whole)
    default: return nil
    }
  }
}
