// SPDX-License-Identifier: GPL-3.0-or-later
import ATT
import EventLoop
import GATT
import Wire

/// A link that a phone is on, whatever carries it: the kernel's L2CAP, a UNIX socket, or the phone that
/// is built in. A session runs on it until it ends.
@LoopActor
public protocol PhoneLink: AnyObject {
  /// The adapter it is on, as in `hci0`; nil where there is none.
  var adapter: String? { get }
  /// Who is at the other end, by the identity where that is known; nil where addresses mean nothing.
  var phone: DeviceAddress? { get }
  /// Whether the two are bonded.
  var isBonded: Bool { get }
  /// How well the link is secured now.
  var security: LinkSecurity { get }

  /// What stands between this link and encryption; nil where nothing does.
  var wait: Wait? { get }

  /// Takes the PDUs that come in. Those that came before it was set are handed over at once.
  var onPacket: ([UInt8]) -> Void { get set }
  /// Is told once that the link has ended, and why.
  var onEnd: (String) -> Void { get set }

  /// Is told that the session is up, and how many notifications are still to be fetched, whenever that
  /// changes: a link may suit itself to the work.
  func work(backlog: Int)

  /// How the link is doing on the air, asked now.
  func condition() async -> LinkCondition

  /// Sends a PDU, or keeps it until the link takes it.
  func send(_ pdu: [UInt8])

  /// Brings encryption about, or waits until the phone does: by the bond, or by pairing where that is
  /// allowed.
  ///
  /// - Returns: whether the link is encrypted now; where it is not, it will not be.
  func secure() async -> Bool

  /// Asks for more security than there is, because the phone refused something for want of it.
  func raiseSecurity() async -> Bool

  /// Ends the link.
  func end(_ reason: String)
}

extension PhoneLink {
  public var wait: Wait? { nil }
  public func work(backlog: Int) {}
  public func condition() async -> LinkCondition { LinkCondition() }
}
