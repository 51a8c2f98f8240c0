// SPDX-License-Identifier: GPL-3.0-or-later
import ANCS
import EventLoop
import GATT
import Wire

/// A phone over all its sessions: what outlives a link. Everything else is forgotten with the session,
/// as Apple's documents ask.
@LoopActor
public final class Phone {
  /// The identity address; nil for one on a UNIX socket or built in.
  public internal(set) var identity: DeviceAddress?
  /// The name that it has given itself, once that was read.
  public var displayName: String?
  /// The adapter that it is bonded to, or connected over.
  public let adapter: String?
  /// What was notified already, to tell what comes again after a reconnection.
  public var seen = SeenContents()
  /// The services of its database and the hash that says whether they are still where they were.
  public var handles: HandleCache?
  /// What it has configured on the board's own server, which outlives a bonded phone's links.
  public var clientState = ClientState()
  /// The session on the link that is up now.
  public internal(set) var session: Session?

  public init(identity: DeviceAddress?, adapter: String?) {
    self.identity = identity
    self.adapter = adapter
  }
}

/// What is worth remembering of a phone's attribute database: handles stay where they are as long as the
/// Database Hash does (Core Specification Vol 3 Part G, 2.5.2.1).
public struct HandleCache: Hashable, Sendable {
  /// The sixteen octets of the Database Hash characteristic.
  public var databaseHash: [UInt8]
  /// The services that were located.
  public var services: [LocatedService]

  public init(databaseHash: [UInt8], services: [LocatedService]) {
    self.databaseHash = databaseHash
    self.services = services
  }

  /// The located service of this type.
  public subscript(uuid: UUID) -> LocatedService? {
    services.first { $0.service.uuid == uuid }
  }
}
