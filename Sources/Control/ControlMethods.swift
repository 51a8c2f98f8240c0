// SPDX-License-Identifier: GPL-3.0-or-later
public import AMS
public import ANCS
public import ATT
public import JSON
public import Mgmt
import Wire

/// A method of the control socket: its name, the type of its parameters, and the type of its
/// result. The daemon registers an implementation of it, and clients call it.
public struct ControlMethod<Parameters: JSONObjectCodable & Sendable, Response: JSONCodable & Sendable>: Sendable {
  public let name: String
  /// Whether it sends a request to the phone, which may take a while.
  public let asksPhone: Bool

  init(_ name: String, asksPhone: Bool = false) {
    self.name = name
    self.asksPhone = asksPhone
  }
}

/// All methods.
public enum ControlMethods {
  public static let status = ControlMethod<NoParameters, StatusReport>("status")
  public static let settings = ControlMethod<NoParameters, SettingsReport>("settings")
  public static let timeline = ControlMethod<NoParameters, TimelineReport>("timeline")
  /// Returns `true`; then events follow.
  public static let subscribe = ControlMethod<Subscription, Bool>("subscribe")
  public static let listNotifications = ControlMethod<NotificationQuery, Page<ActiveNotification>>("notifications.list")
  public static let getNotification = ControlMethod<NotificationParameters, ActiveNotification>(
    "notifications.get", asksPhone: true)
  public static let act = ControlMethod<ActionParameters, Bool>("notifications.act", asksPhone: true)
  public static let explainRules = ControlMethod<NotificationParameters, RuleExplanation>("rules.explain")
  public static let getApp = ControlMethod<AppParameters, AppReport>("apps.get", asksPhone: true)
  public static let listApps = ControlMethod<PhoneParameters, Page<AppReport>>("apps.list")
  public static let getMedia = ControlMethod<PhoneParameters, MediaState>("media.get")
  public static let sendMediaCommand = ControlMethod<MediaParameters, Bool>("media.command", asksPhone: true)
  public static let readHistory = ControlMethod<HistoryQuery, Page<RecordedEvent>>("history.read")
  public static let listPhones = ControlMethod<NoParameters, Page<PhoneReport>>("phones.list")
  public static let forgetPhone = ControlMethod<PhoneParameters, Bool>("phones.forget")
  public static let openPairing = ControlMethod<PairingParameters, PairingReport>("pairing.open")
  public static let closePairing = ControlMethod<ClosingParameters, Bool>("pairing.close")
  public static let respondToPairing = ControlMethod<PairingResponse, Bool>("pairing.respond")
  /// A bridge reports its state, which is kept until the connection ends.
  public static let reportBridge = ControlMethod<BridgeReport, Bool>("bridge.report")
  /// `ancsd forward` reports its destinations, which are kept until the connection ends.
  public static let reportForwards = ControlMethod<Page<ForwardReport>, Bool>("forward.report")
  /// Returns the services (`LocatedService.described`).
  public static let discover = ControlMethod<PhoneParameters, JSONValue>("gatt.discover", asksPhone: true)
  public static let knownAttributes = ControlMethod<NoParameters, Page<KnownLink>>("gatt.known")
  public static let readAttribute = ControlMethod<ReadParameters, HexBytes>("gatt.read", asksPhone: true)
  public static let writeAttribute = ControlMethod<WriteParameters, Bool>("gatt.write", asksPhone: true)
}

// MARK: - Parameters

/// What the daemon gives its history's helper on standard input.
public struct HistoryTask: JSONObjectCodable, Sendable {
  public var history = HistoryReport()
  /// What to read; nil: it writes.
  public var query: HistoryQuery?

  public init() {}
  public init(_ history: HistoryReport) { self.history = history }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("history", &history)
    try json.optional("query", &query)
  }
}

/// The part of the history.
public struct HistoryQuery: PagedParameters, Hashable, Sendable {
  /// Nil: from the beginning.
  public var since: WallTime?
  public var after: String?

  public init() {}
  public init(since: WallTime?) { self.since = since }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("since", &since)
    try json.optional("after", &after)
  }
}

/// A method without parameters.
public struct NoParameters: JSONObjectCodable, Hashable, Sendable {
  public init() {}
  public mutating func members<M: JSONMembers>(_ json: inout M) {}
}

/// The phone; required if several are connected, unless their lists are wanted, and by `phones.forget`.
public struct PhoneParameters: PagedParameters, Hashable, Sendable {
  public var phone: PhoneSelector?
  public var after: String?

  public init() {}
  public init(phone: PhoneSelector?) { self.phone = phone }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("phone", &phone)
    try json.optional("after", &after)
  }
}

/// The notification, and the attributes that the result must have.
public struct NotificationParameters: JSONObjectCodable, Hashable, Sendable {
  public var uid: NotificationUID = 0
  /// Nil: all of them.
  public var attributes: [NotificationAttributeID]?
  public var phone: PhoneSelector?

