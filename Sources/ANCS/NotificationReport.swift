// SPDX-License-Identifier: GPL-3.0-or-later
public import Wire

/// A notification as published to clients: its event, and its fetched data.
///
/// From the phone's first response to the line of JSON, this one value is passed by reference. Changing a shared one
/// makes a copy.
public struct NotificationReport: Hashable, Sendable {
  private struct Fields: Hashable, Sendable {
    var event: NotificationEvent
    var attributes = NotificationAttributes()
    var app: String?
    var sent: WallTime?
    var isRepeat = false
    var isStale = false
    var display = Display.usual
    var failure: String?
  }

  /// An array of one element, for copy-on-write.
  private var list: [Fields]

  /// How it is shown, by the judgement of the rules.
  public enum Display: Hashable, Sendable {
    case usual
    case urgent
    /// Not published.
    case hidden
  }

  public init(
    _ event: NotificationEvent, attributes: NotificationAttributes = .init(), app: String? = nil,
    failure: FetchFailure? = nil
  ) {
    list = [Fields(event: event, attributes: attributes, app: app, failure: failure?.description)]
  }

  /// The event, with the phone's latest flags, category and count.
  public var event: NotificationEvent {
    get { list[0].event }
    set { list[0].event = newValue }
  }

  /// The fetched attributes; empty for a removed notification.
  public var attributes: NotificationAttributes {
    get { list[0].attributes }
    set { list[0].attributes = newValue }
  }

  /// The app's name as the phone's user knows it; its id if the phone has no name for it. Nil if the app was not
  /// requested.
  public var app: String? {
    get { list[0].app }
    set { list[0].app = newValue }
  }

  /// Its date in UTC; nil if the date or the phone's time zone is unknown.
  public var sent: WallTime? {
    get { list[0].sent }
    set { list[0].sent = newValue }
  }

  /// Whether it was already published in an earlier session of this phone.
  public var isRepeat: Bool {
    get { list[0].isRepeat }
    set { list[0].isRepeat = newValue }
  }

  /// Whether its phone is away, or has not confirmed yet that it still has it.
  public var isStale: Bool {
    get { list[0].isStale }
    set { list[0].isStale = newValue }
  }

  /// How it is shown, by the owner's rules.
  public var display: Display {
    get { list[0].display }
    set { list[0].display = newValue }
  }

  /// Why some or all attributes were not fetched.
  public var failure: String? {
    get { list[0].failure }
    set { list[0].failure = newValue }
  }

  // MARK: Two reports about one notification

  /// Its removal, with what clients know about it: the app, the title, and how it is shown.
  ///
  /// - Parameter event: the phone's event; nil if there was none.
  func removal(_ event: NotificationEvent? = nil) -> NotificationReport {
    var removal = NotificationReport(event ?? self.event)
    removal.event.change = .removed
    removal.attributes[.appIdentifier] = attributes.appIdentifier
    removal.attributes[.title] = attributes.title
    (removal.app, removal.display, removal.isStale) = (app, display, isStale)
    return removal
  }

  /// Fills in earlier data for what could not be fetched now.
  mutating func complete(_ known: NotificationReport) {
    var attributes = known.attributes
    attributes.merge(self.attributes)
    (self.attributes, app, display) = (attributes, app ?? known.app, known.display)
  }

  /// Whether it says only what clients already know.
  func says(_ published: NotificationReport) -> Bool {
    attributes == published.attributes && event.flags == published.event.flags
      && event.category == published.event.category && display == published.display
      && failure == published.failure
  }

  /// Whether it is from the same app and of the same kind.
  func resembles(_ other: NotificationReport) -> Bool {
    attributes.appIdentifier == other.attributes.appIdentifier
      && event.category == other.event.category
  }
}
