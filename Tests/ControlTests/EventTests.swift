// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import JSON
import Testing

@testable import Control

@Suite("Events as JSON")
struct EventJSONTests {
  @Test("Every kind of event has an example here")
  func complete() {
    let names = Set(Examples.all.map { Event($0).name })
    #expect(names == Set(EventName.allCases))
  }

  @Test(
    "An event of another shape is an error with the member's name",
    arguments: [
      ("[]", "not an object"), ("{}", "event is missing"),
      (#"{"event":"paired"}"#, "seq is missing"),
      (#"{"seq":-1,"time":"2026-11-21T07:00:00.042Z","event":"paired"}"#, "seq is not a whole"),
      (#"{"seq":1,"time":"yesterday","event":"paired"}"#, "time is not a time"),
      (#"{"seq":1,"time":"2026-11-21T07:00:00.042Z","event":"dance"}"#, "event is not the name"),
      (
        #"{"seq":1,"time":"2026-11-21T07:00:00.042Z","event":"notification","change":"added","#
          + #""uid":4294967296,"category":"social","flags":[]}"#, "uid is not a whole"
      ),
    ])
  func shapes(text: String, error: String) throws {
    let json = try JSONValue(parsing: text)
    let thrown = #expect(throws: JSONError.self) { try NumberedEvent(reading: json) }
    #expect(thrown?.description.hasPrefix(error) == true)
  }
}