  public init() {}

  public init(_ uid: NotificationUID, attributes: [NotificationAttributeID]? = nil, phone: PhoneSelector?) {
    self.uid = uid
    self.attributes = attributes
    self.phone = phone
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("uid", &uid)
    try json.optional("attributes", &attributes)
    try json.optional("phone", &phone)
  }
}

/// An action on a notification.
public struct ActionParameters: JSONObjectCodable, Hashable, Sendable {
  public var uid: NotificationUID = 0
  public var action = NotificationAction.positive
  public var phone: PhoneSelector?

  public init() {}

  public init(_ uid: NotificationUID, _ action: NotificationAction, phone: PhoneSelector?) {
    self.uid = uid
    self.action = action
    self.phone = phone
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("uid", &uid)
    try json.required("action", &action)
    try json.optional("phone", &phone)
  }
}

/// The app, by its bundle identifier.
public struct AppParameters: JSONObjectCodable, Hashable, Sendable {
  public var appID = ""
  public var phone: PhoneSelector?

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("app_id", &appID)
    try json.optional("phone", &phone)
  }
}

/// A command for the media player.
public struct MediaParameters: JSONObjectCodable, Hashable, Sendable {
  public var command = RemoteCommand.play
  public var phone: PhoneSelector?

  public init() {}

  public init(_ command: RemoteCommand, phone: PhoneSelector?) {
    self.command = command
    self.phone = phone
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("command", &command)
    try json.optional("phone", &phone)
  }
}

/// How long phones without a bond may pair.
public struct PairingParameters: JSONObjectCodable, Hashable, Sendable {
  /// Nil: until pairing is closed.
  public var seconds: PositiveSeconds?

  public init() {}
  public init(seconds: Int?) { self.seconds = seconds.map { PositiveSeconds(value: $0) } }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("seconds", &seconds)
  }
}

/// What `pairing.close` ends.
public struct ClosingParameters: JSONObjectCodable, Hashable, Sendable {
  /// The opening to end (`PairingReport.opening`); nil: no phone may pair from now on.
  public var opening: Int?

  public init() {}
  public init(opening: Int?) { self.opening = opening }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.optional("opening", &opening)
  }
}

/// A number of seconds, at least 1.
public struct PositiveSeconds: JSONCodable, Hashable, Sendable {
  public static let jsonKind = "a number of seconds"
  public var value: Int

  init(value: Int) { self.value = value }

  public init?(json: JSONValue) {
    guard let seconds = Int32(exactly: json.int ?? 0), seconds > 0 else { return nil }
    value = Int(seconds)
  }

  public func write(to json: inout JSONWriter) { value.write(to: &json) }
}

/// The answer to the question of a `pairing` event.
public struct PairingResponse: JSONObjectCodable, Hashable, Sendable {
  public var accept = false
  /// The number that the phone shows, if that was asked for; otherwise the number to compare, which
  /// identifies the question.
  public var passkey: Passkey?
  /// The phone whose question is answered; nil: the one that asks now.
  public var phone: PhoneSelector?

  public init() {}

  public init(accept: Bool, passkey: Passkey? = nil, phone: PhoneSelector? = nil) {
    self.accept = accept
    self.passkey = passkey
    self.phone = phone
  }

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("accept", &accept)
    try json.optional("passkey", &passkey)
    try json.optional("phone", &phone)
  }
}

extension Passkey: JSONText { public static let jsonKind = "six digits" }

/// An attribute to read.
public struct ReadParameters: JSONObjectCodable, Hashable, Sendable {
  public var handle = AttributeHandle(value: 1)
  public var phone: PhoneSelector?

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("handle", &handle)
    try json.optional("phone", &phone)
  }
}

/// An attribute to write.
public struct WriteParameters: JSONObjectCodable, Hashable, Sendable {
  public var handle = AttributeHandle(value: 1)
  /// At most 512 bytes.
  public var value = HexBytes([])
  /// Whether to send a Write Command, which has no response.
  public var isCommand = false
  public var phone: PhoneSelector?

  public init() {}

  public mutating func members<M: JSONMembers>(_ json: inout M) throws(M.Failure) {
    try json.required("handle", &handle)
    try json.required("value", &value)
    try json.flag("command", &isCommand)
    try json.optional("phone", &phone)
  }
}

/// A valid attribute handle.
public struct AttributeHandle: JSONCodable, Hashable, Sendable {
  public static let jsonKind = "a handle, 1 to 65535"
  public var value: Handle

  public init(value: Handle) { self.value = value }

  public init?(json: JSONValue) {
    guard let handle = Handle(json: json), handle != 0 else { return nil }
    value = handle
  }

  public func write(to json: inout JSONWriter) { value.write(to: &json) }
}
