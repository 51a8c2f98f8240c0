// SPDX-License-Identifier: GPL-3.0-or-later
import Testing
import Wire

@Suite("Dates and times")
struct CivilTimeTests {
  @Test(
    "Seconds since 1970 and the calendar agree",
    arguments: [
      (0, "1970-01-01T00:00:00"), (-1, "1969-12-31T23:59:59"), (951_782_400, "2000-02-29T00:00:00"),
      (951_868_800, "2000-03-01T00:00:00"), (1_795_244_400, "2026-11-21T07:00:00"),
      (4_107_542_399, "2100-02-28T23:59:59"), (4_107_542_400, "2100-03-01T00:00:00"),
      (-2_203_891_200, "1900-03-01T00:00:00"), (2_147_483_648, "2038-01-19T03:14:08"),
      (253_402_300_799, "9999-12-31T23:59:59"), (-62_167_219_200, "0000-01-01T00:00:00"),
    ] as [(Int64, String)])
  func calendar(seconds: Int64, text: String) throws {
    #expect(CivilTime(secondsSince1970: seconds).description == text)
    let civil = try #require(CivilTime(text))
    #expect(civil.secondsSince1970 == seconds)
  }

  @Test("Consecutive days of 400 years have consecutive dates")
  func everyDay() throws {
    var expected = try #require(CivilTime(year: 1900, month: 1, day: 1))
    for day in 0..<146_097 {
      let civil = CivilTime(secondsSince1970: (Int64(day) - 25_567) * 86_400)
      guard civil == expected else {
        Issue.record("\(civil) instead of \(expected)")
        return
      }
      let next =
        CivilTime(year: civil.year, month: civil.month, day: civil.day + 1)
        ?? CivilTime(year: civil.year, month: civil.month + 1, day: 1)
        ?? CivilTime(year: civil.year + 1, month: 1, day: 1)
      expected = try #require(next)
    }
  }

  @Test(
    "Invalid dates are refused",
    arguments: [
      "", "2026-11-21", "2026-11-21 07:00:00", "2026-13-21T07:00:00", "2026-02-29T07:00:00",
      "2026-11-21T24:00:00", "2026-11-21T07:60:00", "2026-11-21T07:00:60", "2026-11-21T07:00:0x",
      "20261121T070000", "2026-11-21T07:00:00Z", "2026-00-21T07:00:00", "+026-11-21T07:00:00",
    ])
  func noDate(text: String) {
    #expect(CivilTime(text) == nil)
  }

  @Test("Seconds outside the calendar are clamped")
  func extremes() {
    #expect(CivilTime(secondsSince1970: .max).year == 9999)
    #expect(CivilTime(secondsSince1970: .min).year == 0)
  }
}
