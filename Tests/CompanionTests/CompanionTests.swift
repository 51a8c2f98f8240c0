// SPDX-License-Identifier: GPL-3.0-or-later
import Companion
import Testing
import Wire

@Suite("Companion: time")
struct CompanionTests {
  @Test("A time is decoded and encoded")
  func time() throws {
    // 21 November 2026 is a Saturday.
    let bytes: [UInt8] = [0xEA, 0x07, 11, 21, 7, 30, 15, 6, 128, 1]
    let time = try CurrentTime(decoding: bytes)
    #expect(time.time.description == "2026-11-21T07:30:15")
    #expect(time.secondsSince1970 == 1_795_246_215.5)
    #expect(time.encoded == bytes)
    let same = CurrentTime(secondsSince1970: 1_795_246_215, fractions256: 128, adjustReason: .manual)
    #expect(same == time)
  }

  @Test(
    "Invalid times are refused",
    arguments: [
      "", "ea070b15071e0f0680", "ea070b15071e0f06800100",  // nine and eleven bytes
      "00000b15071e0f068001",  // the year is unknown
      "ea070015071e0f068001", "ea070d15071e0f068001", "ea070b00071e0f068001", "ea070b1f071e0f068001",  // 31 November
      "eb07021d071e0f068001",  // 29 February 2027
      "ea070b15181e0f068001", "ea070b15073c0f068001", "ea070b15071e3c068001",
      "ea070b15071e0f088001",
    ])
  func noTime(hex: String) throws {
    let bytes = try #require([UInt8](hex: hex))
    #expect(throws: DecodeError.self) { try CurrentTime(decoding: bytes) }
  }

  @Test("Days of the week follow the calendar, in the years that there are")
  func days() {
    #expect(CurrentTime(secondsSince1970: 0)?.dayOfWeek == 4)
    #expect(CurrentTime(secondsSince1970: -1)?.dayOfWeek == 3)
    #expect(CurrentTime(secondsSince1970: 951_782_400)?.dayOfWeek == 2)
    #expect(CurrentTime(secondsSince1970: .min) == nil)
    #expect(CurrentTime(secondsSince1970: .max) == nil)
  }

  @Test("Time zone and daylight saving are in quarters of an hour, or unknown")
  func zone() throws {
    let berlin = try LocalTimeInformation(decoding: [4, 4])
    #expect(berlin.secondsFromUTC == 7200 && berlin.encoded == [4, 4])
    #expect(try LocalTimeInformation(decoding: [0xEC, 0]).secondsFromUTC == -18_000)
    #expect(try LocalTimeInformation(decoding: [0x80, 0xFF]).secondsFromUTC == nil)
    #expect(try LocalTimeInformation(decoding: [4, 255]).secondsFromUTC == 3600)
    for bytes in [[4], [4, 1], [57, 0], [0xCF, 0], [4, 4, 4], []] as [[UInt8]] {
      #expect(throws: DecodeError.self) { try LocalTimeInformation(decoding: bytes) }
    }
  }

  @Test("The offset is the phone's time minus the board's")
  func offset() throws {
    let time = try #require(CurrentTime(secondsSince1970: 1_000_000_000 + 7200))
    let zone = LocalTimeInformation(timeZone: 4, daylightSaving: 4)
    #expect(PhoneTime(time, zone: zone).offset(fromBoardTime: 1_000_000_005.9) == -5)
    #expect(PhoneTime(time, zone: zone).offset(fromBoardTime: 999_999_940, boardZone: 3600) == 60)
    // Without a zone the phone is assumed to be in the board's.
    #expect(PhoneTime(time).offset(fromBoardTime: 1_000_000_000, boardZone: 7200) == 0)
    #expect(PhoneTime(time).offset(fromBoardTime: 1_000_000_000) == 7200)
    #expect(PhoneTime(time).offset(fromBoardTime: .infinity) == 0)
  }
}
