// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// A notification as clients are told of it: what has happened, and what was fetched about it.
///
/// From the first answer of the phone to the line of JSON it is this one value, which is passed from hand to hand as one
/// reference. Who changes it while others have it gets a copy.
public struct NotificationReport: Hashable, Sendable {
  private struct Fields: Hashable, Sendable {
    var event: NotificationEvent
    var attributes = NotificationAttributes()
    var app: String?
    var sent: WallTime?
    var isRepeat = false
    var isStale = false
    var standing = Standing.usual
    var failure: String?
  }

  /// A list of one, because the library copies a list only for who changes what he shares.
  private var list: [Fields]

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
    list = [
      Fields(event: event, attributes: attributes, app: app, failure: failure?.description)
    ]
  }

  /// What has happened: with the flags, category and count that the phone said last.
  public var event: NotificationEvent {
    get { list[0].event }
    set { list[0].event = newValue }
  }

  /// What was fetched; nothing for one that was removed.
  public var attributes: NotificationAttributes {
    get { list[0].attributes }
    set { list[0].attributes = newValue }
  }

  /// The app's name as the phone's user knows it; its id where the phone has no name for it. Nil where
  /// the app was not asked for.
  public var app: String? {
    get { list[0].app }
    set { list[0].app = newValue }
  }

  /// Its date in UTC; nil where the date, or the phone's time zone, is not known.
  public var sent: WallTime? {
    get { list[0].sent }
    set { list[0].sent = newValue }
  }

  /// Whether clients were told of it in an earlier session of this phone.
  public var isRepeat: Bool {
    get { list[0].isRepeat }
    set { list[0].isRepeat = newValue }
  }

  /// Whether its phone is away, or has not said yet whether it still has it.
  public var isStale: Bool {
    get { list[0].isStale }
    set { list[0].isStale = newValue }
  }

  /// What the owner's rules make of it.
  public var standing: Standing {
    get { list[0].standing }
    set { list[0].standing = newValue }
  }

  /// Why nothing, or not everything, was fetched.
  public var failure: String? {
    get { list[0].failure }
    set { list[0].failure = newValue }
  }
}
