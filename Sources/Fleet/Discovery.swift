// SPDX-License-Identifier: GPL-3.0-or-later
import JSON

/// The discovery payloads for a board and its phones, one device each (MQTT device discovery, since 2024.12).
///
/// Its keys are Home Assistant's documented abbreviations. At the top level and in `dev`, an unknown key makes an
/// older version refuse the whole message, so only keys known to every version with device discovery are used. Unique ids
/// never change: neither with a version, nor with the names of the board and its phones.
///
/// What the settings leave out is there with its platform alone, by which Home Assistant removes what it had before.
struct Discovery {
  let topics: BoardTopics
  let policy: MirrorPolicy
  let board: BoardIdentity
  let version: String
  /// Whether it is known which version of the program is the latest.
  let knowsLatest: Bool

  /// The board among its devices; the others are called by their phones' ids.
  static let board = "board"

  /// The device of the board.
  func board(under prefix: String) -> Publication {
    device(
      Self.board, under: prefix, of: boardEntities,
      [
        "ids": .strings([id]), "name": .string(topics.board.title), "mf": "ancsd",
        "mdl": board.model.map { .string($0) }, "sw": .string(version), "cu": policy.link.map { .string($0) },
      ], availability: [availability(topics.state)])
  }

  /// The device of a phone.
  ///
  /// - Parameter phoneID: identifies the phone among those of this board.
  func phone(_ phone: TopicName, id phoneID: String, under prefix: String) -> Publication {
    device(
      phoneID, under: prefix, of: PhoneEntities(discovery: self, phone: phone).all,
      [
        "ids": .strings(["\(id)-\(phoneID)"]), "name": .string("\(phone.title) at \(topics.board.title)"),
        "mf": "Apple", "mdl": "iPhone", "via_device": .string(id),
      ], availability: [availability(topics.state), availability(topics.of(phone, .state))])
  }

  private var id: String { "ancsd-\(board.id)" }

  private func availability(_ topic: String) -> JSONValue {
    .object(["t": .string(topic), "val_tpl": "{{ value_json.state }}"])
  }

  private func device(
    _ owner: String, under prefix: String, of entities: [Entity], _ description: JSONObject, availability: [JSONValue]
  ) -> Publication {
    var components = JSONObject()
    for entity in entities { components.add(entity.key, component(entity, of: owner)) }
    return .state(
      topics.discovery(under: prefix, owner),
      [
        "dev": .object(description), "o": .object(["name": "ancsd", "sw": .string(version)]),
        "avty": .array(availability), "avty_mode": "all", "cmps": .object(components),
      ])
  }

  private func component(_ entity: Entity, of owner: String) -> JSONValue {
    var object: JSONObject = ["p": .string(entity.platform)]
    guard entity.isWanted else { return .object(object) }
    object.add(entity.members)
    if entity.platform != "device_automation" {
      object.add("uniq_id", .string("\(id)-\(owner)-\(entity.key)"))
    }
    object.add("qos", 1)
    if entity.outlivesLink { object.add("avty", .array([availability(topics.state)])) }
    return .object(object)
  }

  private var boardEntities: [Entity] {
    let topic = topics.boardState
    return [
      Entity(
        "sensor", "wait", "Waiting for", icon: "timer-sand", in: .diagnostic, state: topic,
        value: "value_json.wait or 'nothing'",
        [
          "json_attr_t": .string(topic),
          "json_attr_tpl": "{{ {'why': value_json.why} | to_json }}",
        ]),
      Entity(
        "binary_sensor", "problem", in: .diagnostic, state: topic, value: "value_json.problem",
        ["dev_cla": "problem", "pl_on": "True", "pl_off": "False"]),
      Entity(
        "update", "update", in: .diagnostic, state: topic,
        value: "{'installed_version': value_json.version, 'latest_version': value_json.latest} | to_json",
        ["dev_cla": "firmware"], isWanted: knowsLatest),
      button("pair", "Open pairing", "bluetooth-connect", .openPairing, ["seconds": 120]),
      button("pair-close", "Close pairing", "bluetooth-off", .closePairing),
    ]
  }

  /// A button that makes a request.
  ///
  /// - Parameter phone: whom it is about; nil: the board.
  func button(
    _ key: String, _ name: String, _ icon: String, _ method: BoardMethod,
    _ parameters: JSONObject = [:], of phone: TopicName? = nil, isEnabled: Bool = true
  ) -> Entity {
    Entity(
      "button", key, name, icon: icon, in: [.pairing, .forget].contains(method.permission) ? .config : nil,
      [
        "cmd_t": .string(topics.request(method.name, of: phone)), "pl_prs": .string(JSONValue.object(parameters).text),
        "en": isEnabled ? nil : false,
      ], outlivesLink: method.permission == .forget, isWanted: policy.allowed.contains(method.permission))
  }
}

/// What identifies a board to Home Assistant.
public struct BoardIdentity: Hashable, Sendable {
  /// Never changes, whatever the board's name is.
  public var id: String
  /// The hardware; nil if unknown.
  public var model: String?

  public init(id: String, model: String? = nil) {
    self.id = id
    self.model = model
  }
}

/// An entity of Home Assistant's, or a trigger.
struct Entity {
  let platform: String
  let key: String
  /// What is said of it besides its platform and its id.
  private(set) var members: JSONObject
  /// Whether it stays available while its phone is away.
  let outlivesLink: Bool
  /// Whether the settings have it.
  let isWanted: Bool

  /// Where it is shown, if not among the controls.
  enum Category: String { case diagnostic, config }

  /// - Parameters:
  ///   - icon: its name in Material Design Icons.
  ///   - topic: the topic of its state.
  ///   - value: the expression that makes the state of the payload, `value_json`.
  ///   - more: further members.
  init(
    _ platform: String, _ key: String, _ name: String? = nil, icon: String? = nil,
    in category: Category? = nil, state topic: String? = nil, value: String? = nil,
    _ more: JSONObject = [:], outlivesLink: Bool = false, isWanted: Bool = true
  ) {
    (self.platform, self.key) = (platform, key)
    (self.outlivesLink, self.isWanted) = (outlivesLink, isWanted)
    members = [
      "name": name.map { .string($0) }, "ic": icon.map { .string("mdi:\($0)") },
      "ent_cat": category.map { .string($0.rawValue) }, "stat_t": topic.map { .string($0) },
      "val_tpl": value.map { .string("{{ \($0) }}") },
    ]
    members.add(more)
  }
}

extension TopicName {
  /// As Home Assistant's users write names: `living-room` becomes `Living room`, `iphone-2` becomes `iPhone 2`.
  var title: String {
    let words = description.split(separator: "-").joined(separator: " ")
    if words.hasPrefix("iphone") { return "iPhone" + words.dropFirst("iphone".count) }
    return words.prefix(1).uppercased() + words.dropFirst()
  }
}
