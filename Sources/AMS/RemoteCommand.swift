// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import Wire

/// A command for the phone's player, written as one byte to the Remote Command characteristic (AMS
/// specification, Remote Command). Reserved numbers are kept.
public struct RemoteCommand: NamedNumber {
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

  /// The names on command lines, in the order of the numbers.
  public static let names = [
    "play", "pause", "toggle", "next", "previous", "volume-up", "volume-down", "repeat", "shuffle",
    "skip-forward", "skip-backward", "like", "dislike", "bookmark",
  ]

  private static let specificationNames = [
    "Play", "Pause", "TogglePlayPause", "NextTrack", "PreviousTrack", "VolumeUp", "VolumeDown", "AdvanceRepeatMode",
    "AdvanceShuffleMode", "SkipForward", "SkipBackward", "LikeTrack", "DislikeTrack", "BookmarkTrack",
  ]

  /// Decodes the notified list of commands that the player supports, one byte each. It replaces the
  /// earlier list, and is empty while there is no player.
  public static func list(decoding value: [UInt8]) -> [RemoteCommand] {
    var seen: Set<RemoteCommand> = []
    return value.map(RemoteCommand.init(rawValue:)).filter { seen.insert($0).inserted }
  }

  /// The specification's name, or `reserved(14)`.
  public var description: String {
    rawValue < Self.specificationNames.count ? Self.specificationNames[Int(rawValue)] : "reserved(\(rawValue))"
  }
}

/// Why a command was not sent to the player.
public enum MediaFailure: Error, Hashable, Sendable, CustomStringConvertible {
  /// The phone refused it.
  case refused(ErrorCode)
  /// The phone has no Remote Command characteristic.
  case noRemoteCommand
  /// It did not reach the phone.
  case undelivered(ATTFailure)

  public var description: String {
    switch self {
    case .refused(let code): code.nameInAMS ?? code.description
    case .noRemoteCommand: "the phone accepts no media commands"
    case .undelivered(let failure): failure.description
    }
  }
}

/// Why the phone refuses a write or a read of the Media Service (AMS specification, Error Codes).
extension ErrorCode {
  /// The service is not set up: for example, there is no subscription to Entity Update.
  public static let invalidState = ErrorCode(0xA0)
  /// The command is malformed.
  public static let invalidCommand = ErrorCode(0xA1)
  /// The attribute is empty.
  public static let absentAttribute = ErrorCode(0xA2)

  /// The name in the AMS specification; nil for codes that AMS does not define.
  public var nameInAMS: String? {
    switch self {
    case .invalidState: "Invalid State"
    case .invalidCommand: "Invalid Command"
    case .absentAttribute: "Absent Attribute"
    default: nil
    }
  }
}
