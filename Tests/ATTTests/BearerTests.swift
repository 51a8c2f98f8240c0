// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import TestLoop
import Testing
import Wire

/// A bearer whose peer is the test.
final class Bench {
  let bearer: Bearer
  private(set) var sent: [String] = []
  private(set) var dropped: [String] = []

  init(_ loop: isolated TestLoop, mtu: Int = Bearer.maximumMTU) {
    bearer = Bearer(scheduler: loop.clock, receiveMTU: mtu)
    bearer.send = { [unowned self] in sent.append($0.hex) }
    bearer.onDropped = { [unowned self] octets, _ in dropped.append(octets.hex) }
  }

  /// Runs a test with a bench.
  static func run(_ test: @escaping @Sendable (isolated TestLoop, Bench) async throws -> Void) throws {
    try TestLoop.run { loop in try await test(loop, Bench(loop)) }
  }

  func receive(_ hex: String) { bearer.receive([UInt8](hex: hex) ?? []) }

  /// Reads a value; one request is expected before each response.
  func read(_ responses: [String], _ loop: isolated TestLoop) async -> Started<PDU> {
    let request = loop.start { [bearer] in try await bearer.request(.readRequest(1)) }
    for response in responses {
      await loop.settle()
      #expect(takeSent() == ["0a0100"])
      receive(response)
    }
    await loop.settle()
    #expect(takeSent() == [])
    return request
  }

  /// The PDUs sent since the last call.
  func takeSent() -> [String] {
    defer { sent = [] }
    return sent
  }
}

@Suite("ATT: the bearer's rules")
struct BearerRuleTests {
  @Test("A malformed request gets the error Invalid PDU", arguments: PDUVector.malformed)
  func malformed(hex: String) throws {
    try Bench.run { _, bench in
      bench.bearer.serve = { _ in .writeResponse }
      bench.receive(hex)
      let opcode = [UInt8](hex: hex)?.first.map { Opcode(rawValue: $0) }
      let response =
        switch opcode?.role {
        case .request: ["01" + hex.prefix(2) + "000004"]
        case .indication: ["1e"]
        default: [String]()
        }
      #expect(bench.takeSent() == response)
      #expect(bench.dropped == (hex.isEmpty ? [] : [hex]))
    }
  }

  @Test("Without a server, requests are refused and commands are ignored")
  func noServer() throws {
    try Bench.run { _, bench in
      for hex in ["0a0100", "bf00", "52010001", "ff00", "7f", "d20100000102030405060708090a0b"] {
        bench.receive(hex)
      }
      #expect(bench.takeSent() == ["010a000006", "01bf000006"])
    }
  }

  @Test("Requests can be outstanding in both directions, and an indication besides")
  func bothWays() throws {
    try Bench.run { loop, bench in
      bench.bearer.serve = { _ in .readResponse([7]) }
      let request = loop.start { try await bench.bearer.request(.readRequest(1)) }
      let indication = loop.start { try await bench.bearer.indicate(2, [9]) }
      let second = loop.start { try await bench.bearer.indicate(3, []) }
      await loop.settle()
      #expect(bench.takeSent() == ["0a0100", "1d020009"])
      bench.receive("0a0500")
      bench.receive("1d0600aa")
      #expect(bench.takeSent() == ["0b07", "1e"])
      bench.receive("1e")
      #expect(bench.takeSent() == ["1d0300"])
      bench.receive("0bff")
      bench.receive("1e")
      await loop.settle()
      #expect(request.value == .readResponse([0xFF]))
      #expect(indication.value != nil)
      #expect(second.value != nil)
      bench.receive("1e")
      #expect(bench.dropped == ["1e"])
    }
  }

  @Test("An indication is confirmed after its value was delivered, a notification is not")
  func values() throws {
    try Bench.run { _, bench in
      var values: [String] = []
      bench.bearer.onValue = { handle, value in
        #expect(bench.takeSent().isEmpty)
        values.append("\(handle):\(value.hex)")
      }
      bench.receive("1b0100aa")
      bench.receive("2302000100bb03000000")
      #expect(bench.sent.isEmpty)
      bench.receive("1d0400cc")
      #expect(values == ["1:aa", "2:bb", "3:", "4:cc"])
      #expect(bench.sent == ["1e"])
    }
  }

