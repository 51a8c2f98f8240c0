// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Control
import EventLoop
import JSON
import OnLoop
import System
import TestLoop
import Testing

@testable import Board
@testable import Daemon

@Suite("Requests on the control socket")
struct ControlDispatcherTests {
  /// What a line turned out to mean.
  enum Meaning: Hashable, Sendable {
    case call(RequestID?)
    case subscribe(Subscription, RequestID?)
    case reply(String)
    case nothing
    indirect case batch([Meaning])
  }

  /// A daemon that does not run, with all its methods.
  @LoopActor
  private final class Bench {
    private let supervisor = Supervisor(
      Settings(RunOptions()), on: SystemPlatform(), log: Log(level: .error))
    private var dispatcher = ControlDispatcher()

    init() { ControlHandlers(supervisor).register(in: &dispatcher) }

    func meaning(of line: [UInt8]) -> Meaning {
      let (requests, isBatch) = dispatcher.receive(line)
      return isBatch ? .batch(requests.map(meaning)) : meaning(of: requests[0])
    }

    private func meaning(of request: ControlDispatcher.Request) -> Meaning {
      switch request {
      case .call(_, let id): .call(id)
      case .subscribe(let subscription, let id): .subscribe(subscription, id)
      case .reply(let reply): .reply(String(decoding: reply, as: UTF8.self))
      case .nothing: .nothing
      }
    }
  }

  private func meaning(of line: String) async throws -> Meaning {
    try await onLoop { Bench().meaning(of: Array(line.utf8)) }
  }

  /// The reply to a line that makes no call.
  private func reply(to line: String) async throws -> String? {
    guard case .reply(let reply) = try await meaning(of: line) else { return nil }
    return reply
  }

