// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import Companion
import GATT
import Wire

/// A command for the virtual phone, from a script, a test or a user.
public enum PhoneCommand: Hashable, Sendable {
  // MARK: Notifications

  /// Adds a notification; without a number it gets the next one.
  case add(NotificationContents, uid: NotificationUID? = nil)
  /// Adds this many notifications at once, numbered in their titles.
  case burst(Int, NotificationContents)
  /// Modifies a notification.
  case modify(NotificationUID, NotificationContents)
  /// Removes a notification.
  case remove(NotificationUID)
  /// Removes all notifications.
  case removeAll
  /// Gives all notifications new numbers, as some phones do for a new session. Nothing is sent.
  case renumber
  /// Names an app; an empty name is an app without one, nil an app that is not on the phone.
  case nameApp(String, String?)
  /// Switches Share System Notifications. While it is off, subscribing works, but commands are refused
  /// with 0x03 and nothing is notified.
  case authorize(Bool)

  // MARK: Faults of Control Point and Data Source

  /// Limits the length of a fragment (nil: to the MTU).
  case fragments(ofAtMost: Int?)
  /// Delays each response, and each fragment after the first.
  case pace(response: Duration, fragment: Duration)
  /// Refuses the next commands with this code.
  case failCommands(code: UInt8, count: Int)
  /// Does not send the next responses.
  case silence(Int)
  /// Cuts off the next responses in the middle.
  case cutResponses(Int)

  // MARK: Media

  /// Changes what is given of the player, its queue, its track and the commands, and the tracks in the queue; nil leaves
  /// a value as it is. The index plays that track from its start; an empty name of the player removes it.
  case media(MediaState, playlist: [MediaState.Track]? = nil)
  /// Overrides the value of an attribute; nil: the player's own value again.
  case mediaAttribute(MediaAttribute, [UInt8]?)
  /// Performs a command on the phone itself, as its user does.
  case remote(RemoteCommand)

  // MARK: Battery and time

  /// Sets the battery level in percent; values above 100, which no phone has, are possible.
  case battery(UInt8)
  /// Sets the phone's clock.
  case time(CivilTime, zone: LocalTimeInformation?)

  // MARK: The link and the database

  /// Publishes a service, at new handles or at its old ones.
  case publish(PublishedService, freshHandles: Bool)
  /// Removes a service.
  case unpublish(PublishedService)
  /// Forgets the subscriptions (of one service, or all) silently.
  case forgetSubscriptions(PublishedService?)
  /// Sets whether the link counts as encrypted.
  case encrypt(Bool)
  /// Sets the receive MTU for the next connection.
  case limitMTU(Int)
  /// Stops or resumes responding to requests.
  case freeze(Bool)
  /// Disconnects; new connections are accepted.
  case disconnect
  /// Goes out of range: disconnects, and accepts no connection until `comeBack`.
  case leave
  case comeBack
  /// The user taps the accessory's name: a phone that has given up connects again.
  case tap
  /// The user switches Bluetooth off in Control Center: it disconnects, and accepts no connection before 5 in the
  /// morning.
  case controlCenter

  // MARK: Raw PDUs

  /// Sends raw bytes.
  case send([UInt8])
  /// Notifies a value of a characteristic, subscribed or not.
  case notify(PhoneCharacteristic, [UInt8])
  /// Indicates a value of a characteristic, subscribed or not.
  case indicate(PhoneCharacteristic, [UInt8])
}

/// Why a command was not carried out, in a sentence.
public struct PhoneRefusal: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  public init(_ description: String) { self.description = description }
}

/// Something that the virtual phone saw its peer do.
public enum PhoneEvent: Hashable, Sendable {
  case connected
  /// The link has ended, with the reason.
  case disconnected(String)
  /// It stays away until its user taps the accessory, after this many links without a subscription.
  case gaveUp(Int)
  /// The MTU in force has changed.
  case mtu(Int)
  /// A characteristic's configuration was written; `[]` unsubscribes.
  case subscribed(PhoneCharacteristic, ClientConfiguration)
  /// A command was written to the Control Point: the command (nil if it is malformed), its bytes, and the
  /// code that it was refused with.
  case controlPoint(ControlPointCommand?, value: [UInt8], refused: UInt8?)
  /// An action was performed on a notification.
  case action(NotificationUID, NotificationAction)
  /// The peer registered for these attributes.
  case registered(EntityRegistration)
  /// A command was sent to the player.
  case remoteCommand(RemoteCommand)
  /// The peer broke a rule, in words.
  case violation(String)
  /// A request was refused.
  case refused(Opcode, Handle, ErrorCode)
  /// Bytes were dropped, with the reason.
  case dropped([UInt8], String)
  /// The peer confirmed an indication.
  case confirmed(PhoneCharacteristic)
  /// A value that was read from the peer's server.
  case read(UUID, handle: Handle, value: [UInt8])
  /// The services of the peer's server.
  case discovered([Service])
  /// A request to the peer's server, and why it failed.
  case failed(String, ATTFailure)
  /// The script is over.
  case dayEnded
}
