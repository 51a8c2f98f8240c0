// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Board
import GATT
import Mgmt

/// Assumptions about iOS. Each has a name to change it by (`--quirk NAME=VALUE`); docs/guesses.md
/// gives its source.
struct Quirks: Hashable, Sendable {
  /// What to advertise while a connected phone does not share its notifications yet.
  var sharingAdvertisement = SharingAdvertisement.quiet
  /// The notification consumer's times.
  var consumer = ConsumerSettings.Timing()
  /// The media remote's settings.
  var media = RemoteSettings()
  /// How long a bonded phone has to start encryption by itself.
  var encryptionPause: Duration = .seconds(5)
  /// Which ANCS to use if a phone has two.
  var notificationCenter = WantedService.Instance.last
  /// How to verify the handles of an earlier session.
  var handles = HandleTrust.assume
  /// The delay after encryption before indicating that the board's own services have changed; nil:
  /// never.
  var ownChanges: Duration? = .seconds(10)
  /// Whether links stay on the 1M PHY.
  var onlyPHY1M = false
  /// Whether to keep searching for ANCS and AMS while the phone lacks them.
  var searches = true
  /// Whether to end a link without a working ANCS, so that the phone reconnects.
  var reconnects = true

  /// An assumption that can be changed.
  struct Entry: Sendable {
    let name: String
    /// What it changes, and its default, for the help.
    let summary: String
    /// Its valid values, which are written only for an error.
    let values: @Sendable () -> String
    /// Sets its value; false if the text is not valid.
    let set: @Sendable (inout Quirks, String) -> Bool
  }

  /// All of them.
  static let entries: [Entry] = [
    choice(
      "sharing-advertisement",
      "the solicitation next to a phone that does not share yet: quiet (nobody can connect to "
        + "it), connectable, off (quiet)",
      ["quiet": .quiet, "connectable": .connectable, "off": .off]
    ) { $0.sharingAdvertisement = $1 },
    duration("encrypt-pause", "seconds that a bonded phone has to encrypt by itself (5)") {
      $0.encryptionPause = $1
    }, duration("probe", "seconds between watchdog requests (900)") { $0.consumer.probe = $1 },
    duration("silence", "seconds of silence before subscribing again (21600)") {
      $0.consumer.silence = $1
    },
    duration("retry", "first pause after Share System Notifications was refused (5)") {
      $0.consumer.retry = $1
    }, duration("call", "maximum seconds that a call rings (120)") { $0.consumer.call = $1 },
    choice(
      "ancs", "which ANCS to use if there are two: first, last (last)",
      ["first": .first, "last": .last]
    ) { $0.notificationCenter = $1 },
    choice(
      "handles",
      "how to trust remembered handles: assume, and verify them after the first subscription; "
        + "verify; hash; or discover again (assume)",
      ["assume": .assume, "verify": .verify, "hash": .hash, "discover": .discover]
    ) { $0.handles = $1 },
    duration(
      "preexisting",
      "seconds after a subscription in which notifications count as pre-existing if the phone says so (10)"
    ) { $0.consumer.preExisting = $1 },
    flag(
      "response-proves",
      "whether a response on the Control Point proves permission to read notifications: on, off (off)"
    ) { $0.consumer.responsesProve = $1 },
    flag("player-name", "whether to register for the player's name: on, off (on)") {
      $0.media.unwanted = $1 ? [] : [.playerName]
    },
    choice("phy", "the PHYs that links may use: any, 1m (any)", ["any": false, "1m": true]) {
      $0.onlyPHY1M = $1
    },
    flag("own-changes", "whether to indicate changes of the board's services: on, off (on)") {
      $0.ownChanges = $1 ? .seconds(10) : nil
    },
    flag("search", "whether to keep searching for a missing ANCS or AMS: on, off (on)") {
      $0.searches = $1
    },
    flag("reconnect", "whether to end a link without a working ANCS once: on, off (on)") {
      $0.reconnects = $1
    },
  ]

  /// Applies `NAME=VALUE`; false if the name is unknown or the value is not valid.
  mutating func set(_ text: String) -> Bool {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let entry = Self.entries.first(where: { $0.name == parts[0] }) else {
      return false
    }
    return entry.set(&self, String(parts[1]))
  }

  private static func duration(
    _ name: String, _ summary: String, _ set: @escaping @Sendable (inout Quirks, Duration) -> Void
  ) -> Entry {
    Entry(name: name, summary: summary, values: { "a number of seconds in quotes" }) {
      quirks, text in
      guard let seconds = Double(text), seconds > 0, seconds < 1e9 else { return false }
      set(&quirks, .milliseconds(Int64(seconds * 1000)))
      return true
    }
  }

  private static func flag(
    _ name: String, _ summary: String, _ set: @escaping @Sendable (inout Quirks, Bool) -> Void
  ) -> Entry {
    choice(name, summary, ["on": true, "off": false], set)
  }

  /// One of these words.
  private static func choice<Value: Sendable>(
    _ name: String, _ summary: String, _ words: KeyValuePairs<String, Value>,
    _ set: @escaping @Sendable (inout Quirks, Value) -> Void
  ) -> Entry {
    let values: @Sendable () -> String = {
      let names = words.map { $0.key }
      return "\(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")"
    }
    return Entry(name: name, summary: summary, values: values) { quirks, text in
      guard let value = words.first(where: { $0.key == text })?.value else { return false }
      set(&quirks, value)
      return true
    }
  }
}

/// How to verify the handles of an earlier session.
enum HandleTrust: Sendable {
  /// The first subscription is written at once, and then one request asks where ANCS and AMS are now: a phone gives up
  /// an accessory whose links end before it has subscribed.
  case assume
  /// One request asks where ANCS and AMS are now.
  case verify
  /// The phone's Database Hash must be unchanged. iPhones have none.
  case hash
  /// Handles are not kept.
  case discover
}
