// SPDX-License-Identifier: GPL-3.0-or-later
import ATT

/// Why a command did not reach the player.
public enum MediaFailure: Error, Hashable, Sendable {
  /// The player does not take it now, as it has said; it was not sent.
  case unsupported(RemoteCommand)
  /// The phone refused it.
  case refused(ErrorCode)
  /// The phone takes no commands.
  case noRemoteCommand
  /// It did not get to the phone.
  case undelivered(ATTFailure)

  /// The phone's error code, where it refused.
  public var code: ErrorCode? {
    if case .refused(let code) = self { code } else { nil }
  }
}

extension MediaFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unsupported(let command): "the player does not take \(command.name ?? "\(command)") now"
    case .refused(let code): MediaError(rawValue: code.rawValue).name ?? code.description
    case .noRemoteCommand: "the phone takes no media commands"
    case .undelivered(let failure): failure.description
    }
  }
}
