// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import JSON
import Wire

/// A request that the broker's clients may make (docs/mqtt.md, “Requests”).
struct BoardMethod: Sendable {
  private typealias Disclosing = @Sendable (Disclosed, JSONObject) -> JSONValue?

  let name: String
  /// What `allow` in the settings has to have.
  let permission: Permission
  /// Whether its response is the number of successful calls.
  var counts = false
  /// The calls to the daemon, with its parameters and the phone of the topic.
  private let calls: @Sendable (JSONObject, TopicName?, BoardMirror) throws(RPCError) -> [DaemonCall]
  /// The part of the daemon's result, if that is an object, that leaves the board.
  private var disclosure: Disclosing = { _, _ in [:] }

  /// The daemon's own method, with its parameters.
  private static func same<Parameters, Response>(
    _ permission: Permission, _ method: ControlMethod<Parameters, Response>,
    _ disclosure: @escaping Disclosing = { _, _ in [:] }
  ) -> BoardMethod {
    BoardMethod(
      name: method.name, permission: permission,
      calls: { parameters, _, _ throws(RPCError) in [method.call(try read(parameters))] }, disclosure: disclosure)
  }

  static let sendMediaCommand = same(.media, ControlMethods.sendMediaCommand)
  static let getMedia = same(.read, ControlMethods.getMedia) { $0.media($1) }
  static let listNotifications = same(.read, ControlMethods.listNotifications) { $0.list($1) }
  static let getNotification = same(.read, ControlMethods.getNotification) { $0.notification($1) }
  static let act = same(.act, ControlMethods.act)
  static let call = BoardMethod(name: "call", permission: .act, calls: answerOrDecline)
  static let clear = BoardMethod(name: "clear", permission: .act, counts: true, calls: clearAll)
  static let status = same(.read, ControlMethods.status) { $0.status($1) }
  static let openPairing = same(.pairing, ControlMethods.openPairing) {
    .object($1.keeping(["name", "seconds"], board: $0.mirror.visibleName))
  }
  static let closePairing = same(.pairing, ControlMethods.closePairing)
  static let forgetPhone = same(.forget, ControlMethods.forgetPhone)

  private static let all = [
    sendMediaCommand, getMedia, listNotifications, getNotification, act, call, clear, status,
    openPairing, closePairing, forgetPhone,
  ]
}

extension BoardMethod {
  init?(named name: String) {
    guard let method = Self.all.first(where: { $0.name == name }) else { return nil }
    self = method
  }

  /// The calls to the daemon for a request, if it is allowed.
  ///
  /// - Parameter name: the phone of its topic.
  func calls(_ parameters: JSONObject, of name: TopicName?, _ mirror: BoardMirror) throws(RPCError) -> [DaemonCall] {
    guard mirror.policy.allowed.contains(permission) else {
      throw .forbidden(
        "“\(self.name)” is not allowed here: add \"\(permission.rawValue)\" to allow in [mqtt] on the board")
    }
    // Otherwise the response would say which apps have notifications.
    if parameters["app"] != nil, mirror.policy.content.most < .app {
      throw .forbidden("apps can't be selected where none is named (content in [mqtt] on the board)")
    }
    guard mirror.life != nil else { throw .unavailable("the daemon is not running") }
    if let name, mirror.phones[name] == nil || mirror.names.phone(named: name) == nil {
      throw .unavailable("there is no phone “\(name)” on this board")
    }
    var named = parameters
    for name in ["transaction", "time", "opening"] { named[name] = nil }
    named["phone"] = mirror.selector(of: name).map { .string($0.description) }
    return try calls(named, name, mirror)
  }

  /// The daemon's result, as it leaves the board. One that is no object says only that it is done.
  func disclosed(_ result: JSONValue, of phone: TopicName?, _ mirror: BoardMirror) -> JSONValue {
    guard let object = result.object else { return result }
    return disclosure(Disclosed(mirror: mirror, phone: phone), object) ?? .null
  }

  /// The parameters of a method of the daemon.
  private static func read<Parameters: JSONObjectCodable>(
    _ parameters: JSONObject
  ) throws(RPCError) -> Parameters {
    try attempt(try Parameters(reading: .object(parameters))) { (error: JSONError) in
      RPCError.wrong(error.description)
    }
  }

  /// The selected phones.
  private static func phones(
    _ name: TopicName?, _ mirror: BoardMirror
  ) -> [(name: TopicName, phone: PhoneMirror)] {
    mirror.phones.filter { name == nil || $0.key == name }
      .sorted { $0.key.description < $1.key.description }.map { ($0.key, $0.value) }
  }

