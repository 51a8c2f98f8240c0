// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import Control
import JSON
import Wire

/// A request that the broker's clients may make (docs/mqtt.md, “Requests”).
struct BoardMethod: Sendable {
  fileprivate typealias Disclosing = @Sendable (Disclosed, JSONObject) -> JSONValue?

  let name: String
  /// What `allow` in the settings has to have.
  let permission: Permission
  /// Whether its response is the number of successful calls.
  var counts = false
  /// The calls to the daemon.
  fileprivate let calls:
    @Sendable (JSONObject, TopicName?, BoardMirror) throws(RequestError) -> [DaemonCall]
  /// The part of the daemon's result, if that is an object, that leaves the board.
  fileprivate var disclosure: Disclosing = { _, _ in [:] }

  /// The daemon's own method, with its parameters.
  private static func same<Parameters, Response>(
    _ permission: Permission, _ method: ControlMethod<Parameters, Response>,
    _ disclosure: @escaping Disclosing = { _, _ in [:] }
  ) -> BoardMethod {
    BoardMethod(
      name: method.name, permission: permission,
      calls: { parameters, _, _ throws(RequestError) in
        [method.call(try BoardRequest.read(parameters))]
      }, disclosure: disclosure)
  }

  static let sendMediaCommand = same(.media, ControlMethods.sendMediaCommand)
  static let getMedia = same(.read, ControlMethods.getMedia) { $0.media($1) }
  static let listNotifications = same(.read, ControlMethods.listNotifications) { $0.list($1) }
  static let getNotification = same(.read, ControlMethods.getNotification) { $0.notification($1) }
  static let act = same(.act, ControlMethods.act)
  static let call = BoardMethod(name: "call", permission: .act, calls: BoardRequest.call)
  static let clear = BoardMethod(
    name: "clear", permission: .act, counts: true, calls: BoardRequest.clear)
  static let status = same(.read, ControlMethods.status) { $0.status($1) }
  static let openPairing = same(.pairing, ControlMethods.openPairing) {
    .object($0.keeping(["name", "seconds"], of: $1))
  }
  static let closePairing = same(.pairing, ControlMethods.closePairing)
  static let forgetPhone = same(.forget, ControlMethods.forgetPhone)

  fileprivate static let all = [
    sendMediaCommand, getMedia, listNotifications, getNotification, act, call, clear, status,
    openPairing, closePairing, forgetPhone,
  ]
}

extension BoardMethod {
  init?(named name: String) {
    guard let method = Self.all.first(where: { $0.name == name }) else { return nil }
    self = method
  }
}

/// A request, as calls to the daemon.
struct BoardRequest {
  let calls: [DaemonCall]
  /// Whether its response is the number of successful calls.
  let counts: Bool

  /// Parses a request, and checks whether it is allowed.
  init(
    _ target: BoardTopics.RequestTarget, _ parameters: JSONObject, _ mirror: BoardMirror
  ) throws(RequestError) {
    guard let method = BoardMethod(named: target.method) else { throw .unknown(target.method) }
    guard mirror.policy.allowed.contains(method.permission) else {
      throw .notAllowed(
        "“\(target.method)” is not allowed here: add \"\(method.permission.rawValue)\" to allow in [mqtt] on the board"
      )
    }
    // Otherwise the response would say which apps have notifications.
    if parameters["app"] != nil, mirror.policy.content.most < .app {
      throw .notAllowed(
        "apps can't be selected where none is named (content in [mqtt] on the board)")
    }
    guard mirror.life != nil else { throw .missing("the daemon is not running") }
    let phone = try Self.phone(target, mirror)
    var named = parameters
    for name in ["transaction", "time", "opening"] { named[name] = nil }
    named["phone"] = phone.map { .string($0.description) }
    calls = try method.calls(named, target.phone, mirror)
    counts = method.counts
  }

  /// The parameters of a method of the daemon.
  fileprivate static func read<Parameters: JSONObjectCodable>(
    _ parameters: JSONObject
  ) throws(RequestError) -> Parameters {
    do throws(ShapeError) {
      return try Parameters(reading: .object(parameters))
    } catch {
      throw .wrong(error.description)
    }
  }

