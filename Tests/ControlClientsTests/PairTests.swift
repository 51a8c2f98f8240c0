// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import FakeDaemon
import JSON
import Mgmt
import System
import Testing

@testable import ControlClients

@Suite("Pairing from the terminal")
struct PairTests {
  /// A daemon whose window brings these reactions, and whose answer to a response brings those.
  private func daemon(
    _ opened: [FakeDaemon.Reaction], answered: [FakeDaemon.Reaction] = [], patient: Bool = true,
    question: PairingQuestion? = nil, _ format: OutputFormat = .text
  ) -> FakeDaemon {
    FakeDaemon(format, patient: patient) { request in
      if let window = request.parameters(of: ControlMethods.openPairing) {
        var report = PairingReport(name: "kitchen", seconds: window.seconds?.value, question: question)
        report.opening = 7
        return [.result(report)] + opened
      }
      return [.result(true)] + (request.calls(ControlMethods.respondToPairing) ? answered : [])
    }
  }

  private func pair(_ daemon: FakeDaemon) async throws(Failure) -> Control.ExitStatus {
    var pairing = PairingGuide(daemon.client)
    return try await pairing.run(seconds: 90)
  }

  private static func response(_ accept: Bool, _ passkey: UInt32? = nil) -> ReceivedRequest {
    let passkey = passkey.map { Passkey(value: $0) }
    return .call(ControlMethods.respondToPairing, PairingResponse(accept: accept, passkey: passkey))
  }

  private static let served: [FakeDaemon.Reaction] = [
    .event(.paired), .event(.subscribed([.ancs], mtu: 185, requests: 15)),
    .event(.authorization(.granted)),
  ]

  private let closed = ReceivedRequest.call(ControlMethods.closePairing, .init(opening: 7))

  @Test(
    "Says what to do, sends what is typed, waits until the phone is served, and closes nothing",
    arguments: [
      (
        [.event(.pairing(PairingQuestion(.justWorks)))] + served, nil,
        ["open Settings › Bluetooth and tap “kitchen”", "paired", "subscribed to ancs"], nil
      ),
      (
        [
          .event(.pairing(PairingQuestion(.entry))), .input(.typed("12345")),
          .input(.typed("123 456")),
        ], nil, ["Type six digits:"], response(true, 123_456)
      ),
      (
        [.input(.typed("y"))], PairingQuestion(.confirm, passkey: Passkey(value: 271_828), seconds: 21),
        ["Does the phone show 271828? [y/n] (21 s left)"], response(true, 271_828)
      ),
      (
        served, PairingQuestion(.display, passkey: Passkey(value: 42), seconds: 9),
        ["Type 000042 on the phone (9 s left)."], nil
      ),
      (
        [.event(.paired), .event(.authorization(.refused))], nil, ["Share System Notifications"],
        nil
      ),
    ] as [([FakeDaemon.Reaction], PairingQuestion?, [String], ReceivedRequest?)])
  func paired(
    opened: [FakeDaemon.Reaction], question: PairingQuestion?, printed: [String],
    response: ReceivedRequest?
  ) async throws {
    let daemon = daemon(opened, answered: Self.served, question: question)
    #expect(try await pair(daemon) == .done)
    #expect(printed.filter { !daemon.output.contains($0) } == [])
    #expect(response.map(daemon.requests.contains) != false)
    #expect(!daemon.requests.contains { $0.calls(ControlMethods.closePairing) })
  }

  @Test(
    "The same number is confirmed or not by what is typed",
    arguments: [
      (["y"], true), (["YES"], true), (["what?", "n"], false), ([" y \r"], true), ([nil], false),
      (["", "no"], false), (["ja", "N"], false), (["nein", "yes"], true),
    ] as [([String?], Bool)])
  func confirm(typed: [String?], accept: Bool) async throws {
    let daemon = daemon(
      [.event(.pairing(PairingQuestion(.confirm, passkey: Passkey(value: 42))))]
        + typed.map { .input(.typed($0)) }, answered: Self.served)
    #expect(try await pair(daemon) == .done)
    #expect(daemon.output.contains("does the phone show 000042?"))
    #expect(daemon.requests.contains(Self.response(accept, 42)))
  }

  @Test("If nobody can answer, the answer is no")
  func deaf() async throws {
    let daemon = daemon(
      [.input(.typed(nil)), .event(.pairing(PairingQuestion(.entry)))],
      answered: [.event(.pairingFailed(reason: "it was declined on this board"))])
    let failure = await #expect(throws: Failure.self) { try await pair(daemon) }
    #expect(failure?.line == "ancsd: pair: it was declined on this board")
    #expect(failure?.status == .refused)
    #expect(daemon.requests.contains(Self.response(false)))
    #expect(daemon.requests.last == closed)
  }

  @Test("What is typed before a question is not an answer")
  func early() async throws {
    let daemon = daemon(
      [
        .input(.typed("y")),
        .event(.pairing(PairingQuestion(.confirm, passkey: Passkey(value: 1)))),
        .input(.typed("n")),
      ], answered: [.event(.pairingFailed(reason: "declined"))])
    _ = try? await pair(daemon)
    #expect(daemon.requests.contains(Self.response(false, 1)))
    #expect(!daemon.requests.contains(Self.response(true, 1)))
  }

  @Test("If no phone comes, the error names the other way to pair")
  func nobody() async {
    let daemon = daemon([], patient: false)
    let failure = await #expect(throws: Failure.self) { try await pair(daemon) }
    #expect(failure?.status == .tryAgain)
    #expect(failure?.line.contains("nRF Connect or LightBlue") == true)
    #expect(failure?.line.contains("“kitchen”") == true)
  }

  @Test("Ctrl-C closes what it opened")
  func interrupted() async {
    let daemon = daemon([.input(.signal(.interrupt))])
    let failure = await #expect(throws: Failure.self) { try await pair(daemon) }
    #expect(failure?.status == .interrupted)
    #expect(daemon.requests.last == closed)
  }

  @Test("As JSON only the events are printed")
  func json() async throws {
    let daemon = daemon(Self.served, .json)
    #expect(try await pair(daemon) == .done)
    #expect(daemon.output.split(separator: "\n").allSatisfy { $0.hasPrefix("{\"event\":\"") })
  }
}
