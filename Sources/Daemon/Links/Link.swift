// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import GAP
import GATT
import Wire

/// A link to a phone, whatever carries it: the kernel's L2CAP, a UNIX socket, or the built-in phone. A
/// session runs on it until it ends.
@LoopActor protocol Link: AnyObject {
  /// The adapter it is on, as in `hci0`; nil where there is none.
  var adapter: String? { get }
  /// The phone, by its identity where that is known; nil where addresses mean nothing.
  var phone: DeviceAddress? { get }
  /// Whether the two are bonded.
  var isBonded: Bool { get }
  /// How well the link is secured now.
  var security: LinkSecurity { get }
  /// What keeps the link from being encrypted; nil where nothing does.
  var wait: Wait? { get }

  /// Called with each PDU. Those that came before it was set are delivered at once.
  var onPacket: ([UInt8]) -> Void { get set }
  /// Called once when the link has ended, with the reason.
  var onEnd: (String) -> Void { get set }
  /// Called when `wait` may have changed.
  var onWaitChange: () -> Void { get set }

  /// Says that the session is up, and how many notifications are still to be fetched, whenever that
  /// changes: the link may adapt its connection parameters.
  func work(backlog: Int)
  /// How the link is doing on the air, asked now.
  func condition() async -> LinkCondition
  /// Sends a PDU, or keeps it until the link can.
  func send(_ pdu: [UInt8])
  /// Brings encryption about, or waits for the phone to do so: by the bond, or by pairing where that is
  /// allowed.
  ///
  /// - Returns: whether the link is encrypted now; where it is not, it will not be.
  func secure() async -> Bool
  /// Asks for more security than there is, because the phone refused a request for want of it.
  func raiseSecurity() async -> Bool
  /// Ends the link.
  func end(_ reason: String)
}

/// How a link is doing on the air, as far as that is known.
struct LinkCondition: Hashable, Sendable {
  /// The strength of the phone's signal here, in dBm.
  var rssi: Int?
  /// The connection parameters in force.
  var parameters: ConnectionParameters?
}

/// A link without a radio: it needs no pairing, and is taken as encrypted.
@LoopActor protocol WiredLink: Link {}

extension WiredLink {
  var adapter: String? { nil }
  var phone: DeviceAddress? { nil }
  var isBonded: Bool { false }
  var security: LinkSecurity { .encrypted }
  var wait: Wait? { nil }
  func work(backlog: Int) {}
  func condition() async -> LinkCondition { LinkCondition() }
  func secure() async -> Bool { true }
  func raiseSecurity() async -> Bool { false }
}

/// Where phones without a radio come from.
@LoopActor protocol LinkSource: AnyObject {
  /// What it waits for while there is no link.
  var wait: Wait { get }
  /// Brings one link after another, until the daemon ends.
  func run() async
}
