// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import JSON

/// The entities of a phone in Home Assistant. Their names are in its style, and without the device's name.
struct PhoneEntities {
  let topics: BoardTopics
  let policy: MirrorPolicy
  let phone: TopicName

  var all: [Entity] { events + triggers + notifications + link + player + buttons }

  private func topic(_ topic: BoardTopics.PhoneTopic) -> JSONValue {
    .string(topics.of(phone, topic))
  }

  // MARK: Events

  private var events: [Entity] {
    func event(
      _ key: String, _ name: String, _ icon: String, _ topic: BoardTopics.PhoneTopic,
      _ types: [String]
    ) -> Entity {
      Entity(
        key: key, platform: "event",
        members: [
          "name": .string(name), "ic": .string("mdi:\(icon)"), "evt_typ": .strings(types),
          "stat_t": self.topic(topic),
          "val_tpl": "{{ dict(value_json, event_type=value_json.change) | to_json }}",
        ])
    }
    return [
      event(
        "notification", "Notification", "message-text", .notificationEvent,
        ["added", "modified", "removed"]),
      event("call", "Call", "phone", .callEvent, ["incoming", "ended", "missed"]),
    ]
  }

  private var triggers: [Entity] {
    func trigger(
      _ type: String, _ subtype: String, _ topic: BoardTopics.PhoneTopic, _ value: String,
      _ payload: String, isWanted: Bool = true
    ) -> Entity {
      Entity(
        key: "\(type)-\(subtype)", platform: "device_automation",
        members: [
          "atype": "trigger", "type": .string(type), "stype": .string(subtype),
          "t": self.topic(topic), "val_tpl": .string("{{ \(value) }}"), "pl": .string(payload),
        ], isWanted: isWanted)
    }
    let category = "value_json.category if value_json.change == 'added' else ''"
    return [
      trigger("call", "incoming", .callEvent, "value_json.change", "incoming"),
      trigger("missed-call", "added", .callEvent, "value_json.change", "missed"),
    ]
      + ANCS.Category.names.map {
        trigger(
          "notification", $0, .notificationEvent, category, $0,
          isWanted: Category($0).map(policy.triggers.contains) ?? false)
      }
  }

  // MARK: What is there

  /// The counted categories, with their icons. The first ones are enabled.
  private static let counters: [(category: String, name: String, icon: String, isEnabled: Bool)] = [
    ("missed-call", "Missed calls", "phone-missed", true),
    ("social", "Social notifications", "forum", true),
    ("email", "Email notifications", "email", true),
    ("other", "Other notifications", "bell-outline", false),
    ("incoming-call", "Incoming calls", "phone-incoming", false),
    ("voicemail", "Voicemails", "voicemail", false),
    ("schedule", "Calendar notifications", "calendar", false),
    ("news", "News notifications", "newspaper", false),
    ("health-and-fitness", "Health notifications", "heart-pulse", false),
    ("business-and-finance", "Finance notifications", "finance", false),
    ("location", "Location notifications", "map-marker", false),
    ("entertainment", "Entertainment notifications", "movie-open", false),
  ]

  private var notifications: [Entity] {
    func count(
      _ key: String, _ name: String, _ icon: String, _ value: String, isEnabled: Bool
    ) -> Entity {
      Entity(
        key: key, platform: "sensor",
        members: [
          "name": .string(name), "ic": .string("mdi:\(icon)"), "stat_cla": "measurement",
          "stat_t": topic(.counts), "val_tpl": .string("{{ value_json.\(value) }}"),
          // `nil` would be JSON's null.
          "json_attr_t": isEnabled ? .some(topic(.counts)) : .none,
          "json_attr_tpl": isEnabled
            ? .some("{{ {'as_of': value_json.as_of | default(none)} | to_json }}") : .none,
          "en": isEnabled ? .none : .some(false),
        ], outlivesLink: true)
    }
    return [
      Entity(
        key: "ringing", platform: "binary_sensor",
        members: [
          "name": "Incoming call", "ic": "mdi:phone-ring", "stat_t": topic(.call),
          "val_tpl": "{{ value_json.state }}", "pl_on": "ringing", "pl_off": "idle",
          "json_attr_t": topic(.call),
        ]),
      count("notifications", "Notifications", "bell", "total", isEnabled: true),
    ]
      + Self.counters.map {
        count(
          "count-\($0.category)", $0.name, $0.icon, "categories['\($0.category)']",
          isEnabled: $0.isEnabled)
      }
  }

  private var link: [Entity] {
    let state = topic(.state)
    return [
      Entity(
        key: "battery", platform: "sensor",
        members: [
          "dev_cla": "battery", "unit_of_meas": "%", "stat_cla": "measurement",
          "ent_cat": "diagnostic", "stat_t": topic(.battery), "val_tpl": "{{ value_json.level }}",
        ]),
      Entity(
        key: "connected", platform: "binary_sensor",
        members: [
          "dev_cla": "connectivity", "name": "Connected", "ent_cat": "diagnostic", "stat_t": state,
          "val_tpl": "{{ value_json.state }}", "pl_on": "online", "pl_off": "offline",
        ], outlivesLink: true),
      Entity(
        key: "seen", platform: "sensor",
        members: [
          "name": "Last seen", "ic": "mdi:clock-outline", "dev_cla": "timestamp",
          "ent_cat": "diagnostic", "stat_t": state,
          "val_tpl": "{{ value_json.seen | default(none) }}",
        ], outlivesLink: true),
      Entity(
        key: "authorization", platform: "binary_sensor",
        members: [
          "name": "Shares notifications", "ic": "mdi:bell-check", "ent_cat": "diagnostic",
          // Anything else is unknown to Home Assistant too.
          "stat_t": state,
          "val_tpl":
            "{{ value_json.authorization if value_json.authorization in ['granted', 'refused'] else 'None' }}",
          "pl_on": "granted", "pl_off": "refused",
        ]),
      Entity(
        key: "signal", platform: "sensor",
        members: [
          "dev_cla": "signal_strength", "unit_of_meas": "dBm", "stat_cla": "measurement",
          "ent_cat": "diagnostic", "stat_t": state, "val_tpl": "{{ value_json.rssi }}",
          "en": false,
        ]),
    ]
  }

