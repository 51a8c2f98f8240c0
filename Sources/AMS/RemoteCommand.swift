// SPDX-License-Identifier: GPL-3.0-or-later

/// A command for what plays on the phone, written as one byte to the Remote Command characteristic (AMS
/// specification, Remote Command). Numbers that the specification reserves are kept.
public struct RemoteCommand: RawRepresentable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let play = RemoteCommand(rawValue: 0)
  public static let pause = RemoteCommand(rawValue: 1)
  public static let togglePlayPause = RemoteCommand(rawValue: 2)
  public static let nextTrack = RemoteCommand(rawValue: 3)
  public static let previousTrack = RemoteCommand(rawValue: 4)
  public static let volumeUp = RemoteCommand(rawValue: 5)
  public static let volumeDown = RemoteCommand(rawValue: 6)
  public static let advanceRepeatMode = RemoteCommand(rawValue: 7)
  public static let advanceShuffleMode = RemoteCommand(rawValue: 8)
  public static let skipForward = RemoteCommand(rawValue: 9)
  public static let skipBackward = RemoteCommand(rawValue: 10)
  public static let likeTrack = RemoteCommand(rawValue: 11)
  public static let dislikeTrack = RemoteCommand(rawValue: 12)
  public static let bookmarkTrack = RemoteCommand(rawValue: 13)

  /// The names that people type, in the order of the numbers.
  public static let names = [
    "play", "pause", "toggle", "next", "previous", "volume-up", "volume-down", "repeat", "shuffle",
    "skip-forward", "skip-backward", "like", "dislike", "bookmark",
  ]

  private static let specificationNames = [
    "Play", "Pause", "TogglePlayPause", "NextTrack", "PreviousTrack", "VolumeUp", "VolumeDown",
    "AdvanceRepeatMode", "AdvanceShuffleMode", "SkipForward", "SkipBackward", "LikeTrack",
    "DislikeTrack", "BookmarkTrack",
  ]

  /// The name that people type; nil for a reserved number.
  public var name: String? { rawValue < Self.names.count ? Self.names[Int(rawValue)] : nil }

  /// The command of that name.
  public init?(name: String) {
    guard let index = Self.names.firstIndex(of: name) else { return nil }
    self.init(rawValue: UInt8(index))
  }

  /// Reads the list of commands that the player supports, as the phone notifies it: a byte each. It
  /// replaces the list before. Empty while nothing plays.
  public static func list(decoding value: [UInt8]) -> [RemoteCommand] {
    var seen: Set<RemoteCommand> = []
    return value.map(RemoteCommand.init(rawValue:)).filter { seen.insert($0).inserted }
  }
}

extension RemoteCommand: CustomStringConvertible {
  /// The specification's name, or `reserved(14)`.
  public var description: String {
    rawValue < Self.specificationNames.count
      ? Self.specificationNames[Int(rawValue)] : "reserved(\(rawValue))"
  }
}
