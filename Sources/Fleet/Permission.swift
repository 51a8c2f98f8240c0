// SPDX-License-Identifier: GPL-3.0-or-later

/// What the broker's clients may ask of a board (`allow` in the settings). Attributes, settings and the timeline are
/// never theirs.
public enum Permission: String, CaseIterable, Sendable {
  /// To steer the player.
  case media
  /// To act on notifications: clear them, answer and decline calls.
  case act
  /// To read lists and the state.
  case read
  /// To open and close pairing.
  case pairing
  /// To have a phone's bond removed.
  case forget

  /// Those that hold where the settings name none.
  public static let usual: Set<Permission> = [.media, .act, .read]
}
