// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import Companion
import Wire

/// What the virtual phone is told to do, by a script, a test or somebody at a keyboard.
public enum PhoneCommand: Hashable, Sendable {
  // MARK: Notifications

  /// A notification appears; without a number it gets the next one.
  case add(NotificationContents, uid: NotificationUID? = nil)
  /// So many notifications appear at once, numbered in title and message.
  case burst(Int, NotificationContents)
  /// A notification says something else.
  case modify(NotificationUID, NotificationContents)
  /// A notification goes away.
  case remove(NotificationUID)
  /// All notifications go away.
  case removeAll
  /// All notifications get other numbers, as after a new session of some phones. Nobody is told.
  case renumber
  /// The phone knows an app by this name (an empty one: it has none), or no longer at all (nil).
  case nameApp(String, String?)
  /// Whether Share System Notifications is on: without it commands are refused with 0x03 and
  /// nothing is notified, though subscribing works.
  case authorize(Bool)

  // MARK: How the Control Point and the Data Source misbehave

  /// Answers are cut into fragments of at most so many bytes (nil: what the MTU has room for).
  case fragments(ofAtMost: Int?)
  /// Every answer waits before its first fragment, and between any two.
  case pace(answer: Duration, fragment: Duration)
  /// The next commands are refused with this code.
  case failCommands(code: UInt8, count: Int)
  /// The next answers are not sent at all.
  case silence(Int)
  /// The next answers break off in their middle.
  case cutAnswers(Int)

  // MARK: Media

  /// The player, its queue or its track changes.
  case media(MediaChange)
  /// An attribute has this value, whatever the player says; nil: it says again what the player does.
  case mediaAttribute(MediaAttribute, [UInt8]?)
  /// What the user does on the phone itself, as if by remote.
  case remote(RemoteCommand)

  // MARK: The small services

  /// The battery's level in percent; phones say 0 to 100, but this one says what it is told to.
  case battery(UInt8)
  /// What the phone's clock shows now; it goes on from there.
  case time(CivilTime, zone: LocalTimeInformation?)

  // MARK: The link and the database

  /// A service comes back: at new handles, or where it was.
  case publish(PublishedService, freshHandles: Bool)
  /// A service goes away.
  case unpublish(PublishedService)
  /// The phone forgets what was subscribed (of one service, or of all) and tells nobody.
  case forgetSubscriptions(PublishedService?)
  /// Whether the link counts as encrypted.
  case encrypt(Bool)
  /// The MTU that the phone takes, from the next connection on.
  case limitMTU(Int)
  /// The phone answers no request at all any more, or does so again.
  case freeze(Bool)
  /// The link drops. Whoever connects anew is let in.
  case disconnect
  /// The phone is out of reach: the link drops and nobody is let in until it is back.
  case leave
  case comeBack

  // MARK: What the phone sends as it is told to

  /// Sends bytes as they are.
  case send([UInt8])
  /// Notifies a value of a characteristic, subscribed or not; nothing is checked.
  case notify(PhoneCharacteristic, [UInt8])
  /// Indicates a value of a characteristic, subscribed or not.
  case indicate(PhoneCharacteristic, [UInt8])
}

/// What changes about the media; nil is what stays as it is.
public struct MediaChange: Hashable, Sendable {
  /// Another player; an empty name: it has none.
  public var playerName: String?
  public var state: PlaybackState?
  public var rate: Double?
  /// Seconds into the track.
  public var elapsed: Double?
  /// 0 to 1.
  public var volume: Double?
  public var shuffleMode: QueueMode?
  public var repeatMode: QueueMode?
  /// The tracks to play one after the other.
  public var playlist: [PhoneTrack]?
  /// Which of them plays, from its beginning.
  public var index: Int?
  /// How long the queue claims to be.
  public var count: Int?
  /// What plays now says this about itself; what is nil in it stays.
  public var track: PhoneTrack?
  /// The commands that the player takes.
  public var commands: [RemoteCommand]?

  public init() {}
}

/// The services that a phone publishes and takes back.
public enum PublishedService: String, CaseIterable, Hashable, Sendable {
  case ancs, ams, battery, time
}

/// The characteristics of the phone that notify or indicate.
public enum PhoneCharacteristic: String, CaseIterable, Hashable, Sendable {
  case serviceChanged = "service-changed"
  case notificationSource = "notification-source"
  case dataSource = "data-source"
  case remoteCommand = "remote-command"
  case entityUpdate = "entity-update"
  case batteryLevel = "battery-level"
  case currentTime = "current-time"
}

/// What a command did.
public enum PhoneAnswer: Hashable, Sendable {
  case done
  /// The numbers of the notifications that it added.
  case added([NotificationUID])
}

/// Why a command was not done: a sentence for whoever wrote it.
public struct PhoneRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}
