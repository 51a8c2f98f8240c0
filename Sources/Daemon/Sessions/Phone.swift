// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import EventLoop
import GATT
import Wire

/// What the daemon keeps of a phone across its sessions. Everything else ends with the session, as
/// Apple's ANCS specification requires.
@LoopActor final class Phone {
  /// The identity address; nil for a phone without a radio.
  var identity: DeviceAddress?
  /// Its Device Name, once that was read.
  var displayName: String?
  /// The adapter that it is bonded to or connected to.
  let adapter: String?
  /// The notifications that it has already brought, to recognise repeats after a reconnection.
  var seen = SeenContents()
  /// The handles of its services, and the Database Hash under which they are valid.
  var handles: HandleCache?
  /// What it has configured on the board's own server, which persists for a bonded phone.
  var clientState = ClientState()
  /// The session on the link that is up now.
  var session: Session?

  init(identity: DeviceAddress?, adapter: String?) {
    self.identity = identity
    self.adapter = adapter
  }
}

/// The handles of a phone's services. They are valid as long as its Database Hash stays the same
/// (Core Specification Vol 3 Part G, 2.5.2.1).
struct HandleCache: Hashable, Sendable {
  /// The sixteen octets of the Database Hash characteristic.
  var databaseHash: [UInt8]
  /// The services that were located.
  var services: [LocatedService]
}