  @Test(
    "Only its own response ends a request",
    arguments: [
      ("13", "0b01"), ("0d01", "0b01"), ("0112010005", "0b01"), ("05010100002800", "0b01"),
      ("1b0100ff", "0b01"), ("1e", "0b01"),
    ])
  func wrongResponses(wrong: String, right: String) throws {
    try Bench.run { loop, bench in
      let request = loop.start { try await bench.bearer.request(.readRequest(1)) }
      await loop.settle()
      bench.receive(wrong)
      await loop.settle()
      #expect(request.result == nil)
      bench.receive(right)
      await loop.settle()
      #expect(request.value == .readResponse([1]))
      bench.receive(right)
      #expect(bench.dropped.last == right)
    }
  }

  @Test("A malformed response ends its request with an error", arguments: ["0501", "0104"])
  func malformedResponse(hex: String) throws {
    try Bench.run { loop, bench in
      let request = loop.start { try await bench.bearer.request(.findInformationRequest(.all)) }
      let next = loop.start { try await bench.bearer.request(.readRequest(1)) }
      await loop.settle()
      bench.receive(hex)
      await loop.settle()
      guard case .malformed = request.failure as? ATTFailure else {
        Issue.record("ended with \(String(describing: request.result))")
        return
      }
      bench.receive("0b")
      await loop.settle()
      #expect(next.value == .readResponse([]))
    }
  }

  @Test("A request that exceeds the MTU is not sent, and a value is cut to it")
  func tooLong() throws {
    try Bench.run { loop, bench in
      let value = [UInt8](repeating: 1, count: 30)
      let request = loop.start { try await bench.bearer.request(.writeRequest(1, value: value)) }
      await loop.settle()
      #expect(request.failure as? ATTFailure == .tooLong(.writeRequest, length: 33, mtu: 23))
      try bench.bearer.notify(1, value)
      bench.bearer.indicate(1, value) { _ in }
      #expect(bench.takeSent().map(\.utf8.count) == [46, 46])
    }
  }

  @Test("Where security can't be raised, or is not what was missing, the refusal stands")
  func security() throws {
    try Bench.run { loop, bench in
      bench.bearer.raiseSecurity = { done in done(false) }
      let refused = await bench.read(["010a01000f"], loop)
      #expect((refused.failure as? ATTFailure)?.code == .insufficientEncryption)
      bench.bearer.raiseSecurity = { done in done(true) }
      let other = await bench.read(["010a010008"], loop)
      #expect((other.failure as? ATTFailure)?.code == .insufficientAuthorization)
      let next = await bench.read(["0b03"], loop)
      #expect(next.value == .readResponse([3]))
    }
  }

  @Test("A request keeps its place while security is raised: nothing else is sent meanwhile")
  func securityKeepsPlace() throws {
    try Bench.run { loop, bench in
      bench.bearer.raiseSecurity = { done in
        _ = loop.clock.schedule(after: .seconds(40)) { done(true) }
      }
      let first = loop.start { try await bench.bearer.request(.readRequest(1)) }
      let second = loop.start { try await bench.bearer.request(.readRequest(2)) }
      await loop.settle()
      #expect(bench.takeSent() == ["0a0100"])
      bench.receive("010a010005")
      await loop.sleep(for: .seconds(39))
      #expect(bench.takeSent() == [])
      bench.receive("0b09")
      #expect(bench.dropped == ["0b09"], "no response is expected while security is raised")
      let third = loop.start { try await bench.bearer.request(.readRequest(3)) }
      await loop.sleep(for: .seconds(2))
      #expect(bench.takeSent() == ["0a0100"])
      await loop.sleep(for: .seconds(28))
      bench.receive("0b01")
      bench.receive("0b02")
      bench.receive("0b03")
      await loop.settle()
      #expect(bench.takeSent() == ["0a0200", "0a0300"])
      #expect([first, second, third].map(\.value) == [1, 2, 3].map { .readResponse([$0]) })
    }
  }

  @Test("A link that ends while security is raised ends the request", arguments: [true, false])
  func endWhileRaising(isRaised: Bool) throws {
    try Bench.run { loop, bench in
      let why = ATTFailure.closed("the phone went away")
      bench.bearer.raiseSecurity = { done in
        _ = loop.clock.schedule(after: .seconds(5)) { done(isRaised) }
      }
      let first = loop.start { try await bench.bearer.request(.readRequest(1)) }
      let second = loop.start { try await bench.bearer.request(.readRequest(2)) }
      await loop.settle()
      bench.receive("010a010005")
      await loop.sleep(for: .seconds(2))
      bench.bearer.close(why)
      await loop.settle()
      #expect(second.failure as? ATTFailure == why)
      await loop.sleep(for: .seconds(4))
      #expect(first.failure as? ATTFailure == why)
      #expect(bench.takeSent() == ["0a0100"])
    }
  }

