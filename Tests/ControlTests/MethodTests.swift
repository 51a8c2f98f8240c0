// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import JSON
import Mgmt
import TestLoop
import Testing
import Wire

@testable import Control

/// A request, and its line from the member `method` on.
struct RequestExample: Sendable, CustomTestStringConvertible {
  let method: String
  let members: String
  /// The request's line.
  let line: [UInt8]
  /// Whether these parameters are read as what they were written from.
  let isReread: @Sendable (JSONValue) throws -> Bool

  init<Parameters: Hashable, Response>(
    _ method: ControlMethod<Parameters, Response>, _ parameters: Parameters, _ members: String
  ) {
    self.method = method.name
    self.members = members
    line = RPC.request(method.name, parameters, id: RequestID(1))
    isReread = { try Parameters(reading: $0) == parameters }
  }

  init<Response>(_ method: ControlMethod<NoParameters, Response>, _ members: String) {
    self.init(method, NoParameters(), members)
  }

  var testDescription: String { members }
}

@Suite("The control socket's methods")
struct MethodTests {
  static let requests: [RequestExample] = plain + notifications + attributes

  private static let plain: [RequestExample] = [
    .init(ControlMethods.status, #""method":"status""#),
    .init(ControlMethods.settings, #""method":"settings""#),
    .init(ControlMethods.timeline, #""method":"timeline""#),
    .init(
      ControlMethods.readHistory, HistoryQuery(since: WallTime(seconds: 0)),
      #""method":"history.read","params":{"since":"1970-01-01T00:00:00.000Z"}"#),
    .init(ControlMethods.subscribe, Subscription(), #""method":"subscribe""#),
    .init(
      ControlMethods.subscribe,
      Subscription(events: [.incoming, .battery], replay: true, since: 12),
      #""method":"subscribe","params":{"events":["battery","incoming"],"replay":true,"since":12}"#),
    .init(ControlMethods.getMedia, PhoneParameters(phone: nil), #""method":"media.get""#),
    .init(
      ControlMethods.sendMediaCommand, MediaParameters(.skipForward, phone: nil),
      #""method":"media.command","params":{"command":"skip-forward"}"#),
    .init(ControlMethods.listPhones, #""method":"phones.list""#),
    .init(
      ControlMethods.reportBridge, BridgeReport(),
      #""method":"bridge.report","params":{"broker":"","client":"","version":"","topics":"","#
        + #""state":"connecting","since":"1970-01-01T00:00:00.000Z","refused":[],"waiting":0,"sent":0,"#
        + #""skipped":0,"reconnections":0}"#
    ),
    .init(
      ControlMethods.reportForwards, Page([ForwardReport(name: "mail", to: "mailto")]),
      #""method":"forward.report","params":{"destinations":[{"name":"mail","to":"mailto","waiting":0,"#
        + #""sent":0,"lost":0}]}"#
    ),
    .init(
      ControlMethods.forgetPhone, PhoneParameters(phone: PhoneSelector("x")),
      #""method":"phones.forget","params":{"phone":"x"}"#),
    .init(
      ControlMethods.openPairing, PairingParameters(seconds: 60),
      #""method":"pairing.open","params":{"seconds":60}"#),
    .init(
      ControlMethods.openPairing, PairingParameters(seconds: nil), #""method":"pairing.open""#),
    .init(
      ControlMethods.closePairing, ClosingParameters(), #""method":"pairing.close""#),
    .init(
      ControlMethods.closePairing, ClosingParameters(opening: 7),
      #""method":"pairing.close","params":{"opening":7}"#),
    .init(
      ControlMethods.respondToPairing,
      PairingResponse(accept: true, passkey: Passkey(value: 42)),
      #""method":"pairing.respond","params":{"accept":true,"passkey":"000042"}"#),
  ]

  private static let notifications: [RequestExample] = [
    .init(
      ControlMethods.listNotifications, NotificationQuery(), #""method":"notifications.list""#),
    .init(
      ControlMethods.listNotifications,
      NotificationQuery(
        phone: PhoneSelector("C0:11:22:33:44:55"), app: Glob("com.apple.*"),
        category: Category(rawValue: 12)),
      #""method":"notifications.list","params":{"phone":"C0:11:22:33:44:55","#
        + #""app":"com.apple.*","category":12}"#),
    .init(
      ControlMethods.getNotification,
      NotificationParameters(4_294_967_295, attributes: [.title, .message], phone: nil),
      #""method":"notifications.get","params":{"uid":4294967295,"attributes":["title","message"]}"#),
    .init(
      ControlMethods.act, ActionParameters(7, .negative, phone: PhoneSelector("Anna’s iPhone")),
      #""method":"notifications.act","params":{"uid":7,"action":"negative","#
        + #""phone":"Anna’s iPhone"}"#),
    .init(
      ControlMethods.explainRules, NotificationParameters(7, phone: nil),
      #""method":"rules.explain","params":{"uid":7}"#),
    .init(
      ControlMethods.getApp, with(AppParameters()) { $0.appID = "com.apple.MobileSMS" },
      #""method":"apps.get","params":{"app_id":"com.apple.MobileSMS"}"#),
    .init(ControlMethods.listApps, PhoneParameters(phone: nil), #""method":"apps.list""#),
  ]

  private static let attributes: [RequestExample] = [
    .init(ControlMethods.discover, PhoneParameters(phone: nil), #""method":"gatt.discover""#),
    .init(ControlMethods.knownAttributes, #""method":"gatt.known""#),
    .init(
      ControlMethods.readAttribute,
      with(ReadParameters()) { $0.handle = AttributeHandle(value: 3) },
      #""method":"gatt.read","params":{"handle":3}"#),
    .init(
      ControlMethods.writeAttribute,
      with(WriteParameters()) {
        ($0.handle, $0.value) = (AttributeHandle(value: 0xFFFF), HexBytes([1, 0xAB]))
        $0.isCommand = true
      },
      #""method":"gatt.write","params":{"handle":65535,"value":"01ab","command":true}"#),
  ]

  /// Parameters, changed.
  private static func with<Parameters>(
    _ parameters: Parameters, _ change: (inout Parameters) -> Void
  ) -> Parameters {
    var parameters = parameters
    change(&parameters)
    return parameters
  }

  @Test("Every request is written as documented, and read back", arguments: requests)
  func roundTrip(request: RequestExample) throws {
    #expect(
      String(decoding: request.line, as: UTF8.self)
        == #"{"jsonrpc":"2.0","id":1,"# + request.members + "}")
    let json = try JSONValue(parsing: request.line)
    #expect(json["method"] == .string(request.method))
    #expect(try request.isReread(json["params"] ?? [:]))
  }

  @Test("Every method has an example here")
  func complete() throws {
    let source = try Repository.text("Sources/Control/ControlMethods.swift")
    let methods = source.split(separator: "\n").prefix { $0 != "// MARK: - Parameters" }
    let names = methods.compactMap { line -> String? in
      let parts = line.split(separator: "\"")
      return parts.count > 2 ? String(parts[1]) : nil
    }
    #expect(names.count > 15)
    #expect(Set(Self.requests.map(\.method)) == Set(names))
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