  /// The phone of the topic, as the daemon identifies it; nil if the topic names none, or one without an address.
  private static func phone(
    _ target: BoardTopics.RequestTarget, _ mirror: BoardMirror
  ) throws(RequestError) -> PhoneSelector? {
    guard let name = target.phone else { return nil }
    guard mirror.phones[name] != nil, let address = mirror.names.phone(named: name) else {
      throw .missing("there is no phone “\(name)” on this board")
    }
    return address.map { PhoneSelector($0.description) }
  }

  /// The selected phones.
  private static func phones(
    _ name: TopicName?, _ mirror: BoardMirror
  ) -> [(name: TopicName, phone: PhoneMirror)] {
    mirror.phones.filter { name == nil || $0.key == name }
      .sorted { $0.key.description < $1.key.description }.map { ($0.key, $0.value) }
  }

  /// Answers or declines the only ringing call.
  @Sendable fileprivate static func call(
    _ parameters: JSONObject, _ name: TopicName?, _ mirror: BoardMirror
  ) throws(RequestError) -> [DaemonCall] {
    let action: NotificationAction
    switch parameters["action"]?.string {
    case "answer"?: action = .positive
    case "decline"?: action = .negative
    default: throw .wrong("action is answer or decline")
    }
    let calls = phones(name, mirror).flatMap { name, phone in
      phone.calls.map { (name: name, uid: $0.uid) }
    }
    guard let call = calls.first else { throw .missing("no call is ringing") }
    guard calls.count == 1 else {
      throw .wrong("\(calls.count) calls are ringing: use notifications.act")
    }
    return [act(on: call.uid, action, of: call.name, mirror)]
  }

  /// Clears notifications that can be cleared. The negative action of a call would end it, so calls are skipped.
  @Sendable fileprivate static func clear(
    _ parameters: JSONObject, _ name: TopicName?, _ mirror: BoardMirror
  ) throws(RequestError) -> [DaemonCall] {
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
    let phone = mirror.names.phone(named: name) ?? nil
    return ControlMethods.act.call(
      ActionParameters(uid, action, phone: phone.map { PhoneSelector($0.description) }))
  }
}

/// Filters the daemon's responses before they leave the board.
struct Disclosed {
  let mirror: BoardMirror
  /// The phone that the request was for; nil if it named none.
  let phone: TopicName?

  /// The result of a method. One that is no object says only that it is done.
  func result(_ result: JSONValue, of method: String) -> JSONValue {
    guard let object = result.object else { return result }
    return BoardMethod(named: method)?.disclosure(self, object) ?? .null
  }

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
      app: object["app_id"]?.string, category: object["category"].flatMap { Category(json: $0) },
      phone: name)
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
    func list(_ name: String, _ members: [String]) -> JSONValue {
      let elements = object[name]?.array ?? []
      return .array(
        elements.compactMap(\.object).map { element in
          var rest = keeping(members, of: element)
          if name != "adapters" { rest["phone"] = self.name(in: element).map { .string("\($0)") } }
          return .object(rest)
        })
    }
    var rest = keeping(["version", "started", "life", "seq", "wait", "why"], of: object)
    rest.add(
      "adapters",
      list(
        "adapters",
        [
          "adapter", "present", "powered", "advertising", "profile", "pairable", "wait", "why",
        ]))
    rest.add(
      "links",
      list(
        "links",
        [
          "adapter", "since", "encrypted", "bonded", "mtu", "services", "authorized",
          "authorization", "waits_for", "battery", "notifications", "waiting", "requests", "rssi",
          "interval", "latency", "timeout", "wait", "why",
        ]))
    rest.add("phones", list("phones", ["adapter", "connected"]))
    return .object(rest)
  }

  fileprivate func keeping(_ members: [String], of object: JSONObject) -> JSONObject {
    var rest = JSONObject()
    for (name, value) in object.members where members.contains(name) {
      switch name {
      case "adapter": rest[name] = PublicText.adapter(value.string).map { .string($0) }
      case "why":
        rest[name] = object["wait"]?.string
          .map { .string(PublicText.why($0, value.string, board: mirror.visibleName)) }
      default: rest.add(name, value)
      }
    }
    return rest
  }
}

extension BoardMirror {
  /// The only connected phone; nil if there is none, or more than one.
  fileprivate var onlyPhone: TopicName? {
    let connected = phones.filter { $0.value.link != nil }.keys
    return connected.count == 1 ? connected.first : nil
  }
}
