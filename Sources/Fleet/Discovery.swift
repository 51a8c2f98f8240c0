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
        "mdl": board.model.map { .string($0) }, "sw": .string(version),
        "cu": policy.link.map { .string($0) },
      ], availability: [availability(topics.state)])
  }

  /// The device of a phone.
  ///
  /// - Parameter phoneID: identifies the phone among those of this board.
  func phone(_ phone: TopicName, id phoneID: String, under prefix: String) -> Publication {
    device(
      phoneID, under: prefix, of: PhoneEntities(topics: topics, policy: policy, phone: phone).all,
      [
        "ids": .strings(["\(id)-\(phoneID)"]),
        "name": .string("\(phone.title) at \(topics.board.title)"), "mf": "Apple", "mdl": "iPhone",
        "via_device": .string(id),
      ], availability: [availability(topics.state), availability(topics.of(phone, .state))])
  }

  private var id: String { "ancsd-\(board.id)" }

  private func availability(_ topic: String) -> JSONValue {
    .object(["t": .string(topic), "val_tpl": "{{ value_json.state }}"])
  }

  private func device(
    _ owner: String, under prefix: String, of entities: [Entity], _ description: JSONObject,
    availability: [JSONValue]
  ) -> Publication {
    var components = JSONObject()
    for entity in entities { components.add(entity.key, component(entity, of: owner)) }
    return .state(
      topics.discovery(under: prefix, owner),
      [
        "dev": .object(description),
        "o": .object(["name": "ancsd", "sw": .string(version)]),
        "avty": .array(availability), "avty_mode": "all", "cmps": .object(components),
      ])
  }

  private func component(_ entity: Entity, of owner: String) -> JSONValue {
    var object: JSONObject = ["p": .string(entity.platform)]
    guard entity.isWanted else { return .object(object) }
    for (name, value) in entity.members.members { object.add(name, value) }
    if entity.platform != "device_automation" {
      object.add("uniq_id", .string("\(id)-\(owner)-\(entity.key)"))
    }
    object.add("qos", 1)
    if entity.outlivesLink { object.add("avty", .array([availability(topics.state)])) }
    return .object(object)
  }

  private var boardEntities: [Entity] {
    let topic = JSONValue.string(topics.boardState)
    func button(
      _ key: String, _ name: String, _ icon: String, _ method: BoardMethod, _ payload: String
    ) -> Entity {
      Entity(
        key: key, platform: "button",
        members: [
          "name": .string(name), "ic": .string("mdi:\(icon)"), "ent_cat": "config",
          "cmd_t": .string(topics.request(method.name)), "pl_prs": .string(payload),
        ], isWanted: policy.allowed.contains(method.permission))
    }
    return [
      Entity(
        key: "wait", platform: "sensor",
        members: [
          "name": "Waiting for", "ic": "mdi:timer-sand", "ent_cat": "diagnostic", "stat_t": topic,
          "val_tpl": "{{ value_json.wait or 'nothing' }}", "json_attr_t": topic,
          "json_attr_tpl": "{{ {'why': value_json.why} | to_json }}",
        ]),
      Entity(
        key: "problem", platform: "binary_sensor",
        members: [
          "dev_cla": "problem", "ent_cat": "diagnostic", "stat_t": topic,
          "val_tpl": "{{ value_json.problem }}", "pl_on": "True", "pl_off": "False",
        ]),
      Entity(
        key: "update", platform: "update",
        members: [
          "dev_cla": "firmware", "ent_cat": "diagnostic", "stat_t": topic,
          "val_tpl":
            "{{ {'installed_version': value_json.version, 'latest_version': value_json.latest} | to_json }}",
        ], isWanted: knowsLatest),
      button(
        "pair", "Open pairing", "bluetooth-connect", .openPairing, #"{"seconds":120}"#),
      button("pair-close", "Close pairing", "bluetooth-off", .closePairing, "{}"),
    ]
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
  let key: String
  let platform: String
  let members: JSONObject
  /// Whether it stays available while its phone is away.
  var outlivesLink = false
  /// Whether the settings have it.
  var isWanted = true
}

extension TopicName {
  /// As Home Assistant's users write names: `living-room` becomes `Living room`, `iphone-2` becomes `iPhone 2`.
  var title: String {
    let words = description.split(separator: "-").joined(separator: " ")
    if words.hasPrefix("iphone") { return "iPhone" + words.dropFirst("iphone".count) }
    return words.prefix(1).uppercased() + words.dropFirst()
  }
}
