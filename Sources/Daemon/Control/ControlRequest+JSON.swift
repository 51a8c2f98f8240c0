// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
public import JSON
import Mgmt
import Wire

extension ControlRequest {
  /// The line that asks for it, as a JSON object.
  public func json(id: RequestID) -> JSONValue {
    RPCLine.request(method.rawValue, params, id: id)
  }

  /// Reads a method and its parameters, which are named; members that a method does not know are
  /// ignored.
  init(method name: String, params: JSONValue?) throws(RPCError) {
    guard let method = Method(rawValue: name) else { throw .methodNotFound(name) }
    if params?.array != nil { throw .invalidParams("they are named, not an array") }
    do throws(ShapeError) {
      self = try ControlRequest(method, Fields(params ?? [:]))
    } catch {
      throw .invalidParams(error.description)
    }
  }

  private init(_ method: Method, _ fields: Fields) throws(ShapeError) {
    switch method {
    case .status: self = .status
    case .subscribe: self = .subscribe(try Subscription(fields))
    case .listNotifications:
      self = .listNotifications(
        NotificationQuery(
          phone: try fields.phone(), app: try fields.optionalString("app").map { Glob($0) },
          category: try fields.optional("category", "a category", Category.init(json:))))
    case .getNotification:
      self = .getNotification(
        try fields.uid(),
        attributes: try fields.names(
          "attributes", "attributes", NotificationAttributeID.init(name:)),
        phone: try fields.phone())
    case .act:
      self = .act(
        try fields.uid(),
        try fields.required("action", "positive or negative") { $0.string.flatMap(Action.init) },
        phone: try fields.phone())
    case .getApp:
      self = .getApp(identifier: try fields.string("app_id"), phone: try fields.phone())
    case .listApps: self = .listApps(phone: try fields.phone())
    case .getMedia: self = .getMedia(phone: try fields.phone())
    case .command:
      self = .command(
        try fields.required("command", "a command") {
          $0.string.flatMap(RemoteCommand.init(name:))
        }, phone: try fields.phone())
    case .listPhones: self = .listPhones
    case .forget: self = .forget(PhoneSelector(try fields.string("phone")))
    case .openPairing:
      self = .openPairing(
        seconds: try fields.optional("seconds", "a number of seconds") {
          $0.int.flatMap { (1...Int64(Int32.max)).contains($0) ? Int($0) : nil }
        })
    case .closePairing: self = .closePairing
    case .respond:
      self = .respond(
        accept: try fields.bool("accept"),
        passkey: try fields.optional("passkey", "six digits") { $0.string.flatMap { Passkey($0) } })
    case .discover: self = .discover(phone: try fields.phone())
    case .known: self = .known
    case .read: self = .read(handle: try fields.handle(), phone: try fields.phone())
    case .write:
      self = .write(
        handle: try fields.handle(),
        value: try fields.required("value", "hexadecimal digits, at most 512 bytes") {
          $0.string.flatMap { [UInt8](hex: $0) }.flatMap { $0.count <= 512 ? $0 : nil }
        },
        command: try fields.optionalBool("command") ?? false, phone: try fields.phone())
    }
  }

  private var params: JSONObject {
    var params = JSONObject()
    switch self {
    case .status, .listPhones, .closePairing, .known:
      break
    case .subscribe(let subscription):
      params.add("events", subscription.events.map { .strings($0.map(\.rawValue).sorted()) })
      if subscription.replay { params.add("replay", true) }
      params.add("since", subscription.since)
    case .listNotifications(let query):
      params.add("phone", query.phone?.text)
      params.add("app", query.app?.pattern)
      params.add("category", query.category?.json)
    case .getNotification(let uid, let attributes, let phone):
      params.add("uid", uid.rawValue)
      params.add("attributes", attributes.map { .strings($0.compactMap(\.name)) })
      params.add("phone", phone?.text)
    case .act(let uid, let action, let phone):
      params.add("uid", uid.rawValue)
      params.add("action", action.description)
      params.add("phone", phone?.text)
    case .getApp(let identifier, let phone):
      params.add("app_id", identifier)
      params.add("phone", phone?.text)
    case .listApps(let phone), .getMedia(let phone), .discover(let phone):
      params.add("phone", phone?.text)
    case .command(let command, let phone):
      params.add("command", command.name)
      params.add("phone", phone?.text)
    case .forget(let phone):
      params.add("phone", phone.text)
    case .openPairing(let seconds):
      params.add("seconds", seconds)
    case .respond(let accept, let passkey):
      params.add("accept", accept)
      params.add("passkey", passkey?.description)
    case .read(let handle, let phone):
      params.add("handle", handle)
      params.add("phone", phone?.text)
    case .write(let handle, let value, let command, let phone):
      params.add("handle", handle)
      params.add("value", value.hex)
      if command { params.add("command", true) }
      params.add("phone", phone?.text)
    }
    return params
  }
}

extension Subscription {
  fileprivate init(_ fields: Fields) throws(ShapeError) {
    let events = try fields.names("events", "events", EventName.init(rawValue:))
    self.init(
      events: events.map { Set($0) },
      replay: try fields.optionalBool("replay") ?? false,
      since: try fields.optionalInteger("since"))
  }
}

extension Fields {
  fileprivate func uid() throws(ShapeError) -> NotificationUID {
    NotificationUID(rawValue: try integer("uid"))
  }

  fileprivate func phone() throws(ShapeError) -> PhoneSelector? {
    try optionalString("phone").map { PhoneSelector($0) }
  }

  fileprivate func handle() throws(ShapeError) -> UInt16 {
    try required("handle", "a handle, 1 to 65535") { value in
      value.int.flatMap(UInt16.init(exactly:)).flatMap { $0 == 0 ? nil : $0 }
    }
  }

  /// Names out of a fixed set; nil, which is all of them, where there are none.
  fileprivate func names<Name>(
    _ name: String, _ kind: String, _ read: (String) -> Name?
  ) throws(ShapeError) -> [Name]? {
    guard object[name].map({ !$0.isNull }) ?? false else { return nil }
    let names = try list(name, "names of \(kind)") { $0.string.flatMap(read) }
    return names.isEmpty ? nil : names
  }
}
