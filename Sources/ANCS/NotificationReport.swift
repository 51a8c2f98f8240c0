// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// A notification as clients are told of it: what has happened, and what was fetched about it.
public struct NotificationReport: Hashable, Sendable {
  /// What has happened: with the flags, category and count that the phone said last.
  public var event: NotificationEvent
  /// What was fetched; nothing for one that was removed.
  public var attributes: NotificationAttributes
  /// The app's name as the phone's user knows it; its id where the phone has no name for it. Nil where
  /// the app was not asked for.
  public var app: String?
  /// Its date in UTC; nil where the date, or the phone's time zone, is not known.
  public var sent: WallTime?
  /// Whether clients were told of it in an earlier session of this phone.
  public var isRepeat = false
  /// Whether its phone is away, or has not said yet whether it still has it.
  public var isStale = false
  /// What the owner's rules make of it.
  public var standing = Standing.usual
  /// Why nothing, or not everything, was fetched.
  public var failure: String?

  /// What is made of a notification.
  public enum Standing: Hashable, Sendable {
    case usual
    case urgent
    /// Nobody is told of it.
    case hidden
  }

  public init(
    _ event: NotificationEvent, attributes: NotificationAttributes = .init(), app: String? = nil,
    failure: FetchFailure? = nil
  ) {
    self.event = event
    self.attributes = attributes
    self.app = app
    self.failure = failure?.description
  }
}
