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
  /// Why nothing, or not everything, was fetched.
  public var failure: String?

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
