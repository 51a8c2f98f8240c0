// SPDX-License-Identifier: GPL-3.0-or-later

/// A notification as it is told to the owner: what has happened, and what was fetched about it.
public struct NotificationReport: Hashable, Sendable {
  /// What has happened: with the flags, category and count that the phone said last.
  public var event: NotificationEvent
  /// What was fetched; nothing for one that was removed.
  public var attributes: NotificationAttributes
  /// The app's name as the phone's user knows it; its id where the phone has no name for it. Nil where
  /// the app was not asked for.
  public var app: String?
  /// Whether an earlier session of this phone already brought it.
  public var isRepeat = false
  /// Why nothing could be fetched.
  public var failure: FetchFailure?

  public init(
    _ event: NotificationEvent, attributes: NotificationAttributes = .init(), app: String? = nil,
    failure: FetchFailure? = nil
  ) {
    self.event = event
    self.attributes = attributes
    self.app = app
    self.failure = failure
  }
}

/// Why a command on the Control Point brought nothing. It costs this command, not the session.
public enum FetchFailure: Error, Hashable, Sendable {
  /// The phone refused it, with this ATT error code.
  case refused(UInt8)
  /// The Data Source fell silent before the answer was whole.
  case timedOut
  /// The Data Source sent something that is not the answer.
  case malformed(DataSourceError)
  /// So many notifications wait that this one is not fetched.
  case tooMany
  /// The link or the session ended.
  case ended
}

extension FetchFailure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .refused(let code):
      ControlPointError(rawValue: code).name ?? "refused with \(code)"
    case .timedOut: "the phone did not answer in time"
    case .malformed(let error): "the phone sent \(error)"
    case .tooMany: "too many notifications are waiting"
    case .ended: "the session ended"
    }
  }
}
