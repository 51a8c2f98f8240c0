// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import GAP
import GATT
import Wire

/// A link to a phone, whatever carries it: the kernel's L2CAP, a UNIX socket, or the built-in
/// phone. A session runs on it until it ends.
@LoopActor protocol Link: AnyObject {
  /// The adapter it is on, as in `hci0`; nil where there is none.
  var adapter: String? { get }
  /// The phone's address, the identity address where it is known; nil for a link without a radio.
  var phone: DeviceAddress? { get }
  /// Whether the two are bonded.
  var isBonded: Bool { get }
  /// The link's security now.
  var security: LinkSecurity { get }
  /// What the link waits for until it is encrypted; nil once it is.
  var wait: Wait? { get }

  /// Called with each PDU. Those that arrived before it was set are delivered at once.
  var onPacket: ([UInt8]) -> Void { get set }
  /// Called once when the link has ended, with the reason.
  var onEnd: (String) -> Void { get set }
  /// Called when `wait` may have changed.
  var onWaitChange: () -> Void { get set }

  /// Tells the link how many notifications are still to be fetched: when the session begins to
  /// serve and at each change. The link may adapt its connection parameters.
  func work(backlog: Int)
  /// Asks the controller for the link's RSSI and connection parameters.
  func condition() async -> LinkCondition
  /// Sends a PDU, or keeps it until the link can.
  func send(_ pdu: [UInt8])
  /// Waits for encryption, by the bond or by pairing.
  ///
  /// - Returns: whether the link is encrypted; if not, it will not be.
  func secure() async -> Bool
  /// Raises the security level, because the phone refused a request for lack of it.
  ///
  /// - Returns: whether the request is worth repeating.
  func raiseSecurity() async -> Bool
  /// Ends the link.
  func end(_ reason: String)
}

/// What is known of a link's radio connection.
struct LinkCondition: Hashable, Sendable {
  /// The strength of the phone's signal here, in dBm.
  var rssi: Int?
  /// The connection parameters in force.
  var parameters: ConnectionParameters?
}
