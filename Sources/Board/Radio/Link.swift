// SPDX-License-Identifier: GPL-3.0-or-later
import Control
import EventLoop
import GAP
import GATT
import Mgmt
import Wire

/// A link to a phone, whatever carries it: the kernel's L2CAP, a UNIX socket, or the built-in
/// phone. A session runs on it until it ends.
@LoopActor package protocol Link: AnyObject {
  /// The adapter it is on, as in `hci0`; nil where there is none.
  var adapter: String? { get }
  /// The phone's address, the identity address where it is known; nil for a link without a radio.
  var phone: DeviceAddress? { get }
  /// The advertising profile that brought the phone; nil where that is unknown.
  var profile: AdvertisingProfile? { get }
  /// Whether the two are bonded.
  var isBonded: Bool { get }
  /// The link's security now.
  var security: LinkSecurity { get }
  /// Whether the link is or was secured, so that the phone is who it seems to be.
  var wasSecured: Bool { get }
  /// What the link waits for until it is secured; nil once it is.
  var wait: Wait? { get }

  /// Called with each PDU. Those that arrived before it was set are delivered at once.
  var onPacket: (ArraySlice<UInt8>) -> Void { get set }
  /// Called with what the session has to know of the link; with how it stands, too, when this is set.
  var onChange: (LinkChange) -> Void { get set }

  /// Tells the link how many notifications are still to be fetched: when the session begins to
  /// serve and at each change. The link may adapt its connection parameters.
  func work(backlog: Int)
  /// Asks the controller for the link's RSSI and connection parameters.
  func condition() async -> LinkCondition
  /// Sends a PDU, or keeps it until the link can.
  func send(_ pdu: [UInt8])
  /// Raises the security level, because the phone refused a request for lack of security.
  ///
  /// - Returns: whether the request is worth repeating.
  func raiseSecurity() async -> Bool
  /// Ends the link.
  func end(_ reason: String)
}

/// What a session is told of its link.
package enum LinkChange: Hashable, Sendable {
  /// The phone is known by its identity now.
  case identified(DeviceAddress)
  /// The link may be served. `isNew`: the phone has paired on it, so that what belonged to an earlier bond
  /// counts no more. It may pair again while it is served.
  case secured(isNew: Bool)
  /// `wait` may have changed.
  case wait
  /// The link has ended, for this reason; the last change.
  case ended(String)
}

/// What is known of a link's radio connection.
package struct LinkCondition: Hashable, Sendable {
  /// The strength of the phone's signal here, in dBm.
  package var rssi: Int?
  /// The connection parameters in force.
  package var parameters: ConnectionParameters?

  package init() {}
}
