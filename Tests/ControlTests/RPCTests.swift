// SPDX-License-Identifier: GPL-3.0-or-later
import JSON
import Testing

@testable import Control

@Suite("JSON-RPC")
struct RPCTests {
  @Test(
    "Every error has its code, and no data unless the phone refused: then the ATT error",
    arguments: [
      (.parse("x"), -32700, "Parse error: x"), (.invalidRequest("x"), -32600, "Invalid Request: x"),
      (.methodNotFound("x"), -32601, "Method not found: x"), (.invalidParams("x"), -32602, "Invalid params: x"),
      (.internalError("x"), -32603, "Internal error: x"), (.phone("x", att: nil), 1, "x"),
      (.phone("x", att: 0xA2), 1, "x"), (.unavailable("x"), 2, "x"), (.tryAgain("x"), 3, "x"),
    ] as [(RPCError, Int, String)])
  func codes(error: RPCError, code: Int, message: String) throws {
    let data = error.att == 0xA2 ? #","data":{"att":162}"# : ""
    #expect(
      String(decoding: RPC.error(error, id: RequestID(3)), as: UTF8.self)
        == #"{"jsonrpc":"2.0","id":3,"error":{"code":\#(code),"message":"\#(message)"\#(data)}}"#)
    #expect(try RPCError(reading: JSONValue(parsing: error.json)) == error)
  }

  @Test("A response repeats its request's id unchanged", arguments: ["1.5", #""a""#, "null"])
  func ids(id: String) throws {
    let read = try RequestID(reading: JSONValue(parsing: "[\(id)]").array?.first ?? false)
    #expect(
      String(decoding: RPC.result(true, id: read), as: UTF8.self) == #"{"jsonrpc":"2.0","id":\#(id),"result":true}"#)
  }

  @Test("The elements of a page are found in its reply as they were written", arguments: [0, 1, 7])
  func pages(count: Int) throws {
    var page = Page<AppReport>()
    for number in 0..<count {
      let app = AppReport(appID: "com.example.\(number)", name: "\"],[\\", count: number)
      _ = page.add(app, at: "behind \"\(app.appID)\"", within: 200)
    }
    let line = RPC.result(page, id: RequestID(12))
    let found = try #require(RPC.elements(of: line, listed: "apps", id: 12))
    #expect(found.elements.map { Array($0) } == page.elements.map(\.json))
    #expect(found.next == page.next)
    #expect((found.next != nil) == (count == 7))
    let result = try JSONValue(parsing: line)["result"] ?? .null
    #expect(try Page<AppReport>(reading: result).elements == page.elements)
    #expect(result["next"]?.string == page.next)
    for (line, name, id) in [
      (line, "apps", 1), (line, "phones", 12), (Array(line.dropLast()), "apps", 12),
      (RPC.result(true, id: RequestID(12)), "apps", 12),
    ] as [([UInt8], StaticString, Int64)] {
      #expect(RPC.elements(of: line, listed: name, id: id) == nil)
    }
  }

  @Test("An event's line is written once, and the event is found in it as it was written")
  func eventLine() throws {
    let event = NumberedEvent(seq: 1, time: Examples.time, Event(.battery(level: 80)))
    let text = #"{"event":"battery","seq":1,"time":"2026-11-21T07:00:00.042Z","level":80}"#
    #expect(String(decoding: event.line, as: UTF8.self) == #"{"jsonrpc":"2.0","method":"event","params":\#(text)}"#)
    #expect(RPC.event(in: event.line).map { String(decoding: $0, as: UTF8.self) } == text)
    #expect(RPC.event(in: RPC.result(true, id: RequestID(1))) == nil)
    #expect(RPC.event(in: []) == nil)
    #expect(NumberedEvent(line: []) == nil)
  }
}
