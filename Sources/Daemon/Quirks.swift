// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import GATT

/// What is believed about iOS, each belief by a name under which it can be changed (`--quirk NAME=VALUE`;
/// docs/guesses.md says where each comes from).
struct Quirks: Hashable, Sendable {
  /// What the notification consumer waits for, and how long.
  var consumer = ConsumerSettings.Timing()
  /// How the media remote goes about its work.
  var media = RemoteSettings()
  /// How long a bonded phone has to encrypt by itself.
  var encryptionPause: Duration = .seconds(5)
  /// Which ANCS counts where a phone shows two.
  var notificationCenter = Client.Instance.last
  /// When a phone is told that the board's own services have changed; nil: never.
  var ownChanges: Duration? = .seconds(10)
  /// Whether a phone that shows no ANCS is looked at again and again.
  var searches = true

  /// A belief that can be changed.
  struct Entry: Sendable {
    let name: String
    /// What it changes, and what it is without being told, for the help.
    let summary: String
    /// Reads its value; false where it is none.
    let set: @Sendable (inout Quirks, String) -> Bool
  }

  /// All of them.
  static let entries: [Entry] = [
    duration("encrypt-pause", "a bonded phone's time to encrypt by itself (5)") {
      $0.encryptionPause = $1
    }, duration("probe", "seconds between watchdog requests (900)") { $0.consumer.probe = $1 },
    duration("silence", "seconds of silence before subscribing again (21600)") {
      $0.consumer.silence = $1
    },
    duration("retry", "first pause after Share System Notifications was refused (5)") {
      $0.consumer.retry = $1
    }, duration("call", "seconds that a call rings at most (120)") { $0.consumer.call = $1 },
    choice("ancs", "which ANCS counts where there are two: first, last (last)") {
      switch $1 {
      case "first": $0.notificationCenter = .first
      case "last": $0.notificationCenter = .last
      default: return false
      }
      return true
    },
    flag("player-name", "whether the player's name is registered: on, off (on)") {
      $0.media.unwanted = $1 ? [] : [.playerName]
    },
    flag("own-changes", "whether a phone is told of changes of the board's services (on)") {
      $0.ownChanges = $1 ? .seconds(10) : nil
    },
    flag("search", "whether ANCS is looked for again while it is missing: on, off (on)") {
      $0.searches = $1
    },
  ]

  /// Applies `NAME=VALUE`; false where there is no such name, or the value is none of its.
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
    Entry(name: name, summary: summary) { quirks, text in
      guard let seconds = Double(text), seconds > 0, seconds < 1e9 else { return false }
      set(&quirks, .milliseconds(Int64(seconds * 1000)))
      return true
    }
  }

  private static func choice(
    _ name: String, _ summary: String, _ set: @escaping @Sendable (inout Quirks, String) -> Bool
  ) -> Entry { Entry(name: name, summary: summary, set: set) }

  private static func flag(
    _ name: String, _ summary: String, _ set: @escaping @Sendable (inout Quirks, Bool) -> Void
  ) -> Entry {
    Entry(name: name, summary: summary) { quirks, text in
      guard text == "on" || text == "off" else { return false }
      set(&quirks, text == "on")
      return true
    }
  }
}
