// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Arguments
import Board
import Control
import GATT
import Mgmt

/// Assumptions about iOS. Each has a name to change it by (`--quirk NAME=VALUE`); docs/guesses.md
/// gives its source. That about PHYs is among the radio's settings.
struct Quirks: Hashable, Sendable {
  /// What to advertise while a connected phone does not share its notifications yet.
  var sharingAdvertisement = SharingAdvertisement.quiet
  /// The notification consumer's times.
  var consumer = ConsumerTiming()
  /// The media attributes that are not registered.
  var unwantedMedia: Set<MediaAttribute> = []
  /// How long a bonded phone has to start encryption by itself.
  var encryptionPause: Duration = .seconds(5)
  /// Which ANCS to use if a phone has two.
  var notificationCenter = WantedService.Instance.last
  /// How to verify the handles of an earlier session.
  var handles = HandleTrust.assume
  /// The delay after encryption before indicating that the board's own services have changed; nil:
  /// never.
  var ownChanges: Duration? = .seconds(10)
  /// Whether to keep searching for ANCS and AMS while the phone lacks them.
  var searches = true
  /// Whether to end a link without a working ANCS, so that the phone reconnects.
  var reconnects = true
}

extension Grammar<RunOptions> {
  /// The keys of `[quirks]`, and the names of `--quirk`.
  static let quirks = Grammar(assumptions.effective(.newLink) + [physicalLayer.effective(.nextStart)])

  private static let assumptions: [RunOption] = [
    word(
      "--sharing-advertisement", ["quiet": .quiet, "connectable": .connectable, "off": .off],
      help: "the solicitation next to a phone that does not share yet: quiet (nobody can connect "
        + "to it), connectable, off (quiet)", set: { $0.quirks.sharingAdvertisement = $1 }),
    .time(
      "--encrypt-pause", help: "seconds that a bonded phone has to encrypt by itself (5)",
      set: { $0.quirks.encryptionPause = $1 }),
    .time(
      "--probe", help: "seconds between watchdog requests (900)",
      set: { $0.quirks.consumer.probe = $1 }),
    .time(
      "--silence", help: "seconds of silence before subscribing again (21600)",
      set: { $0.quirks.consumer.silence = $1 }),
    .time(
      "--retry", help: "first pause after Share System Notifications was refused (5)",
      set: { $0.quirks.consumer.retry = $1 }),
    .time("--call", help: "maximum seconds that a call rings (120)", set: { $0.quirks.consumer.call = $1 }),
    word(
      "--ancs", ["first": .first, "last": .last], help: "which ANCS to use if there are two: first, last (last)",
      set: { $0.quirks.notificationCenter = $1 }),
    .choice(
      "--handles",
      help: "how to trust remembered handles: assume, and verify them after the first "
        + "subscription; verify; hash; or discover again (assume)", set: { $0.quirks.handles = $1 }),
    .time(
      "--preexisting",
      help: "seconds after a subscription in which notifications count as pre-existing if the "
        + "phone says so (10)",
      set: { $0.quirks.consumer.preExisting = $1 }),
    onOff(
      "--response-proves",
      help: "whether a response on the Control Point proves permission to read notifications: "
        + "on, off (off)",
      set: { $0.quirks.consumer.responsesProve = $1 }),
    onOff(
      "--player-name", help: "whether to register for the player's name: on, off (on)",
      set: { $0.quirks.unwantedMedia = $1 ? [] : [.playerName] }),
    onOff(
      "--own-changes", help: "whether to indicate changes of the board's services: on, off (on)",
      set: { $0.quirks.ownChanges = $1 ? .seconds(10) : nil }),
    onOff(
      "--search", help: "whether to keep searching for a missing ANCS or AMS: on, off (on)",
      set: { $0.quirks.searches = $1 }),
    onOff(
      "--reconnect", help: "whether to end a link without a working ANCS once: on, off (on)",
      set: { $0.quirks.reconnects = $1 }),
  ]

  /// The controller is told once, when its adapter is set up.
  private static let physicalLayer: RunOption = word(
    "--phy", ["any": false, "1m": true], help: "the PHYs that links may use: any, 1m (any)",
    set: { $0.radio.onlyPHY1M = $1 })

  private static func onOff(
    _ name: String, help: @autoclosure @escaping LazyText, set: @escaping RunOption.Setter<Bool>
  ) -> RunOption {
    word(name, ["on": true, "off": false], help: help(), set: set)
  }

  /// An option whose value is one of these words.
  static func word<Value: Sendable>(
    _ name: String, _ words: KeyValuePairs<String, Value>, help: @autoclosure @escaping LazyText,
    set: @escaping RunOption.Setter<Value>
  ) -> RunOption {
    let names: LazyWords = { words.map { $0.key } }
    return .named(
      name, value: names().joined(separator: "|"), names: names(), help: help(),
      read: { text in words.first { $0.key == text }?.value }, set: set)
  }
}

extension RunOptions {
  /// Applies `NAME=VALUE` of `--quirk`; false if the name is unknown or the value is not valid.
  mutating func setQuirk(_ text: String) -> Bool {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let quirk = Grammar.quirks.setting(String(parts[0])) else {
      return false
    }
    return (try? quirk.set(.text(String(parts[1])), in: &self)) != nil
  }
}

/// How to verify the handles of an earlier session.
enum HandleTrust: String, CaseIterable, Sendable {
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
