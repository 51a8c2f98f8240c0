// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import AMS
import JSON

/// The discovery payloads for a board and its phones, one device each (MQTT device discovery, since 2024.12).
///
/// Its keys are Home Assistant's documented abbreviations. At the top level and in `dev`, an unknown key makes an
/// older version refuse the whole message, so only keys known to every version with device discovery are used. A
/// unique id never changes.
struct Discovery {
  private let topics: BoardTopics
  private let policy: MirrorPolicy
  private let version: String

  init(_ topics: BoardTopics, _ policy: MirrorPolicy, version: String) {
    self.topics = topics
    self.policy = policy
    self.version = version
  }

  /// The device of the board.
  func board(under prefix: String) -> Publication {
    var components = JSONObject()
    for entity in boardEntities { add(entity, to: &components, of: nil) }
    return .state(
      topics.discovery(under: prefix, nil),
      [
        "dev": .object([
          "ids": .strings([id]), "name": .string("ancsd \(topics.board)"), "mf": "ancsd",
          "sw": .string(version),
        ]),
        "o": origin, "avty": .array([availability(topics.state)]), "avty_mode": "all",
        "cmps": .object(components),
      ])
  }

  /// The device of a phone.
  func phone(_ phone: TopicName, under prefix: String) -> Publication {
    var components = JSONObject()
    for entity in phoneEntities(phone) { add(entity, to: &components, of: phone) }
    return .state(
      topics.discovery(under: prefix, phone),
      [
        "dev": .object([
          "ids": .strings(["\(id)-\(phone)"]), "name": .string("\(phone) at \(topics.board)"),
          "mf": "Apple", "mdl": "iPhone", "via_device": .string(id),
        ]),
        "o": origin,
        "avty": .array([availability(topics.state), availability(topics.of(phone, .state))]),
        "avty_mode": "all", "cmps": .object(components),
      ])
  }

  private var id: String { "ancsd-\(topics.board)" }
  private var origin: JSONValue { .object(["name": "ancsd", "sw": .string(version)]) }

  private func availability(_ topic: String) -> JSONValue {
    .object(["t": .string(topic), "val_tpl": "{{ value_json.state }}"])
  }

  // MARK: Entities

  /// An entity, or a trigger.
  private struct Entity {
    let key: String
    let platform: String
    let members: JSONObject
    /// Whether it stays available while its phone is away.
    var outlivesLink = false

    init(
      _ key: String, _ platform: String, _ members: JSONObject, outlivesLink: Bool = false
    ) {
      self.key = key
      self.platform = platform
      self.members = members
      self.outlivesLink = outlivesLink
    }
  }

  private func add(_ entity: Entity, to components: inout JSONObject, of phone: TopicName?) {
    var object: JSONObject = ["p": .string(entity.platform)]
    for (name, value) in entity.members.members { object.add(name, value) }
    if entity.platform != "device_automation" {
      let owner = phone.map { "\(id)-\($0)" } ?? "\(id)-board"
      object.add("uniq_id", .string("\(owner)-\(entity.key)"))
    }
    object.add("qos", 1)
    if entity.outlivesLink { object.add("avty", .array([availability(topics.state)])) }
    components.add(entity.key, .object(object))
  }

  private var boardEntities: [Entity] {
    let topic = JSONValue.string(topics.boardState)
    var entities = [
      Entity(
        "wait", "sensor",
        [
          "name": "Waiting for", "ent_cat": "diagnostic", "stat_t": topic,
          "val_tpl": "{{ value_json.wait or 'nothing' }}", "json_attr_t": topic,
          "json_attr_tpl": "{{ {'why': value_json.why} | to_json }}",
        ]),
      Entity(
        "problem", "binary_sensor",
        [
          "dev_cla": "problem", "ent_cat": "diagnostic", "stat_t": topic,
          "val_tpl": "{{ value_json.problem }}", "pl_on": "True", "pl_off": "False",
        ]),
    ]
    if policy.allowed.contains(.pairing) {
      entities.append(
        Entity(
          "pair", "button",
          [
            "name": "Open pairing", "ent_cat": "config",
            "cmd_t": .string(topics.request("pairing.open")), "pl_prs": #"{"seconds":120}"#,
          ]))
    }
    return entities
  }

  private func phoneEntities(_ phone: TopicName) -> [Entity] {
    events(phone) + notifications(phone) + link(phone) + player(phone) + buttons(phone)
  }

  private func events(_ phone: TopicName) -> [Entity] {
    func event(_ key: String, _ name: String, _ topic: BoardTopics.PhoneTopic, _ types: [String])
      -> Entity
    {
      Entity(
        key, "event",
        [
          "name": .string(name), "evt_typ": .strings(types),
          "stat_t": .string(topics.of(phone, topic)),
          "val_tpl": "{{ dict(value_json, event_type=value_json.change) | to_json }}",
        ])
    }
    func trigger(_ type: String, _ subtype: String, on change: String) -> Entity {
      Entity(
        "\(type)-\(subtype)", "device_automation",
        [
          "atype": "trigger", "type": .string(type), "stype": .string(subtype),
          "t": .string(topics.of(phone, .callEvent)), "val_tpl": "{{ value_json.change }}",
          "pl": .string(change),
        ])
    }
    return [
      event("notification", "Notification", .notificationEvent, ["added", "modified", "removed"]),
      event("call", "Call", .callEvent, ["incoming", "ended", "missed"]),
      trigger("call", "incoming", on: "incoming"), trigger("missed-call", "added", on: "missed"),
    ]
  }