  /// Answers or declines the only ringing call.
  @Sendable private static func answerOrDecline(
    _ parameters: JSONObject, _ name: TopicName?, _ mirror: BoardMirror
  ) throws(RPCError) -> [DaemonCall] {
    let action: NotificationAction
    switch parameters["action"]?.string {
    case "answer"?: action = .positive
    case "decline"?: action = .negative
    default: throw .wrong("action is answer or decline")
    }
    let calls = phones(name, mirror).flatMap { name, phone in
      phone.calls.map { (name: name, uid: $0.uid) }
    }
    guard let call = calls.first else { throw .unavailable("no call is ringing") }
    guard calls.count == 1 else {
      throw .wrong("\(calls.count) calls are ringing: use notifications.act")
    }
    return [act(on: call.uid, action, of: call.name, mirror)]
  }

  /// Clears notifications that can be cleared. The negative action of a call would end it, so calls are skipped.
  @Sendable private static func clearAll(
    _ parameters: JSONObject, _ name: TopicName?, _ mirror: BoardMirror
  ) throws(RPCError) -> [DaemonCall] {
    let filter: NotificationQuery = try read(parameters)
    return phones(name, mirror).flatMap { name, phone in
      phone.active.filter { _, active in
        active.flags.contains(.negativeAction) && active.category != .incomingCall
          && filter.matches(active.category, active.appID, named: active.app)
      }.keys.sorted { $0.rawValue < $1.rawValue }.map { act(on: $0, .negative, of: name, mirror) }
    }
  }

  private static func act(
    on uid: NotificationUID, _ action: NotificationAction, of name: TopicName, _ mirror: BoardMirror
  ) -> DaemonCall {
    ControlMethods.act.call(ActionParameters(uid, action, phone: mirror.selector(of: name)))
  }
}

/// Filters the daemon's responses before they leave the board.
struct Disclosed {
  let mirror: BoardMirror
  /// The phone that the request was for; nil if it named none.
  let phone: TopicName?

  fileprivate func list(_ object: JSONObject) -> JSONValue {
    let list = object["notifications"]?.array ?? []
    return .object([
      "notifications": .array(list.compactMap { $0.object.flatMap(notification) }),
      "next": object["next"],
    ])
  }

  fileprivate func media(_ object: JSONObject) -> JSONValue {
    .object(object.media(level(of: phone ?? mirror.onlyPhone)))
  }

  fileprivate func notification(_ object: JSONObject) -> JSONValue? {
    var named = object
    let name = self.name(in: object)
    named["phone"] = name.map { .string("\($0)") }
    let level = mirror.policy.content.level(
      app: object["app_id"]?.string, category: object["category"].flatMap { Category(json: $0) }, phone: name)
    return level == .none ? nil : .object(named.notification(level))
  }

  private func name(in object: JSONObject) -> TopicName? {
    guard let address = object["phone"].flatMap({ Address(json: $0) }) else {
      return phone ?? .phone
    }
    return mirror.names.name(of: address)
  }

  /// The level for the media state of a phone; if it is not known which, that of the most private one.
  private func level(of phone: TopicName?) -> ContentLevel {
    let content = mirror.policy.content
    return phone.map { content.ofMedia($0) } ?? mirror.phones.keys.map { content.ofMedia($0) }.min()
      ?? content.ofMedia(nil)
  }

  fileprivate func status(_ object: JSONObject) -> JSONValue {
    let board = mirror.visibleName
    var rest = object.keeping(["version", "started", "life", "seq", "wait", "why"], board: board)
    for (name, members) in Self.listsOfStatus {
      let elements = object[name]?.array?.compactMap(\.object) ?? []
      let list = elements.map { element in
        var rest = element.keeping(members, board: board)
        if name != "adapters" { rest["phone"] = self.name(in: element).map { .string("\($0)") } }
        return JSONValue.object(rest)
      }
      rest.add(name, .array(list))
    }
    return .object(rest)
  }

  /// The members of the lists in the status that leave the board.
  private static let listsOfStatus: KeyValuePairs = [
    "adapters": ["adapter", "present", "powered", "advertising", "profile", "pairable", "wait", "why"],
    "links": [
      "adapter", "since", "encrypted", "bonded", "mtu", "services", "authorized", "authorization", "waits_for",
      "battery", "notifications", "waiting", "requests", "rssi", "interval", "latency", "timeout", "wait", "why",
    ], "phones": ["adapter", "connected"],
  ]
}

extension BoardMirror {
  /// A phone as the daemon identifies it; nil if there is no name, or the phone has no address.
  fileprivate func selector(of name: TopicName?) -> PhoneSelector? {
    name.flatMap { names.phone(named: $0) ?? nil }.map { PhoneSelector($0.description) }
  }

  /// The only connected phone; nil if there is none, or more than one.
  fileprivate var onlyPhone: TopicName? {
    let connected = phones.filter { $0.value.link != nil }.keys
    return connected.count == 1 ? connected.first : nil
  }
}
