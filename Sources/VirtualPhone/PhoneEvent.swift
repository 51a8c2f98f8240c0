// SPDX-License-Identifier: GPL-3.0-or-later
import AMS
import ANCS
import ATT
import GATT
import Wire

/// What the virtual phone saw its peer do.
public enum PhoneEvent: Hashable, Sendable {
  case connected
  /// The link is gone; why, in words.
  case disconnected(String)
  /// The MTU that both sides agreed on.
  case mtu(Int)
  /// A characteristic's configuration was written; nothing ends the subscription.
  case subscribed(PhoneCharacteristic, ClientConfiguration)
  /// A command came in on the Control Point: what it says (nil where it says nothing), its bytes,
  /// and the code that it was refused with.
  case controlPoint(ControlPointCommand?, value: [UInt8], refused: UInt8?)
  /// A notification was acted on.
  case action(NotificationUID, Action)
  /// Somebody wants to be told about these attributes.
  case registered(EntityRegistration)
  /// A player was told to do something.
  case remoteCommand(RemoteCommand)
  /// The peer did what a phone does not put up with: what it was, in words.
  case violation(String)
  /// A request was refused.
  case refused(Opcode, Handle, ErrorCode)
  /// Bytes came in that are no PDU, or not one that was awaited.
  case dropped([UInt8], String)
  /// The peer confirmed an indication.
  case confirmed(PhoneCharacteristic)
  /// What the peer's server answered to a question.
  case read(UUID, handle: Handle, value: [UInt8])
  /// What the peer's server has.
  case discovered([Service])
  /// What was asked of the peer's server, and why there is no answer.
  case failed(String, ATTFailure)
  /// The scripted day is over.
  case dayEnded
}
