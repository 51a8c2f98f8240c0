// SPDX-License-Identifier: GPL-3.0-or-later
import ATT

/// Why a command on the Control Point brought nothing. It costs this command, not the session.
public enum FetchFailure: Error, Hashable, Sendable {
  /// The phone refused it.
  case refused(ErrorCode)
  /// The Data Source fell silent before the answer was whole.
  case timedOut
  /// The Data Source sent something that is not the answer.
  case malformed(DataSourceError)
  /// The command did not get to the phone, or what came back on the Control Point makes no sense.
  case undelivered(ATTFailure)
  /// So many notifications wait that this one is not fetched.
  case tooMany
  /// The phone shows no Control Point or no Data Source.
  case unsupported
  /// The link or the session ended.
  case ended

  /// The phone's error code, where it refused.
  public var code: ErrorCode? {
    if case .refused(let code) = self { code } else { nil }
  }
}

extension FetchFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let code): ControlPointError(rawValue: code.rawValue).name ?? code.description
    case .timedOut: "the phone did not answer in time"
    case .malformed(let error): "the phone sent \(error)"
    case .undelivered(let failure): failure.description
    case .tooMany: "too many notifications are waiting"
    case .unsupported: "the phone tells no more than that there is a notification"
    case .ended: "the session ended"
    }
  }
}
