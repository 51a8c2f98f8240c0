// SPDX-License-Identifier: GPL-3.0-or-later
public import ANCS

/// The settings for mirroring a board.
public struct MirrorPolicy: Sendable {
  /// Makes the digest of a notification, the same on all boards.
  public typealias Digest = ([UInt8]) -> String

  public var content: ContentPolicy
  /// How many seconds a broker keeps an event for absent subscribers.
  public var expiry: UInt32
  /// Whether to publish events for notifications from before a session, and for repeated ones.
  public var includesPreExisting: Bool
  /// The prefix of Home Assistant's discovery topics; nil turns discovery off.
  public var discovery: String?
  public var allowed: Set<Permission>
  /// The first levels of further topics that responses may be sent to.
  public var responsePrefixes: [String]
  /// The categories whose notifications trigger Home Assistant's automations for a device.
  public var triggers: Set<Category>
  /// The page that Home Assistant links the board to.
  public var link: String?

  public init(
    content: ContentPolicy = ContentPolicy(), expiry: UInt32 = 600,
    includesPreExisting: Bool = false, discovery: String? = "homeassistant",
    allowed: Set<Permission> = Permission.usual, responsePrefixes: [String] = [],
    triggers: Set<Category> = [], link: String? = nil
  ) {
    self.content = content
    self.expiry = expiry
    self.includesPreExisting = includesPreExisting
    self.discovery = discovery
    self.allowed = allowed
    self.responsePrefixes = responsePrefixes
    self.triggers = triggers
    self.link = link
  }
}
