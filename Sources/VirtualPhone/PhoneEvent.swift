// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GATT
import Wire

/// Something that the virtual phone saw its peer do.
public enum PhoneEvent: Hashable, Sendable {
  case connected
  /// The link has ended, with the reason.
  case disconnected(String)
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
  /// A question to the peer's server, and why it has no answer.
  case failed(String, ATTFailure)
  /// The script is over.
  case dayEnded
}
