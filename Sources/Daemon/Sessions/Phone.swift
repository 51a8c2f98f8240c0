// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import EventLoop
import GATT
import Wire

/// A phone over all its sessions: what outlives a link. Everything else is forgotten with the session,
/// as Apple's documents ask.
@LoopActor final class Phone {
  /// The identity address; nil for one without a radio.
  var identity: DeviceAddress?
  /// The name that it has given itself, once that was read.
  var displayName: String?
  /// The adapter that it is bonded to, or connected over.
  let adapter: String?
  /// What it has notified of already, to recognise what comes again after a reconnection.
  var seen = SeenContents()
  /// Where its services are, and the hash that says whether they are still there.
  var handles: HandleCache?
  /// What it has configured on the board's own server, which outlives a bonded phone's links.
  var clientState = ClientState()
  /// The session on the link that is up now.
  var session: Session?

  init(identity: DeviceAddress?, adapter: String?) {
    self.identity = identity
    self.adapter = adapter
  }
}

/// What is worth remembering of a phone's attribute database: handles stay where they are as long as the
/// Database Hash does (Core Specification Vol 3 Part G, 2.5.2.1).
struct HandleCache: Hashable, Sendable {
  /// The sixteen octets of the Database Hash characteristic.
  var databaseHash: [UInt8]
  /// The services that were located.
  var services: [LocatedService]
}
