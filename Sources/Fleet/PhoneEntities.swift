// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import JSON

/// The entities of a phone in Home Assistant. Their names are in its style, and without the device's name.
struct PhoneEntities {
  let discovery: Discovery
  let phone: TopicName

  var all: [Entity] { events + triggers + notifications + link + player + buttons }

  private func topic(_ topic: BoardTopics.PhoneTopic) -> String {
    discovery.topics.of(phone, topic)
  }

  // MARK: Events

  private var events: [Entity] {
    let value = "dict(value_json, event_type=value_json.change) | to_json"
    return [
      Entity(
        "event", "notification", "Notification", icon: "message-text", state: topic(.notificationEvent), value: value,
        ["evt_typ": ["added", "modified", "removed"]]),
      Entity(
        "event", "call", "Call", icon: "phone", state: topic(.callEvent), value: value,
        ["evt_typ": ["incoming", "ended", "missed"]]),
    ]
  }

  private var triggers: [Entity] {
    func trigger(
      _ type: String, _ subtype: String, _ topic: BoardTopics.PhoneTopic, _ value: String,
      _ payload: String, isWanted: Bool = true
    ) -> Entity {
      Entity(
        "device_automation", "\(type)-\(subtype)", value: value,
        [
          "atype": "trigger", "type": .string(type), "stype": .string(subtype),
          "t": .string(self.topic(topic)), "pl": .string(payload),
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
          isWanted: Category($0).map(discovery.policy.triggers.contains) ?? false)
      }
  }

  // MARK: What is there

  /// The counted categories, with their icons. The first ones are enabled.
  private static let counters: [(category: String, name: String, icon: String, isEnabled: Bool)] = [
    ("missed-call", "Missed calls", "phone-missed", true), ("social", "Social notifications", "forum", true),
    ("email", "Email notifications", "email", true), ("other", "Other notifications", "bell-outline", false),
    ("incoming-call", "Incoming calls", "phone-incoming", false), ("voicemail", "Voicemails", "voicemail", false),
    ("schedule", "Calendar notifications", "calendar", false), ("news", "News notifications", "newspaper", false),
    ("health-and-fitness", "Health notifications", "heart-pulse", false),
    ("business-and-finance", "Finance notifications", "finance", false),
    ("location", "Location notifications", "map-marker", false),
    ("entertainment", "Entertainment notifications", "movie-open", false),
  ]

  private var notifications: [Entity] {
    func count(_ key: String, _ name: String, _ icon: String, _ value: String, isEnabled: Bool) -> Entity {
      let members: JSONObject =
        isEnabled
        ? [
          "stat_cla": "measurement", "json_attr_t": .string(topic(.counts)),
          "json_attr_tpl": "{{ {'as_of': value_json.as_of | default(none)} | to_json }}",
        ] : ["stat_cla": "measurement", "en": false]
      return Entity(
        "sensor", key, name, icon: icon, state: topic(.counts), value: "value_json.\(value)",
        members, outlivesLink: true)
    }
    return [
      Entity(
        "binary_sensor", "ringing", "Incoming call", icon: "phone-ring", state: topic(.call), value: "value_json.state",
        ["pl_on": "ringing", "pl_off": "idle", "json_attr_t": .string(topic(.call))]),
      count("notifications", "Notifications", "bell", "total", isEnabled: true),
    ]
      + Self.counters.map {
        count("count-\($0.category)", $0.name, $0.icon, "categories['\($0.category)']", isEnabled: $0.isEnabled)
      }
  }

  private var link: [Entity] {
    let state = topic(.state)
    return [
      Entity(
        "sensor", "battery", in: .diagnostic, state: topic(.battery), value: "value_json.level",
        ["dev_cla": "battery", "unit_of_meas": "%", "stat_cla": "measurement"]),
      Entity(
        "binary_sensor", "connected", "Connected", in: .diagnostic, state: state, value: "value_json.state",
        ["dev_cla": "connectivity", "pl_on": "online", "pl_off": "offline"], outlivesLink: true),
      Entity(
        "sensor", "seen", "Last seen", icon: "clock-outline", in: .diagnostic, state: state,
        value: "value_json.seen | default(none)", ["dev_cla": "timestamp"], outlivesLink: true),
      Entity(
        "binary_sensor", "authorization", "Shares notifications", icon: "bell-check", in: .diagnostic, state: state,
        // Anything else is unknown to Home Assistant too.
        value: "value_json.authorization if value_json.authorization in ['granted', 'refused'] else 'None'",
        ["pl_on": "granted", "pl_off": "refused"]),
      Entity(
        "sensor", "signal", in: .diagnostic, state: state, value: "value_json.rssi",
        ["dev_cla": "signal_strength", "unit_of_meas": "dBm", "stat_cla": "measurement", "en": false]),
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
    let level = discovery.policy.content.ofMedia(phone)
    func choice(
      _ key: String, _ name: String, _ icon: String, _ value: String, _ options: [String],
      _ more: JSONObject = [:], isWanted: Bool = true
    ) -> Entity {
      var members: JSONObject = ["dev_cla": "enum", "ops": .strings(options)]
      members.add(more)
      return Entity(
        "sensor", key, name, icon: icon, state: media, value: "value_json.\(value) or 'off'", members,
        isWanted: isWanted)
    }
    // A state has at most 255 characters.
    func text(_ key: String, _ name: String, _ icon: String, _ value: String) -> Entity {
      Entity(
        "sensor", key, name, icon: icon, state: media,
        value: "(value_json.track.\(value) or '')[:255]", isWanted: level >= .title)
    }
    let modes = ["off", "one", "all"]
    return [
      choice(
        "player", "Player", "play-circle", "player.state", ["off"] + PlaybackState.names,
        ["json_attr_t": .string(media), "json_attr_tpl": .string(Self.attributes)]),
      Entity(
        "sensor", "volume", "Volume", icon: "volume-high", state: media,
        value: "(value_json.player.volume * 100) | round if value_json.player.volume is number else none",
        ["unit_of_meas": "%", "stat_cla": "measurement"]),
      choice("repeat", "Repeat", "repeat", "queue.repeat", modes, isWanted: level >= .app),
      choice("shuffle", "Shuffle", "shuffle", "queue.shuffle", modes, isWanted: level >= .app),
      text("track", "Track", "music-note", "title"),
      text("artist", "Artist", "account-music", "artist"), text("album", "Album", "album", "album"),
    ]
  }

  // MARK: Buttons

  /// The player's commands, with their icons. The first ones are enabled.
  private static let commands: [(command: String, name: String, icon: String, isEnabled: Bool)] = [
    ("toggle", "Play or pause", "play-pause", true), ("next", "Next track", "skip-next", true),
    ("previous", "Previous track", "skip-previous", true), ("volume-up", "Volume up", "volume-plus", true),
    ("volume-down", "Volume down", "volume-minus", true), ("play", "Play", "play", false),
    ("pause", "Pause", "pause", false), ("repeat", "Change repeat mode", "repeat", false),
    ("shuffle", "Change shuffle mode", "shuffle", false), ("skip-forward", "Skip forward", "fast-forward", false),
    ("skip-backward", "Skip backward", "rewind", false), ("like", "Like", "thumb-up", false),
    ("dislike", "Dislike", "thumb-down", false), ("bookmark", "Bookmark", "bookmark", false),
  ]

  private var buttons: [Entity] {
    Self.commands.map {
      discovery.button(
        "media-\($0.command)", $0.name, $0.icon, .sendMediaCommand,
        ["command": .string($0.command)], of: phone, isEnabled: $0.isEnabled)
    } + [
      discovery.button("answer", "Answer call", "phone", .call, ["action": "answer"], of: phone),
      discovery.button("decline", "Decline call", "phone-hangup", .call, ["action": "decline"], of: phone),
      discovery.button("clear", "Clear notifications", "notification-clear-all", .clear, of: phone),
      discovery.button("forget", "Forget", "bluetooth-off", .forgetPhone, of: phone),
    ]
  }
}
