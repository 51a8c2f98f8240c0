// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import JSON
import Mgmt
import Testing
import Wire

@testable import Control

/// A request: its line as documented, and as it is written.
struct RequestExample: Sendable, CustomTestStringConvertible {
  let documented: String
  let line: [UInt8]
  /// Whether these parameters are read as what they were written from.
  let isReread: @Sendable (JSONValue) throws -> Bool

  init<Parameters: Hashable, Response>(
    _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters, _ json: String = ""
  ) {
    let members = json.isEmpty ? "" : #","params":"# + json
    documented = #"{"jsonrpc":"2.0","id":1,"method":"\#(method.name)"\#(members)}"#
    line = RPC.request(method.name, parameters, id: RequestID(1))
    isReread = { try Parameters(reading: $0) == parameters }
  }

  var testDescription: String { documented }
}

@Suite("The control socket's methods")
struct MethodTests {
  typealias Methods = ControlMethods

  static let requests: [RequestExample] = plain + pairing + notifications + attributes

  private static let plain: [RequestExample] = [
    .init(Methods.status, NoParameters()),
    .init(
      Methods.readHistory, HistoryQuery(since: WallTime(seconds: 0)),
      #"{"since":"1970-01-01T00:00:00.000Z"}"#),
    .init(
      Methods.subscribe, Subscription(events: [.incoming, .battery], replay: true, since: 12),
      #"{"events":["battery","incoming"],"replay":true,"since":12}"#),
    .init(
      Methods.sendMediaCommand, MediaParameters(.skipForward, phone: nil),
      #"{"command":"skip-forward"}"#),
    .init(
      Methods.reportBridge, BridgeReport(),
      #"{"broker":"","client":"","version":"","topics":"","state":"connecting","#
        + #""since":"1970-01-01T00:00:00.000Z","refused":[],"waiting":0,"sent":0,"skipped":0,"#
        + #""reconnections":0}"#),
    .init(
      Methods.reportForwards, Page([ForwardReport(name: "mail", to: "mailto")]),
      #"{"destinations":[{"name":"mail","to":"mailto","waiting":0,"sent":0,"lost":0}]}"#),
  ]

  private static let pairing: [RequestExample] = [
    .init(Methods.forgetPhone, PhoneParameters(phone: PhoneSelector("x")), #"{"phone":"x"}"#),
    .init(Methods.openPairing, PairingParameters(seconds: 60), #"{"seconds":60}"#),
    .init(Methods.closePairing, ClosingParameters(opening: 7), #"{"opening":7}"#),
    .init(
      Methods.respondToPairing, PairingResponse(accept: true, passkey: Passkey(value: 42)),
      #"{"accept":true,"passkey":"000042"}"#),
  ]

  private static let notifications: [RequestExample] = [
    .init(
      Methods.listNotifications,
      NotificationQuery(
        phone: PhoneSelector("C0:11:22:33:44:55"), app: Glob("com.apple.*"), category: Category(rawValue: 12)),
      #"{"phone":"C0:11:22:33:44:55","app":"com.apple.*","category":12}"#),
    .init(
      Methods.getNotification,
      NotificationParameters(4_294_967_295, attributes: [.title, .message], phone: nil),
      #"{"uid":4294967295,"attributes":["title","message"]}"#),
    .init(
      Methods.act, ActionParameters(7, .negative, phone: PhoneSelector("Anna’s iPhone")),
      #"{"uid":7,"action":"negative","phone":"Anna’s iPhone"}"#),
    .init(Methods.explainRules, NotificationParameters(7, phone: nil), #"{"uid":7}"#),
    .init(
      Methods.getApp, with(AppParameters()) { $0.appID = "com.apple.MobileSMS" },
      #"{"app_id":"com.apple.MobileSMS"}"#),
  ]

  private static let attributes: [RequestExample] = [
    .init(
      Methods.readAttribute,
      with(ReadParameters()) { $0.handle = AttributeHandle(value: 3) }, #"{"handle":3}"#),
    .init(
      Methods.writeAttribute,
      with(WriteParameters()) {
        ($0.handle, $0.value) = (AttributeHandle(value: 0xFFFF), HexBytes([1, 0xAB]))
        $0.isCommand = true
      },
      #"{"handle":65535,"value":"01ab","command":true}"#),
  ]

  /// Parameters, changed.
  private static func with<Parameters>(_ parameters: Parameters, _ change: (inout Parameters) -> Void) -> Parameters {
    var parameters = parameters
    change(&parameters)
    return parameters
  }

  @Test("Every request is written as documented, and read back", arguments: requests)
  func roundTrip(request: RequestExample) throws {
    #expect(String(decoding: request.line, as: UTF8.self) == request.documented)
    #expect(try request.isReread(JSONValue(parsing: request.line)["params"] ?? [:]))
  }

  @Test(
    "Absent, null and unknown parameters, and an empty list of events, leave the defaults",
    arguments: [
      "{}", #"{"phone":null,"app":null,"category":null,"seconds":null}"#, #"{"unknown":1}"#,
      #"{"events":[]}"#,
    ])
  func defaults(parameters: String) throws {
    let json = try JSONValue(parsing: parameters)
    #expect(try NotificationQuery(reading: json) == NotificationQuery())
    #expect(try Subscription(reading: json) == Subscription())
    #expect(try PairingParameters(reading: json) == PairingParameters())
  }
}
