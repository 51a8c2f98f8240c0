// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import JSON
import Testing

@testable import Control

@Suite("Events as JSON")
struct EventJSONTests {
  @Test("Every event is read back as it was", arguments: Examples.all)
  func roundTrip(content: Event.Content) throws {
    let event = NumberedEvent(seq: 7, time: Examples.time, Event(content, adapter: "hci0"))
    let read = try NumberedEvent(reading: JSONValue(parsing: event.json))
    // Numbers of media are rounded on the way; EventLineTests holds the line.
    if event.event.name != .media { #expect(read.event == event.event) }
  }

  @Test("Every kind of event has an example here")
  func complete() {
    let names = Set(Examples.all.map { Event($0).name })
    #expect(names == Set(EventName.allCases))
  }

  @Test("What was not fetched is absent, what came empty is present")
  func fetched() {
    var report = NotificationReport(NotificationEvent(.added, 1))
    let members = #""uid":1,"category":"other","category_count":1,"flags":[]"#
    #expect(report.jsonText == "{\(members)}")
    report.attributes.fetchedDate = .some(nil)
    report.attributes[.title] = ""
    report.attributes.truncated = [.title, .message]
    report.isRepeat = true
    report.failure = "Invalid Parameter"
    #expect(
      report.jsonText
        == "{\(members),\"title\":\"\",\"date\":null,\"truncated\":[\"title\",\"message\"],"
        + "\"repeat\":true,\"error\":\"Invalid Parameter\"}")
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