  // MARK: The player

  /// Home Assistant's own names for what plays, so that a media player can be made of the sensor alone.
  private static let attributes = """
    {% set track = value_json.track | default({}) %}{% set player = value_json.player %}\
    {{ {'app_name': player.name | default(none), 'media_title': track.title | default(none), \
    'media_artist': track.artist | default(none), 'media_album_name': track.album | default(none), \
    'media_duration': track.duration | default(none), 'media_position': player.elapsed | default(none), \
    'media_position_updated_at': value_json.as_of | default(none), \
    'volume_level': player.volume | default(none)} | to_json }}
    """

  private var player: [Entity] {
    let media = topic(.media)
    let level = policy.content.ofMedia(phone)
    func choice(
      _ key: String, _ name: String, _ icon: String, _ value: String, _ options: [String],
      attributes: String? = nil, isWanted: Bool = true
    ) -> Entity {
      Entity(
        key: key, platform: "sensor",
        members: [
          "name": .string(name), "ic": .string("mdi:\(icon)"), "dev_cla": "enum",
          "ops": .strings(options), "stat_t": media,
          "val_tpl": .string("{{ value_json.\(value) or 'off' }}"),
          "json_attr_t": attributes.map { _ in media },
          "json_attr_tpl": attributes.map { .string($0) },
        ], isWanted: isWanted)
    }
    // A state has at most 255 characters.
    func text(_ key: String, _ name: String, _ icon: String, _ value: String) -> Entity {
      Entity(
        key: key, platform: "sensor",
        members: [
          "name": .string(name), "ic": .string("mdi:\(icon)"), "stat_t": media,
          "val_tpl": .string("{{ (value_json.track.\(value) or '')[:255] }}"),
        ], isWanted: level >= .title)
    }
    let modes = ["off", "one", "all"]
    return [
      choice(
        "player", "Player", "play-circle", "player.state", ["off"] + PlaybackState.names,
        attributes: Self.attributes),
      Entity(
        key: "volume", platform: "sensor",
        members: [
          "name": "Volume", "ic": "mdi:volume-high", "unit_of_meas": "%",
          "stat_cla": "measurement", "stat_t": media,
          "val_tpl":
            "{{ (value_json.player.volume * 100) | round if value_json.player.volume is number else none }}",
        ]),
      choice(
        "repeat", "Repeat", "repeat", "queue.repeat", modes, isWanted: level >= .app),
      choice(
        "shuffle", "Shuffle", "shuffle", "queue.shuffle", modes, isWanted: level >= .app),
      text("track", "Track", "music-note", "title"),
      text("artist", "Artist", "account-music", "artist"), text("album", "Album", "album", "album"),
    ]
  }

  // MARK: Buttons

  /// The player's commands, with their icons. The first ones are enabled.
  private static let commands: [(command: String, name: String, icon: String, isEnabled: Bool)] = [
    ("toggle", "Play or pause", "play-pause", true), ("next", "Next track", "skip-next", true),
    ("previous", "Previous track", "skip-previous", true),
    ("volume-up", "Volume up", "volume-plus", true),
    ("volume-down", "Volume down", "volume-minus", true), ("play", "Play", "play", false),
    ("pause", "Pause", "pause", false), ("repeat", "Change repeat mode", "repeat", false),
    ("shuffle", "Change shuffle mode", "shuffle", false),
    ("skip-forward", "Skip forward", "fast-forward", false),
    ("skip-backward", "Skip backward", "rewind", false), ("like", "Like", "thumb-up", false),
    ("dislike", "Dislike", "thumb-down", false), ("bookmark", "Bookmark", "bookmark", false),
  ]

  private var buttons: [Entity] {
    func button(
      _ key: String, _ name: String, _ icon: String, _ method: BoardMethod,
      _ parameters: JSONObject, _ category: String? = nil, isEnabled: Bool = true
    ) -> Entity {
      Entity(
        key: key, platform: "button",
        members: [
          "name": .string(name), "ic": .string("mdi:\(icon)"),
          "ent_cat": category.map { .string($0) },
          "cmd_t": .string(topics.request(method.name, of: phone)),
          "pl_prs": .string(JSONValue.object(parameters).text), "en": isEnabled ? nil : false,
        ], outlivesLink: method.permission == .forget,
        isWanted: policy.allowed.contains(method.permission))
    }
    return Self.commands.map {
      button(
        "media-\($0.command)", $0.name, $0.icon, .sendMediaCommand,
        ["command": .string($0.command)], isEnabled: $0.isEnabled)
    } + [
      button("answer", "Answer call", "phone", .call, ["action": "answer"]),
      button("decline", "Decline call", "phone-hangup", .call, ["action": "decline"]),
      button("clear", "Clear notifications", "notification-clear-all", .clear, [:]),
      button("forget", "Forget", "bluetooth-off", .forgetPhone, [:], "config"),
    ]
  }
}