  @Test("Every method of the contract is implemented")
  func complete() async throws {
    // The words of headings such as “### gatt.read, gatt.write”.
    let methods = try Repository.text("docs/interface.md").split(separator: "\n").drop {
      $0 != "## The control socket"
    }
    .prefix { $0 != "### Connections" }.filter { $0.hasPrefix("### ") }
    .flatMap { $0.dropFirst(4).split { " ,".contains($0) } }
    #expect(methods.count == 24)
    for method in methods {
      let line = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)"}"#
      switch try await meaning(of: line) {
      case .call(let id), .subscribe(_, let id): #expect(id == RequestID(1))
      // Those that want parameters.
      case .reply(let reply): #expect(reply.contains("-32602"), "\(method): \(reply)")
      case .nothing, .batch: Issue.record("\(method) is ignored")
      }
    }
  }

  @Test(
    "An id is kept unchanged, a request without one gets no response, and parameters are read",
    arguments: [
      (#""id":"a","method":"status""#, .call(RequestID(json: "a"))), (#""id":null,"method":"status""#, .call(.null)),
      (#""id":1.5,"method":"status""#, .call(RequestID(json: 1.5))), (#""method":"status""#, .call(nil)),
      (#""method":"dance""#, .nothing),
      // By position (JSON-RPC 2.0, 4.2).
      (#""id":1,"method":"status","params":[]"#, .call(RequestID(1))),
      (
        #""id":1,"method":"subscribe","params":{"events":["why"],"since":3}"#,
        .subscribe(Subscription(events: [.why], since: 3), RequestID(1))
      ),
    ] as [(String, Meaning)])
  func requests(members: String, meaning: Meaning) async throws {
    #expect(try await self.meaning(of: #"{"jsonrpc":"2.0",\#(members)}"#) == meaning)
  }

  @Test("An empty line is nothing")
  func empty() async throws { #expect(try await meaning(of: " \t\r") == .nothing) }

  /// The reply to what is no request.
  private static func invalid(_ why: String) -> Meaning {
    .reply(#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: \#(why)"}}"#)
  }

  @Test(
    "A batch has up to 64 requests, whatever their parameters; more are one error that says so",
    arguments: [26, 64, 65, 80])
  func longBatch(count: Int) async throws {
    let request =
      #"{"jsonrpc":"2.0","id":"123e4567-e89b-12d3-a456-426614174000","method":"notifications.get","#
      + #""params":{"uid":4294967295,"attributes":["app","title","message"],"phone":"C0:11:22:33:44:55"}}"#
    let line = "[" + Array(repeating: request, count: count).joined(separator: ",") + "]"
    let call = Meaning.call(RequestID(json: "123e4567-e89b-12d3-a456-426614174000"))
    #expect(
      try await meaning(of: line)
        == (count <= 64
          ? .batch(Array(repeating: call, count: count)) : Self.invalid("a batch of more than 64 requests")))
  }

  @Test(
    "What is malformed is answered with JSON-RPC's own codes",
    arguments: [
      ("{", "null", -32700), ("\u{FEFF}nonsense", "null", -32700), ("[]", "null", -32600), ("[1,", "null", -32700),
      ("3", "null", -32600), (#"{"id":1,"method":"status"}"#, "1", -32600),
      (#"{"jsonrpc":"1.0","id":1,"method":"status"}"#, "1", -32600),
      (#"{"jsonrpc":"2.0","id":[1],"method":"status"}"#, "null", -32600), (#"{"jsonrpc":"2.0","id":1}"#, "1", -32600),
      (#"{"jsonrpc":"2.0","id":1,"method":2}"#, "1", -32600),
      (#"{"jsonrpc":"2.0","id":"x","method":"dance"}"#, #""x""#, -32601),
      (#"{"jsonrpc":"2.0","id":1,"method":"status","params":3}"#, "1", -32600),
      (#"{"jsonrpc":"2.0","id":1,"method":"status","params":null}"#, "1", -32600),
      // With parameters of another kind it is no request at all, and so answered without an id too.
      (#"{"jsonrpc":"2.0","method":"status","params":"x"}"#, "null", -32600),
      // Too long, and refused unread.
      (
        #"{"jsonrpc":"2.0","id":1,"method":"status","params":{"x":""#
          + String(repeating: "x", count: ControlLimits.line) + #""}}"#, "null", -32600
      ),
    ])
  func malformed(line: String, id: String, code: Int) async throws {
    let reply = try #require(try await reply(to: line))
    #expect(reply.hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"error":{"code":\#(code),"message":""#))
  }

  @Test(
    "Parameters that a method does not take are refused",
    arguments: [
      ("status", "[1]"), ("notifications.act", #"{"uid":1}"#),
      ("notifications.get", #"{"uid":-1}"#), ("notifications.get", #"{"uid":4294967296}"#),
      ("subscribe", #"{"events":["dance"]}"#), ("subscribe", #"{"since":-1}"#),
      ("media.command", #"{"command":"x"}"#), ("pairing.open", #"{"seconds":0}"#),
      ("pairing.respond", #"{"accept":true,"passkey":"1234567"}"#),
      ("gatt.read", #"{"handle":0}"#), ("gatt.write", #"{"handle":1,"value":"0"}"#),
    ])
  func parameters(method: String, parameters: String) async throws {
    let reply = try await reply(
      to: #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":\#(parameters)}"#)
    let head = #"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":""#
    #expect(reply?.hasPrefix(head) == true, "\(reply ?? "")")
  }

  @Test(
    "A line that is nested too deep, or costs too much, is refused before it is parsed",
    arguments: [
      (String(repeating: "[", count: 4_000), "nested deeper than 8 levels"),
      ("[" + String(repeating: "1,", count: 4_000) + "1]", "a batch of more than 64 requests"),
      (
        #"{"jsonrpc":"2.0","id":1,"method":"status","params":{"x":["#
          + String(repeating: "[],", count: 1_000) + "]}}",
        "more than 2048 values (an array or an object counts as 3)"
      ),
    ])
  func costly(line: String, why: String) async throws {
    #expect(try await meaning(of: line) == Self.invalid(why))
  }

  @Test("A response too long for any client is replaced by an error")
  func longResponse() async throws {
    let replies = try await onLoop {
      let line = Array(#"{"jsonrpc":"2.0","id":1,"method":"phones.list"}"#.utf8)
      var replies: [String] = []
      for count in [1, 100_000] {
        var dispatcher = ControlDispatcher()
        dispatcher.register(ControlMethods.listPhones) { _ in
          Page(Array(repeating: PhoneReport(), count: count))
        }
        guard case .call(let call, let id?) = dispatcher.receive(line).requests[0] else { continue }
        replies.append(String(decoding: await call(id, Cancellation()), as: UTF8.self))
      }
      return replies
    }
    #expect(replies.first?.contains(#""result":{"phones":[{"phone":"#) == true)
    #expect(
      replies.last == #"{"jsonrpc":"2.0","id":1,"error":{"code":2,"#
        + #""message":"the response is larger than 768 KiB"}}"#)
  }
}

@Suite("File descriptors")
struct DescriptorTests {
  @Test(
    "The last ones are kept from clients, for bonds, links and adapters", arguments: [true, false])
  func spare(hasOthers: Bool) async throws {
    let wasAccepted = try await onLoop {
      let platform = SystemPlatform(descriptorLimit: hasOthers ? 1 << 20 : ControlLimits.spareDescriptors + 3)
      let name = "@ancsd-test-descriptors-\(hasOthers)"
      var accepted: (any LineChannel)?
      let stop = try platform.listenForClients(at: name, log: Log(level: .error)) { accepted = $0 }
      let client = try LineSocket.connect(unix: name)
      client.onLine = { _ in }
      await eventually { accepted != nil || !client.isOpen }
      stop()
      return accepted != nil
    }
    #expect(wasAccepted == hasOthers)
  }
}