  @Test(
    "Closing ends every wait for a response, a confirmation or a time, and nothing more is sent")
  func closing() throws {
    try Bench.run { loop, bench in
      let why = ATTFailure.closed("the phone went away")
      let requests = (1...3).map { handle in
        loop.start { _ = try await bench.bearer.request(.readRequest(handle)) }
      }
      let indication = loop.start { try await bench.bearer.indicate(1, []) }
      let sleep = loop.start { try await bench.bearer.sleep(for: .seconds(3600)) }
      await loop.settle()
      _ = bench.takeSent()
      bench.bearer.close(why)
      bench.bearer.close(.closed("again"))
      await loop.settle()
      for waiting in requests + [indication, sleep] {
        #expect(waiting.failure as? ATTFailure == why)
      }
      #expect(loop.clock.scheduled == 0)
      bench.receive("0a0100")
      bench.receive("1d0100")
      let late = loop.start { try await bench.bearer.indicate(1, []) }
      await loop.settle()
      #expect(late.failure as? ATTFailure == why)
      #expect(throws: why) { try bench.bearer.command(.writeCommand(1, value: [])) }
      #expect(bench.takeSent() == [])
    }
  }

  @Test(
    "After 30 seconds without a response or a confirmation the bearer is dead, and all requests fail",
    arguments: [false, true])
  func timeout(isIndication: Bool) throws {
    try Bench.run { loop, bench in
      var death: ATTFailure?
      bench.bearer.onDead = { death = $0 }
      let first = loop.start {
        if isIndication {
          try await bench.bearer.indicate(1, [])
        } else {
          _ = try await bench.bearer.request(.readRequest(1))
        }
      }
      await loop.sleep(for: .seconds(2))
      let second = loop.start { _ = try await bench.bearer.request(.readRequest(2)) }
      await loop.sleep(for: .seconds(27))
      #expect(first.result == nil)
      await loop.sleep(for: .seconds(2))
      let third = loop.start { _ = try await bench.bearer.request(.readRequest(3)) }
      await loop.settle()
      let why = ATTFailure.timedOut(isIndication ? .handleValueIndication : .readRequest)
      #expect(death == why)
      for waiting in [first, second, third] { #expect(waiting.failure as? ATTFailure == why) }
    }
  }
}

@Suite("ATT: which request goes first")
struct PurposeTests {
  @Test("The session's requests go before a user's, and those before debugging")
  func order() throws {
    try Bench.run { loop, bench in
      let purposes: [Purpose] = [
        .debugging(Cancellation()), .debugging(Cancellation()), .user(Cancellation()), .session,
        .user(Cancellation()), .session,
      ]
      for (index, purpose) in purposes.enumerated() {
        loop.start { try await bench.bearer.request(.readRequest(Handle(index + 1)), for: purpose) }
        await loop.settle()
      }
      for _ in purposes {
        bench.receive("0b01")
        await loop.settle()
      }
      // The first was under way before the others came.
      #expect(bench.sent == [1, 4, 6, 3, 5, 2].map { "0a0\($0)00" })
    }
  }
}

@Suite("ATT: waiting on a link")
struct AlarmTests {
  @Test("A ring ends the wait at once, a deadline when it passes")
  func ringAndDeadline() throws {
    try Bench.run { loop, bench in
      let alarm = Alarm(bench.bearer)
      let rung = loop.start { try await alarm.wait(until: .zero + .seconds(10)) }
      await loop.settle()
      #expect(rung.value == nil)
      alarm.ring()
      await loop.settle()
      #expect(rung.value == true)
      #expect(loop.clock.scheduled == 0)
      let late = loop.start { try await alarm.wait(until: .zero + .seconds(10)) }
      await loop.sleep(for: .seconds(9))
      #expect(late.value == nil)
      await loop.sleep(for: .seconds(2))
      #expect(late.value == false)
    }
  }

  @Test("A ring before the wait is kept, but only one")
  func early() throws {
    try Bench.run { loop, bench in
      let alarm = Alarm(bench.bearer)
      alarm.ring()
      alarm.ring()
      let first = try await alarm.wait()
      #expect(first)
      let second = try await alarm.wait(until: .zero + .seconds(1))
      #expect(!second)
    }
  }
}