  private func notifications(_ phone: TopicName) -> [Entity] {
    let calls = JSONValue.string(topics.of(phone, .call))
    let shown = ["missed-call": "Missed calls", "social": "Social", "email": "Email"]
    func count(_ key: String, _ name: String, _ value: String, isEnabled: Bool) -> Entity {
      Entity(
        key, "sensor",
        [
          "name": .string(name), "stat_cla": "measurement",
          "stat_t": .string(topics.of(phone, .counts)), "val_tpl": .string("{{ \(value) }}"),
          "en": isEnabled ? nil : false,
        ], outlivesLink: true)
    }
    return [
      Entity(
        "ringing", "binary_sensor",
        [
          "name": "Incoming call", "stat_t": calls, "val_tpl": "{{ value_json.state }}",
          "pl_on": "ringing", "pl_off": "idle", "json_attr_t": calls,
        ]),
      count("notifications", "Notifications", "value_json.total", isEnabled: true),
    ]
      + ANCS.Category.names.map { name in
        count(
          "count-\(name)", shown[name] ?? "Notifications \(name)",
          "value_json.categories['\(name)']", isEnabled: shown[name] != nil)
      }
  }

  private func link(_ phone: TopicName) -> [Entity] {
    let state = JSONValue.string(topics.of(phone, .state))
    return [
      Entity(
        "battery", "sensor",
        [
          "dev_cla": "battery", "unit_of_meas": "%", "stat_cla": "measurement",
          "ent_cat": "diagnostic", "stat_t": .string(topics.of(phone, .battery)),
          "val_tpl": "{{ value_json.level }}",
        ]),
      Entity(
        "connected", "binary_sensor",
        [
          "name": "Connected", "dev_cla": "connectivity", "ent_cat": "diagnostic", "stat_t": state,
          "val_tpl": "{{ value_json.state }}", "pl_on": "online", "pl_off": "offline",
        ], outlivesLink: true),
      Entity(
        "authorization", "binary_sensor",
        [
          "name": "Shares notifications", "ent_cat": "diagnostic", "stat_t": state,
          "val_tpl": "{{ value_json.authorization == 'granted' }}", "pl_on": "True",
          "pl_off": "False",
        ]),
      Entity(
        "signal", "sensor",
        [
          "name": "Signal", "dev_cla": "signal_strength", "unit_of_meas": "dBm",
          "stat_cla": "measurement", "ent_cat": "diagnostic", "stat_t": state,
          "val_tpl": "{{ value_json.rssi }}", "en": false,
        ]),
    ]
  }

  private func player(_ phone: TopicName) -> [Entity] {
    let media = JSONValue.string(topics.of(phone, .media))
    func choice(_ key: String, _ name: String, _ value: String, _ options: [String]) -> Entity {
      Entity(
        key, "sensor",
        [
          "name": .string(name), "dev_cla": "enum", "ops": .strings(options), "stat_t": media,
          "val_tpl": .string("{{ value_json.\(value) or 'off' }}"),
        ])
    }
    // A state has at most 255 characters.
    func text(_ key: String, _ name: String, _ value: String) -> Entity {
      Entity(
        key, "sensor",
        [
          "name": .string(name), "stat_t": media,
          "val_tpl": .string("{{ (value_json.track.\(value) or '')[:255] }}"),
        ])
    }
    let modes = ["off", "one", "all"]
    let texts = [
      text("track", "Track", "title"), text("artist", "Artist", "artist"),
      text("album", "Album", "album"),
    ]
    return [
      choice("player", "Player", "player.state", ["off"] + PlaybackState.names),
      Entity(
        "volume", "sensor",
        [
          "name": "Volume", "unit_of_meas": "%", "stat_t": media,
          "val_tpl":
            "{{ (value_json.player.volume * 100) | round if value_json.player.volume is number else none }}",
        ]),
      choice("repeat", "Repeat", "queue.repeat", modes),
      choice("shuffle", "Shuffle", "queue.shuffle", modes),
    ] + (policy.content.ofMedia >= .title ? texts : [])
  }

  private func buttons(_ phone: TopicName) -> [Entity] {
    func button(
      _ key: String, _ name: String, _ method: String, _ parameters: JSONObject,
      isEnabled: Bool = true
    ) -> Entity {
      Entity(
        key, "button",
        [
          "name": .string(name), "cmd_t": .string(topics.request(method, of: phone)),
          "pl_prs": .string(JSONValue.object(parameters).text), "en": isEnabled ? nil : false,
        ])
    }
    let shown = ["toggle": "Play or pause", "next": "Next", "previous": "Previous"]
    let volume = ["volume-up": "Volume up", "volume-down": "Volume down"]
    let media = RemoteCommand.names.map { name in
      button(
        "media-\(name)", shown[name] ?? volume[name] ?? "Player \(name)", "media.command",
        ["command": .string(name)], isEnabled: shown[name] != nil || volume[name] != nil)
    }
    let actions = [
      button("answer", "Answer", "call", ["action": "answer"]),
      button("decline", "Decline", "call", ["action": "decline"]),
      button("clear", "Clear all", "clear", [:]),
    ]
    return (policy.allowed.contains(.media) ? media : [])
      + (policy.allowed.contains(.act) ? actions : [])
  }
}
