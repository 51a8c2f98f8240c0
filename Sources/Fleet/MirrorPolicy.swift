// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS

/// The settings for mirroring a board.
public struct MirrorPolicy: Hashable, Sendable {
  /// Makes the digest of a notification, the same on all boards.
  public typealias Digest = ([UInt8]) -> String

  public var content = ContentPolicy()
  /// How many seconds an event is worth sending, and a broker keeps it for absent subscribers.
  public var expiry: UInt32 = 600
  /// Whether to publish events for notifications from before a session, and for repeated ones.
  public var includesPreExisting = false
  /// The prefix of Home Assistant's discovery topics; nil turns discovery off.
  public var discovery: String? = "homeassistant"
  public var allowed = Permission.usual
  /// The first levels of further topics that responses may be sent to.
  public var responsePrefixes: [String] = []
  /// The categories whose notifications trigger Home Assistant's automations for a device.
  public var triggers: Set<Category> = []
  /// The page that Home Assistant links the board to.
  public var link: String?
}

/// What the broker's clients may request (`allow` in the settings). Attributes, settings and the
/// timeline are never available to them.
public enum Permission: String, CaseIterable, Sendable {
  /// Control the player.
  case media
  /// Act on notifications: clear them, answer and decline calls.
  case act
  /// Read lists and the state.
  case read
  /// Open and close pairing.
  case pairing
  /// Remove a phone's bond.
  case forget

  /// The default permissions.
  public static let usual: Set<Permission> = [.media, .act, .read]
}
