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
  /// Its adapter, as in `hci0`; nil if there is none.
  var adapter: String? { get }
  /// The phone's address, its identity address if known; nil for a link without a radio.
  var phone: DeviceAddress? { get }
  /// The advertising profile that the phone responded to; nil if unknown.
  var profile: AdvertisingProfile? { get }
  /// Whether the phone is bonded.
  var isBonded: Bool { get }
  /// The link's security now.
  var security: LinkSecurity { get }
  /// Whether the link is up and secured, so it may carry private data.
  var isUpAndSecured: Bool { get }
  /// Whether the link is or was secured, which proves the phone's identity.
  var wasSecured: Bool { get }
  /// Whether the board has subscribed to what counts for the phone (docs/guesses.md).
  var hasSubscribed: Bool { get }
  /// Whether the phone would give up if this link ended now, so that this side should not end it.
  var isLastChance: Bool { get }
  /// What the link waits for until it is secured; nil once it is.
  var wait: Wait? { get }

  /// Called with each PDU. Those that arrived before it was set are delivered at once.
  var onPacket: (ArraySlice<UInt8>) -> Void { get set }
  /// Called with changes of the link that concern the session, and with its current state when this is set.
  var onChange: (LinkChange) -> Void { get set }

  /// The board has subscribed to the phone's notifications or media.
  func subscribed()
  /// Tells the link how many notifications are still to be fetched: when the session begins to
  /// serve and at each change. The link may adapt its connection parameters.
  func work(backlog: Int)
  /// The part of the link's report that the controller knows: its RSSI and connection parameters.
  func condition() async -> LinkReport
  /// Sends a PDU, or keeps it until the link can.
  func send(_ pdu: [UInt8])
  /// Raises the security level after the phone refused a request for lack of security.
  ///
  /// - Returns: whether the request is worth repeating.
  func raiseSecurity() async -> Bool
  /// Ends the link.
  func end(_ reason: String)
}

extension Link {
  package var hasSubscribed: Bool { true }
  package var isLastChance: Bool { false }
  package func subscribed() {}
}

/// A change of a link, for its session.
package enum LinkChange: Hashable, Sendable {
  /// The phone's identity is known now.
  case identified(DeviceAddress)
  /// The link may be served. `isNew`: the phone has paired on it, so data from an earlier bond is void. It may pair
  /// again while it is served.
  case secured(isNew: Bool)
  /// `wait` may have changed.
  case wait
  /// The link has ended, for this reason; the last change.
  case ended(String)
}

/// Serves links, whatever their source.
@LoopActor package protocol LinkServer: AnyObject {
  /// Runs a session on a link, until it ends.
  ///
  /// - Returns: whether the session ever subscribed.
  @discardableResult func serve(_ link: any Link) async -> Bool
  /// Counts a link in a bonded phone's name that was refused, or ended without encryption with its key.
  func countUnproven()
  /// What to advertise while a phone on this adapter does not share its notifications yet; nil if there is no such
  /// phone.
  func sharingAdvertisement(on adapter: String) -> SharingAdvertisement?
  /// Drops everything known about a phone whose bond was removed.
  func forget(_ phone: DeviceAddress)
}
