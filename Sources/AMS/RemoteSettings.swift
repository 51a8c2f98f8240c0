// SPDX-License-Identifier: GPL-3.0-or-later

/// How a media remote goes about its work.
public struct RemoteSettings: Hashable, Sendable {
  /// Attributes that are not registered. (Registering the player's name crashed the phone's side on iOS
  /// 8.3: rdar 21283910.)
  public var unwanted: Set<MediaAttribute> = []
  /// How long changes are gathered before they are told: what belongs together comes within it.
  public var gathering: Duration = .milliseconds(50)
  /// The same for the first values, which follow the registration; less where all have come.
  public var firstGathering: Duration = .milliseconds(200)

  public init() {}
}
