// SPDX-License-Identifier: GPL-3.0-or-later

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
